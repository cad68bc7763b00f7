"""The widget state of one notebook, cut down to what one page shows.

A notebook saves every widget of its kernel: each slider's layout and style, each instance's copy of
the same JavaScript. A page needs the models that its views reach, and each text once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

REFERENCE = "IPY_MODEL_"
LINKS = ("LinkModel", "DirectionalLinkModel")
# Widgets of a widget, which carry its look: the page writes a layout's CSS into the widget itself.
LOOKS = ("LayoutModel", "StyleModel")
# What only a kernel or JupyterLab reads.
UNUSED_TRAITS = {
    "_model_module", "_model_module_version", "_model_name", "_view_count", "_view_module",
    "_view_module_version", "_view_name", "description_allow_html", "layout", "tabbable",
}  # fmt: skip
# ... and these where they are empty.
OPTIONAL_TRAITS = {"_dom_classes", "tooltip"}
# Two texts that begin alike for less than this are kept whole.
SHARED_MINIMUM = 256

Models = dict[str, dict[str, Any]]


@dataclass
class PageState:
    """What one page stores of its notebook's widgets."""

    models: dict[str, Any] = field(default_factory=dict)  # name on the page -> name, state, buffers
    texts: list[str] = field(default_factory=list)  # pieces of JavaScript, each once
    names: dict[str, str] = field(default_factory=dict)  # model id -> name on the page
    css: str = ""  # the figures' stylesheets, each once
    loose_links: int = 0  # links to a layout or a style, which the page has not


def references(value: Any) -> Iterator[str]:
    """Ids of the models that a trait's value names, at any depth."""
    if isinstance(value, str):
        if value.startswith(REFERENCE):
            yield value.removeprefix(REFERENCE)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from references(item)


def used_traits(model: dict[str, Any], models: Models) -> dict[str, Any]:
    """A model's traits without those that no page needs, its layout written out."""
    state = model["state"]
    unused = UNUSED_TRAITS | {name for name in OPTIONAL_TRAITS if not state.get(name)}
    if any(references(state.get("style"))):  # a figure may have a trait of this name
        unused.add("style")
    traits = {name: value for name, value in state.items() if name not in unused}
    for key in references(state.get("layout")):
        layout = models.get(key, {}).get("state", {})
        css = {k: v for k, v in layout.items() if not k.startswith("_") and v is not None}
        if css:
            traits["layout"] = css
    return traits


def find_links(models: Models) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The links between widgets, and those with a layout or a style at one end: id -> both ends."""
    tied: dict[str, list[str]] = {}
    loose: dict[str, list[str]] = {}
    for key, model in models.items():
        if model["model_name"] in LINKS:
            ends = [end for end in references(model["state"]) if end in models]
            looks = any(models[end]["model_name"].endswith(LOOKS) for end in ends)
            (loose if looks or len(ends) < 2 else tied)[key] = ends
    return tied, loose


def reachable(models: Models, roots: list[str], links: dict[str, list[str]]) -> list[str]:
    """Ids of what the roots show and of what a link ties to it, in the order they are met."""
    found: dict[str, None] = {}
    queue = [root for root in roots if root in models]
    while queue:
        key = queue.pop(0)
        if key in found:
            continue
        found[key] = None
        queue += [k for k in references(used_traits(models[key], models)) if k in models]
        queue += sorted(end for ends in links.values() if key in ends for end in ends)
    return list(found)


def common_beginning(a: str, b: str) -> str:
    """The longest text with which both begin."""
    differ = (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return a[: next(differ, min(len(a), len(b)))]


def split_texts(texts: list[str]) -> tuple[list[str], dict[str, list[int]]]:
    """Store each text once, and once the beginning that several of them share.

    Returns the pieces, and for each text the indices of the pieces that make it up.
    """
    ordered = sorted(set(texts))
    beginnings = [common_beginning(a, b) for a, b in itertools.pairwise(ordered)]
    shared = [text for text in beginnings if len(text) >= SHARED_MINIMUM]
    pieces: dict[str, int] = {}
    recipe = {}
    for text in ordered:
        # The shortest is the one that every relative has in common.
        base = min((b for b in shared if text.startswith(b)), key=len, default="")
        parts = [part for part in (base, text.removeprefix(base)) if part]
        recipe[text] = [pieces.setdefault(part, len(pieces)) for part in parts]
    return list(pieces), recipe


def rename(value: Any, names: dict[str, str]) -> Any:
    """The value with each reference to a model given that model's name on the page."""
    if isinstance(value, str) and value.startswith(REFERENCE):
        key = value.removeprefix(REFERENCE)
        return REFERENCE + names.get(key, key)
    if isinstance(value, dict):
        return {k: rename(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [rename(item, names) for item in value]
    return value


def page_state(models: Models, roots: list[str]) -> PageState:
    """What a page that shows the views of ``roots`` stores.

    Names count from w0 in reading order, so that a rebuild writes the same page: a kernel gives
    its widgets new random ids on each run.
    """
    tied, loose = find_links(models)
    keys = reachable(models, roots, tied)
    names = {key: f"w{count}" for count, key in enumerate(keys)}
    links = [key for key, ends in tied.items() if ends[0] in names]
    links.sort(key=lambda key: str(rename(models[key]["state"], names)))
    names |= {key: f"w{count}" for count, key in enumerate(links, len(keys))}

    sources = [models[key]["state"]["_esm"] for key in keys if "_esm" in models[key]["state"]]
    texts, recipe = split_texts(sources)
    page = PageState(texts=texts, names=names)
    sheets: dict[str, None] = {}
    for key, name in names.items():
        traits = used_traits(models[key], models)
        if css := traits.pop("_css", ""):
            sheets[css] = None
        if "_esm" in traits:
            traits["_esm"] = recipe[traits["_esm"]]
        page.models[name] = {"name": models[key]["model_name"], "state": rename(traits, names)}
        if buffers := models[key].get("buffers"):
            page.models[name]["buffers"] = buffers
    page.css = "\n".join(sheets)
    page.loose_links = sum(any(end in names for end in ends) for ends in loose.values())
    return page
