"""The model in the page, without a browser: its traits, its tables, its links, its still."""

import json
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from rope_lib.figures import TinyModel, tiny_model, with_sliders
from rope_lib.figures.tiny_model import HEAD_DIM, PARTS, SCALINGS, SNIPPET, TRAINED
from rope_lib.nn import RotaryEmbedding

ROOT = Path(__file__).parents[1]
RULES = TinyModel().rules

RUNNER = """
export const jobs = {
  tables: (states) =>
    states.map((state) => {
      const { cos, sin, ...rest } = rotationOf(state, 1024, rules);
      return { cos: [...cos], sin: [...sin], ...rest };
    }),
  fragment: (states) => states.map((state) => fragmentOf(state, rules)),
  state: (fragments) =>
    fragments.map((fragment) => {
      try {
        return stateOf(fragment, rules);
      } catch (error) {
        return error.message;
      }
    }),
  compute: (lists) =>
    lists.map(([losses, right_losses]) => compute({ losses, right_losses, rules })),
  headline: (lists) =>
    lists.map(([losses, right_losses, isPlain]) =>
      headline(compute({ losses, right_losses, rules }), isPlain, rules, WORDS.below),
    ),
  turns: (states) => states.map((state) => turnsOf(state, rules)),
  smoothed: (lists) => lists.map(([losses, width]) => smoothed(losses, width)),
  parting: (pairs) => pairs.map(([one, other]) => parting(one, other)),
};
let text = "";
for await (const piece of process.stdin) text += piece;
const { job, cases, rules } = JSON.parse(text);
console.log(JSON.stringify(jobs[job](cases)));
"""


@pytest.fixture(scope="module")
def node(jobs_in_node):
    """Give a function that does one job, for many cases, in Node."""
    return jobs_in_node(TinyModel._esm + RUNNER, RULES)


def state_of(figure):
    return {name: getattr(figure, name) for name in figure.input_names()}


def some_figures(count=40):
    """Every scaling in turn, with the other knobs drawn from their ranges."""
    draw = random.Random(5)
    for i in range(count):
        yield TinyModel(
            channel_layout=draw.choice(["interleaved", "half"]),
            base=draw.choice([2, 1000, 10_000, 40_000, 10_000_000]),
            stretch=draw.choice([0.05, 0.25, 1, 2, 3.35, 4.0]),
            shift=draw.choice([0, 1, 1000, 10_000]),
            bfloat16=draw.random() < 0.4,
            scaling=SCALINGS[i % 4],
            factor=draw.choice([1, 2.5, 4, 16]),
            pairs_off=draw.sample(range(16), draw.choice([0, 1, 5, 16])),
            layers_off=draw.sample(range(4), draw.choice([0, 1, 4])),
        )


FIGURES = list(some_figures())


# ---- the tables


def test_the_browser_fills_the_tables_that_the_library_would(node):
    for figure, js in zip(FIGURES, node("tables", list(map(state_of, FIGURES))), strict=True):
        keywords = figure.keywords()
        module = RotaryEmbedding(HEAD_DIM, base=keywords["base"], scaling=keywords["scaling"])
        expected = module.tables(keywords["positions"](torch.arange(1024)))
        still = [j for j in range(16) if j not in keywords["rotate_pairs"]]
        for name, table, rest in zip(
            ("cos", "sin"), expected, (module.attention_factor, 0), strict=True
        ):
            table[:, still] = rest
            np.testing.assert_allclose(
                np.reshape(js[name], (1024, 16)), table, rtol=0, atol=2e-7, err_msg=repr(figure)
            )
        assert js["layout"] == keywords["layout"]
        assert [i for i, turns in enumerate(js["rotate"]) if turns] == keywords["rotate_layers"]


def test_a_pair_is_called_by_its_speed(node):
    assert node("turns", [state_of(TinyModel())])[0][8] == pytest.approx(628.3, abs=0.05)
    for figure, turns in zip(FIGURES, node("turns", list(map(state_of, FIGURES))), strict=True):
        keywords = figure.keywords()
        module = RotaryEmbedding(HEAD_DIM, base=keywords["base"], scaling=keywords["scaling"])
        assert turns == pytest.approx((2 * np.pi / module.inv_freq / figure.stretch).tolist())


