"""What a config.json says about its rotary embedding, read in the browser as in RopeConfig."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, ClassVar

import traitlets

from rope_lib._parameters import show
from rope_lib.config import RopeConfig, RopeConfigError
from rope_lib.config._defaults import FULL, SLIDING, UNKNOWN, ModelDefaults, Nope
from rope_lib.config._huggingface import LENGTHS, PARAMETERS
from rope_lib.config._layer import GLOBAL_THETAS, LOCAL_THETAS
from rope_lib.config._models import MODELS as DEFAULTS
from rope_lib.config._models import TEXT_MODELS
from rope_lib.figures.base import Figure
from rope_lib.figures.models import MODELS, stanzas
from rope_lib.figures.traits import Text, Whole
from rope_lib.report import LAYOUT_KNOWN, LAYOUT_UNKNOWN
from rope_lib.scaling import ROPE_TYPE_ALIASES, SCALINGS, keyword_defaults, keywords


def as_text(stanza: Mapping[str, Any]) -> str:
    """Return a stanza as the text of a file."""
    return json.dumps(stanza, indent=2)


def read_text(text: str, layer_type: str = "") -> RopeConfig:
    """Return what RopeConfig.from_hf makes of the text of a file.

    Raises:
        RopeConfigError: as from_hf.
        ValueError: the text is not JSON.
    """
    file = json.loads(text)
    if isinstance(file, str):  # from_hf would take it for a path
        raise RopeConfigError(f"config must be a dictionary of fields, got {show(file)}")
    return RopeConfig.from_hf(file, layer_type=layer_type or None)


class ConfigReader(Figure):
    """A config.json in a text field, and what RopeConfig.from_hf says of it, read in the browser.

    ``text`` is the file's content, ``layer_type`` what from_hf takes ("" where it is None), and
    ``seq_len`` the present length, on which dynamic and longrope depend (0: at most the original).
    The drop-down of the figure offers ``presets``: the stanzas of real models, as texts.

    ``readout`` names: ``refused`` (1 where the text is refused, else 0) and, where it is not,
    ``head_dim``, ``rotary_dim``, ``pairs``, ``base``, ``max_positions``,
    ``original_max_positions``, ``full_turns``, ``full_turns_scaled``, ``kept``, ``blended``,
    ``divided``, ``attention_factor``, ``softmax_multiplier`` and ``warnings`` (their number); a
    name is absent where the file gives it no number.

    Source: rope_lib.RopeConfig; ``config()`` is what it makes of the text.
    """

    parts: ClassVar[tuple[str, ...]] = (
        "chart.js",
        "python_values.js",
        "config_json.js",
        "config_scaling.js",
        "config_fields.js",
        "config_heads.js",
        "config_layer.js",
        "config_file.js",
        "config_report.js",
        "config_picture.js",
    )

    text = Text(as_text(MODELS["Llama-3.1-8B"]))
    layer_type = Text("")
    seq_len = Whole(0, 0, 100_000_000)
    presets = traitlets.Dict(key_trait=traitlets.Unicode()).tag(sync=True)
    # JSON in a text: the browser would make 10000 of a 10000.0 in a trait, and say so.
    rules = traitlets.Unicode().tag(sync=True)

    def __init__(self, text: str | Mapping[str, Any] | None = None, **traits: Any) -> None:
        if text is not None:
            traits["text"] = as_text(text) if isinstance(text, Mapping) else text
        super().__init__(**traits)

    @classmethod
    def of(cls, model: str) -> ConfigReader:
        """Return a reader that starts with the stanza of that name.

        Raises:
            ValueError: no stanza has that name.
        """
        known = stanzas()
        if model not in known:
            raise ValueError(f"model must be one of {', '.join(known)}, got {model!r}")
        return cls(known[model])

    @traitlets.default("presets")
    def _write_presets(self) -> dict[str, str]:
        return {name: as_text(stanza) for name, stanza in stanzas().items()}

    @traitlets.default("rules")
    def _write_rules(self) -> str:
        return json.dumps(rules(), separators=(",", ":"))

    def config(self) -> RopeConfig:
        """Return what RopeConfig.from_hf makes of the text, now.

        Raises:
            RopeConfigError: as from_hf.
            ValueError: the text is not JSON.
        """
        return read_text(self.text, self.layer_type)

    def _shown(self, name: str) -> str:
        return f"<{len(self.text)} characters>" if name == "text" else super()._shown(name)


def rules() -> dict[str, Any]:
    """Return what the reader in the browser needs to know of rope_lib.config and its tables."""
    return {
        "models": {name: _row(defaults) for name, defaults in DEFAULTS.items()},
        "text_models": dict(TEXT_MODELS),
        "unknown": asdict(UNKNOWN),
        "nope": asdict(Nope("no_rope_layer_interval")),
        "full": FULL,
        "sliding": SLIDING,
        "lengths": LENGTHS,
        "parameters": sorted(PARAMETERS),
        "global_thetas": GLOBAL_THETAS,
        "local_thetas": LOCAL_THETAS,
        "aliases": dict(ROPE_TYPE_ALIASES),
        "scalings": {name: keyword_defaults(name) for name in SCALINGS},
        "layout_caveats": [LAYOUT_UNKNOWN, LAYOUT_KNOWN],
        "required": {
            name: [keyword for keyword, is_required in keywords(name).items() if is_required]
            for name in SCALINGS
        },
    }


def _row(defaults: ModelDefaults) -> dict[str, Any]:
    """What a row says that an unknown model_type does not have."""
    return {
        field.name: asdict(value) if isinstance(value, Nope) else value
        for field in fields(defaults)
        if (value := getattr(defaults, field.name)) != getattr(UNKNOWN, field.name)
    }
