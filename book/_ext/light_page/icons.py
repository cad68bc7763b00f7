"""The theme's icons as drawings in the page, in place of the script that holds two thousand.

The paths are read, while the book is built, from the theme's own copy of Font Awesome Free
(CC BY 4.0, https://fontawesome.com/license/free).
"""

from __future__ import annotations

import re
from pathlib import Path

SCRIPT = "scripts/fontawesome.js"
ELEMENT = re.compile(r'<(i|span) class="([^"]*\bfa-[^"]*)"([^>]*)>\s*</\1>')
FAMILIES = {"fa-solid", "fas", "fa-regular", "far", "fa-brands", "fab"}
SIZES = {"fa-lg", "fa-sm", "fa-xs", "fa-xl", "fa-fw"}
# As Font Awesome sizes its own drawings.
STYLE = """
.svg-inline--fa { display: inline-block; height: 1em; overflow: visible; vertical-align: -.125em; }
.svg-inline--fa.fa-lg { vertical-align: -.2em; }
"""


def drawings(static: Path) -> dict[str, tuple[int, int, str]]:
    """Width, height and path of every icon of the theme's script, by name and by older names."""
    icon = re.compile(r'"?([a-z0-9-]+)"?:\[(\d+),(\d+),\[([^\]]*)\],"[0-9a-f]+","([^"]+)"\]')
    known = {}
    # The solid style comes last, and is the one that the theme's templates ask for.
    for name, width, height, others, path in icon.findall((static / SCRIPT).read_text("utf-8")):
        for each in (name, *re.findall(r'"([a-z0-9-]+)"', others)):
            known[each] = (int(width), int(height), path)
    return known


def draw(html: str, known: dict[str, tuple[int, int, str]]) -> str:
    """Replace the icons' empty elements; one with an unknown name stays as it is."""

    def svg(found: re.Match[str]) -> str:
        classes = found[2].split()
        names = [c[3:] for c in classes if c.startswith("fa-") and c not in FAMILIES | SIZES]
        if len(names) != 1 or names[0] not in known:
            return found[0]
        width, height, path = known[names[0]]
        kept = " ".join(["svg-inline--fa", *(c for c in classes if c not in FAMILIES)])
        return (
            f'<svg class="{kept}"{found[3]} aria-hidden="true" focusable="false" '
            f'viewBox="0 0 {width} {height}"><path fill="currentColor" d="{path}"/></svg>'
        )

    return ELEMENT.sub(svg, html)