def test_rounded_positions_are_those_of_torch():
    counted = torch.arange(1024)
    exact = tiny_model.places(3.35, 1000, False)(counted)
    rounded = tiny_model.places(3.35, 1000, True)(counted)
    assert exact.dtype == rounded.dtype == torch.float32
    np.testing.assert_allclose(exact, 3.35 * counted.numpy() + 1000, rtol=1e-7)
    assert torch.equal(rounded, exact.bfloat16().float())
    assert not torch.equal(rounded, exact)


def test_keywords_are_those_of_the_knobs_and_keep_what_they_were():
    figure = TinyModel()
    before = figure.keywords()
    assert before["scaling"] == {"rope_type": "default"}
    assert before["rotate_pairs"] == list(range(16))
    assert before["rotate_layers"] == [0, 1, 2, 3]
    assert before["positions"](torch.arange(3)).tolist() == [0.0, 1.0, 2.0]
    figure.shift, figure.scaling, figure.pairs_off = 5, "yarn", [0]
    after = figure.keywords()
    assert before["positions"](torch.arange(3)).tolist() == [0.0, 1.0, 2.0]
    assert after["positions"](torch.arange(3)).tolist() == [5.0, 6.0, 7.0]
    assert after["rotate_pairs"] == list(range(1, 16))
    yarn = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": TRAINED}
    assert after["scaling"] == yarn


# ---- numbers of the views


def test_the_readout_is_of_the_losses_and_of_nothing_without_them(node):
    losses, right = [1.0, 2.0, 3.5], [1.0, 1.0, 2.0]
    full, none, half = node("compute", [(losses, right), ([], []), (losses, [])])
    assert none == half == {}
    mean, right_mean = np.mean(losses), np.mean(right)
    expected = {
        "loss": mean,
        "perplexity": np.exp(mean),
        "right_loss": right_mean,
        "right_perplexity": np.exp(right_mean),
        "ratio": np.exp(mean - right_mean),
        "largest_change": 1.5,
    }
    assert full == pytest.approx(expected)


def test_past_the_trained_length_the_readout_has_two_parts(node):
    losses = np.random.default_rng(1).uniform(0, 8, 1023)
    right = losses / 2
    # The first 256 tokens have 255 losses.
    short, long = node("compute", [(losses[:255].tolist(), right[:255].tolist()),
                                   (losses.tolist(), right.tolist())])  # fmt: skip
    for name, list_ in (("perplexity", losses), ("right_perplexity", right)):
        assert long[f"{name}_to"] == pytest.approx(np.exp(list_[:255].mean()))
        assert long[f"{name}_past"] == pytest.approx(np.exp(list_[255:].mean()))
    assert long["perplexity_to"] == short["perplexity"]
    assert set(long) - set(short) == {
        f"{right}perplexity_{part}" for right in ("", "right_") for part in ("to", "past")
    }


def test_the_headline_says_which_text_which_part_and_whether_anything_changes(node):
    two, three = np.log(2), np.log(3)
    near, far = [two] * 255, [three] * 255
    cases = [
        (near, near, True),
        (near, [two + 9e-4] * 255, False),
        (far, near, False),
        (near + far, near + far, True),
        (near + far, near + far, False),
        (far + far, near + near, False),
    ]
    of = "perplexity of the passage below"
    assert node("headline", cases) == [
        f"{of} 2.0, as it was trained",
        f"{of} 2.0: no token's loss changes",
        f"{of} 2.0 → 3.0 (× 1.50)",
        f"{of} 2.4. To token 256, as it was trained: 2.0; after it: 3.0",
        f"{of} 2.4: no token's loss changes. To token 256: 2.0; after it: 3.0",
        f"{of} 2.0 → 3.0 (× 1.50). To token 256: 2.0 → 3.0; after it: 2.0 → 3.0",
    ]


def test_the_curve_is_a_mean_at_the_middle_of_its_tokens(node):
    losses = np.random.default_rng(0).uniform(0, 8, 40).tolist()
    (points, none) = node("smoothed", [[losses, 8], [losses[:5], 8]])
    # Loss i is that of token i + 1.
    expected = [[i + 1 + 3.5, np.mean(losses[i : i + 8])] for i in range(33)]
    np.testing.assert_allclose(points, expected, atol=1e-12)
    assert none == []


