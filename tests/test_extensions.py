"""The book's own Sphinx extensions: maths, colours and buttons, the execution cache's key."""

import sys
from pathlib import Path

import pytest
from docutils import nodes
from docutils.utils import new_document

from rope_lib.colours import COLOURS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import execution  # noqa: E402  (extensions live beside the book, not in a package)
import maths  # noqa: E402
import publish  # noqa: E402


@pytest.fixture
def katex():
    server = maths.Katex()
    yield server
    server.stop()


def test_katex_renders_inline_and_display(katex):
    assert 'class="katex"' in katex.render(r"e^{i\theta}", display=False)["html"]
    assert "katex-display" in katex.render(r"e^{i\theta}", display=True)["html"]


def test_bad_tex_is_an_error_and_the_server_lives_on(katex):
    assert "Undefined control sequence" in katex.render(r"\nonsense", display=False)["error"]
    assert "html" in katex.render("x", display=False)


def test_formula_colours_follow_the_theme():
    sheet = publish.colour_sheet()
    for name, shades in COLOURS.items():
        assert f'[style*="{shades["light"]}"] {{ color: var(--rope-{name})' in sheet
        assert sheet.count(f"--rope-{name}: {shades['dark']}") == 1


def test_no_button_without_an_address():
    assert publish.buttons("") == {}
    options = publish.buttons("https://github.com/owner/name")
    assert options["use_edit_page_button"] is True
    assert set(options["launch_buttons"]) == {"colab_url", "binderhub_url", "notebook_interface"}


def test_the_cache_notices_a_changed_library(tmp_path):
    (tmp_path / "requirements.txt").write_text("numpy==1\n")
    (tmp_path / "rope_lib").mkdir()
    source = tmp_path / "rope_lib" / "a.py"
    source.write_text("x = 1\n")
    first = execution.cache_path(tmp_path)
    assert execution.cache_path(tmp_path) == first
    source.write_text("x = 2\n")
    second = execution.cache_path(tmp_path)
    (tmp_path / "requirements.txt").write_text("numpy==2\n")
    assert len({first, second, execution.cache_path(tmp_path)}) == 3


def test_a_number_and_its_parts_stay_on_one_line():
    """Code, and numbers that only stand beside each other, are left alone."""
    text = "10 000 and 1 048 576, 35 % of 12 3456 in 2024 12"
    document = new_document("page")
    document += nodes.paragraph("", text)
    document += nodes.paragraph("", "", nodes.literal("", "10 000"))
    publish.KeepNumbers(document).run()
    plain, code = (paragraph.astext() for paragraph in document)
    assert plain == "10\u202f000 and 1\u202f048\u202f576, 35\u202f% of 12 3456 in 2024 12"
    assert code == "10 000"
