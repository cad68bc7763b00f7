"""The driver of the experiments loses, mixes and repeats nothing; what it stored holds together."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch

from experiments import __main__ as command
from experiments import bases, changes, driver, finetune, length, retrieval
from rope_lib.config import RopeConfig
from rope_lib.model import Llama
from rope_lib.texts import TEXTS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / command.RESULTS


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The command sets the number of threads; afterwards it is as it was."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Counting:
    """An experiment without a model, which notes what it is asked for."""

    MODEL, TEXTS = False, ("prose",)
    QUICK: ClassVar[dict[str, object]] = {"points": 2}

    def __init__(self, fail_at: int | None = None, **settings: object) -> None:
        self.SETTINGS = {"points": 4, **settings}
        self.fail_at = fail_at
        self.asked: list[int] = []

    def points(self, settings):
        return [{"n": n} for n in range(settings["points"])]

    def compute(self, lab, point):
        if point["n"] == self.fail_at:
            raise RuntimeError("the machine fell over")
        self.asked.append(point["n"])
        assert [other["n"] for other in lab.done] == list(range(point["n"]))
        return {"square": point["n"] ** 2 / 3, "chance": float(torch.rand(()))}


def test_points_are_stored_one_by_one_and_rounded(tmp_path):
    path = tmp_path / "new" / "counting.json"
    with pytest.raises(RuntimeError):
        driver.run(Counting(fail_at=2), path, "python -m experiments counting")
    stored = json.loads(path.read_text("utf-8"))
    assert [(p["n"], p["square"]) for p in stored["points"]] == [(0, 0.0), (1, 0.33333)]
    assert stored["how"]["command"] == "python -m experiments counting"
    assert stored["how"]["seed"] == 0
    assert stored["how"]["model"] is None
    assert stored["how"]["texts"]["prose"]["pinned"]
    assert list(tmp_path.rglob("*.part")) == []


def test_a_run_that_stopped_goes_on_and_ends_as_if_it_had_not(tmp_path):
    whole, broken = tmp_path / "whole.json", tmp_path / "broken.json"
    driver.run(Counting(), whole, "c")
    with pytest.raises(RuntimeError):
        driver.run(Counting(fail_at=2), broken, "c")
    second = Counting()
    driver.run(second, broken, "c")
    assert second.asked == [2, 3]
    assert broken.read_text("utf-8") == whole.read_text("utf-8")
    driver.run(third := Counting(), broken, "c")
    assert third.asked == []


KILLED = """
import os, sys
from pathlib import Path
import torch
sys.path.insert(0, "tests")
from experiments import driver
from test_experiments import Counting

class Killed(Counting):
    def compute(self, lab, point):
        if point["n"] == 2:
            os.kill(os.getpid(), 9)
        return super().compute(lab, point)

