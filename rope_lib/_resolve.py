"""From the arguments of rope_lib.nn.RotaryEmbedding to its frequencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from rope_lib import _float32
from rope_lib._checks import even_number
from rope_lib._parameters import number
from rope_lib.scaling import Frequencies, from_parameters

Angles: TypeAlias = Literal["float64", "float32"]
Scaling: TypeAlias = Mapping[str, Any] | Frequencies | None


def resolve(
    head_dim: int, base: float | None, rotary_dim: int | None, scaling: Scaling, angles: Angles
) -> Frequencies:
    """The frequencies that the arguments describe, float32's own where angles names it.

    Raises:
        ValueError: an argument breaks its rule, or two contradict each other.
        TypeError: an argument is of the wrong kind.
    """
    if angles not in get_args(Angles):
        raise ValueError(f'angles must be "float64" or "float32", got {angles!r}')
    if isinstance(scaling, Frequencies):
        if base is not None or rotary_dim is not None:
            raise ValueError(
                f"a Frequencies fixes inv_freq: base and rotary_dim must be None beside it, "
                f"got base {base} and rotary_dim {rotary_dim}"
            )
        return _fitting(scaling, head_dim)
    parameters = _of_one_layer_type(scaling)
    dim = _rotary_dim(head_dim, rotary_dim, parameters)
    theta = _agreed("base", base, "rope_theta", parameters.get("rope_theta"))
    theta = 10_000.0 if theta is None else theta
    found = from_parameters(dim, theta, parameters)
    if angles == "float32":
        inv_freq = _float32.inverse_frequencies(dim, theta, parameters)
        found = replace(found, inv_freq=inv_freq.numpy())
    return _fitting(found, head_dim)


def _of_one_layer_type(scaling: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if scaling is None:
        return {}
    if not isinstance(scaling, Mapping):
        raise TypeError(
            f"scaling must be a rope_parameters dict, a Frequencies or None, "
            f"got {type(scaling).__name__}"
        )
    nested = [name for name, value in scaling.items() if isinstance(value, Mapping)]
    if nested:
        raise ValueError(
            f"scaling must be the dict of one layer type, got one for each of {nested}"
        )
    return scaling


def _rotary_dim(head_dim: int, rotary_dim: int | None, parameters: Mapping[str, Any]) -> int:
    """Channels that rotate, from the argument or the dict's partial_rotary_factor."""
    partial = parameters.get("partial_rotary_factor")
    rope_type = parameters.get("rope_type") or parameters.get("type")
    if partial is None or rope_type == "proportional":  # which spans the head, and takes partial
        stated = None
    else:
        share = number("partial_rotary_factor", partial, 0.0, 1.0, exclusive=True)
        stated = int(share * head_dim)
    dim = _agreed("rotary_dim", rotary_dim, f"partial_rotary_factor {partial}", stated)
    if dim is None:
        return even_number(head_dim, "head_dim")
    return _within(even_number(dim, "rotary_dim"), head_dim)


def _within(rotary_dim: int, head_dim: int) -> int:
    if not 2 <= rotary_dim <= head_dim:
        raise ValueError(f"rotary_dim must be from 2 to head_dim {head_dim}, got {rotary_dim}")
    return rotary_dim


def _agreed(name: str, given: Any, name_in_dict: str, stated: Any) -> Any:
    """The one of the two that is not None, or both where they are equal."""
    if given is not None and stated is not None and given != stated:
        raise ValueError(
            f"{name} must agree with the {name_in_dict} of scaling, got {given} and {stated}"
        )
    return stated if given is None else given


def _fitting(found: Frequencies, head_dim: int) -> Frequencies:
    """The frequencies as they are, if a head has room for them."""
    inv_freq = np.asarray(found.inv_freq)
    number("attention_factor", found.attention_factor)
    if inv_freq.ndim != 1 or inv_freq.dtype.kind != "f" or not np.isfinite(inv_freq).all():
        raise ValueError(
            f"inv_freq must be finite floats of shape (pairs,), "
            f"got shape {inv_freq.shape} of {inv_freq.dtype}"
        )
    _within(2 * inv_freq.size, head_dim)
    return replace(found, inv_freq=inv_freq)
