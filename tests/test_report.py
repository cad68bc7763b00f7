"""The report of python -m rope_lib: what it says, as text and as JSON, and how it refuses."""

from __future__ import annotations

import io
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rope_lib.__main__ import main
from rope_lib.config import RopeConfig
from rope_lib.report import describe, render

CONFIGS = Path(__file__).parent / "configs"
LLAMA31 = str(CONFIGS / "llama-3.1-8b.json")

LLAMA31_TEXT = """\
model type          llama
rope type           llama3
head                128 channels, of which 128 are paired
pairs               64
base                500000
longest length      131072 tokens
trained length      8192 tokens
complete a turn     35 of 64 pairs within 8192 tokens, before any scaling
with the scaling    39 of 64 pairs within 131072 tokens, as the pairs turn now
bands               29 pairs kept, 6 blended, 29 divided by 8
attention factor    1 on cos and sin
softmax multiplier  1 on the softmax scale
layout              half: as the reference code of llama rotates; it holds for a checkpoint in the
                    format of that code, and a conversion may have changed it

  pair   radians a token     tokens a turn
     0                 1           6.28319
     8          0.193923           32.4005
    16          0.037606           167.079
    24        0.00729266           861.576
    32       0.000524846           11971.5
    39       4.20824e-05            149307
    47       8.16073e-06            769929
    55       1.58255e-06       3.97029e+06
    63       3.06893e-07       2.04736e+07

used
  model_type = 'llama'
  max_position_embeddings = 131072
  rope_scaling.rope_type = 'llama3'
  head_dim = 128
  rope_theta = 500000.0
  rope_scaling.original_max_position_embeddings = 8192
  rope_scaling.factor = 8.0
  rope_scaling.low_freq_factor = 1.0
  rope_scaling.high_freq_factor = 4.0

ignored
  hidden_size, num_attention_heads, num_key_value_heads, num_hidden_layers
"""


