"""How wide a head is, and how much of it rotates."""

from __future__ import annotations

from collections.abc import Iterator

from rope_lib._parameters import ParameterError
from rope_lib.config._fields import Fields
from rope_lib.config._source import Source

WIDEST_HEAD = 65_536


def read_head_dim(source: Source) -> tuple[int, bool]:
    """Channels of a head, and whether they are the rotated part of a latent head."""
    text, defaults = source.text, source.defaults
    latent = text.integer("qk_rope_head_dim", 2, WIDEST_HEAD)
    if latent is None and defaults.qk_rope_head_dim is not None:
        latent = source.notes.assume("qk_rope_head_dim", defaults.qk_rope_head_dim)
    if latent is not None:
        return latent, True
    head_dim = source.notes.settle(_per_layer_head_dims(source))
    if head_dim is None:
        names = (defaults.head_dim_field, "kv_channels")
        head_dim = source.notes.settle(_integers(text, *names, minimum=2, maximum=WIDEST_HEAD))
    if head_dim is not None:
        return head_dim, False
    if defaults.head_dim is not None:
        return source.notes.assume(defaults.head_dim_field, defaults.head_dim), False
    return _quotient(source), False


def _per_layer_head_dims(source: Source) -> Iterator[tuple[str, int | None]]:
    """Head sizes of this layer type in per_layer_config, whose keys are types or layer numbers."""
    overrides = source.text.child("per_layer_config")
    if overrides is None or source.layer_type is None:
        return
    layer_types = source.text.texts("layer_types") or ()
    numbers = (str(i) for i, name in enumerate(layer_types) if name == source.layer_type)
    for key in (source.layer_type, *numbers):
        level = overrides.child(key)
        if level is not None:
            yield level.path("head_dim"), level.integer("head_dim", 2, WIDEST_HEAD)


def _quotient(source: Source) -> int:
    """Hidden size over heads."""
    text, notes = source.text, source.notes
    hidden = notes.settle(_integers(text, "hidden_size", "n_embd"))
    heads = notes.settle(_integers(text, "num_attention_heads", "n_head"))
    if hidden is None or heads is None:
        missing = text.path("head_dim")
        raise ParameterError(missing, "or hidden_size and num_attention_heads must be given", None)
    if hidden % heads:
        path = text.path("hidden_size")
        raise ParameterError(path, f"must divide by num_attention_heads {heads}", hidden)
    if not 2 <= hidden // heads <= WIDEST_HEAD:
        path = text.path("hidden_size")
        rule = f"over num_attention_heads {heads} must be from 2 to {WIDEST_HEAD}"
        raise ParameterError(path, rule, hidden)
    return hidden // heads


def _integers(
    text: Fields, *names: str, minimum: int = 1, maximum: int = 2**53
) -> list[tuple[str, int | None]]:
    return [(text.path(name), text.integer(name, minimum, maximum)) for name in names]


def read_rotary_dim(source: Source, head_dim: int) -> int:
    """How many channels rotate; every way to say it, turned into channels."""
    text = source.text
    readings: list[tuple[str, float, int]] = [
        (path, share, int(share * head_dim)) for path, share in shares(source)
    ]
    direct = text.integer("rotary_dim", 2, head_dim)
    if direct is not None:
        readings.append((text.path("rotary_dim"), direct, direct))
    settled = source.notes.settle(
        (f"channels by {path}", paired(path, given, channels, head_dim))
        for path, given, channels in readings
    )
    return _assumed_rotary_dim(source, head_dim) if settled is None else settled


def paired(path: str, given: object, channels: int, head_dim: int) -> int:
    """The rotating channels, which have to pair up."""
    if channels < 2 or channels % 2:
        rule = f"must leave an even number, at least 2, of {head_dim} channels to rotate"
        raise ParameterError(path, rule, given)
    return channels


def _assumed_rotary_dim(source: Source, head_dim: int) -> int:
    defaults, notes = source.defaults, source.notes
    if defaults.rotary_dim is not None:
        return notes.assume("rotary_dim", min(defaults.rotary_dim, head_dim // 2 * 2))
    # A whole head goes without saying where the model_type is known.
    if defaults.partial_rotary_factor == 1.0 and notes.silent is None:
        return paired("head_dim", head_dim, head_dim, head_dim)
    share = notes.assume("partial_rotary_factor", defaults.partial_rotary_factor)
    return paired("partial_rotary_factor", share, int(share * head_dim), head_dim)


def shares(source: Source) -> Iterator[tuple[str, float]]:
    """The shares of the head that the file gives."""
    names = ("partial_rotary_factor", "rotary_pct", "rope_pct")
    levels = [(level, names[0]) for level in source.scaling]
    for level, name in [*levels, *((source.text, name) for name in names)]:
        share = level.number(name, 0.0, 1.0)
        if share is not None:
            yield level.path(name), share
