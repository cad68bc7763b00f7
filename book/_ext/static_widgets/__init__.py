"""Sphinx extension: ipywidgets and anywidget figures that live in the page, without a kernel.

MyST-NB writes a script tag for each widget view, the notebook's saved widget state, and the address
of a widget manager on a public network. On each page that shows a widget this extension writes
instead: the state cut down to what the page shows (state.py), one element for each view that holds
its picture (stills.py), and the small scripts that make it move (widget-*.js). A figure with the
trait ``package_file`` may ask for that file of its package: it is written beside them as a script.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

from .state import Models, PageState, page_state
from .stills import StillsError, draw

HERE = Path(__file__).parent
SCRIPTS = ("widget-controls.js", "widget-loader.js")  # in the order in which they run
STYLESHEET = "static-widgets.css"
STATE_TYPE = "application/vnd.jupyter.widget-state+json"
VIEW = re.compile(
    r'<script type="application/vnd\.jupyter\.widget-view\+json">(.*?)</script>', re.DOTALL
)
NO_SCRIPT = "Without JavaScript this picture stands still."

logger = logging.getLogger(__name__)


def own_hash() -> str:
    """Hash of this extension: Sphinx writes every page anew when it changes."""
    digest = hashlib.sha256()
    for path in sorted(p for p in HERE.iterdir() if p.is_file()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def configure(app: Sphinx, config: Config) -> None:
    """Leave out MyST-NB's scripts from a public network, and publish the loader."""
    config.nb_ipywidgets_js = {}
    config.static_widgets_hash = own_hash()
    config.html_static_path += [str(HERE / name) for name in (*SCRIPTS, STYLESHEET)]


def take_state(context: dict[str, Any]) -> Models:
    """Remove the saved state that MyST-NB gave the page, and return its models."""
    models: Models = {}
    scripts = context["script_files"]
    for script in list(scripts):
        attributes = getattr(script, "attributes", {})
        if attributes.get("type") == STATE_TYPE:
            models |= json.loads(attributes["body"])["state"]
            scripts.remove(script)  # in place: the builder adds to this very list
    return models


def as_script(page: PageState) -> str:
    """The page's state as a script tag. No text inside can close it."""
    data = {"models": page.models, "texts": page.texts}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="widget-state">{text}</script>'


def mount(name: str, picture: str = "") -> str:
    """The element in which the loader draws one view."""
    return f'<div class="static-widget" data-model="{name}">{picture}</div>'


def pictures(page: PageState, names: list[str], pagename: str) -> list[str]:
    """What the loader draws for each view; each thing that it could not draw becomes a warning."""
    try:
        drawn = draw("".join(map(mount, names)) + as_script(page))
    except StillsError as error:
        warn(pagename, "stills", f"no stills of the page's widgets: {error}")
        return [""] * len(names)
    for problem in drawn["problems"]:
        warn(pagename, problem["kind"], problem["text"])
    return list(drawn["mounts"])


def warn(pagename: str, kind: str, text: str) -> None:
    """A warning that names the page, and fails a build that fails on warnings."""
    logger.warning(text, location=pagename, type="static_widgets", subtype=kind)


def roots_of(body: str) -> list[str]:
    """Ids of the models that the page shows, in reading order."""
    return [json.loads(view)["model_id"] for view in VIEW.findall(body)]


def rewrite(body: str, models: Models, pagename: str) -> str:
    """The page's body with each view as a live element, and the state they need after it."""
    roots = roots_of(body)
    page = page_state(models, roots)
    for root in dict.fromkeys(roots):
        if root not in page.names:
            warn(pagename, "state", f"no saved state of widget {root}: run the notebook again")
    if page.loose_links:
        count = f"{page.loose_links} link{'s' * (page.loose_links > 1)}"
        warn(pagename, "unsupported", f"{count} to a layout or a style, which no page follows")
    names = [page.names.get(root, root) for root in roots]
    drawn = iter(zip(names, pictures(page, names, pagename), strict=True))
    note = f'<noscript><p class="static-widget-note">{NO_SCRIPT}</p></noscript>'
    body = VIEW.sub(lambda _: mount(*next(drawn)) + note, body)
    css = f"<style>{page.css}</style>" if page.css else ""
    return css + body + as_script(page)


def asked_files(models: Models, roots: list[str]) -> dict[str, str]:
    """The files that the page's figures may ask for: name -> the package that holds it."""
    names = page_state(models, roots).names
    shown = [model["state"] for key, model in models.items() if key in names]
    return {
        state["package_file"]: state["_anywidget_id"].partition(".")[0]
        for state in shown
        if state.get("package_file")
    }


def write_file(name: str, package: str, folder: Path) -> None:
    """Write a package's file as a script that hands its bytes to the loader.

    It is written at once, as pages may be written by several processes, and whole or not at all.
    """
    data = base64.b64encode(files(package).joinpath(name).read_bytes()).decode()
    text = f"(globalThis.staticWidgetFiles ??= {{}})[{json.dumps(name)}] = {json.dumps(data)};\n"
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{name}.{os.getpid()}.part"
    part.write_text(text, "utf-8")
    part.replace(folder / f"{name}.js")


def bring_to_life(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Rewrite a page that shows widgets, and give it the loader."""
    if app.builder.format != "html":
        return
    models = take_state(context)
    body = context.get("body", "")
    if not VIEW.search(body):
        return
    for name, package in asked_files(models, roots_of(body)).items():
        write_file(name, package, Path(app.outdir) / "_static")
    context["body"] = rewrite(body, models, pagename)
    for script in SCRIPTS:
        app.add_js_file(script, defer="defer")
    app.add_css_file(STYLESHEET)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.setup_extension("myst_nb")
    app.add_config_value("static_widgets_hash", "", "html", str)
    app.connect("config-inited", configure)
    # After MyST-NB's own handler (500), which adds the state to the page's scripts.
    app.connect("html-page-context", bring_to_life, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
