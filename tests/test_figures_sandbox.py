"""The sandbox: its numbers against rope_lib, its link and its program, and what it refuses."""

import contextlib
import html
import io
import json
import random
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest

from rope_lib import apply_rope, cos_sin, inverse_frequencies, scaling
from rope_lib.figures import Sandbox, ScoreByDistance
from rope_lib.figures.sandbox import FORMATS, SCALINGS

ROOT = Path(__file__).parents[1]
RULES = Sandbox().rules

RUNNER = """
export const jobs = {
  compute: (states) => states.map((state) => ({ ...compute({ ...state, rules }), curves: null })),
  curves: (states) =>
    states.map((state) => {
      const { curve, plainCurve } = compute({ ...state, rules }).curves();
      return { curve: [...curve], plainCurve: plainCurve && [...plainCurve] };
    }),
  python: (states) => states.map((state) => pythonOf(state, rules)),
  fragment: (states) => states.map((state) => fragmentOf(state, rules)),
  state: (fragments) =>
    fragments.map((fragment) => {
      try {
        return stateOf(fragment, rules);
      } catch (error) {
        return error.message;
      }
    }),
};
let text = "";
for await (const piece of process.stdin) text += piece;
const { job, cases, rules } = JSON.parse(text);
console.log(JSON.stringify(jobs[job](cases)));
"""


@pytest.fixture(scope="module")
def node(jobs_in_node):
    """Give a function that does one job, for many cases, in Node."""
    return jobs_in_node(Sandbox._esm + RUNNER, RULES)


def state_of(sandbox):
    return {name: getattr(sandbox, name) for name in sandbox.input_names()}