def text_of(config: dict[str, Any], **options: Any) -> str:
    layer_type = options.pop("layer_type", None)
    return render(describe(RopeConfig.from_hf(config, layer_type=layer_type), **options))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(arguments)
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a refusal, status checked."""
    with pytest.raises(SystemExit) as error:
        main(arguments)
    captured = capsys.readouterr()
    assert error.value.code == 2
    assert captured.out == ""
    assert captured.err.startswith("python -m rope_lib: ")
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    return captured.err


class TestText:
    def test_whole_report(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(capsys, LLAMA31) == LLAMA31_TEXT

    def test_assumptions_and_warnings(self) -> None:
        text = text_of({"head_dim": 8})
        assert "\nassumed\n  rope_theta = 10000.0\n  partial_rotary_factor = 1.0\n" in text
        assert (
            "\nwarnings\n  rope_theta is absent and model_type is absent: 10000.0 is assumed\n"
            in text
        )
        assert "ignored" not in text
        assert "layout              unknown: nothing in the file fixes it" in text
        assert "model type          not given\n" in text
        assert "longest length      not given\n" in text
        assert "complete a turn" not in text
        assert "layer type" not in text

    def test_layer_type(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = run(capsys, str(CONFIGS / "gemma-3-1b.json"), "--layer-type", "sliding_attention")
        assert "layer type          sliding_attention\n" in text
        assert "base                10000\n" in text

    def test_pairs_that_stand_still(self) -> None:
        text = text_of({"model_type": "gemma4_text"}, layer_type="full_attention")
        assert "pairs               256, of which 64 turn\n" in text
        assert "   255                 0       never turns\n" in text
        assert "complete a turn     64 of 256 pairs within 131072 tokens" in text

    def test_axes(self) -> None:
        text = text_of(json.loads((CONFIGS / "qwen3-vl.json").read_text()))
        assert "axes                24 + 20 + 20 pairs, pair by pair\n" in text
        text = text_of(json.loads((CONFIGS / "qwen2-vl-7b.json").read_text()))
        assert "axes                16 + 24 + 24 pairs, in blocks\n" in text

    def test_layers_without_rotation(self) -> None:
        text = text_of({"model_type": "smollm3", "head_dim": 8, "num_hidden_layers": 8})
        assert "layers without      3, 7\n" in text

    def test_softmax_multiplier(self) -> None:
        text = text_of(json.loads((CONFIGS / "deepseek-v3.json").read_text()))
        assert "softmax multiplier  1.87385 on the softmax scale\n" in text
        assert "bands               11 pairs kept, 12 blended, 9 divided by 40\n" in text

    def test_seq_len(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        scaling = {"type": "dynamic", "factor": 4.0}
        path.write_text(json.dumps({"model_type": "llama", "head_dim": 8, "rope_scaling": scaling}))
        short, long = run(capsys, str(path)), run(capsys, str(path), "--seq-len", "4096")
        assert "sequence length     4096\n" in long
        assert "     3             0.001           6283.19\n" in short
        # Base 10000·5^(8/6): the last pair is divided by 5.
        assert "     3            0.0002           31415.9\n" in long
        assert "bands" not in long

    def test_small_heads_show_every_pair_once(self) -> None:
        lines = text_of({"head_dim": 8, "model_type": "llama"}).splitlines()
        table = lines.index("  pair   radians a token     tokens a turn")
        assert [line.split()[0] for line in lines[table + 1 : table + 5]] == ["0", "1", "2", "3"]
        assert lines[table + 5] == ""

    def test_width(self) -> None:
        divisors = {"short_factor": [1.5] * 4, "long_factor": [2.5] * 4}
        text = text_of(
            {
                "model_type": "phi3",
                "head_dim": 8,
                "original_max_position_embeddings": 1024,
                "rope_scaling": {"type": "su", **divisors},
                **{f"field_number_{i}": i for i in range(40)},
            }
        )
        assert max(map(len, text.splitlines())) <= 100


class TestJson:
    def test_llama31(self, capsys: pytest.CaptureFixture[str]) -> None:
        report = json.loads(run(capsys, LLAMA31, "--json"))
        assert report["pairs"] == len(report["inv_freq"]) == len(report["wavelengths"]) == 64
        assert report["bands"] == {"kept": 29, "blended": 6, "divided": 29}
        assert (report["full_turns"], report["full_turns_scaled"]) == (35, 39)
        assert report["wavelengths"][0] == pytest.approx(6.283185307179586)
        assert report["inv_freq"][63] == pytest.approx(3.0689259889145111e-7, rel=1e-13)
        assert (report["attention_factor"], report["softmax_multiplier"]) == (1.0, 1.0)
        assert report["layout"] == "half"
        assert report["parameters"]["factor"] == 8.0
        assert report["ignored"][:2] == ["hidden_size", "num_attention_heads"]
        assert report["warnings"] == []

    def test_infinite_wavelengths_are_null(self) -> None:
        config = RopeConfig.from_hf({"model_type": "gemma4_text"}, layer_type="full_attention")
        report = describe(config)
        assert report["wavelengths"][63:65] == [pytest.approx(6.2831853 * 1e6 ** (126 / 512)), None]
        assert json.loads(json.dumps(report, allow_nan=False))["rotating_pairs"] == 64

    def test_unknown_length(self) -> None:
        report = describe(RopeConfig.from_hf({"head_dim": 8}))
        assert report["full_turns"] is report["full_turns_scaled"] is report["bands"] is None

    def test_bands_of_linear_and_ntk(self) -> None:
        for rope_type, counts in (("linear", (0, 0, 4)), ("ntk", (1, 2, 1))):
            scaling = {"type": rope_type, "factor": 2.0}
            report = describe(RopeConfig.from_hf({"head_dim": 8, "rope_scaling": scaling}))
            assert tuple(report["bands"].values()) == counts


class TestRefusals:
    def test_files(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert "No such file or directory" in refused(capsys, str(tmp_path / "missing.json"))
        assert "Is a directory" in refused(capsys, str(tmp_path))
        path = tmp_path / "config.json"
        path.write_text("{")
        assert "is not JSON" in refused(capsys, str(path))
        path.write_text('{"a\\nb": 1, "rope_scaling": {"type": "li\\nnear"}, "head_dim": 8}')
        assert "rope_scaling.type must be one of" in refused(capsys, str(path))

    def test_config(self, capsys: pytest.CaptureFixture[str]) -> None:
        line = refused(capsys, str(CONFIGS / "alfred-40b-1023.json"))
        assert "rope_scaling.type must be one of" in line
        assert "'ntk_yarn'" in line
        line = refused(capsys, str(CONFIGS / "gemma-3-1b.json"))
        assert "layer_type must be one of full_attention, sliding_attention" in line
        line = refused(capsys, LLAMA31, "--layer-type", "global")
        assert "got 'global'" in line

    @pytest.mark.parametrize("seq_len", ["0", "-3", "2.5", "many"])
    def test_seq_len(self, capsys: pytest.CaptureFixture[str], seq_len: str) -> None:
        assert "seq" in refused(capsys, LLAMA31, f"--seq-len={seq_len}")

    def test_arguments(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "config" in refused(capsys)
        assert "--yaml" in refused(capsys, LLAMA31, "--yaml")


class TestProgram:
    def test_as_a_module(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["rope_lib", LLAMA31])
        monkeypatch.delitem(sys.modules, "rope_lib.__main__")
        runpy.run_module("rope_lib", run_name="__main__")
        assert capsys.readouterr().out == LLAMA31_TEXT

    def test_as_a_process_without_torch(self) -> None:
        """The status reaches the shell, and only NumPy and array-api-compat are needed."""
        program = (
            "import runpy, sys\n"
            "for name in ('torch', 'transformers', 'ipywidgets', 'anywidget', 'matplotlib'):\n"
            "    sys.modules[name] = None\n"
            "runpy.run_module('rope_lib', run_name='__main__')\n"
        )
        good = subprocess.run(
            [sys.executable, "-c", program, LLAMA31], capture_output=True, text=True, check=False
        )
        assert (good.returncode, good.stdout, good.stderr) == (0, LLAMA31_TEXT, "")
        bad = subprocess.run(
            [sys.executable, "-c", program, "missing.json"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (bad.returncode, bad.stdout) == (2, "")
        assert bad.stderr.count("\n") == 1

    def test_terminal_that_cannot_show_a_character(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        path = tmp_path / "config.json"
        path.write_text('{"head_dim": 8, "model_type": "\\u03b8\\ud800"}')
        terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", terminal)
        main([str(path)])
        terminal.seek(0)
        assert "model type          \\u03b8\\ud800\n" in terminal.read()

    def test_stream_without_an_encoding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stdout", stream)
        main([LLAMA31])
        assert stream.getvalue() == LLAMA31_TEXT
