"""Render maths with KaTeX while the book is built, so that a page needs no script for it.

One Node process answers a line of JSON with a line of JSON. TeX that KaTeX refuses is a Sphinx
warning at its place in the source. sphinxcontrib-katex does nearly this, but talks over a socket
that is sometimes not yet open, and turns bad TeX into red text that no build notices.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

ROOT = Path(__file__).resolve().parents[2]
KATEX = ROOT / "node_modules" / "katex" / "dist"
LOG = logging.getLogger(__name__)
SERVER = """
const katex = require(process.argv[1]);
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
  const {tex, display} = JSON.parse(line);
  let answer;
  try {
    const options = {displayMode: display, throwOnError: true, strict: "error"};
    answer = {html: katex.renderToString(tex, options)};
  } catch (error) { answer = {error: String(error.message)}; }
  process.stdout.write(JSON.stringify(answer) + "\\n");
});
"""


class Katex:
    """A Node process that stays for the whole build, started when the first formula comes."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.known: dict[tuple[str, bool], dict[str, str]] = {}

    def start(self) -> subprocess.Popen[str]:
        node = shutil.which("node")
        if node is None or not KATEX.is_dir():
            raise ExtensionError("maths needs node and node_modules/katex: run `make setup`")
        return subprocess.Popen(
            [node, "-e", SERVER, str(KATEX / "katex.js")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def render(self, tex: str, display: bool) -> dict[str, str]:
        """{"html": ...}, or {"error": ...} when KaTeX refuses the TeX."""
        if (tex, display) not in self.known:
            self.process = self.process or self.start()
            assert self.process.stdin
            assert self.process.stdout
            self.process.stdin.write(json.dumps({"tex": tex, "display": display}) + "\n")
            self.process.stdin.flush()
            self.known[tex, display] = json.loads(self.process.stdout.readline())
        return self.known[tex, display]

    def stop(self, *_: Any) -> None:
        if self.process:
            self.process.communicate()  # closes its input, which ends it
            self.process = None


KATEX_SERVER = Katex()


class KeepPunctuation(SphinxPostTransform):
    """Hold a formula and the comma or full stop behind it on one line."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_: Any) -> None:
        for formula in list(self.document.findall(nodes.math)):
            after = formula.next_node(descend=False, siblings=True)
            if not isinstance(after, nodes.Text):
                continue
            rest = after.lstrip(".,;:?!)’”")
            tail = after[: len(after) - len(rest)]
            if tail:
                after.parent.replace(after, nodes.Text(rest))
                together = nodes.inline(classes=["math-and-tail"])
                formula.replace_self(together)
                together += [formula, nodes.Text(tail)]


def html(node: nodes.Element, display: bool) -> str:
    answer = KATEX_SERVER.render(node.astext(), display)
    if "error" in answer:
        LOG.warning("KaTeX: %s", answer["error"], location=node, type="maths", subtype="tex")
    return answer.get("html", node.astext())


def visit_math(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<span class="math">{html(node, display=False)}</span>')
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.Element) -> None:
    # tabindex: a formula wider than the screen scrolls, and a keyboard must be able to scroll it.
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(
        f'<div class="math-scroll" tabindex="0" role="group" aria-label="Formula">'
        f"{html(node, display=True)}</div></div>"
    )
    raise nodes.SkipNode


def copy_assets(app: Any, _error: Exception | None) -> None:
    """The style sheet and the fonts it names, with text shown at once in a fallback font."""
    if app.builder.format != "html":
        return
    target = Path(app.outdir) / "katex"
    shutil.copytree(
        KATEX / "fonts",
        target / "fonts",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("*.ttf", "*.woff"),
    )
    css = (KATEX / "katex.min.css").read_text("utf-8")
    css = css.replace("@font-face{", "@font-face{font-display:swap;")
    (target / "katex.min.css").write_text(css, "utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("katex", (visit_math, None), (visit_math_block, None))
    app.add_css_file("../katex/katex.min.css")
    app.add_post_transform(KeepPunctuation)
    app.connect("build-finished", copy_assets)
    app.connect("build-finished", KATEX_SERVER.stop)
    # One Node process per worker would be started by a parallel write; this book is small.
    return {"parallel_read_safe": True, "parallel_write_safe": False}
