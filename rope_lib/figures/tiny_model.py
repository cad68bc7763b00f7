"""A small language model that runs in the page, with every part of its rotation to turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.resources import files
from typing import Any, ClassVar

import traitlets

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Choice, Text, Whole, Within, finite_number

FILE = "tiny_lm.gguf"
HEAD_DIM, LAYERS, HEADS, TRAINED = 32, 4, 4, 256
PAIRS = HEAD_DIM // 2
SCALINGS = ["default", "linear", "ntk", "yarn"]
KNOBS = ["layout", "base", "stretch", "shift", "bfloat16", "scaling", "pairs", "layers"]
VIEWS = ["writing", "passage", "curve", "attention"]
PARTS = [*KNOBS, "length", *VIEWS, "share"]
PROMPTS = [
    "def __init__(self",
    "import numpy as np\n\n\ndef ",
    "for i in range(",
    "class Rotary",
    "    if not isinstance(",
]
CHAPTERS = {
    "layout": "book/model/layouts",
    "base": "book/context/base",
    "stretch": "book/context/stretching",
    "shift": "book/plane/conjugate-product",
    "bfloat16": "book/model/precision",
    "scaling": "book/context/stretching",
    "pairs": "book/beyond/partial",
    "layers": "book/beyond/partial",
    "length": "book/context/past-the-length",
}
"""Knob -> the page about it, from the folder of the published book."""

SNIPPET = '''\
class Shelf:
    """Boxes on a shelf, each with a name and a number of apples."""

    def __init__(self, boxes=None):
        self.boxes = dict(boxes or {})

    def add(self, name, count=1):
        """Put apples into a box; make the box if there is none."""
        if count < 0:
            raise ValueError(f"count must be at least 0, got {count}")
        self.boxes[name] = self.boxes.get(name, 0) + count
        return self.boxes[name]

    def take(self, name, count=1):
        if name not in self.boxes:
            raise KeyError(name)
        if self.boxes[name] < count:
            raise ValueError(f"{name} has only {self.boxes[name]}, not {count}")
        self.boxes[name] -= count
        return self.boxes[name]

    def __len__(self):
        return len(self.boxes)

    def __iter__(self):
        return iter(sorted(self.boxes))

    def total(self):
        return sum(self.boxes.values())


def merge(first, second):
    """A new shelf with the apples of both."""
    result = Shelf(first.boxes)
    for name in second:
        result.add(name, second.boxes[name])
    return result


def report(shelf):
    lines = []
    for name in shelf:
        lines.append(f"{name}: {shelf.boxes[name]}")
    return "\\n".join(lines)
'''


class Indices(traitlets.TraitType[Any, Any]):
    """A synced list of different whole numbers below ``count``, in order."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.tag(sync=True, input=True)

    def make_dynamic_default(self) -> list[int]:
        return []

    def validate(self, obj: Any, value: Any) -> list[int]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise TypeError(f"{self.name} must be a list of numbers, got {value!r}")
        found = set()
        for each in value:
            number = finite_number(str(self.name), each)
            if number != int(number) or not 0 <= number < self.count:
                rule = f"whole numbers from 0 to {self.count - 1}"
                raise ValueError(f"{self.name} must hold {rule}, got {number}")
            found.add(int(number))
        return sorted(found)


class Shown(traitlets.TraitType[Any, Any]):
    """A synced list of names of PARTS, in their order; without a view, writing and passage show."""

    def __init__(self) -> None:
        super().__init__()
        self.tag(sync=True, input=True)

    def make_dynamic_default(self) -> list[str]:
        return list(PARTS)

    def validate(self, obj: Any, value: Any) -> list[str]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise TypeError(f"{self.name} must be a list of names, got {value!r}")
        names = list(value)
        for each in names:
            if each not in PARTS:
                known = ", ".join(map(repr, PARTS))
                raise ValueError(f"{self.name} must hold names of {known}, got {each!r}")
        if not set(VIEWS) & set(names):
            names += ["writing", "passage"]
        return [name for name in PARTS if name in names]


