"""python -m rope_lib config.json: what a model's config file says about its rotary embedding."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import NoReturn

from rope_lib.config import RopeConfig
from rope_lib.report import describe, render


class OneLineParser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Leave with status 2."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report; status 2 and one line on stderr where the input is bad.

    Args:
        arguments: without the program's name; None: those of the command line.
    """
    parser = OneLineParser(prog="python -m rope_lib", description=__doc__)
    parser.add_argument("config", help="path of a Hugging Face config.json")
    parser.add_argument("--layer-type", help="where layers differ, e.g. sliding_attention")
    parser.add_argument("--seq-len", type=int, help="tokens; dynamic and longrope depend on it")
    parser.add_argument("--json", action="store_true", help="the whole report as JSON")
    options = parser.parse_args(arguments)
    try:
        config = RopeConfig.from_hf(options.config, layer_type=options.layer_type)
        report = describe(config, options.seq_len)
    except ValueError as error:
        parser.error(str(error))
    text = json.dumps(report, indent=2) + "\n" if options.json else render(report)
    # A file may hold characters that the terminal cannot show.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


if __name__ == "__main__":
    main()
