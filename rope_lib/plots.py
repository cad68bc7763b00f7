"""The one look of the book's matplotlib plots: call ``use_style()`` once in a notebook.

The ground is transparent and the text mid-grey, so that one picture is read on a light and on a
dark page. At its own width of 5 inches, 960 pixels, shown 360 pixels wide on a phone, the text is
still 11 pixels high.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from cycler import cycler

from rope_lib.colours import COLOURS

COLOUR: dict[str, str] = {name: shades["both"] for name, shades in COLOURS.items()}
"""Name (q, k, angle, score, ink, muted, grid) to the shade that is read on either ground."""

# Four hues of one lightness: the line styles tell them apart in grey.
_SERIES = cycler(color=[COLOUR[name] for name in ("q", "k", "angle", "score")]) + cycler(
    linestyle=["-", (0, (6, 1.5)), (0, (2, 1.2)), (0, (6, 1.5, 1, 1.5))]
)

STYLE: dict[Any, Any] = {
    "figure.figsize": (5.0, 3.2),
    "figure.dpi": 192,
    "savefig.dpi": 192,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.07,
    "font.size": 11.5,
    "axes.titlesize": 12.5,
    "axes.labelsize": 11.5,
    "xtick.labelsize": 11.5,
    "ytick.labelsize": 11.5,
    "legend.fontsize": 11.5,
    "legend.frameon": False,
    "mathtext.fontset": "cm",
    "text.color": COLOUR["ink"],
    "axes.labelcolor": COLOUR["ink"],
    "axes.titlecolor": COLOUR["ink"],
    "axes.edgecolor": COLOUR["muted"],
    "xtick.color": COLOUR["muted"],
    "ytick.color": COLOUR["muted"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOUR["grid"],
    "lines.linewidth": 2.0,
    "axes.prop_cycle": _SERIES,
}


def use_style() -> None:
    """Make ``STYLE`` the default of every plot that follows."""
    mpl.rcParams.update(STYLE)
