"""What search engines and chats show of a page: a description, a title, and a picture (a card).

A page says what it teaches in its first bullets; those are its description. Front matter
(`myst: html_meta: description: ...`) says it better where somebody wrote it. Cards are drawn while
the book is built, one a title, and kept as long as neither title nor drawing changes.

Whoever fetches a card needs its whole address: `html: baseurl` of _config.yml, or the variable
ROPE_BASE_URL where the place is known only when the book is published. Without one the address is
relative, which some readers of cards follow and others do not.
"""

from __future__ import annotations

import hashlib
import html
import os
import posixpath
import re
import textwrap
from pathlib import Path
from typing import Any

from docutils import nodes
from rope_lib.colours import COLOURS

BOOK = "RoPE, Turn by Turn"
OTHERWISE = (
    "{title}: a page of RoPE, Turn by Turn, an interactive book about rotary position embedding."
)
LENGTH = 200
PROMISE = "You will be able to"
SIZE = (1200, 630)


def plain(node: nodes.Node) -> str | None:
    """The text of a paragraph or list item; None where it holds a formula."""
    if any(node.findall(nodes.math)):
        return None
    return " ".join(node.astext().split())


def promises(doctree: nodes.document) -> list[str]:
    """What the reader will be able to do, as the page's first list says."""
    for bullets in doctree.findall(nodes.bullet_list):
        before = bullets.parent[bullets.parent.index(bullets) - 1]
        if before.astext().startswith(PROMISE):
            texts = [plain(item) for item in bullets.children]
            return [text.rstrip(".;,") for text in texts if text]
    return []


def sentences(doctree: nodes.document) -> list[str]:
    """The sentences of the page's own first paragraph without formulas."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section) and (text := plain(paragraph)):
            return re.split(r"(?<=[.?!:])\s", text)
    return []


def fit(parts: list[str], between: str) -> str:
    """As many whole parts as LENGTH allows; at least the first, cut between words."""
    text = textwrap.shorten(parts[0], LENGTH, placeholder=" ...")
    for part in parts[1:]:
        if len(text) + len(between) + len(part) > LENGTH:
            break
        text += between + part
    return text


def description(doctree: nodes.document | None, title: str) -> str:
    """A page's description: its own, or its promises, or its first sentences."""
    if doctree is not None:
        for meta in doctree.findall(nodes.meta):
            if meta.get("name") == "description":
                return str(meta["content"])
        if bullets := promises(doctree):
            text = fit(bullets, "; ")
            return text[0].upper() + text[1:] + ("" if text.endswith("...") else ".")
        if first := sentences(doctree):
            return fit(first, " ")
    return OTHERWISE.format(title=title)


def draw_card(title: str, target: Path) -> None:
    """A picture of SIZE pixels: the book's dial with two hands, and the title."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Arc, Circle

    colours = {name: shades["light"] for name, shades in COLOURS.items()}
    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=colours["ground"])
    axes = figure.add_axes((0.04, 0.14, 0.378, 0.72))
    axes.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    axes.axis("off")
    axes.add_patch(Circle((0, 0), 1, fill=False, color=colours["muted"], linewidth=6))
    axes.add_patch(Arc((0, 0), 1, 1, theta1=0, theta2=60, color=colours["angle"], linewidth=9))
    for name, end in (("k", (0.8, 0)), ("q", (0.4, 0.69))):
        axes.plot((0, end[0]), (0, end[1]), color=colours[name], linewidth=12,
                  solid_capstyle="round")  # fmt: skip
    lines = textwrap.wrap(title, 20)
    size = 42 if len(lines) <= 3 else 34
    figure.text(0.46, 0.56, "\n".join(lines), size=size, color=colours["ink"], va="center",
                weight="bold", parse_math=False)  # fmt: skip
    figure.text(0.46, 0.15, BOOK, size=24, color=colours["muted"], va="center")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target)


def card(title: str, outdir: Path) -> str:
    """The card's path within the site; drawn unless this title has it."""
    drawing = Path(__file__).read_bytes() + title.encode()
    name = f"cards/{hashlib.sha256(drawing).hexdigest()[:16]}.png"
    if not (outdir / name).exists():
        draw_card(title, outdir / name)
    return name


def tags(title: str, text: str, picture: str, address: str) -> str:
    """The page's meta elements."""
    named = {"description": text, "twitter:card": "summary_large_image"}
    properties = {
        "og:type": "article",
        "og:site_name": BOOK,
        "og:title": title,
        "og:description": text,
        "og:image": picture,
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
        "og:image:alt": f"A dial with two hands, and the words: {title}",
    } | ({"og:url": address} if address else {})
    pairs = [("name", *pair) for pair in named.items()]
    pairs += [("property", *pair) for pair in properties.items()]
    return "\n".join(
        f'<meta {kind}="{key}" content="{html.escape(value)}"/>' for kind, key, value in pairs
    )


def share(app: Any, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page its meta elements, and the site the page's card."""
    if app.builder.format != "html":
        return
    markup = re.sub(r"<[^>]+>", "", context.get("title", BOOK))
    title = html.unescape(markup) or BOOK
    picture = card(title, Path(app.outdir))
    base = app.config.html_baseurl
    here = posixpath.dirname(pagename)
    picture = posixpath.join(base, picture) if base else posixpath.relpath(picture, here or ".")
    address = posixpath.join(base, f"{pagename}.html") if base else ""
    own = description(doctree, title)
    metatags = re.sub(r'<meta[^>]* name="description"[^>]*>', "", context.get("metatags", ""))
    context["metatags"] = metatags + tags(title, own, picture, address)


def know_the_place(_app: Any, config: Any) -> None:
    config.html_baseurl = config.html_baseurl or os.environ.get("ROPE_BASE_URL", "")


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", know_the_place, priority=100)
    app.connect("html-page-context", share)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
