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
}


def word_for_trait(figure: str, name: str) -> str:
    """Return the description of a trait of the class ``figure``; its bare name if it has none."""
    words = WORDS["traits"]
    return words.get(f"{figure}.{name}", words.get(name, name))


def words_for_figure(figure: str) -> dict[str, str]:
    """Return the words that the JavaScript of the class called ``figure`` needs."""
    return {**WORDS["common"], **WORDS.get(figure, {})}
