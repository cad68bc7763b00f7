"""Which scaling a file asks for, and with which parameters."""

from __future__ import annotations

from numbers import Real

from rope_lib._parameters import ParameterError, show
from rope_lib.config._fields import Fields
from rope_lib.config._heads import WIDEST_HEAD, shares
from rope_lib.config._source import Source
from rope_lib.scaling import canonical, keywords

ORIGINAL = "original_max_position_embeddings"


def assume_scaling(source: Source) -> None:
    """Where the file says nothing of scaling, the model_type may still have one."""
    if not source.scaling and source.defaults.rope_parameters:
        assumed = source.notes.assume("rope_parameters", dict(source.defaults.rope_parameters))
        # A record of its own: what is assumed was not read.
        source.scaling = [Fields(assumed, lambda name: f"rope_parameters.{name}")]


def read_rope_type(source: Source) -> tuple[str, bool]:
    """The registry's name, and whether the file says "mrope", which needs sections."""
    readings: list[tuple[str, str]] = []
    multimodal = False
    for level in source.scaling:
        for name in ("rope_type", "type"):
            given = level.text(name)
            if given is not None:
                multimodal = multimodal or given == "mrope"
                readings.append((level.path(name), canonical(level.path(name), given)))
    return source.notes.settle(readings) or "default", multimodal


def read_sections(source: Source, pairs: int, needed: bool) -> tuple[int, ...] | None:
    """The pairs that each axis of a multimodal position gets."""
    readings = [
        (level.path("mrope_section"), level.integers("mrope_section", 1, WIDEST_HEAD))
        for level in source.scaling
    ]
    for path, sections in readings:
        if sections is not None and sum(sections) != pairs:
            raise ParameterError(path, f"must sum to the {pairs} pairs that rotate", sections)
    settled = source.notes.settle(readings)
    assumed = source.defaults.mrope_section
    if settled is None and assumed is not None and sum(assumed) == pairs:
        return source.notes.assume("mrope_section", assumed)
    if settled is None and needed:
        path = source.scaling[0].path("mrope_section")
        raise ParameterError(path, "is required by rope_type 'mrope'", None)
    return settled


def read_interleaved(source: Source, sections: tuple[int, ...] | None) -> bool:
    """Whether the axes alternate pair by pair."""
    given = source.notes.settle(
        (level.path("mrope_interleaved"), level.flag("mrope_interleaved"))
        for level in source.scaling
    )
    if given is not None:
        return given
    if sections is not None and source.defaults.mrope_interleaved:
        return source.notes.assume("mrope_interleaved", True)
    return False


def read_original(source: Source, rope_type: str) -> int | None:
    """The trained length before scaling; the top level wins over the dict, as in transformers."""
    levels = [source.text, *source.scaling]
    given = source.notes.settle((level.path(ORIGINAL), level.integer(ORIGINAL)) for level in levels)
    if given is None:
        if source.max_positions is not None and ORIGINAL in keywords(rope_type):
            source.notes.derive(ORIGINAL, source.max_positions)
        return source.max_positions
    _compare_lengths(source, rope_type, given)
    return given


def _compare_lengths(source: Source, rope_type: str, original: int) -> None:
    """Warn where the two lengths of a file do not fit its rope_type."""
    longest, warn = source.max_positions, source.notes.warnings.append
    if longest is None:
        return
    if original > longest:
        warn(f"{ORIGINAL} {original} is above max_position_embeddings {longest}")
    if original < longest and rope_type == "default":
        warn(
            f"{ORIGINAL} {original} is below max_position_embeddings {longest}, "
            f"but nothing is scaled: the rope_type is 'default'"
        )
    if original != longest and rope_type == "dynamic":
        warn(
            f"{ORIGINAL} {original} is where dynamic scaling starts here; transformers starts at "
            f"max_position_embeddings {longest}"
        )


def read_parameters(source: Source, rope_type: str, original: int | None) -> dict[str, object]:
    """The keywords of the scaling; what it requires has to be there."""
    wanted = keywords(rope_type)
    found: dict[str, object] = {}
    for name, required in wanted.items():
        value = original if name == ORIGINAL else _parameter(source, rope_type, name, original)
        if value is None and required:
            path = source.scaling[0].path(name)
            raise ParameterError(path, f"is required by rope_type {rope_type!r}", None)
        if value is not None:
            found[name] = value
    if "factor" not in wanted:
        _warn_of_idle_factor(source)
    return found


def _parameter(source: Source, rope_type: str, name: str, original: int | None) -> object | None:
    if name == "partial_rotary_factor":
        return source.notes.settle(shares(source))
    value = source.notes.settle(source.parameter(name))
    if name != "factor":
        return value
    if value is not None:
        _compare_factor(source, rope_type, value, original)
        return value
    return _implied_factor(source, rope_type, original)


def _implied_factor(source: Source, rope_type: str, original: int | None) -> float | None:
    """The ratio of the lengths, for a null yarn factor and an absent longrope factor."""
    stated = any("factor" in level.values for level in source.scaling)
    implied = rope_type == "longrope" or (rope_type == "yarn" and stated)
    if not implied or original is None or source.max_positions is None:
        return None
    return source.notes.derive("factor", source.max_positions / original)


def _compare_factor(source: Source, rope_type: str, factor: object, original: int | None) -> None:
    """Warn where a yarn factor is not the ratio of the lengths that stand beside it."""
    longest = source.max_positions
    if rope_type != "yarn" or original is None or longest is None or not isinstance(factor, Real):
        return
    if original != longest and factor != longest / original:
        source.notes.warnings.append(
            f"factor {show(factor)} is not the {longest / original:g} of max_position_embeddings "
            f"{longest} over {ORIGINAL} {original}"
        )


def _warn_of_idle_factor(source: Source) -> None:
    for level in source.scaling:
        idle = level.values.get("factor")
        if idle is not None:
            path = level.path("factor")
            source.notes.warnings.append(f"{path} {show(idle)} scales nothing without a rope_type")
