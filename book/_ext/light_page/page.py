"""What a page loads, and when: one stylesheet, and pictures and parts that wait until near."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from .scripts import existing

SHEET = "book-light.css"
STYLE = """
/* A picture's place has the shape that its attributes tell, at whatever width it is shown. */
img[loading] { height: auto; }
/* What lies far below is laid out when the reader comes near, but only by browsers that hold the
   reader's place meanwhile; a folded solution when it is opened. The heights are usual ones; a
   phone, whose first screen is the slowest, gets tall ones, so that little seems near at first. */
@supports (overflow-anchor: auto) {
  @media screen {
    .bd-article section > :not(section) {
      content-visibility: auto;
      contain-intrinsic-size: auto none auto 9rem;
    }
    .bd-article section > :is(h2, h3, h4, .math) { contain-intrinsic-size: auto none auto 4rem; }
    .bd-article section > :is(ul, ol, .cell) { contain-intrinsic-size: auto none auto 17rem; }
    .bd-article section > :is(dl, .pst-scrollable-table-container) {
      contain-intrinsic-size: auto none auto 40rem;
    }
  }
  /* What the first screen begins with never waits: a wrong height above moves all below it. */
  @media screen {
    .bd-article > section > :nth-child(-n + 3) { content-visibility: visible; }
  }
  @media screen and (max-width: 959.98px) {
    .bd-article section > :is(p, .admonition) { contain-intrinsic-size: auto none auto 13rem; }
    .bd-article section > :is(ul, ol, .cell) { contain-intrinsic-size: auto none auto 30rem; }
  }
}
/* A narrow screen shows the sidebars only as dialogs, which take over what is in them. */
@media (max-width: 959.98px) { #pst-primary-sidebar { display: none; } }
@media (max-width: 1199.98px) { #pst-secondary-sidebar { display: none; } }
.admonition.toggle-hidden > .admonition-title ~ * { content-visibility: hidden; }
"""
STYLESHEET = re.compile(r'[ \t]*<link\b[^>]*\brel="stylesheet"[^>]*>\n?')
LIGHT = re.compile(r'data-sheets="([^"]*)"')
HREF = re.compile(r'\bhref="([^"?]*)')
ROOT = re.compile(r'data-content_root="([^"]*)"')
IMAGE = re.compile(r'<img\b([^>]*)\bsrc="([^"]*)"([^>]*?)\s*(/?)>')


def root_of(html: str) -> str | None:
    """The way from a page to the site's folder; None for a page that the theme did not write."""
    found = ROOT.search(html)
    return found[1] if found else None


def sheets_of(html: str, page: Path) -> list[Path]:
    """The stylesheets that a page asked for before it was made light, in their order."""
    folder = page.parent
    if light := LIGHT.search(html):
        static = folder / (root_of(html) or "") / "_static"
        return existing(static / sheet for sheet in light[1].split())
    links = STYLESHEET.findall(html)
    return existing(folder / href[1] for link in links if (href := HREF.search(link)))


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
