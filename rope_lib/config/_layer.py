"""From the fields of a file to the rotary embedding of one layer type."""

from __future__ import annotations

from dataclasses import dataclass

from rope_lib._parameters import LARGEST, ParameterError
from rope_lib.config._defaults import SLIDING
from rope_lib.config._fields import Fields
from rope_lib.config._heads import paired, read_head_dim, read_rotary_dim
from rope_lib.config._scaling import (
    assume_scaling,
    read_interleaved,
    read_original,
    read_parameters,
    read_rope_type,
    read_sections,
)
from rope_lib.config._source import Source
from rope_lib.scaling import compute

GLOBAL_THETAS = ("rope_theta", "global_rope_theta", "rotary_emb_base", "rope_freq_base")
LOCAL_THETAS = ("rope_local_base_freq", "local_rope_theta")


@dataclass(frozen=True)
class Layer:
    """The rotary embedding of one layer type, as RopeConfig has it.

    Attributes:
        rope_type: a key of rope_lib.scaling.SCALINGS.
        head_dim: channels of a head (of its rotated part with latent attention).
        rotary_dim: channels that the frequencies cover.
        base: before any scaling.
        original_max_positions: trained length before any scaling, in tokens.
        mrope_section: pairs by axis, or None.
        mrope_interleaved: the axes alternate pair by pair.
        parameters: keywords of the scaling.
    """

    rope_type: str
    head_dim: int
    rotary_dim: int
    base: float
    original_max_positions: int | None
    mrope_section: tuple[int, ...] | None
    mrope_interleaved: bool
    parameters: dict[str, object]


def read_layer(source: Source) -> tuple[Layer, bool]:
    """The layer that a source describes, and whether its attention is latent (MLA)."""
    assume_scaling(source)
    rope_type, multimodal = read_rope_type(source)
    head_dim, latent = read_head_dim(source)
    base = read_base(source)
    if latent or rope_type == "proportional":
        name = "qk_rope_head_dim" if latent else "head_dim"
        rotary_dim = paired(source.text.path(name), head_dim, head_dim, head_dim)
    else:
        rotary_dim = read_rotary_dim(source, head_dim)
    sections = read_sections(source, rotary_dim // 2, multimodal)
    original = read_original(source, rope_type)
    layer = Layer(
        rope_type=rope_type,
        head_dim=head_dim,
        rotary_dim=rotary_dim,
        base=base,
        original_max_positions=original,
        mrope_section=sections,
        mrope_interleaved=read_interleaved(source, sections),
        parameters=read_parameters(source, rope_type, original),
    )
    check_computable(source, layer)
    return layer, latent


def read_base(source: Source) -> float:
    """Rope_theta under any of its names; the first that is there, in the order of transformers."""
    local = source.layer_type == SLIDING
    inside = [_theta(level, "rope_theta") for level in source.scaling]
    beside = _local_thetas(source.text) if local else _global_thetas(source.text)
    base = source.notes.settle(inside + beside)
    if base is None and local and not source.own_theta:
        base = source.notes.settle(_global_thetas(source.text))
    return source.notes.assume("rope_theta", source.defaults.rope_theta) if base is None else base


def _theta(level: Fields, name: str) -> tuple[str, float | None]:
    return level.path(name), level.number(name, 1.0)


def _local_thetas(text: Fields) -> list[tuple[str, float | None]]:
    return [_theta(text, name) for name in LOCAL_THETAS]


def _global_thetas(text: Fields) -> list[tuple[str, float | None]]:
    ratio = text.number("rope_ratio", 1e-4, LARGEST / 1e4)
    scaled = (f"{text.path('rope_ratio')} x 10000 =", None if ratio is None else ratio * 10_000.0)
    return [*(_theta(text, name) for name in GLOBAL_THETAS), scaled]


def check_computable(source: Source, layer: Layer) -> None:
    """Compute once, so that a bad parameter is refused here, under the name it has in the file."""
    try:
        compute(layer.rotary_dim, layer.base, layer.rope_type, layer.parameters)
    except ParameterError as error:
        name = error.name.partition("[")[0]
        if name == "dim":
            raise ParameterError("rotary_dim", error.rule, error.value) from error
        levels = [level for level in (*source.scaling, source.text) if name in level.values]
        path = levels[0].path(error.name) if levels else error.name
        raise ParameterError(path, error.rule, error.value) from error
