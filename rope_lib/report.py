"""A RopeConfig told to a reader: what rotates how fast, and how the file was read."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rope_lib._parameters import show
from rope_lib.config import RopeConfig
from rope_lib.frequencies import inverse_frequencies, wavelengths
from rope_lib.scaling import bands

SHOWN_PAIRS = 9
LABEL_WIDTH = 20
LAYOUT_UNKNOWN = (
    "nothing in the file fixes it; look at the code that the checkpoint was trained with, "
    "and compare both layouts on a few tokens"
)
LAYOUT_KNOWN = (
    "as the reference code of {model_type} rotates; it holds for a checkpoint in the "
    "format of that code, and a conversion may have changed it"
)


def describe(config: RopeConfig, seq_len: int | None = None) -> dict[str, Any]:
    """The report as plain data, fit for JSON; a wavelength of null is infinite.

    Args:
        config: from RopeConfig.from_hf or from_gguf.
        seq_len: present length in tokens; None: at or below the original length.

    Returns:
        The config's attributes and its account of the file, and of the frequencies: pairs,
        inv_freq, wavelengths, attention_factor, softmax_multiplier; how many pairs complete a
        turn within the original length before scaling (full_turns) and within the longest
        length after it (full_turns_scaled); the bands kept, blended and divided, where one
        factor divides; and a sentence on the layout.

    Raises:
        ValueError, TypeError: seq_len is not a positive integer.
    """
    found = config.frequencies(seq_len)
    plain = inverse_frequencies(config.rotary_dim, config.base)
    # Of proportional scaling, the pairs that stand still do so from the start.
    plain[found.inv_freq == 0.0] = 0.0
    return {
        "model_type": config.model_type,
        "layer_type": config.layer_type,
        "rope_type": config.rope_type,
        "seq_len": seq_len,
        "head_dim": config.head_dim,
        "rotary_dim": config.rotary_dim,
        "pairs": config.rotary_dim // 2,
        "rotating_pairs": int(np.count_nonzero(found.inv_freq)),
        "base": config.base,
        "max_positions": config.max_positions,
        "original_max_positions": config.original_max_positions,
        "inv_freq": found.inv_freq.tolist(),
        "wavelengths": _finite(wavelengths(found.inv_freq)),
        "full_turns": _full_turns(plain, config.original_max_positions),
        "full_turns_scaled": _full_turns(found.inv_freq, config.max_positions),
        "bands": _bands(config, plain, found.inv_freq),
        "attention_factor": found.attention_factor,
        "softmax_multiplier": found.softmax_multiplier,
        "mrope_section": config.mrope_section,
        "mrope_interleaved": config.mrope_interleaved,
        "no_rope_layers": config.no_rope_layers,
        "layout": config.layout,
        "layout_caveat": _layout_caveat(config),
        "parameters": dict(config.parameters),
        "used": dict(config.used),
        "assumed": dict(config.assumed),
        "ignored": config.ignored,
        "warnings": config.warnings,
    }


def _finite(values: NDArray[np.float64]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _full_turns(inv_freq: NDArray[np.float64], length: int | None) -> int | None:
    """Pairs whose wavelength fits into length."""
    return None if length is None else int((wavelengths(inv_freq) <= length).sum())


def _bands(
    config: RopeConfig, plain: NDArray[np.float64], scaled: NDArray[np.float64]
) -> dict[str, int] | None:
    """How the scaling sorts the pairs; None where no one factor divides all that it divides."""
    if config.rope_type not in ("linear", "ntk", "yarn", "llama3"):
        return None
    counts = bands(plain, scaled, float(config.parameters["factor"]))
    return dict(zip(("kept", "blended", "divided"), counts, strict=True))


def _layout_caveat(config: RopeConfig) -> str:
    if config.layout is None:
        return LAYOUT_UNKNOWN
    return LAYOUT_KNOWN.format(model_type=config.model_type)


def render(report: dict[str, Any]) -> str:
    """The report as text of at most 100 columns, plain ASCII but for what the file holds."""
    lines = [*_facts(report), "", *_spectrum(report)]
    for title in ("used", "assumed"):
        lines += _section(title, [f"{key} = {show(value)}" for key, value in report[title].items()])
    lines += _section("ignored", [", ".join(report["ignored"])] if report["ignored"] else [])
    lines += _section("warnings", report["warnings"])
    return "\n".join(lines) + "\n"


def _facts(report: dict[str, Any]) -> list[str]:
    turns, after = report["full_turns"], report["full_turns_scaled"]
    trained, longest = report["original_max_positions"], report["max_positions"]
    rows = [
        ("model type", report["model_type"] or "not given"),
        ("layer type", report["layer_type"]),
        ("rope type", report["rope_type"]),
        ("sequence length", report["seq_len"]),
        ("head", f"{report['head_dim']} channels, of which {report['rotary_dim']} are paired"),
        ("pairs", _pairs(report)),
        ("base", f"{report['base']:.12g}"),
        ("longest length", "not given" if longest is None else f"{longest} tokens"),
        ("trained length", "not given" if trained is None else f"{trained} tokens"),
        ("complete a turn", _turns(turns, report["pairs"], trained, "before any scaling")),
        ("with the scaling", _turns(after, report["pairs"], longest, "as the pairs turn now")),
        ("bands", _band_counts(report)),
        ("attention factor", f"{report['attention_factor']:.6g} on cos and sin"),
        ("softmax multiplier", f"{report['softmax_multiplier']:.6g} on the softmax scale"),
        ("axes", _axes(report)),
        ("layers without", ", ".join(map(str, report["no_rope_layers"]))),
        ("layout", f"{report['layout'] or 'unknown'}: {report['layout_caveat']}"),
    ]
    return [line for label, value in rows if value for line in _row(label, str(value))]


def _row(label: str, value: str) -> list[str]:
    return textwrap.wrap(
        value,
        width=100,
        initial_indent=label.ljust(LABEL_WIDTH),
        subsequent_indent=" " * LABEL_WIDTH,
    )


def _pairs(report: dict[str, Any]) -> str:
    total, turning = report["pairs"], report["rotating_pairs"]
    return f"{total}" if turning == total else f"{total}, of which {turning} turn"


def _turns(turns: int | None, pairs: int, length: int | None, when: str) -> str | None:
    return None if turns is None else f"{turns} of {pairs} pairs within {length} tokens, {when}"


def _band_counts(report: dict[str, Any]) -> str | None:
    counts = report["bands"]
    if counts is None:
        return None
    factor = report["parameters"]["factor"]
    return (
        f"{counts['kept']} pairs kept, {counts['blended']} blended, "
        f"{counts['divided']} divided by {factor:g}"
    )


def _axes(report: dict[str, Any]) -> str | None:
    if report["mrope_section"] is None:
        return None
    way = "pair by pair" if report["mrope_interleaved"] else "in blocks"
    return f"{' + '.join(map(str, report['mrope_section']))} pairs, {way}"


def _spectrum(report: dict[str, Any]) -> list[str]:
    """A few pairs from the fastest to the slowest."""
    pairs = report["pairs"]
    shown = sorted({round(x) for x in np.linspace(0, pairs - 1, min(pairs, SHOWN_PAIRS))})
    lines = [f"{'pair':>6}  {'radians a token':>16}  {'tokens a turn':>16}"]
    for j in shown:
        length = report["wavelengths"][j]
        turn = "never turns" if length is None else f"{length:.6g}"
        lines.append(f"{j:>6}  {report['inv_freq'][j]:>16.6g}  {turn:>16}")
    return lines


def _section(title: str, entries: list[str]) -> list[str]:
    """A titled list, each entry indented; nothing at all where there are none."""
    wrapped = [
        line
        for entry in entries
        for line in textwrap.wrap(entry, 98, initial_indent="  ", subsequent_indent="    ")
    ]
    return ["", title, *wrapped] if entries else []
