"""One stylesheet for the whole book: the theme's and ours in one file, less the rules in no use."""

from __future__ import annotations

import base64
import html
import json
import logging
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from fontTools import subset

from static_widgets.stills import find_node

PROGRAM = Path(__file__).with_name("purge.mjs")
TIMEOUT_S = 120
# Small sheets of our own stay whole: their rules are for what figures and formulas write later.
OURS = {"book.css", "rope-colours.css", "static-widgets.css"}
# Attributes whose values scripts set, so that the pages' text does not hold them all.
DYNAMIC = [
    "data-theme", "data-mode", "data-default-mode", "data-bs-popper", "data-popper-placement",
    "data-toggle-hint", "aria-expanded", "aria-hidden", "open", "style", "href", "src", "type",
]  # fmt: skip
# Rules that no page's text and no script names in full.
SAFE = [
    # copybutton.js joins the tooltip's class from parts.
    r"tooltip",
    # sphinx_highlight.js marks words that a search found.
    r"^highlighted$",
    # A browser's own state, of whatever element.
    r":(focus-visible|target|modal|popover-open)",
]
TAG = re.compile(r"<([a-zA-Z][\w-]*)([^<>]*)")
ATTRIBUTE = re.compile(r'([\w:-]+)(?:="([^"]*)")?')
# Values of these are no names that a rule could ask for, and there are very many of them.
LONG = {"style", "d", "href", "src", "alt", "content", "points", "transform", "aria-label", "title"}


def words(pages: Iterable[str], scripts: Iterable[str]) -> str:
    """Every name that a selector could ask for: of the pages' elements, and all words of scripts.

    What a script adds later (an open menu, a theme, a search result) it names in its text.
    """
    found: set[str] = set()
    for page in pages:
        for name, rest in set(TAG.findall(page)):
            found.add(name.lower())
            for attribute, value in ATTRIBUTE.findall(rest):
                found.add(attribute)
                if attribute not in LONG:
                    found.update(html.unescape(value).split())
    for script in scripts:
        found.update(re.findall(r"[A-Za-z][\w-]*", script))
    return "\n".join(sorted(found))


def address(sheet: Path, base: Path) -> str:
    return Path(os.path.relpath(sheet, base)).as_posix()


def merge(sheets: Iterable[Path], base: Path) -> str:
    """The sheets in their order, with the addresses in them written from the folder ``base``."""
    parts = []
    for sheet in sheets:
        css = absolute(sheet, base)
        if sheet.name in OURS:
            css = f"/* purgecss start ignore */\n{css}\n/* purgecss end ignore */"
        parts.append(css)
    return "\n".join(parts)


def absolute(sheet: Path, base: Path) -> str:
    """A sheet with what it imports, and its addresses written from ``base``."""
    css = re.sub(r"/\*# sourceMappingURL=.*?\*/", "", sheet.read_text("utf-8"))

    def imported(found: re.Match[str]) -> str:
        return absolute((sheet.parent / found[1]).resolve(), base)

    def moved(found: re.Match[str]) -> str:
        if re.match(r"data:|https?:|#|%23", found[2]):
            return found[0]
        return f"url({address((sheet.parent / found[2]).resolve(), base)})"

    css = re.sub(r'@import "([^"]+)";', imported, css)
    return re.sub(r"""url\((['"]?)([^)'"]+)\1\)""", moved, css)


def purge(css: str, used: str) -> str:
    """The rules of a sheet that the names in ``used`` can match."""
    # A session of its own: `node` may be a launcher, whose end alone would leave Node running.
    node = subprocess.Popen(
        [find_node(), str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    asked = json.dumps({"css": css, "words": used, "dynamic": DYNAMIC, "safe": SAFE})
    try:
        purged, complaint = node.communicate(asked, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(node.pid, signal.SIGKILL)
        node.communicate()
        raise RuntimeError(f"purging the stylesheet took more than {TIMEOUT_S} s") from None
    if node.returncode:
        raise RuntimeError(f"purge.mjs failed: {complaint.strip()}")
    return purged


SOLID = re.compile(
    r"(@font-face\{[^}]*font-weight:900;[^}]*src:)url\(([^)]*fa-solid-900\.woff2)\)[^}]*\}"
)


def cut_icon_font(css: str, base: Path) -> str:
    """The icon font within the sheet, cut down to the glyphs that its rules show."""
    codes = {int(code, 16) for code in re.findall(r"\\([ef][0-9a-f]{3})\b", css)}
    codes |= {ord(char) for char in css if "\ue000" <= char <= "\uf8ff"}

    def embedded(found: re.Match[str]) -> str:
        data = base64.b64encode(cut(base / found[2], codes)).decode()
        return f'{found[1]}url(data:font/woff;base64,{data}) format("woff")}}'

    return SOLID.sub(embedded, css)


def cut(font: Path, codes: set[int]) -> bytes:
    """A WOFF font of the glyphs with these code points only."""
    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)  # it tells each table's story
    # WOFF, not WOFF2: that needs a compressor which is not part of fontTools.
    options = subset.Options(flavor="woff", layout_features=[], notdef_outline=False)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=codes)
    with (
        subset.load_font(str(font.with_suffix(".ttf")), options) as whole,
        tempfile.TemporaryDirectory() as folder,
    ):
        cutter.subset(whole)
        target = Path(folder) / "icons.woff"
        subset.save_font(whole, str(target), options)
        return target.read_bytes()
