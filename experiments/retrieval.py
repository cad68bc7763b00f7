"""Facts planted in a text, and asked for at its end.

Each fact gives a person a number of five digits, one token each. All facts of a text are read in
one pass, at their depths; each question then goes on from a copy of the cache, in the form of the
model's chats, up to the first digit. Guessing digits gives a log-probability of -2.3 each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.driver import Lab, Point
from experiments.length import frequencies
from rope_lib.model import KVCache

MODEL = True
TEXTS = ("prose",)
SETTINGS = {
    "lengths": [1024, 2048, 6144, 12_288],
    "trained": 8192,
    "factor": 2.0,
    "methods": ["plain", "yarn", "ntk", "linear"],
    "facts": {"Alice": [0.1, "48213"], "Robert": [0.5, "90576"], "Maria": [0.9, "31764"]},
    "fact": "\n\nThe secret number of {name} is {number}.\n\n",
    "opening": "<|im_start|>user\nRead this text.\n\n",
    "question": "\n\nWhat is the secret number of {name}?<|im_end|>\n<|im_start|>assistant\n"
    "The secret number of {name} is ",
}
QUICK = {"lengths": [512], "trained": 256}


def points(settings: Mapping[str, Any]) -> list[Point]:
    """Short controls and long texts with each method; facts by their depth, from 0 to 1."""
    return [
        {"text": text, "tokens": length, "method": method, "depth": depth}
        for text in TEXTS
        for method in settings["methods"]
        for length in settings["lengths"]
        for depth, _ in settings["facts"].values()
    ]


def compute(lab: Lab, point: Point) -> Point:
    """Mean log-probability of the digits, and whether greedy decoding gives all of them."""
    depth = point["depth"]
    found = lab.once((*point.values(),)[:-1], lambda: answers(lab, point))
    return dict(zip(("log_probability", "greedy"), found[depth], strict=True))


def answers(lab: Lab, point: Point) -> dict[float, tuple[float, bool]]:
    """Of the facts at every depth, after one pass over the text."""
    encode, settings, cache = lab.model.tokenizer.encode, lab.settings, KVCache()
    how = {"scaling": frequencies(lab, point["method"], point["tokens"])}
    lab.model.generate(planted(lab, point), 1, cache=cache, **how)  # reads all, unembeds one
    found = {}
    for name, (depth, number) in settings["facts"].items():
        question, digits = encode(settings["question"].format(name=name)), encode(number)
        copy = KVCache()
        copy.keys, copy.values = list(cache.keys), list(cache.values)
        logits = lab.model.logits(question + digits, cache=copy, **how)[len(question) - 1 : -1]
        log_p = logits.log_softmax(-1)[range(len(digits)), digits]
        found[depth] = float(log_p.mean()), logits.argmax(-1).tolist() == digits
    return found


def planted(lab: Lab, point: Point) -> list[int]:
    """As many tokens as asked for, the facts among them, and room for a question."""
    encode, settings = lab.model.tokenizer.encode, lab.settings
    facts = [
        (depth, encode(settings["fact"].format(name=name, number=number)))
        for name, (depth, number) in settings["facts"].items()
    ]
    longest = max(len(encode(settings["question"].format(name=name))) for name in settings["facts"])
    room = point["tokens"] - longest - max(len(encode(n)) for _, n in settings["facts"].values())
    tokens, read = encode(settings["opening"]), 0
    filler = lab.tokens(point["text"], room - len(tokens) - sum(len(fact) for _, fact in facts))
    for depth, fact in facts:
        until = int(depth * len(filler))
        tokens += filler[read:until] + fact
        read = until
    return tokens + filler[read:]