def test_texts_part_where_the_first_token_differs(node):
    pairs = [([1, 2, 3], [1, 2, 3]), ([1, 2, 3], [1, 4, 3]), ([1, 2], [1, 2, 3]), ([], [])]
    assert node("parting", pairs) == [-1, 1, 2, -1]


# ---- links


def test_a_link_leads_back_to_its_state(node):
    figures = [*FIGURES, TinyModel(prompt="a & b=c:\n\tü#%+", count=9, temperature=0.7, seed=3)]
    states = [{k: v for k, v in state_of(f).items() if k in RULES["inputs"]} for f in figures]
    fragments = node("fragment", states)
    assert node("state", fragments) == states
    assert node("fragment", [state_of(TinyModel())]) == [""]
    assert all(re.fullmatch(r"[\w.=&%!'()*~-]+", fragment) for fragment in fragments)


@pytest.mark.parametrize(
    ("fragment", "problem"),
    [
        ("turn=3", "there is no turn"),
        ("passage=x", "there is no passage"),
        ("base=1", "base must be from 2 to 10000000, got 1"),
        ("stretch=x", "stretch must be a number, got x"),
        ("pairs_off=3,16", "pairs_off must be from 0 to 15, got 16"),
        ("layers_off=0.5", "layers_off must be a whole number, got 0.5"),
        ("bfloat16=1", "bfloat16 must be one of false, true, got 1"),
        ("scaling=su", "scaling must be one of default, linear, ntk, yarn, got su"),
    ],
)
def test_a_bad_link_is_refused_with_the_rule(node, fragment, problem):
    assert node("state", [fragment]) == [problem]


def test_a_link_may_name_numbers_in_any_order_and_twice(node):
    (state,) = node("state", ["pairs_off=9,3,9&layers_off="])
    assert (state["pairs_off"], state["layers_off"]) == ([3, 9], [])


# ---- Python's side


def test_repr_tells_what_differs():
    assert repr(TinyModel()) == "TinyModel()"
    figure = TinyModel(base=1000, pairs_off=(3, 1), passage="abc", shown=["layout"])
    assert repr(figure) == (
        "TinyModel(base=1000, pairs_off=[1, 3], passage=<3 characters>, "
        "shown=['layout', 'writing', 'passage'])"
    )


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"base": 1}, ValueError, "base must be from 2 to 10000000, got 1"),
        ({"stretch": 0}, ValueError, "stretch must be from 0.05 to 4, got 0"),
        ({"length": 1025}, ValueError, "length must be from 32 to 1024, got 1025"),
        ({"layer": 4}, ValueError, "layer must be from 0 to 3, got 4"),
        ({"scaling": "su"}, ValueError, "scaling must be one of 'default', 'linear'"),
        ({"pairs_off": [16]}, ValueError, "pairs_off must hold whole numbers from 0 to 15, got 16"),
        ({"pairs_off": [0.5]}, ValueError, "whole numbers from 0 to 15, got 0.5"),
        ({"layers_off": 2}, TypeError, "layers_off must be a list of numbers, got 2"),
        ({"layers_off": "2"}, TypeError, "layers_off must be a list of numbers, got '2'"),
        ({"layers_off": [True]}, TypeError, "layers_off must be a real number, got True"),
        ({"shown": "layout"}, TypeError, "shown must be a list of names, got 'layout'"),
        ({"shown": ["theta"]}, ValueError, "shown must hold names of 'layout', .*, got 'theta'"),
        ({"prompt": 3}, TypeError, "prompt must be a text, got 3"),
    ],
)
def test_what_cannot_be_is_refused(given, error, text):
    with pytest.raises(error, match=text):
        TinyModel(**given)


def test_lists_are_in_order_and_not_shared():
    assert TinyModel(pairs_off=np.array([3, 1, 3])).pairs_off == [1, 3]
    TinyModel().pairs_off.append(4)
    assert TinyModel().pairs_off == []
    assert TinyModel().shown == PARTS
    assert TinyModel(shown=["curve", "base"]).shown == ["base", "curve"]


