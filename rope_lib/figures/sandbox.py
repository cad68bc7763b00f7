"""All knobs at once: one state, several views of it, to share as a link or as Python."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import traitlets

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Choice, Even, Whole, Within
from rope_lib.scaling import keyword_defaults

SCALINGS = ["default", "linear", "ntk", "dynamic", "yarn", "llama3"]
FORMATS = ["float64", "float32", "float16", "bfloat16"]
_LENGTH = "original_max_position_embeddings={original}"

# What as_python writes, piece by piece; the browser fills in the same pieces.
SNIPPETS = {
    "start": """\
import numpy as np

from rope_lib import apply_rope, cos_sin, {imports}

head_dim, rotary_dim, base = {head_dim}, {rotary_dim}, {base}
m, n = {m}, {n}  # positions of the query and the key
""",
    "equal": """\
q = k = np.ones(head_dim)
""",
    "random": """\
state, numbers = {seed}, []
for _ in range(2 * head_dim):  # the same numbers on every machine
    state = 16_807 * state % (2**31 - 1)
    numbers.append(2.0 * state / (2**31 - 1) - 1.0)
q, k = np.array(numbers).reshape(2, head_dim)
q *= np.sqrt(head_dim) / np.linalg.norm(q)
k *= np.sqrt(head_dim) / np.linalg.norm(k)
""",
    "aimed": """\
q = np.ones(head_dim)
inv_freq = inverse_frequencies(rotary_dim, base)
aim = cos_sin([{peak}], inv_freq, dtype=np.float64)
k = apply_rope(q[None], *aim)[0]  # scores highest at distance {peak}
""",
    "default": """\
frequencies = scaling.default(rotary_dim, base)
""",
    "linear": """\
frequencies = scaling.linear(rotary_dim, base, factor={factor})
""",
    "ntk": """\
frequencies = scaling.ntk(rotary_dim, base, factor={factor})
""",
    "dynamic": f"""\
frequencies = scaling.dynamic(
    rotary_dim,
    base,
    factor={{factor}},
    {_LENGTH},
    seq_len=max(m, n) + 1,
)
""",
    "yarn": f"""\
frequencies = scaling.yarn(
    rotary_dim,
    base,
    factor={{factor}},
    {_LENGTH},
)
""",
    "llama3": f"""\
frequencies = scaling.llama3(
    rotary_dim,
    base,
    factor={{factor}},
    low_freq_factor=1,
    high_freq_factor=4,
    {_LENGTH},
)
""",
    "positions": """\
positions = [m, n]
""",
    "float_positions": """\
positions = np.array([m, n], dtype=np.float64)
""",
    "angles": """\
angles = np.outer([m, n], frequencies.inv_freq)
""",
    "float32": """\
{rounded} = {rounded}.astype(np.float32).astype(np.float64)
""",
    "float16": """\
{rounded} = {rounded}.astype(np.float16).astype(np.float64)
""",
    "bfloat16": """\
part, power = np.frexp({rounded})
{rounded} = np.ldexp(np.rint(256 * part), power - 8)  # bfloat16 has 8 bits
""",
    "tables": """\
cos, sin = cos_sin(
    positions,
    frequencies.inv_freq,
    attention_factor=frequencies.attention_factor,
    dtype=np.float64,
)
""",
    "rounded_tables": """\
cos = frequencies.attention_factor * np.cos(angles)
sin = frequencies.attention_factor * np.sin(angles)
""",
    "score": """\
