"""Sphinx extension: pages that a phone on a slow network shows within two seconds.

When the build is done, each page gets one stylesheet in place of a dozen, without the rules that no
page uses (sheet.py), its icons as drawings (icons.py), scripts that wait until the page is read or
first used (scripts.py), and plots and parts that come when the reader is near (page.py). A page
that is light already stays as it is, so a build that writes few pages anew costs little.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from . import icons, page, scripts, sheet

HERE = Path(__file__).parent


def in_order(lists: list[list[Path]]) -> list[Path]:
    """All sheets once. A page may leave some out; each then stands behind what it followed."""
    merged: list[Path] = []
    for each in sorted(lists, key=len, reverse=True):
        at = 0
        for path in each:
            if path in merged:
                at = merged.index(path) + 1
            else:
                merged.insert(at, path)
                at += 1
    return merged


def digest(*texts: str) -> str:
    own = "".join(path.read_text("utf-8") for path in sorted(HERE.glob("*.*")))
    return hashlib.sha256("\0".join((own, *texts)).encode()).hexdigest()[:12]


def write_sheet(pages: dict[Path, str], static: Path) -> str:
    """Write the book's one stylesheet, unless it is there already. Returns its version."""
    merged = sheet.merge(in_order([page.sheets_of(t, p) for p, t in pages.items()]), static)
    loaded = {path for p, text in pages.items() for path in scripts.scripts_of(text, p)}
    inline = {code for text in pages.values() for code in scripts.inline_scripts(text)}
    # Less the links that this step replaces: a page gives the same words before and after.
    texts = [page.STYLESHEET.sub("", text) for text in pages.values()]
    used = sheet.words(texts, [*inline, *(path.read_text("utf-8") for path in sorted(loaded))])
    version = digest(merged, used)
    target = static / page.SHEET
    head = f"/* {version} */\n"
    if not (target.exists() and target.read_text("utf-8").startswith(head)):
        css = sheet.purge(merged + icons.STYLE + page.STYLE, used)
        target.write_text(head + sheet.cut_icon_font(css, static), "utf-8")
    return version


def lighten(outdir: Path) -> None:
    """Make every page of a built book light."""
    static = outdir / "_static"
    texts = {path: path.read_text("utf-8") for path in sorted(outdir.rglob("*.html"))}
    written = {p: text for p, text in texts.items() if page.root_of(text) is not None}
    if not written:
        return
    known = icons.drawings(static)
    scripts.ask_when_near(static)
    pages = {}
    for path, text in written.items():
        drawn = icons.draw(text, known)
        loaded = scripts.waiting_scripts(drawn, static, path.name == "search.html")
        pages[path] = page.waiting_images(loaded, path)
    version = write_sheet(pages, static)
    for path, text in pages.items():
        names = [sheet.address(each, static) for each in page.sheets_of(text, path)]
        light = page.one_sheet(text, names, version)
        if light != texts[path]:
            path.write_text(light, "utf-8")


def finish(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        lighten(Path(app.outdir))


def setup(app: Any) -> dict[str, bool]:
    # After every listener that writes a sheet or mends a page (500).
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