def test_it_reads_its_own_text_where_it_is_given_none():
    assert TinyModel().text == SNIPPET == RULES["snippet"]
    assert TinyModel(passage="x = 1").text == "x = 1"
    compile(SNIPPET, "snippet", "exec")  # it is Python, and whole


def test_a_slider_of_the_page_turns_a_knob():
    figure = TinyModel()
    slider = with_sliders(figure, stretch=(0.25, 4.0, 0.25)).children[-1]
    assert slider.description == "stretch s"
    with_sliders(figure, channel_layout=["half", "interleaved"])
    figure.channel_layout_index = 0
    assert figure.keywords()["layout"] == "half"


def test_every_knob_leads_to_a_page_of_the_book():
    assert set(RULES["chapters"]) == set(PARTS) - {*tiny_model.VIEWS, "share"}
    for page in RULES["chapters"].values():
        assert (ROOT / f"{page}.ipynb").is_file(), page


# ---- the file, on request


@pytest.fixture
def sent(monkeypatch):
    messages = []
    monkeypatch.setattr(
        TinyModel, "send", lambda self, content, buffers=None: messages.append((content, buffers))
    )
    return messages


def test_python_sends_the_file_that_the_browser_asks_for(sent):
    figure = TinyModel()
    figure._handle_custom_msg({"file": "other"}, [])
    figure._handle_custom_msg("file", [])
    assert sent == []
    figure._handle_custom_msg({"file": figure.package_file}, [])
    ((content, (data,)),) = sent
    assert content == {"file": "tiny_lm.gguf"}
    assert data[:4] == b"GGUF"
    assert data == (ROOT / "rope_lib" / "tiny_lm.gguf").read_bytes()


def test_a_file_that_cannot_be_read_is_told(sent, monkeypatch, tmp_path):
    monkeypatch.setattr(tiny_model, "files", lambda package: tmp_path)
    TinyModel()._handle_custom_msg({"file": "tiny_lm.gguf"}, [])
    ((content, buffers),) = sent
    assert "No such file" in content["error"]
    assert buffers is None


# ---- drawing without a browser


def test_a_still_names_the_knobs_asks_for_nothing_and_leaves_nothing_behind(tmp_path, node_program):
    module = tmp_path / "TinyModel.mjs"
    module.write_text(TinyModel._esm, encoding="utf-8")
    linkedom = ROOT / "node_modules" / "linkedom" / "esm" / "index.js"
    assert linkedom.exists(), "linkedom is needed: npm ci"
    figure = TinyModel(scaling="yarn", pairs_off=[2], passage="a = 1\n")
    more = {name: getattr(figure, name) for name in ("rules", "start", "losses", "right_losses")}
    state = state_of(figure) | more | {"awake": False}
    # The stand-in for a model has no send: a figure that asked for its file would fail.
    changes = [["prompt", "x"], ["layer", 3]]
    job = {"figure": "TinyModel", "state": state, "changes": changes}
    done = subprocess.run(
        [node_program, str(ROOT / "tests" / "figures.mjs"),
         json.dumps({"TinyModel": str(module)}), str(linkedom)],
        input=f"{json.dumps(job)}\n".encode(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    answer = json.loads(done.stdout)
    pages = [step["html"] for step in answer["steps"]]
    assert 'aria-label="A language model to break"' in pages[0]
    for words in ("layout", "positions times", "pairs that rotate", "layers that rotate", "a = 1"):
        assert f">{words}" in pages[0]
    assert "the model, of 1 MB, is then fetched" in pages[0]
    assert ">def __init__(self</textarea>" in pages[0]
    chosen = [re.findall(r"<option[^>]*\bselected\b[^>]*>([^<]*)<", html) for html in pages]
    assert chosen[0] == ["def␣__init__(self", "interleaved", "YaRN", "2", "0"]
    assert chosen[-1] == ["your own", "interleaved", "YaRN", "3", "0"]
    assert not any(re.search(r"NaN|undefined|Infinity| id=", html) for html in pages)
    assert "Copy link" not in pages[0]  # there is no page to link to
    assert answer["after"] == {"html": "", "listeners": 0}
