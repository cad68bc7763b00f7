"""Context-extension scalings: pure functions from (dim, base) and rope_parameters to Frequencies.

Every keyword has the name that it has in a config.json. SCALINGS is the one registry, by
rope_type; from_parameters reads a rope_parameters dict through it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from rope_lib._parameters import ParameterError
from rope_lib.scaling._frequencies import Frequencies
from rope_lib.scaling.banded import llama3, yarn, yarn_mscale, yarn_ramp_ends
from rope_lib.scaling.plain import default, dynamic, linear, ntk, proportional
from rope_lib.scaling.searched import longrope
from rope_lib.scaling.spectrum import bands, critical_dimension

__all__ = [
    "ROPE_TYPE_ALIASES",
    "SCALINGS",
    "Frequencies",
    "bands",
    "critical_dimension",
    "default",
    "dynamic",
    "from_parameters",
    "keyword_defaults",
    "keywords",
    "linear",
    "llama3",
    "longrope",
    "ntk",
    "proportional",
    "yarn",
    "yarn_mscale",
    "yarn_ramp_ends",
]

SCALINGS: Mapping[str, Callable[..., Frequencies]] = {
    "default": default,
    "linear": linear,
    "ntk": ntk,
    "dynamic": dynamic,
    "yarn": yarn,
    "llama3": llama3,
    "longrope": longrope,
    "proportional": proportional,
}

_SIGNATURES = {name: inspect.signature(scaling).parameters for name, scaling in SCALINGS.items()}

ROPE_TYPE_ALIASES: Mapping[str, str] = {"su": "longrope", "mrope": "default"}
"""Older names; "mrope" is the default frequencies, with positions of several axes."""


def keywords(rope_type: str) -> dict[str, bool]:
    """The parameters that a rope_type takes, and whether each is required; seq_len left out."""
    return {
        name: parameter.default is parameter.empty
        for name, parameter in _SIGNATURES[rope_type].items()
        if parameter.kind is parameter.KEYWORD_ONLY and name != "seq_len"
    }


def keyword_defaults(rope_type: str) -> dict[str, object]:
    """The value that each parameter has where it is not given; None where it is required.

    Example:
        >>> keyword_defaults("proportional")
        {'partial_rotary_factor': 1.0, 'factor': 1.0}
        >>> keyword_defaults("linear")
        {'factor': None}
    """
    signature = _SIGNATURES[rope_type]
    return {
        name: None if required else signature[name].default
        for name, required in keywords(rope_type).items()
    }


def from_parameters(
    dim: int, base: float, parameters: Mapping[str, object], *, seq_len: int | None = None
) -> Frequencies:
    """The frequencies that a rope_parameters (or rope_scaling) dict describes.

    A value of None counts as absent, and keys that the rope_type does not take are left alone:
    rope_theta and partial_rotary_factor have gone into base and dim already. RopeConfig reads a
    whole config.json, and knows more.

    Args:
        dim: channels that rotate, even (of the whole head for "proportional").
        base: rope_theta.
        parameters: with "rope_type" or "type" among its keys; neither means "default".
        seq_len: the present length in tokens, for "dynamic" and "longrope"; None: at most the
            original length.

    Raises:
        ValueError, TypeError: an unknown rope_type, a required parameter is missing, or as the
            scaling itself.

    Example:
        >>> from_parameters(4, 10_000.0, {"type": "linear", "factor": 2.0}).inv_freq.tolist()
        [0.5, 0.005]
    """
    given = parameters.get("rope_type") or parameters.get("type") or "default"
    rope_type = canonical("rope_type", given)
    taken = {name: parameters.get(name) for name in keywords(rope_type)}
    for name, required in keywords(rope_type).items():
        if required and taken[name] is None:
            raise ParameterError(name, f"is required by rope_type {rope_type!r}", None)
    return compute(dim, base, rope_type, taken, seq_len)


def canonical(name: str, rope_type: object) -> str:
    """The registry's name for a rope_type, or an error that calls it by name."""
    found = ROPE_TYPE_ALIASES.get(rope_type, rope_type) if isinstance(rope_type, str) else ""
    if found not in SCALINGS:
        known = ", ".join([*SCALINGS, *ROPE_TYPE_ALIASES])
        raise ParameterError(name, f"must be one of {known}", rope_type)
    return found


def compute(
    dim: int,
    base: float,
    rope_type: str,
    parameters: Mapping[str, object],
    seq_len: int | None = None,
) -> Frequencies:
    """The scaling of that name, with what is not None of its parameters."""
    present = {name: value for name, value in parameters.items() if value is not None}
    if seq_len is not None and "seq_len" in _SIGNATURES[rope_type]:
        present["seq_len"] = seq_len
    return SCALINGS[rope_type](dim, base, **present)
