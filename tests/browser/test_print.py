"""On paper: the cheat sheet is one sheet."""

import re
from pathlib import Path

import pytest

HTML = Path(__file__).parents[2] / "_build" / "html"

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_cheat_sheet_prints_on_one_sheet(page_factory, paper):
    page = page_factory((HTML / "book" / "reference" / "cheat-sheet.html").as_uri())
    page.evaluate("() => document.fonts.ready")
    pdf = page.pdf(format=paper, margin=dict.fromkeys(("top", "right", "bottom", "left"), "1cm"))
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
