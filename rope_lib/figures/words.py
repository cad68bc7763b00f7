"""Every word that a live figure or its sliders show, in one dictionary.

A figure's JavaScript receives the section ``common`` and its own; placeholders in braces are filled
there. A translation is another dictionary with the same keys.
"""

from __future__ import annotations

WORDS: dict[str, dict[str, str]] = {
    # The name of a trait is the description of its slider.
    "traits": {
        "theta": "angle θ",
        "ScoreExplorer.theta": "turn per step θ",
        "m": "position m of q",
        "n": "position n of k",
        "shift": "move both by",
        "a": "first angle a",
        "b": "second angle b",
        "head_dim": "head size d",
        "base": "base",
        "position": "position m",
        "rotary_dim": "rotated channels",
        "pair": "pair j",
        "dtype": "number format",
        "rounded": "what is rounded",
        "scenario": "case",
        "step": "step",
        "text": "text",
        "stretch": "stretch s",
        "kind": "query and key",
        "distance": "distance m − n",
        "peak": "peak of aimed k",
        "max_distance": "end of the axis",
        "model": "model",
        "length": "trained length",
        "original": "trained length",
        "factor": "factor",
        "method": "method",
        "measure": "measure",
    },
    "common": {
        "handle": "{name}: drag, or use the arrow keys",
        "handle_role": "two-dimensional handle",
        "at": "x {x}, y {y}",
        "matrix": "matrix with rows {rows}",
        "radians": "rad",
    },
    "RotationPlane": {
        "title": "A vector before and after a rotation",
        "angle": "angle",
        "before": "length before",
        "after": "length after",
        "says": "{name} = ({x}, {y}) turned by {theta} radians becomes ({u}, {v}). "
        "Its length stays {norm}.",
    },
    "AngleSum": {
        "title": "Two rotations, one after the other",
        "steps": "a, then b",
        "once": "a + b at once",
        "gap": "difference of the two",
        "says": "Turning {name} by {a} and then by {b} radians gives ({x}, {y}). "
        "Turning it once by {sum} gives the same.",
    },
    "ComplexPlane": {
        "title": "A complex number times a point of the unit circle",
        "modulus": "modulus",
        "phase": "phase",
        "says": "z = {z}. Times e to the i {theta} it is {w}. "
        "The modulus stays {modulus}; the phase goes from {before} to {after} radians.",
    },
    "ScoreExplorer": {
        "title": "Two rotated vectors and their score",
        "score": "score",
        "distance": "distance",
        "pin": "{name} at {position}",
        "turn_q": "q turns by",
        "turn_k": "k turns by",
        "between": "angle from k to q",
        "ask": "Move something. Does the score follow?",
        "same": "unchanged",
        "same_why": "Both moved, and their distance is still {distance}.",
        "other": "changed",
        "other_why": "Their distance went from {before} to {distance}.",
        "new_why": "You changed q, k or θ.",
        "says": "q at position {m} and k at position {n}, {distance} apart. "
        "The angle from k to q is {angle} radians. The score is {score}.",
    },
    "FrequencyClocks": {
        "title": "One clock for each pair of channels",
        "legend": "Under each clock: its wavelength λ, in tokens per turn, and the turns so far.",
        "completed": "pairs past a full turn",
        "fastest": "shortest wavelength",
        "slowest": "longest wavelength",
        "of": "{some} of {all}",
        "tokens": "{count} tokens",
        "says": "At position {position}, {some} of {all} pairs have completed a turn. "
        "Wavelengths run from {fastest} to {slowest} tokens.",
    },
    "ScoreByDistance": {
        "title": "The score of one query and one key, by their distance",
        "axis": "score / d",
        "distance": "distance, in tokens",
        "pairs": "pair j, from fast to slow",
        "part": "part of each pair",
        "handle_name": "distance",
        "at_distance": "distance {distance}, score {score}",
        "summit": "peak",
        "at_peak": "peak at distance {peak}",
        "score": "score at this distance",
        "at_zero": "at distance 0",
        "largest": "highest score",
        "reached": "{largest} at {at}",
        "chance": "of random vectors",
        "typical": "± 1/√d",
        "bound": "RoFormer's bound",
        "equal": "q and k are equal: at 0 every pair points one way, and the fast ones part first.",
        "random": "q and k are unrelated: the score wanders, and no distance is favoured.",
        "aimed": "k is q turned by {peak} positions: the same hill, where k aims.",
        "says": "At distance {distance} the score is {score}. At distance 0 it is {zero}. "
        "The highest score is {largest}, at distance {at}.",
    },
    "WavelengthSpectrum": {
        "title": "The wavelengths of a model's pairs beside its trained length",
        "wavelength": "wavelength, in tokens per turn",
        "seen": "share of its circle seen",
        "trained": "trained to {length}",
        "complete": "pairs that complete a turn",
        "never": "pairs that never do",
        "of": "{some} of {all}",
        "shortest": "shortest wavelength",
        "longest": "longest wavelength",
        "tokens": "{count} tokens",
        "settings": "{model}: {rotary} of {head} channels rotate, base {base}, "
        "trained to {length} tokens.",
        "scaled": "Scaled from {original}: dashed is before.",
        "says": "{model}: {some} of {all} pairs complete a turn within {length} tokens. "
        "Wavelengths run from {shortest} to {longest} tokens.",
    },
    "ContextScaling": {
        "title": "By what each method divides the frequency of each pair",
        "divisor": "divided by",
        "pairs": "pair j, from fast to slow",
        "turning": "turns within {original} tokens",
        "handle_name": "pair",
        "at_pair": "pair {pair}, divided by {divisor}",
        "linear": "linear (PI)",
        "ntk": "NTK-aware",
        "dynamic": "dynamic NTK",
        "yarn": "YaRN",
        "llama3": "Llama 3",
        "each": "Pair {pair} turns {turns} times in {original} tokens. Each method divides it by:",
        "bands": "kept / blended / divided",
        "attention": "cos and sin times",
        "says": "{method} divides the frequency of pair {pair} by {divisor}. Of all pairs it keeps "
        "{kept}, blends {blended} and divides {divided} by {factor}.",
    },
    "PerplexityByPosition": {
        "title": "Perplexity of a real model, by position",
        "position": "position, in tokens",
        "perplexity": "perplexity",
        "ratio": "times that in a window",
        "trained": "trained to {length}",
        "plain": "plain",
        "linear": "linear (PI)",
        "ntk": "NTK-aware",
        "dynamic": "dynamic NTK",
        "yarn": "YaRN",
        "head": "{text}, factor {factor}, past position {length}: perplexity, and how many times "
        "that of the same tokens in a window within {length}.",
        "both": "{past}, × {window}",
        "unknown": "–",
        "missing": "No stored results. This command makes them: {command}",
        "absent": "The stored results have no {method} with factor {factor} for {text}.",
        "says": "{text}, {method}: perplexity {within} up to position {length} and {past} past it, "
        "which is {window} times that of the same tokens in a window within {length}.",
        "command": "make experiments RUN=length",
    },
    "LayoutMap": {
        "title": "One head in two layouts",
        "interleaved": "interleaved",
        "half": "half",
        "channels": "channels {a} and {b}",
        "moved": "channels that move",
        "passed": "channels that pass through",
        "of": "{some} of {all}",
        "says": "Pair {pair} is channels {a} and {b} in the interleaved layout, and channels {c} "
        "and {d} in the half layout. {moved} of {all} channels move; "
        "{passed} pass through.",
    },
    "PrecisionMeter": {
        "title": "What rounding does to an angle",
        "exact": "true angle",
        "rounded": "after rounding",
        "what_positions": "position",
        "what_inv_freq": "frequency θ of pair {pair}",
        "what_angles": "angle of pair {pair}",
        "keeps": "{dtype} keeps {kept}, the {what}, as it is.",
        "moves": "{dtype} stores {exact}, the {what}, as {kept}.",
        "positions": "positions",
        "before": "exact",
        "infinite": "infinity",
        "none": "no angle",
        "no_cosine": "an infinite position has no cosine",
        "gap": "gap between its numbers here",
        "angle": "true angle",
        "error": "error of the angle",
        "worst": "worst cosine is off by",
        "worst_at": "{worst} (pair {worst_pair})",
        "off": "pairs off by more than 0.1",
        "of": "{some} of {all}",
        "cos_error": "error of the cosine",
        "pair_axis": "pair j",
        "handle_name": "pair",
        "at_pair": "pair {pair}, cosine off by {error}",
        "says": "At position {position}, {dtype} stores {exact}, the {what}, as {kept}. The angle "
        "of pair {pair} is off by {error} radians. The worst cosine, of pair {worst_pair}, is off "
        "by {worst}; {some} of {all} pairs are off by more than 0.1.",
    },
    "CacheTimeline": {
        "title": "A cache of keys, slot by slot",
        "query": "the query",
        "seen": "seen by it",
        "hidden": "not seen",
        "pad": "pad",
        "no_id": "–",
        "slot": "slot",
        "position": "position id",
        "distance": "distance from the query",
        "moved": "or ids moved down by rerotate: same distances",
        "naive_same": "distance if ids were slot numbers: the same",
        "naive_wrong": "distance if ids were slots of arrival: wrong",
        "step": "step, from 0",
        "of_last": "{step} of {last}",
        "query_position": "position of the query",
        "slots_seen": "slots seen",
        "of": "{seen} of {held}",
        "distances": "distances",
        "range": "{nearest} to {farthest}",
        "naive_distances": "ids from slots",
        "changed": "change a distance",
        "unchanged": "keep every distance",
        "prefill": "The whole prompt goes through at once. Each token sees itself and the tokens "
        "before it; those after it are masked.",
        "decode": "One new token a step. {position} tokens were cached before it, so its position "
        "is {position}. The keys in the cache stay as they are.",
        "left_padding": "Pads fill the front, so that a batch ends together. Ids start at 0 at the "
        "first real token. Slot numbers as ids would add {pads} to all of them and change no "
        "distance; the mask is what hides the {pads} pads.",
        "packed": "Two documents share a row. Ids start again at the second one. Slot numbers as "
        "ids would change no distance; the mask is what keeps the documents apart.",
        "full": "The cache has {window} slots, and they are full. The next token takes the place "
        "of the oldest.",
        "sliding": "The cache has {window} slots, so the oldest token is dropped; {dropped} so "
        "far. The others keep their ids, or all move down by {dropped}. An id taken from the slot "
        "is {slot} for every newcomer: wrong distances.",
        "says": "Case {scenario}. The query, {token}, has position {position} in slot {slot}. It "
        "sees {seen} of {held} slots, at distances {nearest} to {farthest}. "
        "Ids taken from slots {verdict}.",
    },
    "StretchedModel": {
        "title": "A real model with stretched positions",
        "stretch_axis": "stretch s (positions are s · m)",
        "perplexity_axis": "perplexity",
        "perplexity": "perplexity",
        "ratio": "compared with s = 1",
        "continues": "With s = {stretch} the model writes:",
        "empty": "No results are stored yet. This command makes them: make experiments RUN=stretch",
        "says": "Text {text}, positions times {stretch}: perplexity {perplexity}, {ratio} of that "
        "at stretch 1. The model writes: {line}",
    },
}


def word_for_trait(figure: str, name: str) -> str:
    """Return the description of a trait of the class ``figure``; its bare name if it has none."""
    words = WORDS["traits"]
    return words.get(f"{figure}.{name}", words.get(name, name))


def words_for_figure(figure: str) -> dict[str, str]:
    """Return the words that the JavaScript of the class called ``figure`` needs."""
    return {**WORDS["common"], **WORDS.get(figure, {})}
