"""The tiny model: its sources, its tokenizer, its training, its file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch

from experiments import tiny_lm
from experiments.tiny_lm import sources, training, words
from experiments.tiny_lm.export import export
from experiments.tiny_lm.model import TinyLM
from rope_lib.gguf_file import GGUFFile
from rope_lib.model import TINY_LM, load_gguf, load_tiny_lm

RESULTS = Path(__file__).parents[1] / "experiments" / "results"
SETTINGS = {**tiny_lm.SETTINGS, **tiny_lm.QUICK}
TEXT = Path(__file__).read_text("utf-8")


@pytest.fixture(scope="module")
def learned() -> tuple[list[str], list[str], object]:
    return words.learned([TEXT], 300)


def stored() -> dict:
    (point,) = json.loads((RESULTS / "tiny_lm.json").read_text("utf-8"))["points"]
    return point


# --- sources -------------------------------------------------------------------------------------


def test_a_source_is_listed_by_its_hash_and_its_side():
    """b"text" hashes to 982d9e3e...; the names were searched for one on either side."""
    seen, held_out = (sources.Source(path, "text") for path in ("a.py", "bd.py"))
    assert seen.line == "982d9e3eb996f559 training a.py"
    assert held_out.line == "982d9e3eb996f559 held out bd.py"


def test_the_list_kept_is_what_the_pinned_packages_hold():
    listed = (RESULTS / "tiny_lm.txt").read_text("utf-8").splitlines()
    files = sources.sources()
    assert listed == sources.described(sources.PACKAGES, files)
    assert stored()["files_held_out"] == sum(file.held_out for file in files) > 30
    assert stored()["files"] == sum(not file.held_out for file in files) > 900
    digest = hashlib.sha256("\n".join(listed).encode()).hexdigest()
    assert stored()["files_sha256"] == digest


def test_no_text_is_read_twice_and_none_is_a_test():
    files = sources.sources()
    assert len({file.text for file in files}) == len(files)
    assert not any("test" in file.path for file in files)
    assert [file.path for file in files] == sorted(file.path for file in files)


# --- tokenizer -----------------------------------------------------------------------------------


def test_every_byte_and_the_end_are_tokens(learned):
    vocabulary, merges, bpe = learned
    assert len(vocabulary) == 300 == 257 + len(merges)
    assert vocabulary[0] == words.END == "<|endoftext|>"
    assert bpe.get_vocab() == {token: number for number, token in enumerate(vocabulary)}


def test_the_file_s_tokenizer_is_the_learned_one(learned, tmp_path):
    vocabulary, merges, bpe = learned
    path = tmp_path / "tiny.gguf"
    export(path, made(), vocabulary, merges, SETTINGS)
    tokenizer = load_gguf(path).tokenizer
    for text in (TEXT, "\x00\x16 é 漢字 😀 ½²\r\n\t  x", "    return 1024\n"):
        assert tokenizer.encode(text) == bpe.encode(text).ids
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode(f"a{words.END}")[-1] == tokenizer.end == 0


# --- training ------------------------------------------------------------------------------------


def made(seed: int = 0) -> dict[str, torch.Tensor]:
    """Weights of a fresh model, none of them zero or one."""
    torch.manual_seed(seed)
    weights = TinyLM(SETTINGS).state_dict()
    return {name: weight + 0.1 * torch.randn_like(weight) for name, weight in weights.items()}


def test_while_it_learns_it_is_the_llama_of_rope_lib(learned, tmp_path):
    """Float32 sums in another order; Q8_0 is read back, so both have the same weights."""
    vocabulary, merges, _ = learned
    path = tmp_path / "tiny.gguf"
    export(path, made(), vocabulary, merges, SETTINGS)
    llama = load_gguf(path)
    model = TinyLM(SETTINGS)
    model.load_state_dict(llama.weights)
    ids = torch.randint(300, (2, 16), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        batched = model(ids)
    for row, found in zip(ids, batched, strict=True):
        torch.testing.assert_close(found, llama.logits(row), rtol=0, atol=1e-5)
        wrong = llama.logits(row, layout="half")
        assert (found - wrong).abs().max() > 1e-2


def test_a_stopped_run_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    tokens = torch.randint(300, (400,), generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(training, "KEPT_EVERY", 2)
    whole = training.train(tokens, SETTINGS, tmp_path / "whole.pt").state_dict()

    real, steps = training.learn, iter(range(3))

    def stopping(*arguments):
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(training, "learn", stopping)
    with pytest.raises(KeyboardInterrupt):
        training.train(tokens, SETTINGS, tmp_path / "halves.pt")
    monkeypatch.setattr(training, "learn", real)
    halves = training.train(tokens, SETTINGS, tmp_path / "halves.pt").state_dict()
    assert all(torch.equal(halves[name], weight) for name, weight in whole.items())
    torch.manual_seed(SETTINGS["seed"])
    start = TinyLM(SETTINGS).state_dict()
    assert not all(torch.equal(start[name], weight) for name, weight in whole.items())


def test_a_state_of_other_settings_is_refused(tmp_path):
    tokens = torch.arange(300)
    training.train(tokens, SETTINGS, tmp_path / "state.pt")
    with pytest.raises(ValueError, match=r"made with rate = 0.004, now it is 0.1. Remove it"):
        training.train(tokens, {**SETTINGS, "rate": 0.1}, tmp_path / "state.pt")


def test_the_rate_rises_stays_and_falls():
    settings = {"steps": 100, "warm_up": 10, "falling": 0.5}
    found = [training.share(step, settings) for step in (0, 4, 9, 50, 75, 99)]
    assert found == [0.1, 0.5, 1.0, 1.0, 0.5, 0.02]


def test_windows_follow_from_the_step_alone():
    tokens = torch.arange(1000)
    first, again, other = (training.batch(tokens, SETTINGS, step) for step in (3, 3, 4))
    assert first.shape == (4, 17)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(first - first[:, :1], torch.arange(17).expand(4, 17))


# --- the file in git -----------------------------------------------------------------------------


def test_the_file_is_the_one_whose_making_is_stored():
    assert hashlib.sha256(TINY_LM.read_bytes()).hexdigest() == stored()["sha256"]
    assert TINY_LM.stat().st_size == stored()["bytes"] <= 2**20


def test_the_file_says_what_the_settings_say():
    file, model = GGUFFile(TINY_LM), load_tiny_lm()
    assert file.value("llama.context_length") == 256
    assert file.tensors["blk.3.ffn_up.weight"].shape == (352, 128)
    assert file.tensors["blk.3.ffn_up.weight"].quantisation.name == "Q8_0"
    assert (model.layers, model.heads, model.key_heads) == (4, 4, 4)
    assert (model.rope.head_dim, model.rope.base) == (32, 10_000)
    assert model.epsilon == pytest.approx(1e-5, rel=1e-7)  # a float32 in the file
    assert len(model.tokenizer.vocabulary) == 1024


def test_the_loss_stored_is_the_file_s_on_the_files_held_out():
    """All 512 windows take a minute; sixteen of them lie near the mean of all."""
    model = load_tiny_lm()
    held_out = [file.text for file in sources.sources() if file.held_out]
    tokens = tiny_lm.joined(model.tokenizer._bpe, held_out)
    assert len(tokens) == stored()["tokens_held_out"]
    windows = tokens.split(256)[:512:32]
    found = tiny_lm.held_out_loss(model, windows)
    assert found == pytest.approx(stored()["loss_held_out"], abs=0.25)
    assert found < 3.0
