"""The config reader in a browser: keys, choices, files; no request leaves the page."""

import json

import pytest

from rope_lib.figures import ConfigReader

pytestmark = pytest.mark.browser


@pytest.fixture
def page(page_factory, figure_page):
    names = ("text", "layer_type", "seq_len", "rules", "presets", "readout")
    opened = page_factory(figure_page(ConfigReader(), names))
    opened.wait_for_function("window.traits")
    return opened


def fact(page, name):
    """The value of a line of the readout."""
    line = page.locator("output .rope-row", has_text=name).first
    return line.locator(".rope-value").inner_text().replace("\u202f", "")


def box(page):
    return page.get_by_role("textbox", name="config.json, to edit, paste or drop a file on")


def test_a_model_and_a_layer_type_are_chosen(page):
    assert fact(page, "pairs blended") == "6"
    page.get_by_role("combobox", name="model").select_option("Gemma-3-1B")
    told = page.locator("#figure").inner_text()
    assert "must be one of full_attention, sliding_attention" in told
    page.get_by_role("combobox", name="layer type").select_option("sliding_attention")
    assert fact(page, "base") == "10000"
    page.get_by_role("combobox", name="model").select_option("DeepSeek-V3")
    assert fact(page, "softmax scale times") == "1.87385"
    assert page.evaluate("traits.layer_type") == ""


def test_typing_is_read_key_by_key_and_names_the_text_ones_own(page):
    area = box(page)
    area.press("Control+A")
    area.press_sequentially('{"head_dim": 64, "rope_theta": 1e4')
    assert "config is not JSON: , or } expected, at line 1" in page.locator("#figure").inner_text()
    area.press_sequentially(', "rotary_dim": 32}')
    assert fact(page, "channels that rotate") == "32 of 64"
    assert area.input_value() == '{"head_dim": 64, "rope_theta": 1e4, "rotary_dim": 32}'
    assert page.get_by_role("combobox", name="model").input_value() == ""
    assert page.evaluate("traits.readout.rotary_dim") == 32


def test_a_file_is_opened_or_dropped(page, tmp_path):
    path = tmp_path / "config.json"
    path.write_text('\ufeff{"head_dim": 32, "rope_theta": 500}', encoding="utf-8")
    page.get_by_label("or a file").set_input_files(path)
    page.wait_for_function("traits.readout.head_dim === 32")
    box(page).evaluate(
        """(area) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File(['{"head_dim": 16}'], "config.json"));
          area.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
        }"""
    )
    page.wait_for_function("traits.readout.head_dim === 16")


def test_a_file_too_large_is_refused_and_changes_nothing(page):
    large = {"name": "tokenizer.json", "mimeType": "application/json", "buffer": b"1" * 1_000_001}
    page.get_by_label("or a file").set_input_files(large)
    page.get_by_text("tokenizer.json is larger than 1 MB").wait_for()
    assert fact(page, "rope type") == "llama3"


def test_the_present_length_shows_where_it_matters(page):
    length = page.get_by_role("spinbutton", name="present length")
    assert length.is_hidden()
    lists = {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    scaling = {"type": "longrope", "original_max_position_embeddings": 64, "factor": 2, **lists}
    box(page).fill(json.dumps({"head_dim": 8, "rope_scaling": scaling}))
    cells = page.locator("table td")
    assert cells.nth(3).inner_text() == "1"
    length.fill("65")
    assert cells.nth(3).inner_text() == "2"
