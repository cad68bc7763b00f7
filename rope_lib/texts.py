"""The three texts on which the book measures its model: parts of packages that the lock pins.

They are found in the installed packages, and this repository holds no copy. A hash makes sure
that numbers which are compared come from the same text. ``python -m rope_lib.texts`` lists them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from email import message_from_string
from importlib import metadata
from pathlib import Path

__all__ = ["TEXTS", "Text"]

DESCRIPTION = "METADATA"


@dataclass(frozen=True)
class Text:
    """One text of an installed package.

    Attributes:
        package: its name and version, as requirements.txt has them.
        file: path in the installation; METADATA stands for the long description alone.
        sha256: of the text in UTF-8, with a line feed after each line.
    """

    package: str
    file: str
    sha256: str

    def read(self) -> str:
        """The text.

        Raises:
            LookupError: it is not installed, or is not the text of the pinned version.
        """
        name, _, _ = self.package.partition("==")
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise LookupError(f"{self.package} is not installed. {INSTALL}") from None
        if self.file == DESCRIPTION:
            header_and_text = message_from_string(package.read_text(DESCRIPTION) or "")
            text = str(header_and_text.get_payload())
        else:
            path = Path(str(package.locate_file(self.file)))
            text = path.read_text("utf-8") if path.is_file() else ""
        found = hashlib.sha256(text.encode()).hexdigest()
        if found != self.sha256:
            raise LookupError(
                f"{self.file} of {self.package} must have SHA-256 {self.sha256}, got {found} "
                f"from {name} {package.version}. {INSTALL}"
            )
        return text


INSTALL = "Run: python -m pip install -r requirements.txt"
TEXTS = {
    "code": Text(
        "gguf==0.19.0",
        "gguf/gguf_writer.py",
        "f34418d0bb2004980eb26d15aec665186fbf17687a3b28e1daf40216da5c1268",
    ),
    "prose": Text(
        "fonttools==4.68.0",
        DESCRIPTION,
        "a471231b1ee36a46c166633526320060982edaf44b77587cc99e974a96d72003",
    ),
    "mixed": Text(
        "tqdm==4.70.1",
        DESCRIPTION,
        "1ce0f8c78b757f6e929ea6c713798550d278e19b3ce29f59810c2a074fcaeb59",
    ),
}


def main() -> None:
    """Print where each text comes from, and how long it is."""
    for name, text in TEXTS.items():
        content = text.read()
        print(f"{name:6} {text.package} {text.file}: {len(content):,} characters, {text.sha256}")


if __name__ == "__main__":
    main()