class TinyModel(Figure):
    """A Llama of 4 layers, trained on Python source, alive in the page: turn its rotation.

    The model is ``rope_lib/tiny_lm.gguf`` (``rope_lib.model.load_tiny_lm``): heads of 32 channels,
    base 10000, interleaved, trained on 256 tokens at a time. It is asked for when a hand first
    turns a knob or asks for text, or at once where ``awake`` is True.

    A token counted m stands at ``stretch`` · m + ``shift`` (float32, or rounded to bfloat16 where
    ``bfloat16``). ``scaling`` is "default", "linear" (PI), "ntk" or "yarn", by ``factor`` from 256
    tokens. The pairs in ``pairs_off`` and the layers in ``layers_off`` do not rotate.

    The model goes on from ``prompt`` for ``count`` tokens (the likeliest each time where
    ``temperature`` is 0; else drawn, from ``seed``), and reads the first ``length`` tokens of
    ``passage``, or of a text of the figure's own where that is empty; ``text`` is what it reads.
    ``layer`` and ``head`` choose the attention shown. ``shown`` names the knobs and views that
    appear: "layout", "base", "stretch", "shift", "bfloat16", "scaling", "pairs", "layers",
    "length", "writing", "passage", "curve", "attention" and "share" (reset, and a link).

    The browser writes ``losses`` back (-ln p of each token read but the first, in nats) and
    ``right_losses``, those of the model as it was trained; both are empty while it computes.
    ``readout`` names: ``loss`` (their mean), ``perplexity``, ``right_loss``, ``right_perplexity``,
    ``ratio`` (of the perplexities) and ``largest_change`` (of a loss, in nats); past 256 tokens
    also ``perplexity_to`` (the first 256), ``perplexity_past`` (the others) and these two with
    ``right_`` before them; empty until there are losses. ``keywords()`` are those that turn the
    same model in PyTorch.
    """

    parts: ClassVar[tuple[str, ...]] = (
        "chart.js",
        "formats.js",
        "scaled_frequencies.js",
        "share.js",
        "knobs.js",
        "tiny_tables.js",
        "tiny_runner.js",
        "tiny_knobs.js",
        "tiny_views.js",
        "tiny_attention.js",
        "tiny_questions.js",
        "tiny_panel.js",
    )
    worker: ClassVar[tuple[str, ...]] = (
        *("tiny_gguf.js", "tiny_tokenizer.js", "tiny_engine.js", "tiny_worker.js"),
    )

    channel_layout = Choice(["interleaved", "half"], "interleaved")
    base = Whole(10_000, 2, 10_000_000)
    stretch = Within(1, 0.05, 4)
    shift = Whole(0, 0, 10_000)
    bfloat16 = traitlets.Bool(False).tag(sync=True, input=True)
    scaling = Choice(SCALINGS, "default")
    factor = Within(4, 1, 16)
    pairs_off = Indices(PAIRS)
    layers_off = Indices(LAYERS)
    length = Whole(256, 32, 1024)
    prompt = Text(PROMPTS[0])
    count = Whole(60, 1, 200)
    temperature = Within(0, 0, 2)
    seed = Whole(1, 1, 9999)
    layer = Whole(2, 0, LAYERS - 1)
    head = Whole(0, 0, HEADS - 1)
    passage = Text("")
    shown = Shown()

    awake = traitlets.Bool(False).tag(sync=True)
    losses = traitlets.List(traitlets.Float()).tag(sync=True)
    right_losses = traitlets.List(traitlets.Float()).tag(sync=True)
    rules = traitlets.Dict().tag(sync=True)  # ranges and sizes, for the browser
    start = traitlets.Dict().tag(sync=True)  # where a reset leads
    package_file = traitlets.Unicode(FILE).tag(sync=True)  # what a page must have beside it

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.start = {name: getattr(self, name) for name in _ranges()}
        self.on_msg(self._answer)

    @traitlets.default("rules")
    def _write_rules(self) -> dict[str, Any]:
        sizes = {"head_dim": HEAD_DIM, "layers": LAYERS, "heads": HEADS, "trained": TRAINED}
        known = {"prompts": PROMPTS, "chapters": CHAPTERS, "snippet": SNIPPET}
        return {"inputs": _ranges(), **sizes, **known}

    @property
    def text(self) -> str:
        """The passage that the model reads, or the text of the figure where there is none."""
        return self.passage or SNIPPET

    def keywords(self) -> dict[str, Any]:
        """Return the keywords that turn ``rope_lib.model.Llama`` as the knobs stand now."""
        return {
            "layout": self.channel_layout,
            "base": self.base,
            "scaling": self._scaling_parameters(),
            "positions": places(self.stretch, self.shift, self.bfloat16),
            "rotate_pairs": [j for j in range(PAIRS) if j not in self.pairs_off],
            "rotate_layers": [layer for layer in range(LAYERS) if layer not in self.layers_off],
        }

    def _scaling_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"rope_type": self.scaling}
        if self.scaling != "default":
            parameters["factor"] = self.factor
        if self.scaling == "yarn":
            parameters["original_max_position_embeddings"] = TRAINED
        return parameters

    def _answer(self, _: Any, content: Any, buffers: Any) -> None:
        """Send the model's file to a browser that asks for it."""
        if not isinstance(content, dict) or content.get("file") != FILE:
            return
        try:
            data = files("rope_lib").joinpath(FILE).read_bytes()
        except OSError as error:
            self.send({"file": FILE, "error": str(error)})
        else:
            self.send({"file": FILE}, [data])

    def __repr__(self) -> str:
        """What differs from the defaults."""
        standard = {name: trait.default(self) for name, trait in self.traits(input=True).items()}
        differing = [n for n in self.input_names() if getattr(self, n) != standard[n]]
        shown = ", ".join(f"{name}={self._shown(name)}" for name in differing)
        return f"TinyModel({shown})"

    def _shown(self, name: str) -> str:
        return f"<{len(self.passage)} characters>" if name == "passage" else super()._shown(name)


def places(stretch: float, shift: int, bfloat16: bool) -> Callable[[Any], Any]:
    """Return the function from a tensor of counted positions to those that the model is given."""

    def place(counted: Any) -> Any:
        placed = (stretch * counted.double() + shift).float()
        return placed.bfloat16().float() if bfloat16 else placed

    return place


STEPS = {"stretch": 0.05, "length": 32, "temperature": 0.1}


def _ranges() -> dict[str, dict[str, Any]]:
    """What each input of the state that a link carries may be, by name."""
    traits = TinyModel.class_traits(input=True)
    found: dict[str, dict[str, Any]] = {}
    for name in TinyModel.input_names():
        trait = traits[name]
        if name in ("passage", "shown"):
            continue
        if isinstance(trait, Indices):
            found[name] = {"default": [], "below": trait.count}
        elif isinstance(trait, Choice):
            found[name] = {"default": trait.default_value, "texts": trait.texts}
        elif isinstance(trait, Whole | Within):
            least, most = trait.range
            found[name] = {"default": trait.default_value, "least": least, "most": most}
            found[name] |= {"whole": isinstance(trait, Whole)}
            found[name] |= {"step": STEPS[name]} if name in STEPS else {}
        else:
            found[name] = {"default": trait.default_value}
    return found
