"""Rotations that learn and rotations of a part: what they turn, and what was stored of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments import learned, partial
from experiments.learned_encodings import ENCODINGS, ByPosition
from experiments.tiny import UNASKED, made
from rope_lib import inverse_frequencies

RESULTS = Path(__file__).parents[1] / "experiments" / "results"
SETTINGS = {**learned.SETTINGS, **partial.SETTINGS, "vocabulary": 9, "trained": 16}
PAIRS = 16


def turned(encoding: Any, x: torch.Tensor, start: int = 0) -> torch.Tensor:
    """Scores (b, heads, n, n) of one set of queries and keys."""
    generator = torch.Generator().manual_seed(7)
    shape = (1, 2, 64, 2 * PAIRS)
    q, k = (torch.randn(shape, generator=generator)[:, :, -x.shape[1] :] for _ in range(2))
    q, k = encoding.turn(q, k, torch.arange(start, start + x.shape[1]), 1, x)
    return q @ k.mT


def inputs(tokens: int) -> torch.Tensor:
    """What a layer reads: the last of 64 rows, so that a longer text has another front."""
    return torch.randn((1, 64, 64), generator=torch.Generator().manual_seed(3))[:, -tokens:]


def random_parameters(encoding: Any) -> Any:
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) / 4)
    return encoding


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_starts_as_rope(name):
    ids = torch.randint(9, (2, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        plain = made(SETTINGS, ENCODINGS["fixed"], 0)(ids)
        logits = made(SETTINGS, ENCODINGS[name], 0)(ids)
    # float32 sums of 40 angles instead of one product
    torch.testing.assert_close(logits, plain, rtol=0, atol=2e-4)


@pytest.mark.parametrize(
    ("name", "relative"),
    [
        ("fixed", True),
        ("theta", True),
        ("log theta", True),
        ("by position", False),
        ("by token", True),
    ],
)
def test_which_encodings_keep_the_scores_of_a_text_behind_another(name, relative):
    encoding = random_parameters(ENCODINGS[name](SETTINGS))
    with torch.no_grad():
        alone = turned(encoding, inputs(10))
        behind = turned(encoding, inputs(16))[..., 6:, 6:]
    same = torch.allclose(alone, behind, rtol=0, atol=1e-3)  # scores of size 10, in float32
    assert same == relative


def test_a_token_between_counts_by_its_own_ticks_only_where_steps_are_summed():
    x = inputs(12)
    other = x.clone()
    other[:, 6] = -x[:, 6]
    for name, make in ENCODINGS.items():
        encoding = random_parameters(make(SETTINGS))
        with torch.no_grad():
            one, two = (turned(encoding, rows)[..., 7:, :6] for rows in (x, other))
        assert torch.allclose(one, two, rtol=0, atol=1e-3) == (name != "by token"), name


def test_the_last_speed_of_a_place_goes_on_past_the_table():
    encoding = random_parameters(ByPosition(SETTINGS))
    angles = encoding.angles(torch.arange(24), 0, torch.empty(0)).detach()
    steps = angles.diff(dim=0)
    assert torch.equal(angles[0], torch.zeros(PAIRS))
    assert not torch.allclose(steps[0], steps[14], rtol=0, atol=1e-3)
    torch.testing.assert_close(steps[15:], steps[14].expand(8, -1), rtol=0, atol=1e-5)


def test_each_letter_asks_for_the_one_three_letters_before():
    generator = torch.Generator().manual_seed(0)
    ids, targets = learned.blanks(learned.SETTINGS, 4, 40, generator)
    for row, asked in zip(ids.tolist(), targets.tolist(), strict=True):
        letters: list[int] = []
        for token, wanted in zip(row, asked, strict=True):
            if token == 8:
                assert wanted == UNASKED
                continue
            assert wanted == (letters[-3] if len(letters) >= 3 else UNASKED)
            letters.append(token)
    share = float((ids == 8).float().mean())
    assert 0.4 < share < 0.6


def test_held_out_windows_are_the_same_for_every_model_and_of_the_length_asked_for():
    for task in ("blanks", "code"):
        for times in (1, 4):
            (ids, targets), (again, _) = (learned.held(learned.SETTINGS, task, times),) * 2
            assert ids.shape == targets.shape == (8192 // (64 * times), 64 * times)
            assert torch.equal(ids, again)


def test_kinds_of_bytes_cover_every_byte_once():
    ids = torch.tensor([[ord(c) for c in "a_ 1\n(é"]])
    found = learned.kinds(learned.SETTINGS, "code", ids)
    assert torch.stack([*found.values()]).sum(0).eq(1).all()
    assert found["letters"].tolist() == [[True, False, False, True, False, False, False]]
    assert found["signs"].sum() == 3


def test_a_part_of_the_channels_turns_and_the_exponent_is_its_own():
    quarter = partial.ENCODINGS["quarter"](SETTINGS).rope
    assert quarter.inv_freq.tolist() == pytest.approx(inverse_frequencies(8, 10_000.0).tolist())
    assert quarter.rotary_dim == 8
    fastest = partial.ENCODINGS["fastest quarter"](SETTINGS).rope
    assert fastest.inv_freq[:4].tolist() == pytest.approx(
        inverse_frequencies(32, 10_000.0)[:4].tolist()
    )
    assert not fastest.inv_freq[4:].any()


def test_layers_and_absolute_positions_enter_where_their_names_say():
    x, positions = torch.zeros(1, 40, 64), torch.arange(40)
    q = torch.randn(1, 2, 40, 32, generator=torch.Generator().manual_seed(0))
    turning = {"none": (0, 0), "first layer": (1, 0), "second layer": (0, 1), "all": (1, 1)}
    turning |= {"absolute, then RoPE": (0, 1), "absolute in blocks": (1, 1)}
    for name, layers in turning.items():
        encoding = partial.ENCODINGS[name](SETTINGS)
        for layer, turns in enumerate(layers):
            same = torch.equal(encoding.turn(q, q, positions, layer, x)[0], q)
            assert same == (not turns), name
        added = encoding.embed(x, positions).detach()
        assert bool(added.any()) == name.startswith("absolute")
        if name == "absolute in blocks":
            assert torch.equal(added[:, 16:32], added[:, :16])


# --- what was stored -----------------------------------------------------------------------------


def stored(name: str, **same: Any) -> list[dict[str, Any]]:
    points = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["points"]
    return [p for p in points if all(p[key] == value for key, value in same.items())]


def mean_loss(name: str, **same: Any) -> list[float]:
    losses = [point["loss"] for point in stored(name, **same)]
    assert len(losses) == 3
    return [sum(column) / 3 for column in zip(*losses, strict=True)]


def test_plain_rope_was_measured_twice_and_is_the_same():
    one = [p["loss"] for p in stored("learned", task="code", encoding="fixed")]
    other = [p["loss"] for p in stored("partial", encoding="all")]
    for a, b in zip(one, other, strict=True):
        assert a == pytest.approx(b, rel=1e-3)


def test_summed_steps_count_letters_and_shut_out_blanks():
    summed = stored("learned", task="blanks", encoding="by token")
    others = [p for p in stored("learned", task="blanks") if p["encoding"] != "by token"]
    assert max(max(p["loss"]) for p in summed) < 0.2 < min(p["loss"][0] for p in others)
    for point in summed:
        for blanks, letters in zip(
            *(point["ticks"][k] for k in ("blanks", "letters")), strict=True
        ):
            assert max(blanks) < 0.55 < 0.9 < min(letters)


def test_raw_speeds_are_thrown_about_and_their_logarithms_are_not():
    theta = torch.tensor(inverse_frequencies(32, 10_000.0))
    for point in stored("learned", encoding="theta"):
        assert (torch.tensor(point["speeds"]) < 0).sum() >= 4
    for point in stored("learned", encoding="log theta"):
        ratio = torch.tensor(point["speeds"]).double() / theta
        assert 0.6 < ratio.min() < ratio.max() < 1.6


def test_on_code_a_half_of_the_channels_does_and_none_does_not():
    by_name = {name: mean_loss("partial", encoding=name) for name in partial.SETTINGS["encodings"]}
    at_trained = {name: losses[0] for name, losses in by_name.items()}
    assert at_trained["none"] == max(at_trained.values())
    assert at_trained["all"] < at_trained["half"] < at_trained["quarter"] < at_trained["none"]
