"""What a page loads, and when: one stylesheet, scripts that wait, pictures that come when near."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from pathlib import Path

SHEET = "book-light.css"
STYLE = """
/* A picture's place has the shape that its attributes tell, at whatever width it is shown. */
img[loading] { height: auto; }
/* What lies far below is laid out when the reader comes near, but only by browsers that hold the
   reader's place meanwhile; a folded solution when it is opened. */
@supports (overflow-anchor: auto) {
  @media screen {
    .bd-article section > :is(p, .cell, .admonition, .math) {
      content-visibility: auto;
      contain-intrinsic-size: auto none auto 6rem;
    }
    .bd-article section > .cell { contain-intrinsic-size: auto none auto 18rem; }
  }
}
.admonition.toggle-hidden > .admonition-title ~ * { content-visibility: hidden; }
"""
STYLESHEET = re.compile(r'[ \t]*<link\b[^>]*\brel="stylesheet"[^>]*>\n?')
LIGHT = re.compile(r'data-sheets="([^"]*)"')
HREF = re.compile(r'\bhref="([^"?]*)')
ROOT = re.compile(r'data-content_root="([^"]*)"')
SCRIPT = re.compile(r'<script\b([^>]*)\bsrc="([^"]*)"([^>]*)></script>')
IMAGE = re.compile(r'<img\b([^>]*)\bsrc="([^"]*)"([^>]*?)\s*(/?)>')
# The theme's icons are drawings in the page; its three search scripts serve search.html alone,
# while search_as_you_type is off.
UNUSED = ("scripts/fontawesome.js",)
SEARCH = ("_static/searchtools.js", "_static/language_data.js", "searchindex.js")
# Settings that the inline scripts behind it write into: those run at once, so it must be there.
OPTIONS = "_static/documentation_options.js"
# The theme reads the reader's choice when all scripts have come. Until then a page that follows the
# system's setting would be white in the dark.
THEME_AT_ONCE = (
    'if (document.documentElement.dataset.theme === "auto") document.documentElement.dataset.theme'
    ' = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";'
)
THEME = 'document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";'


def root_of(html: str) -> str | None:
    """The way from a page to the site's folder; None for a page that the theme did not write."""
    found = ROOT.search(html)
    return found[1] if found else None


def existing(paths: Iterable[Path]) -> list[Path]:
    """A page that an earlier build left may name files that are gone; it must not stop this one."""
    return [path for path in (each.resolve() for each in paths) if path.exists()]


def sheets_of(html: str, page: Path) -> list[Path]:
    """The stylesheets that a page asked for before it was made light, in their order."""
    folder = page.parent
    if light := LIGHT.search(html):
        static = folder / (root_of(html) or "") / "_static"
        return existing(static / sheet for sheet in light[1].split())
    links = STYLESHEET.findall(html)
    return existing(folder / href[1] for link in links if (href := HREF.search(link)))


def scripts_of(html: str, page: Path) -> list[Path]:
    """The scripts that a page loads."""
    sources = [found[2].partition("?")[0] for found in SCRIPT.finditer(html)]
    return existing(page.parent / source for source in sources)


def inline_scripts(html: str) -> list[str]:
    return re.findall(r"<script\b(?![^>]*\bsrc=)[^>]*>(.*?)</script>", html, re.DOTALL)


def one_sheet(html: str, names: list[str], version: str) -> str:
    """The page with one link in place of all its stylesheets; the link remembers their names."""
    root = root_of(html)
    link = (
        f'    <link rel="stylesheet" href="{root}_static/{SHEET}?v={version}"'
        f' data-sheets="{" ".join(names)}" />\n'
    )
    first = STYLESHEET.search(html)
    if first is None:
        return html
    rest = STYLESHEET.sub("", html[first.end() :])
    return html[: first.start()] + link + rest


def waiting_scripts(html: str, static: Path, is_search: bool) -> str:
    """Scripts in their order, after the page is read; those without use are left out."""

    def waiting(found: re.Match[str]) -> str:
        before, source, after = found.groups()
        address = source.partition("?")[0]
        if address.endswith(UNUSED) or (not is_search and address.endswith(SEARCH)):
            return ""
        if address.endswith(OPTIONS):
            return f"<script>{(static / Path(OPTIONS).name).read_text('utf-8')}</script>"
        if "defer" in before + after:
            return found[0]
        return f'<script defer{before.rstrip()} src="{source}"{after}></script>'

    html = re.sub(r'<link rel="preload" as="script"[^>]*>\n?', "", html)
    if THEME_AT_ONCE not in html:
        html = html.replace(THEME, f"{THEME}\n    {THEME_AT_ONCE}")
    return SCRIPT.sub(waiting, html)


def png_size(path: Path) -> tuple[int, int] | None:
    """Width and height of a PNG file, from its header."""
    if path.suffix != ".png" or not path.exists():
        return None
    with path.open("rb") as file:
        width, height = struct.unpack(">16x2L", file.read(24))
    return width, height


def waiting_images(html: str, page: Path) -> str:
    """Plots that load when the reader comes near, in a place that is kept for them."""

    def waiting(found: re.Match[str]) -> str:
        before, source, after, end = found.groups()
        size = png_size(page.parent / source)
        if size is None or "loading=" in before + after:
            return found[0]
        place = f' loading="lazy" decoding="async" width="{size[0]}" height="{size[1]}"'
        return f'<img{before}src="{source}"{after}{place} {end}>'

    return IMAGE.sub(waiting, html)
