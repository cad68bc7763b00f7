"""The colours of the book, once: live figures, plots, prose and formulas all read this table.

Hues follow Okabe and Ito's palette for colour-blind readers. Its own shades are too light for text
on white, so every hue has three: ``light`` (on white) and ``dark`` (on the dark ground) keep a
contrast of 4.5:1 or more, and ``both`` is for pictures with a transparent ground, which must be
read on either (4.3:1 is the most that one shade can have on both). In each of the three sets the
four hues stay apart for red-, green- and blue-blind eyes.
"""

from __future__ import annotations

COLOURS: dict[str, dict[str, str]] = {
    "q": {"light": "#bf4800", "dark": "#ff8c4b", "both": "#cf5a10"},
    "k": {"light": "#0055b3", "dark": "#4ba3f7", "both": "#1d81cd"},
    "angle": {"light": "#87428a", "dark": "#dba6e3", "both": "#b25aa4"},
    "score": {"light": "#007a55", "dark": "#35cfa0", "both": "#0a8f55"},
    "ink": {"light": "#1b1f24", "dark": "#e6e9ed", "both": "#797979"},
    "muted": {"light": "#5b6470", "dark": "#a3abb5", "both": "#797979"},
    "ground": {"light": "#ffffff", "dark": "#121212", "both": "none"},
    "grid": {"light": "#e2e5e9", "dark": "#2f3338", "both": "#8080804d"},
}

DARK_SELECTORS = (
    'html[data-theme="dark"]',  # the published page
    'body[data-jp-theme-light="false"]',  # JupyterLab
    'html[theme="dark"]',  # Colab's output frames
)


def css_variables() -> str:
    """Return CSS that sets ``--rope-q`` and its kin, light by default and dark by the theme.

    The page carries the theme in an attribute, so nothing else has to know which one is on.
    """
    dark = ",\n".join(DARK_SELECTORS)
    return f":root {{\n{_declarations('light')}}}\n{dark} {{\n{_declarations('dark')}}}\n"


def _declarations(shade: str) -> str:
    return "".join(f"  --rope-{name}: {shades[shade]};\n" for name, shades in COLOURS.items())