rotated = apply_rope(np.stack([q, k]), cos, sin, layout="{channel_layout}")
score = rotated[0] @ rotated[1] / head_dim
print(score)
""",
}


class Sandbox(Figure):
    """One query and one key, with every knob of the book, seen in several ways at once.

    ``head_dim`` channels, of which the first ``rotary_dim`` rotate (all of them where it is not
    given; one above ``head_dim`` counts as ``head_dim``), with ``base`` and ``scaling`` ("default",
    "linear", "ntk", "dynamic", "yarn" or "llama3") by ``factor`` from the ``original`` length.
    The query stands at ``m`` + ``shift``, the key at ``n`` + ``shift``; the later of them ends the
    present length, on which dynamic scaling depends. ``dtype`` is what ``rounded`` ("positions"
    or "angles") is rounded to; the rest is computed in float64. ``pair`` is the pair shown.

    ``kind`` chooses q and k, both of length √head_dim: "equal" (all ones), "random" (listed
    numbers that start from ``seed``) or "aimed" (q all ones, k = R_peak q with the frequencies
    before scaling). They are written in the interleaved layout; ``channel_layout`` is how they
    are read. The score is divided by head_dim, so that unscaled it is the cosine of an angle.

    ``readout`` names: ``score``, ``before`` (without rotation), ``exact`` (without rounding),
    ``error`` (score minus exact), ``distance`` (m - n), ``angle_q`` and ``angle_k`` (radians,
    chosen pair, as used), ``wavelength`` and ``divisor`` (chosen pair, after scaling), ``kept``,
    ``blended`` and ``divided`` (pairs; absent for default and dynamic), ``attention_factor``,
    ``worst`` (the largest error of a cosine that rounding makes, over pairs and both positions).

    Raises:
        ValueError: rotary_dim is given and above head_dim, or as each trait refuses.

    Source: Su et al., RoFormer, arXiv:2104.09864; for the scalings see rope_lib.scaling.
    """

    parts: ClassVar[tuple[str, ...]] = (
        "chart.js",
        "plane.js",
        "python_values.js",
        "config_scaling.js",
        "formats.js",
        "score_curve.js",
        "sandbox_numbers.js",
        "share.js",
        "sandbox_share.js",
        "knobs.js",
        "sandbox_controls.js",
    )

    head_dim = Even(64, 4, 256)
    rotary_dim = Even(64, 4, 256)
    base = Whole(10_000, 2, 100_000_000)
    channel_layout = Choice(["interleaved", "half"], "interleaved")
    scaling = Choice(SCALINGS, "default")
    factor = Within(4, 1, 64)
    original = Whole(4096, 16, 131_072)
    m = Whole(24, 0, 4096)
    n = Whole(8, 0, 4096)
    shift = Whole(0, 0, 60_000)
    pair = Whole(4, 0, 127)
    dtype = Choice(FORMATS, "float64")
    rounded = Choice(["positions", "angles"], "positions")
    kind = Choice(["equal", "random", "aimed"], "equal")
    seed = Whole(1, 1, 9999)
    peak = Whole(64, 0, 4096)

    rules = traitlets.Dict().tag(sync=True)  # ranges, parameters and snippets, for the browser
    start = traitlets.Dict().tag(sync=True)  # where a reset leads

    def __init__(self, **traits: Any) -> None:
        head_dim, rotary_dim = traits.get("head_dim"), traits.get("rotary_dim")
        if rotary_dim is None and head_dim is not None:
            traits["rotary_dim"] = head_dim
        super().__init__(**traits)
        if self.rotary_dim > self.head_dim:
            rule = f"must be at most head_dim {self.head_dim}"
            raise ValueError(f"rotary_dim {rule}, got {self.rotary_dim}")
        self.start = self._state()

    @traitlets.default("rules")
    def _write_rules(self) -> dict[str, Any]:
        keywords = {name: keyword_defaults(name) for name in SCALINGS}
        return {"inputs": _ranges(), "keywords": keywords, "snippets": SNIPPETS}

    def _state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.input_names()}

    def fragment(self) -> str:
        """Return what stands behind the # in a link to this state: all that is not a default."""
        ranges = _ranges()
        differing = {k: v for k, v in self._state().items() if v != ranges[k]["default"]}
        return "&".join(f"{name}={_text(value)}" for name, value in differing.items())

    def as_python(self) -> str:
        """Return a program that uses rope_lib and prints the score of this state."""
        state = {name: _text(value) for name, value in self._state().items()}
        state["rotary_dim"] = _text(min(self.rotary_dim, self.head_dim))
        if self.shift:
            state |= {name: f"{state[name]} + {self.shift}" for name in ("m", "n")}
        aimed = self.kind == "aimed"
        state["imports"] = "inverse_frequencies, scaling" if aimed else "scaling"
        return "\n".join(_filled(SNIPPETS[name], state) for name in self._snippets())

    def _snippets(self) -> list[str]:
        chosen = ["start", self.kind, self.scaling]
        if self.dtype == "float64":
            chosen += ["positions", "tables"]
        elif self.rounded == "positions":
            chosen += ["float_positions", self.dtype, "tables"]
        else:
            chosen += ["angles", self.dtype, "rounded_tables"]
        return [*chosen, "score"]


def _ranges() -> dict[str, dict[str, Any]]:
    """What each input may be, by name."""
    traits = Sandbox.class_traits()
    found: dict[str, dict[str, Any]] = {}
    for name in Sandbox.input_names():
        trait = traits[name]
        found[name] = {"default": trait.default_value}
        if isinstance(trait, Choice):
            found[name]["texts"] = trait.texts
            continue
        least, most = trait.range
        kind = {"whole": isinstance(trait, Whole), "even": isinstance(trait, Even)}
        found[name] |= {"least": least, "most": most, **kind}
    return found


def _text(value: Any) -> str:
    """A value as JavaScript writes it: 4.0 is 4."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _filled(snippet: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], snippet)
