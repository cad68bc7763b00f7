"""The tiny decoder knows of positions what its encoding tells it; a task asks what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from experiments import costs, encodings, sizes
from experiments.tiny import ENCODINGS, UNASKED, Encoding, learn, losses, made, missed, norm, train
from experiments.tiny_encodings import BUCKETS, ALiBi, Learned, Rotary, Sinusoidal, T5Bias
from experiments.tiny_tasks import APART, BACK, CARDS, FIRST, SECOND, TASKS, code
from rope_lib.nn import RotaryEmbedding
from rope_lib.texts import TEXTS

RESULTS = Path(__file__).parents[1] / "experiments" / "results"
SETTINGS = {"width": 16, "layers": 2, "heads": 2, "trained": 16, "vocabulary": 12}
IDS = torch.randint(12, (2, 16), generator=torch.Generator().manual_seed(0))
ABSOLUTE = ("learned", "sinusoidal")
NEW = ("encodings", "sizes", "costs")


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@torch.no_grad()
def logits(name: str, ids: torch.Tensor, shift: int = 0, **changes: int) -> torch.Tensor:
    settings = {**SETTINGS, **changes}
    model = made(settings, ENCODINGS[name], 0)
    if name == "T5 bias":  # it starts at zero, which any mistake would leave relative
        model.encoding.table.normal_(generator=torch.Generator().manual_seed(1))
    return model(ids, torch.arange(shift, shift + ids.shape[-1]))


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_decoder_starts_from_the_same_weights_whatever_its_encoding(name):
    plain, other = (made(SETTINGS, make, 3) for make in (lambda _: Encoding(), ENCODINGS[name]))
    own = {key: value for key, value in other.state_dict().items() if "encoding" not in key}
    assert own.keys() == plain.state_dict().keys()
    assert all(torch.equal(value, own[key]) for key, value in plain.state_dict().items())
    assert not torch.equal(
        plain.embedding.weight, made(SETTINGS, ENCODINGS[name], 4).embedding.weight
    )


@pytest.mark.parametrize("name", ENCODINGS)
def test_no_token_sees_the_next_ones(name):
    changed = IDS.clone()
    changed[:, 9:] = (changed[:, 9:] + 1) % 12
    assert torch.equal(logits(name, IDS)[:, :9], logits(name, changed)[:, :9])
    assert not torch.allclose(logits(name, IDS)[:, 9:], logits(name, changed)[:, 9:], atol=1e-2)


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_shift_of_all_positions_changes_the_absolute_ones_alone(name):
    # float32 sums in two layers; an absolute encoding moves logits by more than 0.05
    same = torch.allclose(logits(name, IDS), logits(name, IDS, shift=5), rtol=0, atol=1e-5)
    assert same == (name not in ABSOLUTE)


@pytest.mark.parametrize("name", ENCODINGS)
def test_only_the_model_without_positions_confuses_the_order_of_what_came_before(name):
    """In one layer the last token of NoPE sees a set; in two, the mask has told of the order."""
    swapped = IDS[:, [1, 0, *range(2, 16)]]
    last = logits(name, IDS, layers=1)[:, -1], logits(name, swapped, layers=1)[:, -1]
    assert torch.allclose(*last, rtol=0, atol=1e-6) == (name == "none")


def test_every_second_layer_of_the_mixture_turns(generator):
    q, k = torch.randn(2, 1, 2, 16, 8, generator=generator)
    encoding, positions = ENCODINGS["RoPE, NoPE"](SETTINGS), torch.arange(16)
    turned, alone = (encoding.turn(q, k, positions, layer, q) for layer in (0, 1))
    expected = RotaryEmbedding(8)(q, k)
    assert all(torch.equal(a, b) for a, b in zip(turned, expected, strict=True))
    assert alone == (q, k)


def test_rotary_takes_base_and_channels_from_the_settings():
    rope = Rotary({**SETTINGS, "inner": 64, "heads": 2, "base": 100.0}).rope
    assert rope.head_dim == 32
    assert float(rope.inv_freq[1]) == pytest.approx(100 ** (-2 / 32))
    assert float(Rotary(SETTINGS).rope.inv_freq[1]) == pytest.approx(10_000 ** (-2 / 8))


def test_t5_buckets_hold_one_distance_each_and_then_ever_more():
    buckets = T5Bias({**SETTINGS, "trained": 256}).bucket(torch.arange(1024))
    assert buckets[:16].tolist() == list(range(16))
    counts = torch.bincount(buckets, minlength=BUCKETS)
    assert counts[16:-1].diff().min() >= -1  # whole distances: 3, 2, 3, 3, 4, ...
    assert counts.min() > 0
    assert counts[30] > 3 * counts[16]
    assert buckets[128:].unique().tolist() == [BUCKETS - 1]
    assert buckets[112] < BUCKETS - 1
    # Few distances, many buckets: near + 1 is then the farthest, and nothing is divided by zero.
    assert T5Bias(SETTINGS).bucket(torch.arange(64))[17:].unique().tolist() == [BUCKETS - 1]


def test_alibi_subtracts_slope_times_distance():
    bias = ALiBi({"heads": 4}).bias(torch.tensor([7, 8, 11]), 0)
    assert bias.shape == (4, 3, 3)
    assert bias[:, 2].tolist() == [
        [-4 / 4, -3 / 4, 0.0],
        [-4 / 16, -3 / 16, 0.0],
        [-4 / 64, -3 / 64, 0.0],
        [-4 / 256, -3 / 256, 0.0],
    ]


@torch.no_grad()
def test_what_is_added_to_a_token_is_about_as_long_as_the_token():
    settings = {**SETTINGS, "width": 64, "trained": 64}
    positions, x = torch.arange(64), torch.zeros(1, 64, 64)
    for make, length in ((Learned, 1.0), (Sinusoidal, 0.5**0.5)):
        added = make(settings).embed(x, positions).norm(dim=-1)
        assert float(added.mean()) == pytest.approx(length, rel=0.05)
    full = Sinusoidal(settings, scaled=False).embed(x, positions)
    assert float(full.norm(dim=-1).mean()) == pytest.approx(32**0.5)


def test_training_lowers_the_loss_and_repeats_itself(generator):
    settings = {**SETTINGS, "training_steps": 30, "training_rate": 1e-2, "tokens_a_step": 128}
    settings["vocabulary"] = TASKS["copy"].vocabulary
    curves = []
    for _ in range(2):
        model = made(settings, ENCODINGS["RoPE"], 0)
        curves.append(train(model, TASKS["copy"].batches(settings, 0), settings, 0))
    assert curves[0] == curves[1]
    assert len(curves[0]) == 30
    assert curves[0][-1] < curves[0][0] - 0.1


def test_a_loss_counts_only_what_is_asked():
    model = made(SETTINGS, ENCODINGS["RoPE"], 0)
    targets = IDS.roll(-1, 1)
    targets[:, ::2] = UNASKED
    found = losses(model, (IDS, targets))
    expected = -model(IDS).log_softmax(-1).gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    assert torch.equal(found[:, ::2], torch.zeros(2, 8))
    torch.testing.assert_close(found[:, 1::2], expected[:, 1::2], rtol=0, atol=1e-5)
    assert torch.equal(missed(model(IDS), targets), found)
    optimiser = torch.optim.SGD(model.parameters(), 0.0)
    assert learn(model, optimiser, (IDS, targets)) == pytest.approx(found[:, 1::2].mean().item())


# --- tasks ---------------------------------------------------------------------------------------


def test_copy_asks_for_the_letter_some_places_back(generator):
    ids, targets = TASKS["copy"].learnt(3, 40, generator)
    assert torch.equal(targets[:, BACK:], ids[:, :-BACK])
    assert (targets[:, :BACK] == UNASKED).all()


@pytest.mark.parametrize("length", [64, 256])
def test_retrieval_asks_each_card_twice_for_its_value(length, generator):
    ids, targets = TASKS["retrieval"].learnt(5, length, generator)
    assert ids.shape == targets.shape == (5, length)
    assert ids.max() < TASKS["retrieval"].vocabulary
    for row, asked in zip(ids.tolist(), targets.tolist(), strict=True):
        cards = [t - 2 * CARDS for t in row[: -2 * CARDS] if 2 * CARDS <= t < CARDS * (CARDS + 2)]
        book = dict(divmod(card, CARDS) for card in cards)
        assert len(cards) == len(book) == CARDS
        assert sorted(row[-2 * CARDS :]) == sorted(list(book) * 2)
        answers = [CARDS + book[key] for key in row[-2 * CARDS :]]
        assert asked == [UNASKED] * (length - 2 * CARDS) + answers


def test_a_motif_is_two_words_a_fixed_number_of_letters_apart(generator):
    ids, targets = TASKS["motif"].measured(20, 128, generator)
    text = ["".join("ACGT"[t] for t in row) for row in ids.tolist()]
    count = 0
    for row, asked in zip(text, targets.tolist(), strict=True):
        places = [n for n, target in enumerate(asked) if target != UNASKED]
        for start in places[:: len(SECOND)]:
            word = asked[start : start + len(SECOND)]
            assert "".join("ACGT"[t] for t in word) == SECOND
            first = start + 1 - APART - len(FIRST)
            assert row[first : first + len(FIRST)] == FIRST
            count += 1
    assert count > 40
    whole = TASKS["motif"].learnt(20, 128, torch.Generator().manual_seed(0))
    assert torch.equal(whole[0], ids)
    assert torch.equal(whole[1][:, :-1], ids[:, 1:])


def test_code_is_measured_on_what_was_not_learnt_from(generator):
    task, parts = TASKS["code"], [bytes(part.tolist()) for part in code()]
    assert b"".join(parts).decode() == TEXTS["code"].read()
    for draw, part in ((task.learnt, parts[0]), (task.measured, parts[1])):
        ids, targets = draw(20, 64, generator)
        assert torch.equal(targets[:, :-1], ids[:, 1:])
        assert all(
            bytes([*row, last]) in part
            for row, last in zip(ids.tolist(), targets[:, -1].tolist(), strict=True)
        )


# --- measures ------------------------------------------------------------------------------------


def test_the_share_of_the_tokens_is_one_where_nothing_is_added():
    share = {
        name: encodings.token_share(made(SETTINGS, make, 0), SETTINGS)
        for name, make in ENCODINGS.items()
    }
    assert all(abs(share[n] - 1) < 1e-6 for n in share if n not in ABSOLUTE)
    assert share["learned"] == pytest.approx(0.5, abs=0.1)  # two parts of one size
    full = made(SETTINGS, lambda s: Sinusoidal(s, scaled=False), 0)
    assert encodings.token_share(full, SETTINGS) < share["sinusoidal"] < 1


def test_losses_by_position_are_those_of_the_longest_windows():
    settings = {**SETTINGS, "times": [1, 2], "held_tokens": 256, "bin": 8}
    settings |= {"vocabulary": TASKS["copy"].vocabulary}
    model = made(settings, ENCODINGS["RoPE"], 0)
    found = encodings.measured(model, "copy", settings, 0)
    assert len(found["loss"]) == len(found["accuracy"]) == 2
    assert len(found["by_position"]) == 4
    assert found["by_position"][0] is None  # the first eight have nothing to name
    mean = sum(found["by_position"][1:]) / 3
    assert mean == pytest.approx(found["loss"][-1], rel=1e-5)


def test_all_head_sizes_have_the_same_parameters():
    counts = []
    for dim in sizes.SETTINGS["head_dims"]:
        channels = sizes.SETTINGS["channels"]
        settings = {**SETTINGS, "inner": channels, "heads": channels // dim}
        model = made(settings, ENCODINGS["RoPE"], 0)
        assert model.encoding.rope.head_dim == dim
        counts.append(sum(each.numel() for each in model.parameters()))
        assert model(IDS).shape == (2, 16, 12)
    assert len(set(counts)) == 1


@pytest.mark.parametrize("name", ["T5 bias", "ALiBi", "RoPE"])
def test_what_is_kept_changes_no_result(name, generator):
    plain = made(SETTINGS, ENCODINGS[name], 0)
    positions = torch.arange(16)
    kept = made(SETTINGS, lambda _: costs.Kept(plain.encoding, positions), 0)
    x = norm(torch.randn(1, 16, 16, generator=generator))
    assert torch.equal(plain.mixed(x, positions, 0), kept.mixed(x, positions, 0))


def test_a_learned_bias_is_held_for_the_backward_pass():
    x, positions = torch.randn(1, 64, 16), torch.arange(64)
    held = {n: costs.held(made(SETTINGS, ENCODINGS[n], 0), x, positions) for n in ENCODINGS}
    square = SETTINGS["heads"] * 64 * 64 * 4
    assert held["T5 bias"] - held["none"] >= square
    assert held["RoPE"] - held["none"] < square / 2


# --- what is stored ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NEW)
def test_every_stored_point_is_whole(name):
    stored = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    settings = stored["how"]["settings"]
    for point in stored["points"]:
        if name == "costs":
            assert point["time"].keys() == point["held"].keys() == point["parameters"].keys()
            assert point["time"]["none"] == 1
            continue
        assert len(point["loss"]) == len(point["accuracy"]) == len(settings["times"])
        assert all(0 <= share <= 1 for share in point["accuracy"])
    seeds = [point["seed"] for point in stored["points"] if "seed" in point]
    assert name == "costs" or all(seeds.count(s) == len(seeds) / 3 for s in settings["seeds"])
