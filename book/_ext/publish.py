"""What the published site has beside the text: colours, buttons, and mended markup.

The colours come from rope_lib.colours, so that prose, formulas, plots and figures share one table.
The buttons need the repository's public address. One setting of _config.yml, `rope_repository`,
holds it; while it is empty no button appears, so that no reader meets a dead link.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from rope_lib.colours import COLOURS, css_variables
from sphinx.transforms.post_transforms import SphinxPostTransform

COLOUR_SHEET = "rope-colours.css"


def colour_sheet() -> str:
    r"""CSS variables, and a rule that lets a formula's fixed colour follow the theme.

    Formulas write the light shade (`\color{#...}`), which JupyterLab shows as it is.
    """
    rules = [
        f'.katex [style*="{shades["light"]}"] {{ color: var(--rope-{name}) !important; }}'
        for name, shades in COLOURS.items()
    ]
    return css_variables() + "\n".join(rules) + "\n"


def buttons(repository: str) -> dict[str, Any]:
    """Theme options for a repository address; none for an empty one."""
    if not repository:
        return {}
    return {
        "repository_url": repository,
        "repository_branch": "main",
        "path_to_docs": "",
        "use_repository_button": True,
        "use_source_button": True,
        "use_edit_page_button": True,
        "use_issues_button": True,
        "launch_buttons": {
            "colab_url": "https://colab.research.google.com",
            "binderhub_url": "https://mybinder.org",
            "notebook_interface": "jupyterlab",
        },
    }


# The theme's and the bibliography's markup where a screen reader is told something untrue, and what
# stands there instead. Each pair says what is wrong.
MENDED = {
    # The logo stands outside every landmark.
    '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar">': (
        '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar"'
        ' role="navigation" aria-label="Book">'
    ),
    # A role that ARIA has withdrawn, and a list whose children are no list items.
    ' role="doc-biblioentry"': "",
    '<div role="list" class="citation-list">': '<div class="citation-list">',
}


def mend(app: Any, error: Exception | None) -> None:
    """Replace the markup named in MENDED in every page."""
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        before = page.read_text("utf-8")
        after = before
        for wrong, right in MENDED.items():
            after = after.replace(wrong, right)
        if after != before:
            page.write_text(after, "utf-8")


# A page opened from a folder may not read its neighbours, which is how the search page makes its
# excerpts; without this it lists the pages that it found and fills the console with errors.
SEARCH_FROM_A_FOLDER = (
    'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
)


def write_colours(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / COLOUR_SHEET).write_text(colour_sheet(), "utf-8")


class KeepNumbers(SphinxPostTransform):
    """Hold 10 000 and 35 % on one line, by a narrow space that does not break."""

    default_priority = 900
    formats = ("html",)
    GAP = re.compile(r"(?<=\d) (?=\d{3}(?!\d)|%)")
    AS_WRITTEN = (nodes.literal, nodes.FixedTextElement, nodes.math, nodes.raw)

    def run(self, **_: Any) -> None:
        for text in list(self.document.findall(nodes.Text)):
            kept = self.GAP.sub("\u202f", text)
            if kept != text and not isinstance(text.parent, self.AS_WRITTEN):
                text.parent.replace(text, nodes.Text(kept))


def setup(app: Any) -> dict[str, bool]:
    app.add_config_value("rope_repository", "", "env", str)
    app.connect(
        "config-inited",
        lambda _app, config: config.html_theme_options.update(buttons(config.rope_repository)),
        priority=100,
    )
    app.add_css_file(f"../{COLOUR_SHEET}")
    app.add_post_transform(KeepNumbers)
    app.add_js_file(None, body=SEARCH_FROM_A_FOLDER)
    app.connect("build-finished", write_colours)
    app.connect("build-finished", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