torch.set_num_threads(1)  # as in this process: a file names both otherwise
driver.run(Killed(), Path(sys.argv[1]), "c")
"""


def test_a_kill_loses_the_point_in_progress_and_no_other(tmp_path):
    path = tmp_path / "killed.json"
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], cwd=ROOT, capture_output=True, timeout=120
    )
    assert ended.returncode == -9, ended.stderr.decode()
    driver.run(second := Counting(), path, "c")
    assert second.asked == [2, 3]
    driver.run(Counting(), whole := tmp_path / "whole.json", "c")
    assert path.read_text("utf-8") == whole.read_text("utf-8")


def changed(monkeypatch, what: str) -> Counting:
    """An experiment that differs from Counting() in one thing that must agree."""
    if what == "seed":
        monkeypatch.setattr(driver, "SEED", 1)
    if what == "versions":
        monkeypatch.setattr(driver, "version", lambda name: "0.0.1")
    if what == "texts":
        other = SimpleNamespace(package="fonttools==0.1", file="METADATA", sha256="00")
        monkeypatch.setitem(driver.TEXTS, "prose", other)
    return Counting(unit="nats") if what == "settings" else Counting()


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("seed", "seed is 0 there and 1 here"),
        (
            "versions",
            f"versions.torch is {torch.__version__.partition('+')[0]} there and 0.0.1 here",
        ),
        ("texts", "texts.prose.sha256 is"),
        ("settings", "settings.unit is None there and nats here"),
    ],
)
def test_points_made_otherwise_are_not_mixed(tmp_path, monkeypatch, what, named):
    path = tmp_path / "counting.json"
    driver.run(Counting(), path, "c")
    before = path.read_text("utf-8")
    other = changed(monkeypatch, what)
    with pytest.raises(driver.MixedError, match=named) as refused:
        driver.run(other, path, "c")
    assert "--fresh" in str(refused.value)
    assert path.read_text("utf-8") == before
    driver.run(other, path, "c", fresh=True)
    assert other.asked == [0, 1, 2, 3]


def test_points_that_are_no_longer_asked_for_are_not_kept_silently(tmp_path):
    path = tmp_path / "counting.json"
    driver.run(Counting(), path, "c")
    fewer = Counting()
    fewer.points = lambda settings: [{"n": 0}, {"n": 1}]
    with pytest.raises(driver.MixedError, match="2 of its points are no longer asked for"):
        driver.run(fewer, path, "c")


def test_two_kinds_of_machine_are_both_named(tmp_path, monkeypatch):
    path = tmp_path / "counting.json"
    with pytest.raises(RuntimeError):
        driver.run(Counting(fail_at=2), path, "c")
    here = json.loads(path.read_text("utf-8"))["how"]["machine"]
    monkeypatch.setattr(driver, "machine_class", lambda device: "abacus")
    driver.run(Counting(), path, "c")
    assert json.loads(path.read_text("utf-8"))["how"]["machine"] == f"abacus, {here}"


def test_the_command_refuses_unknown_names_and_reports_what_was_mixed(tmp_path, monkeypatch):
    with pytest.raises(SystemExit) as usage:
        command.main(["strech"])
    assert usage.value.code == 2
    monkeypatch.setattr(command, "import_module", lambda name: Counting(unit="nats"))
    driver.run(Counting(), tmp_path / "stretch.json", "c")
    with pytest.raises(SystemExit, match=r"settings\.unit .* --fresh"):
        command.main(["stretch", "--folder", str(tmp_path)])
    command.main(["stretch", "--folder", str(tmp_path), "--fresh"])
    stored = json.loads((tmp_path / "stretch.json").read_text("utf-8"))
    assert stored["how"]["command"] == "python -m experiments stretch"


def test_rounding_is_what_json_gives_back():
    assert driver.rounded({"a": (1.0 / 3.0, 2, True), "b": [range(2)]}) == {
        "a": [0.33333, 2, True],
        "b": [[0, 1]],
    }


# --- every experiment, tiny ----------------------------------------------------------------------


class Bytes:
    """A tokenizer whose tokens are bytes."""

    end = 256

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, ids: list[int]) -> str:
        return bytes(ids).decode(errors="replace")


def random_llama() -> Llama:
    """Two layers, 4 query and 2 key heads of 16 channels."""
    shapes = {"token_embd": (257, 64), "output_norm": (64,)}
    for layer in range(2):
        sizes = {"q": (64, 64), "k": (32, 64), "v": (32, 64), "output": (64, 64), "norm": (64,)}
        shapes |= {f"blk.{layer}.attn_{name}": size for name, size in sizes.items()}
        inner = {"norm": (64,), "gate": (96, 64), "up": (96, 64), "down": (64, 96)}
        shapes |= {f"blk.{layer}.ffn_{name}": size for name, size in inner.items()}
    generator = torch.Generator().manual_seed(0)
    weights = {
        f"{name}.weight": torch.randn(shape, generator=generator) / 4
        for name, shape in shapes.items()
    }
    rope = RopeConfig.from_gguf(
        {
            "general.architecture": "llama",
            "llama.context_length": 128,
            "llama.embedding_length": 64,
            "llama.attention.head_count": 4,
            "llama.rope.freq_base": 1000.0,
            "llama.rope.dimension_count": 16,
        }
    )
    return Llama(rope, 4, 2, 1e-5, weights, Bytes())


@pytest.fixture
def tiny_lab(tmp_path, monkeypatch) -> None:
    """The experiments read a random model of two layers."""
    path = tmp_path / "tiny"
    path.write_bytes(b"a model")
    monkeypatch.setattr(driver, "find_smollm2", lambda: path)
    monkeypatch.setattr(driver, "load_smollm2", random_llama)


@pytest.mark.parametrize("name", command.EXPERIMENTS)
def test_a_quick_run_computes_every_point(name, tiny_lab, tmp_path):
    command.main([name, "--quick", "--threads", "1", "--folder", str(tmp_path)])
    first = (tmp_path / f"{name}.json").read_text("utf-8")
    stored = json.loads(first)
    module = importlib.import_module(f"experiments.{name}")
    asked = module.points({**module.SETTINGS, **module.QUICK})
    assert len(stored["points"]) == len(asked) > 0
    assert stored["how"]["command"] == f"python -m experiments {name} --quick"
    command.main([name, "--quick", "--fresh", "--threads", "1", "--folder", str(tmp_path)])
    again = (tmp_path / f"{name}.json").read_text("utf-8")
    assert untimed(again) == untimed(first)
    assert name in TIMED or again == first


TIMED = ("costs",)
"""These store what a clock says, under "time"."""


def untimed(text: str) -> dict:
    found = json.loads(text)
    return {**found, "points": [{**point, "time": None} for point in found["points"]]}


def test_tf32_keeps_ten_bits_and_rounds_ties_to_even():
    given = torch.tensor([1.0, 2049.0, 2050.0, 2051.0, 1.0 + 2.0**-11, -(1.0 + 3 * 2.0**-11)])
    expected = torch.tensor([1.0, 2048.0, 2050.0, 2052.0, 1.0, -(1.0 + 2.0**-9)])
    assert torch.equal(changes.tf32(given), expected)
    assert torch.equal(changes.tf32(torch.arange(2049.0)), torch.arange(2049.0))


def test_windows_give_every_token_past_the_trained_length_once(tiny_lab):
    lab = driver.Lab({**length.SETTINGS, **length.QUICK})
    tokens = lab.tokens("code", 96)
    plain = lab.model.token_losses(tokens)
    found = length.windowed(lab, tokens, plain)
    assert found.shape == plain.shape
    assert torch.equal(found[:63], plain[:63])
    for at, start in ((64, 16), (79, 16), (80, 32), (95, 32)):  # the token, and its window
        window = lab.model.token_losses(tokens[start : start + 64])
        assert found[at - 1] == window[at - start - 1]


def test_equal_frequencies_are_not_measured_twice(tiny_lab):
    lab = driver.Lab({**length.SETTINGS, **length.QUICK})
    ntk, dynamic, yarn = (length.frequencies(lab, x, 96) for x in ("ntk", "dynamic", "yarn"))
    assert length.equal(ntk, dynamic)
    assert not length.equal(ntk, yarn)
    assert not length.equal(ntk, length.frequencies(lab, "dynamic", 95))


def test_a_planted_text_has_its_length_and_its_facts_at_their_depths(tiny_lab):
    lab = driver.Lab({**retrieval.SETTINGS, **retrieval.QUICK})
    tokens = retrieval.planted(lab, {"text": "prose", "tokens": 600})
    text = lab.model.tokenizer.decode(tokens)
    places = [text.index(f"{name} is {n[1]}.") for name, n in lab.settings["facts"].items()]
    assert places == sorted(places)
    assert places[0] < 0.25 * len(text) < places[1] < 0.75 * len(text) < places[2]
    longest = max(lab.settings["facts"], key=len)
    question = lab.settings["question"].format(name=longest) + "48213"
    assert len(tokens) + len(lab.model.tokenizer.encode(question)) == 600


def test_what_is_measured_after_training_was_not_learnt_from():
    for text in finetune.TEXTS:
        learnt, kept = finetune.parts(text)
        assert bytes([*learnt.tolist(), *kept.tolist()]).decode() == driver.read(text)
        assert len(kept) > 5 * finetune.SETTINGS["stretched"]


# --- what is stored ------------------------------------------------------------------------------

KEYS = {
    "changes": {"text", "change", "perplexity", "line"},
    "stretch": {"text", "stretch", "perplexity", "line"},
    "length": {"text", "method", "factor", "bins", "loss", "windowed"},
    "retrieval": {"text", "tokens", "method", "depth", "log_probability", "greedy"},
    "finetune": {"seed", "method", "steps", "loss", "bins", "before", "after"},
}


def stored(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def found(name: str, key: str, value: str, **which: object) -> dict:
    """Of the points that hold which: value by key."""
    points = [p for p in stored(name)["points"] if driver.holds(p, which) and key in p]
    return {point[key]: point[value] for point in points}


@pytest.mark.parametrize("name", command.EXPERIMENTS)
def test_what_is_stored_is_small_says_how_and_is_what_the_code_asks_for(name):
    path = RESULTS / f"{name}.json"
    assert path.stat().st_size < 200_000
    how, points = stored(name)["how"], stored(name)["points"]
    assert set(how) == {
        *("command", "seed", "versions", "machine", "model", "texts", "settings"),
    }
    assert how["command"] == f"python -m experiments {name}"
    module = importlib.import_module(f"experiments.{name}")
    assert how["settings"] == driver.rounded(module.SETTINGS)
    assert how["texts"].keys() == set(module.TEXTS)
    asked = [driver.rounded(key) for key in module.points(module.SETTINGS)]
    places = [next(n for n, key in enumerate(asked) if driver.holds(p, key)) for p in points]
    assert places == sorted(set(places))
    assert len(places) == len(asked)
    if name in KEYS:
        assert all(set(point) == KEYS[name] for point in points)


@pytest.mark.parametrize("text", TEXTS)
def test_only_relative_positions_count_and_rounded_ones_break_them(text):
    ratio = found("changes", "change", "perplexity", text=text)
    right = ratio["right"]
    ratio = {change: perplexity / right for change, perplexity in ratio.items()}
    same = ("+ 1000", "+ 7168", "+ 1000000", "in float16")
    for change in (*(f"positions {how}" for how in same), "angles in float32", "product in tf32"):
        assert ratio[change] == pytest.approx(1.0, rel=2e-4), change
    for start in ("", ", positions + 7168"):  # other frequencies, but the same for q and k
        assert ratio[f"inv_freq in bfloat16{start}"] == pytest.approx(1.0, rel=2e-3)
    assert min(ratio["half layout"], ratio["no rotation"]) > 20
    assert 1.8 < ratio["positions in bfloat16"] < ratio["product in bfloat16"] < 2.5
    shifted = [ratio[f"positions + {start} in bfloat16"] for start in (1000, 7168)]
    assert 4 < shifted[0] < shifted[1] < 13
    tf32 = ratio["product in tf32, positions + 7168"]  # both have 11 bits for a position
    assert 3 < ratio["positions + 7168 in float16"] == pytest.approx(tf32, rel=1e-3)
    for change in ("rotation in bfloat16", "rotation in float32, then bfloat16"):
        assert ratio[change] == pytest.approx(1.0, rel=2e-3)


def test_experiments_that_measure_the_same_agree():
    for text in TEXTS:
        one = found("changes", "change", "perplexity", text=text)
        other = found("stretch", "stretch", "perplexity", text=text)
        assert other[1.0] == pytest.approx(one["right"], rel=1e-4)
        assert other[2.0] == pytest.approx(one["positions x 2"], rel=1e-4)
        assert other[0.5] == pytest.approx(one["positions x 1/2"], rel=1e-4)
    for text in bases.TEXTS:
        one = found("changes", "change", "perplexity", text=text)
        other = found("bases", "base", "perplexity", text=text, tokens=1024)
        assert other[100_000.0] == pytest.approx(one["right"], rel=1e-4)
        assert other[10_000.0] == pytest.approx(one["base 10000"], rel=1e-4)


@pytest.mark.parametrize("text", TEXTS)
def test_a_little_stretch_costs_nothing_and_a_lot_costs_everything(text):
    perplexity = found("stretch", "stretch", "perplexity", text=text)
    least = min(perplexity, key=perplexity.get)
    assert 1.0 < least <= 1.25
    assert perplexity[1.0] < 1.02 * perplexity[least]
    assert perplexity[0.25] > 5 * perplexity[1.0]
    assert perplexity[4.0] > 20 * perplexity[1.0]


def test_previous_token_heads_need_rotation_and_its_fastest_pairs():
    attention = found("pairs_layers", "rotation", "attention_to_previous")
    assert max(map(max, attention[True])) > 0.75
    assert max(map(max, attention[False])) < 0.02
    [best] = [p for p in stored("pairs_layers")["points"] if p.get("rank") == 0]
    assert best["attention_to_previous"] == attention[True][best["layer"]][best["head"]]
    without = best["attention_without"]
    assert without.index(min(without)) == 0
    assert without[0] < best["attention_to_previous"] / 3
    same = {"measure": "perplexity", "without": "pairs"}
    thirds = [found("pairs_layers", "first", "perplexity", **same, last=n) for n in (10, 20, 31)]
    fast, middle, slow = thirds[0][0], thirds[1][11], thirds[2][21]
    assert fast > 10 * middle > 10 * slow


def excess(text: str, method: str) -> list[float]:
    """By bin of 512 positions: the loss above that of the same tokens within 8192 positions."""
    same = {"text": text, "method": method}
    [loss] = found("length", "method", "loss", **same).values()
    [windowed] = found("length", "method", "windowed", **same).values()
    return [a - b for a, b in zip(loss, windowed, strict=True)]


TRAINED, A_QUARTER_MORE = 16, 20
"""Bins that end at 8192 and at 10 240 positions."""


@pytest.mark.parametrize("method", length.METHODS)
@pytest.mark.parametrize("text", length.TEXTS)
def test_what_a_method_does_past_the_trained_length(text, method):
    by_bin = excess(text, method)
    assert len(by_bin) == 24
    beyond = by_bin[TRAINED:]
    if method == "plain":
        assert max(map(abs, by_bin[:A_QUARTER_MORE])) < 0.05  # a quarter beyond costs little
        assert min(by_bin[A_QUARTER_MORE + 1 :]) > 0.5
        assert by_bin[-1] > 1.4
    elif method == "linear":
        assert min(by_bin) > 0.7  # as bad within as beyond: made to be fine-tuned
    else:
        assert max(by_bin) < 0.11
        assert sum(beyond) / len(beyond) < 0.06


@pytest.mark.parametrize("tokens", [1024, 4096])
@pytest.mark.parametrize("text", bases.TEXTS)
def test_the_trained_base_is_best_and_fast_pairs_matter_most(text, tokens):
    perplexity = found("bases", "base", "perplexity", text=text, tokens=tokens)
    assert min(perplexity, key=perplexity.get) == 100_000.0
    right = perplexity[100_000.0]
    assert 1.1 * right < perplexity[1_000_000.0] < 1.25 * right
    assert perplexity[1000.0] > 30 * perplexity[10_000.0]
    dropped = found("bases", "dropped", "perplexity", text=text, tokens=tokens)
    assert dropped["high"] > 20 * right
    if tokens == 1024:
        assert perplexity[10_000.0] < 1.2 * right
        assert 1.9 * right < dropped["middle"] < 2.3 * right
        assert right < dropped["low"] < 1.05 * right
    else:  # a longer window carries slow pairs past the angles that they were trained on
        assert perplexity[10_000.0] > 10 * right
        assert dropped["low"] > 2.5 * right


def facts_found(method: str) -> list[int]:
    """Of the three in each text, from the shortest text to the longest."""
    given = {"method": method}
    texts = [{**given, "tokens": tokens} for tokens in retrieval.SETTINGS["lengths"]]
    return [sum(found("retrieval", "depth", "greedy", **text).values()) for text in texts]


def test_facts_are_found_past_the_trained_length_with_yarn_alone():
    assert facts_found("plain") == [3, 3, 1, 0]
    assert facts_found("ntk") == [3, 3, 1, 1]
    assert facts_found("yarn") == [3, 3, 1, 3]
    assert facts_found("linear") == [0, 0, 0, 0]  # digits are neighbours, and they are blurred


def test_a_tiny_model_stretched_to_four_times_its_length():
    """YaRN starts best; a fine-tune brings nothing as far, and interpolation not as far."""
    for seed in finetune.SETTINGS["seeds"]:
        loss = found("finetune", "method", "loss", seed=seed)
        first, last = ({m: losses[at] for m, losses in loss.items()} for at in (0, -1))
        assert first["yarn"] + 0.2 < first["nothing"] < first["linear"] - 0.5
        assert last["nothing"] == pytest.approx(last["yarn"], abs=0.01)
        assert last["linear"] > last["yarn"] + 0.08
        before = found("finetune", "method", "before", seed=seed)
        within, far = (slice(0, 2), slice(3, None))
        assert min(before["nothing"][far]) > max(before["nothing"][within]) + 0.25
        assert max(before["yarn"]) < min(before["yarn"]) + 0.25