def some_sandboxes(count=240):
    """Every combination of the choices, with numbers drawn from their ranges."""
    draw = random.Random(7)
    choices = product(SCALINGS, FORMATS, ["positions", "angles"], ["equal", "random", "aimed"],
                      ["interleaved", "half"])  # fmt: skip
    picked = draw.sample(list(choices), count)
    for method, dtype, rounded, kind, order in picked:
        head_dim = draw.choice([4, 10, 64, 128, 256])
        yield Sandbox(
            head_dim=head_dim,
            rotary_dim=draw.choice([4, head_dim, 2 * draw.randint(2, head_dim // 2)]),
            base=draw.choice([2, 137, 10_000, 500_000, 100_000_000]),
            channel_layout=order,
            scaling=method,
            factor=draw.choice([1, 1.5, 2.0, 8, 40.25]),
            original=draw.choice([16, 1000, 4096, 131_072]),
            m=draw.choice([0, 5, 257, 4096]),
            n=draw.choice([0, 2, 300, 4095]),
            shift=draw.choice([0, 3, 999, 60_000]),
            pair=draw.randint(0, 127),
            dtype=dtype,
            rounded=rounded,
            kind=kind,
            seed=draw.randint(1, 9999),
            peak=draw.choice([0, 64, 4096]),
        )


SANDBOXES = list(some_sandboxes())


# ---- numbers


def frequencies_of(s, dim):
    given = {"factor": s.factor, "original_max_position_embeddings": s.original}
    llama = {"low_freq_factor": 1, "high_freq_factor": 4}
    return {
        "default": lambda: scaling.default(dim, s.base),
        "linear": lambda: scaling.linear(dim, s.base, factor=s.factor),
        "ntk": lambda: scaling.ntk(dim, s.base, factor=s.factor),
        "dynamic": lambda: scaling.dynamic(
            dim, s.base, **given, seq_len=max(s.m, s.n) + s.shift + 1
        ),
        "yarn": lambda: scaling.yarn(dim, s.base, **given),
        "llama3": lambda: scaling.llama3(dim, s.base, **given, **llama),
    }[s.scaling]()


def nearest(x, dtype):
    """Round x to a format; bfloat16 by hand: the upper half of a float32, ties to even."""
    if dtype != "bfloat16":
        return x.astype(dtype).astype(np.float64)
    step = 2.0 ** (np.floor(np.log2(np.maximum(x, 1e-300))) - 7)
    return np.round(x / step) * step


def vectors_of(s, dim):
    if s.kind == "random":
        numbers, at = [], s.seed
        for _ in range(2 * s.head_dim):
            at = 16_807 * at % (2**31 - 1)
            numbers.append(2.0 * at / (2**31 - 1) - 1.0)
        both = np.array(numbers).reshape(2, -1)
        return both * np.sqrt(s.head_dim) / np.linalg.norm(both, axis=-1, keepdims=True)
    q = np.ones((1, s.head_dim))
    if s.kind == "equal":
        return np.concatenate([q, q])
    tables = cos_sin([s.peak], inverse_frequencies(dim, s.base), dtype=np.float64)
    return np.concatenate([q, apply_rope(q, *tables)])


def expected(s):
    """The readout, from rope_lib."""
    dim = min(s.rotary_dim, s.head_dim)
    found = frequencies_of(s, dim)
    plain = inverse_frequencies(dim, s.base)
    vectors = vectors_of(s, dim)
    positions = np.array([s.m, s.n], dtype=np.float64) + s.shift

    def score(angles):
        tables = (found.attention_factor * f(angles) for f in (np.cos, np.sin))
        q, k = apply_rope(vectors, *tables, layout=s.channel_layout)
        return q @ k / s.head_dim

    exact = angles = positions[:, None] * found.inv_freq
    if s.dtype != "float64" and s.rounded == "angles":
        angles = nearest(exact, s.dtype)
    elif s.dtype != "float64":
        angles = nearest(positions, s.dtype)[:, None] * found.inv_freq
    pair = min(s.pair, dim // 2 - 1)
    readout = {
        "score": score(angles),
        "before": vectors[0] @ vectors[1] / s.head_dim,
        "exact": score(exact),
        "error": score(angles) - score(exact),
        "distance": s.m - s.n,
        "angle_q": angles[0, pair],
        "angle_k": angles[1, pair],
        "wavelength": 2 * np.pi / found.inv_freq[pair],
        "divisor": plain[pair] / found.inv_freq[pair],
        "attention_factor": found.attention_factor,
        "worst": np.abs(np.cos(angles) - np.cos(exact)).max(),
    }
    if s.scaling not in ("default", "dynamic"):
        counts = scaling.bands(plain, found.inv_freq, s.factor)
        readout |= dict(zip(("kept", "blended", "divided"), counts, strict=True))
    return readout


def test_the_browser_computes_what_the_library_does(node):
    results = node("compute", [state_of(s) for s in SANDBOXES])
    assert len(results) >= 200
    for s, js in zip(SANDBOXES, results, strict=True):
        python = expected(s)
        # Angles reach 64 096 radians, where a float64 holds 7e-12.
        for name, value in python.items():
            assert js[name] == pytest.approx(value, rel=1e-11, abs=1e-9), (s, name)
        numbers = {name for name, value in js.items() if isinstance(value, int | float)}
        assert numbers == set(python), s


def test_the_mark_stands_on_the_curve_unless_something_is_rounded(node):
    places = [(4, 0), (130, 2), (9, 300), (4096, 0)]
    given = {"kind": "random", "seed": 3, "rotary_dim": 32, "scaling": "yarn", "factor": 8}
    states = [state_of(Sandbox(m=m, n=n, shift=5, **given)) for m, n in places]
    numbers, curves = node("compute", states), node("curves", states)
    for js, drawn in zip(numbers, curves, strict=True):
        r = abs(js["distance"])
        assert drawn["curve"][r] == pytest.approx(js["score"], abs=1e-9)
        assert drawn["plainCurve"][r] != pytest.approx(js["score"], abs=1e-3)
    (unscaled,) = node("curves", [state_of(Sandbox())])
    assert unscaled["plainCurve"] is None


def test_the_first_seed_has_the_vectors_of_score_by_distance(node):
    figure = ScoreByDistance(kind="random")
    (js,) = node("compute", [state_of(Sandbox(kind="random", m=0, n=0))])
    q, k = figure.vectors()
    assert js["before"] == pytest.approx(q @ k / 64, abs=1e-12)


# ---- Python


def printed(program):
    """What a program prints, run by itself."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "sandbox", "exec"), {"__name__": "copied"})
    return float(out.getvalue())


def test_the_program_prints_the_score_and_is_the_same_in_the_browser(node):
    states = [state_of(s) for s in SANDBOXES]
    numbers = node("compute", states)
    programs = node("python", [js["state"] for js in numbers])
    for s, js, program in zip(SANDBOXES, numbers, programs, strict=True):
        assert s.as_python() == program
        assert printed(program) == pytest.approx(js["score"], rel=0, abs=1e-9), program


def test_every_piece_of_a_program_is_used_and_filled():
    written = "\n".join(s.as_python() for s in SANDBOXES)
    for name, snippet in RULES["snippets"].items():
        assert snippet.splitlines()[0].split("{")[0] in written, name
    assert "{" not in written
    assert "m, n = 24 + 7, 8 + 7 " in Sandbox(shift=7).as_python()


# ---- links


def test_a_link_leads_back_to_its_state(node):
    states = [state_of(s) for s in SANDBOXES]
    fragments = node("fragment", states)
    assert fragments == [s.fragment() for s in SANDBOXES]
    for state, read in zip(states, node("state", fragments), strict=True):
        assert read == state
    for s, fragment in zip(SANDBOXES, fragments, strict=True):
        assert set(dict(parse_qsl(fragment))) <= set(s.input_names())
    assert Sandbox().fragment() == ""


@pytest.mark.parametrize(
    ("fragment", "problem"),
    [
        ("turn=3", "there is no turn"),
        ("toString=3", "there is no toString"),
        ("rotary_dim=63", "rotary_dim must be even, got 63"),
        ("rotary_dim=128", "rotary_dim must be at most head_dim 64, got 128"),
        ("head_dim=32&rotary_dim=64", "rotary_dim must be at most head_dim 32, got 64"),
        ("m=-1", "m must be from 0 to 4096, got -1"),
        ("m=2.5", "m must be a whole number, got 2.5"),
        ("m=", "m must be a number, got "),
        ("m=Infinity", "m must be a number, got Infinity"),
        ("factor=0.5", "factor must be from 1 to 64, got 0.5"),
        ("dtype=int8", f"dtype must be one of {', '.join(FORMATS)}, got int8"),
    ],
)
def test_a_bad_link_is_refused_with_the_rule(node, fragment, problem):
    assert node("state", [fragment]) == [problem]


def test_every_link_of_the_chapter_is_one_that_its_cells_build(node):
    chapter = json.loads((ROOT / "book" / "practice" / "sandbox.ipynb").read_text("utf-8"))
    kinds = {"markdown": "", "code": ""}
    for cell in chapter["cells"]:
        kinds[cell["cell_type"]] += "".join(cell["source"])
    links = [html.unescape(a) for a in re.findall(r'sandbox\.html#([^"]+)"', kinds["markdown"])]
    assert len(links) >= 5
    for state in node("state", links):
        assert isinstance(state, dict), state
        assert Sandbox(**state).fragment() in links
    assert all(f'"{link}"' in kinds["code"] for link in links)


def test_a_narrower_head_turns_whole_where_a_link_does_not_say(node):
    (read,) = node("state", ["head_dim=32"])
    assert (read["head_dim"], read["rotary_dim"]) == (32, 32)


# ---- Python's side


def test_all_of_a_head_turns_where_no_other_number_is_given():
    assert Sandbox(head_dim=128).rotary_dim == 128
    assert Sandbox(head_dim=128, rotary_dim=32).start["rotary_dim"] == 32


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"head_dim": 32, "rotary_dim": 64}, "rotary_dim must be at most head_dim 32, got 64"),
        ({"rotary_dim": 63}, "rotary_dim must be even, got 63"),
        ({"head_dim": 2}, "head_dim must be from 4 to 256, got 2"),
        ({"factor": 65}, "factor must be from 1 to 64, got 65"),
        ({"m": 2.5}, "m must be a whole number, got 2.5"),
        ({"scaling": "su"}, "scaling must be one of"),
    ],
)
def test_what_cannot_be_is_refused(given, text):
    with pytest.raises(ValueError, match=text):
        Sandbox(**given)


# ---- drawing


def test_a_drawing_names_itself_and_leaves_nothing_behind(tmp_path):
    module = tmp_path / "Sandbox.mjs"
    module.write_text(Sandbox._esm, encoding="utf-8")
    beside = Path(sys.executable).parent / "node"
    program = str(beside) if beside.exists() else shutil.which("node")
    linkedom = ROOT / "node_modules" / "linkedom" / "esm" / "index.js"
    assert linkedom.exists(), "linkedom is needed: npm ci"
    sandbox = Sandbox(scaling="yarn", kind="aimed", dtype="float16", m=3, n=4000)
    state = state_of(sandbox) | {"rules": RULES, "start": sandbox.start}
    changes = [["kind", "random"], ["scaling", "default"], ["m", 4096], ["head_dim", 4]]
    job = {"figure": "Sandbox", "state": state, "changes": changes}
    done = subprocess.run(
        [program, str(ROOT / "tests" / "figures.mjs"), json.dumps({"Sandbox": str(module)}),
         str(linkedom)], input=f"{json.dumps(job)}\n".encode(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    answer = json.loads(done.stdout)
    pages = [step["html"] for step in answer["steps"]]
    assert all('aria-label="Every knob at once"' in html_ for html_ in pages)
    assert not any(re.search(r"NaN|undefined|Infinity| id=", html_) for html_ in pages)
    assert len(set(pages)) == len(pages)
    assert "the key lies ahead of the query" in pages[0]
    assert "Copy link" not in pages[0]  # there is no page to link to
    assert answer["after"] == {"html": "", "listeners": 0}
