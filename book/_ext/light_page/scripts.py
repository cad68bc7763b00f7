"""Which scripts a page loads, and when: those it has a use for, when it is read or first used."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

FIRST_USE_PROGRAM = Path(__file__).with_name("first_use.js")
SCRIPT = re.compile(r'<script\b([^>]*)\bsrc="([^"]*)"([^>]*)></script>')
WAITING = re.compile(r'<script data-waits="([^"]*)">.*?</script>\n?', re.DOTALL)
# The theme's icons are drawings in the page; its three search scripts serve search.html alone,
# while search_as_you_type is off.
UNUSED = ("scripts/fontawesome.js",)
SEARCH = ("_static/searchtools.js", "_static/language_data.js", "searchindex.js")
# What a page must hold for a script to have work in it.
COPIES = re.compile(r'<div class="highlight')
FOLDS = re.compile(
    r'class="(?:[^"]* )?(?:toggle|admonition[^"]* dropdown|dropdown[^"]* admonition)\b'
)
TABS = re.compile(r"\bsd-tab-label\b")
WORK = {
    "_static/clipboard.min.js": COPIES,
    "_static/copybutton.js": COPIES,
    "_static/togglebutton.js": FOLDS,
    "_static/design-tabs.js": TABS,
}
# The theme's own, in their order.
FIRST_USE = (
    "_static/scripts/sphinx-book-theme.js",
    "_static/scripts/bootstrap.js",
    "_static/scripts/pydata-sphinx-theme.js",
)
# Settings that the inline scripts behind it write into: those run at once, so it must be there.
OPTIONS = "_static/documentation_options.js"
# The theme's script reads the reader's choice when it comes. Until then a page that follows the
# system's setting would be white in the dark, or as the system was when the reader was last here.
THEME_AT_ONCE = (
    'if (document.documentElement.dataset.mode === "auto") document.documentElement.dataset.theme'
    ' = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";'
)
THEME = 'document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";'
# The theme asks every code block whether it scrolls, to make it a stop of the Tab key. Asking one
# that is not laid out yet lays it out, and so the whole page: let each be a stop until it is near
# or unfolded, and ask then.
PARTS = "scripts/pydata-sphinx-theme.js"
NEAR_PARTS = "scripts/pydata-sphinx-theme.near.js"
ASK = ".forEach(e=>{e.tabIndex=e.scrollWidth"
ASK_NEAR = (
    ".forEach(e=>{e.tabIndex=!(e.checkVisibility?.({contentVisibilityAuto:!0})??!0)||e.scrollWidth"
)
WHEN = 'window.addEventListener("resize",t),new MutationObserver(t)'
WHEN_NEAR = (
    '["contentvisibilityautostatechange","click"]'
    f".forEach(n=>document.addEventListener(n,t)),{WHEN}"
)


def existing(paths: Iterable[Path]) -> list[Path]:
    """A page that an earlier build left may name files that are gone; it must not stop this one."""
    return [path for path in (each.resolve() for each in paths) if path.exists()]


def scripts_of(html: str, page: Path) -> list[Path]:
    """The scripts that a page loads, soon or when it is used."""
    later = " ".join(WAITING.findall(html)).split()
    sources = [found[2] for found in SCRIPT.finditer(html)] + later
    return existing(page.parent / source.partition("?")[0] for source in sources)


def inline_scripts(html: str) -> list[str]:
    return re.findall(r"<script\b(?![^>]*\bsrc=)[^>]*>(.*?)</script>", html, re.DOTALL)


def ask_when_near(static: Path) -> None:
    """Write the theme's script that asks code blocks when they are near, if they are asked at all.

    A theme that asks in another way keeps its script: a page then costs more, and works.
    """
    script = (static / PARTS).read_text("utf-8") if (static / PARTS).exists() else ""
    if script.count(ASK) == script.count(WHEN) == 1:
        near = script.replace(ASK, ASK_NEAR).replace(WHEN, WHEN_NEAR)
        (static / NEAR_PARTS).write_text(near, "utf-8")
    else:
        (static / NEAR_PARTS).unlink(missing_ok=True)


def near_parts(address: str, static: Path) -> str:
    """The address of the theme's script, or of the one in its place where there is one."""
    address = address.replace(NEAR_PARTS, PARTS)
    return address.replace(PARTS, NEAR_PARTS) if (static / NEAR_PARTS).exists() else address


def at_first_use(html: str, addresses: list[str]) -> str:
    """The page with the little program that loads these scripts with the reader's first move."""
    program = FIRST_USE_PROGRAM.read_text("utf-8")
    tag = f'<script data-waits="{" ".join(addresses)}">\n{program}</script>\n'
    head, end, tail = WAITING.sub("", html).rpartition("</body>")
    return head + tag + end + tail


def waiting_scripts(html: str, static: Path, is_search: bool) -> str:
    """Scripts in their order, after the page is read; those without use are left out."""
    later = [each for found in WAITING.findall(html) for each in found.split()]

    def waiting(found: re.Match[str]) -> str:
        before, source, after = found.groups()
        address = source.partition("?")[0]
        if address.endswith(UNUSED) or (not is_search and address.endswith(SEARCH)):
            return ""
        if any(address.endswith(name) and not work.search(html) for name, work in WORK.items()):
            return ""
        if address.endswith(OPTIONS):
            return f"<script>{(static / Path(OPTIONS).name).read_text('utf-8')}</script>"
        if address.endswith(FIRST_USE):
            later.append(source)
            return ""
        defer = "" if "defer" in before + after else " defer"
        return f'<script{defer}{before.rstrip()} src="{source}"{after}></script>'

    html = re.sub(r'<link rel="preload" as="script"[^>]*>\n?', "", html)
    if THEME_AT_ONCE not in html:
        html = html.replace(THEME, f"{THEME}\n    {THEME_AT_ONCE}")
    html = SCRIPT.sub(waiting, html)
    return at_first_use(html, [near_parts(each, static) for each in later]) if later else html
