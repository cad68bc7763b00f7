"""A Hugging Face config.json, old or new: where in it the rotary fields are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rope_lib._parameters import ParameterError, ParameterTypeError, show
from rope_lib.config._defaults import FULL, SLIDING, UNKNOWN, ModelDefaults, Nope
from rope_lib.config._fields import Fields, Notes
from rope_lib.config._layer import LOCAL_THETAS, read_layer
from rope_lib.config._models import defaults_of
from rope_lib.config._rope_config import RopeConfig, the_same
from rope_lib.config._source import Source
from rope_lib.layout import Layout
from rope_lib.scaling import SCALINGS, keywords

LENGTHS = ("max_position_embeddings", "n_positions", "seq_length", "n_ctx")
MOST_LAYERS = 65_536
PARAMETERS = {
    "rope_type",
    "type",
    "rope_theta",
    "mrope_section",
    "mrope_interleaved",
    *(name for rope_type in SCALINGS for name in keywords(rope_type)),
}


def read(config: Mapping[Any, object], layer_type: str | None) -> RopeConfig:
    """The rotary embedding that a file describes, for one layer type or for all alike."""
    labels = layer_labels(config)
    if layer_type is not None:
        return _read_one(config, _known_label(config, labels, layer_type), layer_type)
    return the_same([_read_one(config, label, None) for label in labels or (None,)], labels)


def layer_labels(config: Mapping[Any, object]) -> list[str]:
    """The layer types that may have parameters of their own; empty where none can."""
    _, text, model_type = find_text(config)
    defaults = defaults_of(model_type) or UNKNOWN
    nested: dict[str, None] = {}
    for level in scaling_levels(text):
        nested.update(dict.fromkeys(nested_labels(level.values)))
    local = any(text.values.get(name) is not None for name in LOCAL_THETAS)
    return list({**nested, **dict.fromkeys((FULL, SLIDING) if local else defaults.layers)})


def nested_labels(parameters: Mapping[Any, object]) -> list[str]:
    """The keys of a rope_parameters dict that hold the parameters of one layer type."""
    return [
        key
        for key, value in parameters.items()
        if key in (FULL, SLIDING)
        or (isinstance(key, str) and isinstance(value, Mapping) and key not in PARAMETERS)
    ]


def _known_label(config: Mapping[Any, object], labels: list[str], layer_type: object) -> str | None:
    """The label to read for the layer type that was asked for; None where all are alike."""
    if not isinstance(layer_type, str):
        raise ParameterTypeError("layer_type", "must be a string", layer_type)
    known = labels
    if not labels:
        named = find_text(config)[1].texts("layer_types") or ()
        known = list(dict.fromkeys([*named, FULL, SLIDING]))
    if layer_type not in known:
        raise ParameterError("layer_type", f"must be one of {', '.join(known)}", layer_type)
    return layer_type if labels else None


def find_text(config: Mapping[Any, object]) -> tuple[Fields, Fields, str | None]:
    """The whole file, the level that describes the text model, and its model_type."""
    top = Fields(config)
    text = top.child("text_config") or top
    return top, text, text.text("model_type") or top.text("model_type")


def scaling_levels(text: Fields) -> list[Fields]:
    """rope_scaling and rope_parameters, those that are there; transformers prefers the first."""
    levels = [text.child("rope_scaling"), text.child("rope_parameters")]
    return [level for level in levels if level is not None and level.values]


def _read_one(
    config: Mapping[Any, object], label: str | None, layer_type: str | None
) -> RopeConfig:
    top, text, model_type = find_text(config)
    row = defaults_of(model_type)
    notes = Notes(None if row is not None else _silence(model_type))
    _warn_of_other_encodings(text, notes)
    model = row or UNKNOWN
    longest = notes.settle((text.path(name), text.integer(name)) for name in LENGTHS)
    if longest is None and model.max_positions is not None:
        longest = notes.assume("max_position_embeddings", model.max_positions)
    source = Source(
        text=text,
        scaling=_levels_of(text, label, model),
        notes=notes,
        defaults=model.of_layer(label),
        own_theta="rope_theta" in model.layers.get(label or "", {}),
        layer_type=label,
        max_positions=longest,
    )
    layer, latent = read_layer(source)
    if text is not top:
        _compare_thetas(top, layer.base, notes)
    return RopeConfig(
        **vars(layer),
        model_type=model_type,
        layer_type=layer_type,
        max_positions=longest,
        no_rope_layers=read_no_rope_layers(text, model.nope, notes),
        layout=_layout(text, model),
        # Of the model types known, those with latent attention alone scale the softmax.
        scales_softmax=latent or row is None,
        used=text.used,
        assumed=notes.assumed,
        ignored=tuple(top.unread()),
        warnings=tuple(notes.warnings),
    )


def _silence(model_type: str | None) -> str:
    return (
        "model_type is absent" if model_type is None else f"model_type {show(model_type)} unknown"
    )


def _levels_of(text: Fields, label: str | None, model: ModelDefaults) -> list[Fields]:
    """The scaling dicts of one layer type: its own entry where nested, else the flat one.

    A flat one is for full_attention: sliding layers never see far enough to need it.
    """
    levels: list[Fields] = []
    for level in scaling_levels(text):
        if label is None or (not nested_labels(level.values) and _flat_applies(label, model)):
            levels.append(level)
        elif label in level.values:
            below = level.child(label)
            if below is None:
                rule = "is null: layers of this type have no rotary embedding"
                raise ParameterError(level.path(label), rule, None)
            levels.append(below)
    return levels


def _flat_applies(label: str, model: ModelDefaults) -> bool:
    return label != SLIDING or model.shared_scaling


def _layout(text: Fields, model: ModelDefaults) -> Layout | None:
    if model.interleave_field and text.flag("rope_interleave") is False:
        return "half"
    return model.layout


def _compare_thetas(top: Fields, base: float, notes: Notes) -> None:
    """Warn where the file states another base beside its text_config."""
    stated = top.values.get("rope_theta")
    if isinstance(stated, int | float) and stated != base:
        notes.warnings.append(
            f"rope_theta {show(stated)} beside text_config disagrees with the {base:g} of the "
            f"text model, which is used"
        )


def _warn_of_other_encodings(text: Fields, notes: Notes) -> None:
    """Warn where a file says that positions are not rotary at all."""
    kind = text.text("position_embedding_type")
    if kind is not None and kind not in ("rope", "rotary"):
        notes.warnings.append(f"position_embedding_type is {kind!r}, not rotary")
    if text.values.get("alibi") is True:
        notes.warnings.append("alibi is true: positions are a bias on the scores, not rotary")


def read_no_rope_layers(text: Fields, nope: Nope | None, notes: Notes) -> tuple[int, ...]:
    """The layers that do not rotate; the field of this name holds 1 where a layer does."""
    rotates = text.integers("no_rope_layers", 0, 1)
    if rotates:
        count = text.integer("num_hidden_layers", 1, MOST_LAYERS)
        if count is not None and len(rotates) != count:
            path = text.path("no_rope_layers")
            raise ParameterError(path, f"must have {count} entries, one a layer", len(rotates))
        return tuple(i for i, flag in enumerate(rotates) if not flag)
    nope = nope or Nope("no_rope_layer_interval")
    if nope.only_with is not None and text.take(nope.only_with) is None:
        return ()
    layer_types = text.texts("layer_types") if nope.layer_type is not None else None
    if layer_types is not None:
        return tuple(i for i, name in enumerate(layer_types) if name == nope.layer_type)
    return _every_so_many(text, nope, notes)


def _every_so_many(text: Fields, nope: Nope, notes: Notes) -> tuple[int, ...]:
    """Layers 3, 7, 11, ... for an interval of 4, as transformers fills them in."""
    every = text.integer(nope.field, 1, MOST_LAYERS) if nope.field is not None else None
    if every is None and nope.every is not None:
        every = notes.assume(str(nope.field), nope.every)
    if every is None:
        return ()
    count = text.integer("num_hidden_layers", 1, MOST_LAYERS)
    if count is None and nope.layers is not None:
        count = notes.assume("num_hidden_layers", nope.layers)
    if count is None:
        raise ParameterError(text.path("num_hidden_layers"), "must be given with an interval", None)
    return tuple(range(every - 1, count, every))
