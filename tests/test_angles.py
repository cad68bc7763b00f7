"""The tables of cosines and sines: their values, their precision, their kinds."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rope_lib import cos_sin, inverse_frequencies
from rope_lib._runs import BLOCK, SHORTEST, long_run

FLOAT32_STEP = 2.0**-24  # half the distance between neighbours just below 1


def test_values_by_hand():
    # θ = (1, 0.01), m = 3: cos 3 = −0.9899925, cos 0.03 = 0.9995500; sin 3 = 0.1411200,
    # sin 0.03 = 0.0299955
    cos, sin = cos_sin([3], [1.0, 0.01], dtype=np.float64)
    np.testing.assert_allclose(cos, [[-0.9899925, 0.9995500]], atol=5e-8)
    np.testing.assert_allclose(sin, [[0.1411200, 0.0299955]], atol=5e-8)


def test_the_attention_factor_scales_both_tables():
    # 1.5 · cos 3 = −1.4849887, 1.5 · sin 3 = 0.2116800
    cos, sin = cos_sin([3], [1.0], attention_factor=1.5, dtype=np.float64)
    np.testing.assert_allclose([cos[0, 0], sin[0, 0]], [-1.4849887, 0.2116800], atol=5e-8)


def test_the_tables_are_rounded_once():
    # The factor belongs inside the rounding: float32(f · cos), not f · float32(cos).
    ids, theta = np.arange(100, 300), inverse_frequencies(16)
    exact = 1.3465735902799727 * np.cos(ids[:, None] * theta)
    cos, _ = cos_sin(ids, theta, attention_factor=1.3465735902799727)  # YaRN: 0.1 ln 32 + 1
    np.testing.assert_array_equal(cos, exact.astype(np.float32))


@pytest.mark.parametrize("base", [1e4, 5e5, 1e6])
def test_tables_are_exact_at_a_million_tokens(base):
    inv_freq = inverse_frequencies(32, base)
    positions = [1, 4095, 131_071, 1_048_575]
    cos, sin = cos_sin(positions, inv_freq)
    with mpmath.workdps(40):
        for row, m in enumerate(positions):
            for j in range(16):
                angle = m * mpmath.mpf(base) ** (mpmath.mpf(-2 * j) / 32)
                assert abs(float(cos[row, j]) - mpmath.cos(angle)) < FLOAT32_STEP
                assert abs(float(sin[row, j]) - mpmath.sin(angle)) < FLOAT32_STEP


@pytest.mark.parametrize(
    ("base", "errors"),
    [
        (1e4, (1.2e-4, 9.7e-4, 4.2e-3, 3.1e-2)),
        (5e5, (1.7e-4, 1.4e-3, 5.0e-3, 3.9e-2)),
        (1e6, (1.8e-4, 1.4e-3, 5.5e-3, 6.8e-2)),
        (1e7, (7e-5, 5.7e-4, 4.2e-3, 2.6e-2)),
    ],
)
def test_what_float32_angles_would_cost(base, errors):
    exact = inverse_frequencies(128, base)
    # As the field makes them: every step in float32.
    steps = np.arange(0, 128, 2, dtype=np.float32) / np.float32(128)
    rounded = np.float32(1.0) / np.power(np.float32(base), steps)
    for m, expected in zip((4096, 32_768, 131_071, 1_048_575), errors, strict=True):
        off = np.abs((np.float32(m) * rounded).astype(np.float64) - m * exact).max()
        assert off == pytest.approx(expected, rel=0.6)
        cos, _ = cos_sin([m], exact)
        assert np.abs(cos[0] - np.cos(m * exact)).max() < FLOAT32_STEP


def test_what_bfloat16_frequencies_would_cost():
    torch = pytest.importorskip("torch")
    exact = inverse_frequencies(128)
    rounded = torch.from_numpy(exact).bfloat16().double().numpy()
    off = 4095 * np.abs(rounded - exact)
    assert off.max() == pytest.approx(5.0, abs=0.1)
    wrong = np.abs(np.cos(4095 * rounded) - np.cos(4095 * exact))
    assert wrong.max() == pytest.approx(1.68, abs=0.01)
    assert (wrong > 0.1).sum() == 23


@pytest.mark.parametrize(("count", "distinct"), [(256, 256), (512, 385), (4096, 769), (8192, 897)])
def test_bfloat16_positions_collide_and_are_refused(count, distinct):
    torch = pytest.importorskip("torch")
    ids = torch.arange(count)
    assert ids.bfloat16().unique().numel() == distinct
    assert float(torch.tensor(257).bfloat16()) == 256.0
    with pytest.raises(
        TypeError, match=r"^positions must be integers or at least float32, got torch\.bfloat16"
    ):
        cos_sin(ids.bfloat16(), [1.0])
    cos, sin = cos_sin(ids, [1.0], dtype=torch.float64)
    assert torch.stack([cos, sin]).unique(dim=1).shape[1] == count


def test_frequencies_may_be_as_narrow_as_a_checkpoint_has_them():
    torch = pytest.importorskip("torch")
    cos, _ = cos_sin(torch.tensor([3]), torch.tensor([1.0, 0.5]).bfloat16())
    np.testing.assert_allclose(cos.numpy(), np.cos([[3.0, 1.5]]), atol=6e-8)
    cos, _ = cos_sin([3], np.array([1.0, 0.5], np.float16))
    np.testing.assert_allclose(cos, np.cos([[3.0, 1.5]]), atol=6e-8)


def test_float16_positions_collide_and_are_refused():
    ids = np.arange(4096)
    assert len(np.unique(ids.astype(np.float16))) == 3073
    assert (ids[:2049].astype(np.float16) == ids[:2049]).all()
    with pytest.raises(TypeError, match=r"^positions must .* at least float32, got float16"):
        cos_sin(ids.astype(np.float16), [1.0])


@given(st.integers(-(2**40), 2**40), st.integers(1, 64))
def test_cosine_and_sine_stay_on_the_circle(m, pairs):
    cos, sin = cos_sin([m], inverse_frequencies(2 * pairs), dtype=np.float64)
    np.testing.assert_allclose(cos**2 + sin**2, 1.0, atol=1e-15)


@given(st.integers(0, 10**6), st.integers(-(10**6), 10**6))
def test_tables_compose(m, n):
    theta = inverse_frequencies(16)
    (c, s), (c2, s2) = (cos_sin(p, theta, dtype=np.float64) for p in (m, n))
    cos, sin = cos_sin(m + n, theta, dtype=np.float64)
    np.testing.assert_allclose(cos, c * c2 - s * s2, atol=1e-9)
    np.testing.assert_allclose(sin, s * c2 + c * s2, atol=1e-9)


@pytest.mark.parametrize("start", [0, 12_345, -20_000])
@pytest.mark.parametrize("pairs", [1, 3, 40])
def test_a_long_run_equals_its_positions_one_by_one(start, pairs):
    # Not a multiple of the block, so that the last one is cut.
    ids = np.arange(start, start + SHORTEST + 77)
    theta = inverse_frequencies(2 * pairs)
    assert long_run(ids.astype(np.float64), theta) is not None
    angles = ids[:, None] * theta
    for table, exact in zip(
        cos_sin(ids, theta, attention_factor=1.25), (np.cos(angles), np.sin(angles)), strict=True
    ):
        assert table.shape == (len(ids), pairs)
        assert table.dtype == np.float32
        assert np.abs(table - 1.25 * exact).max() <= 2.0**-24 + 1e-9  # 1.25: neighbours are 2^−23


def test_a_long_run_is_composed(monkeypatch):
    # Position by position the numbers are the same, only later.
    monkeypatch.setattr("rope_lib.angles.run_tables", lambda *_: ("composed cos", "composed sin"))
    assert cos_sin(range(SHORTEST), [0.3]) == ("composed cos", "composed sin")
    assert cos_sin(range(SHORTEST - 1), [0.3])[0].shape == (SHORTEST - 1, 1)


def test_a_long_run_of_torch_positions():
    torch = pytest.importorskip("torch")
    tables, angles = cos_sin(torch.arange(SHORTEST), [0.3]), 0.3 * np.arange(SHORTEST)
    for table, exact in zip(tables, (np.cos(angles), np.sin(angles)), strict=True):
        assert isinstance(table, torch.Tensor)
        np.testing.assert_allclose(table[:, 0].numpy(), exact, atol=6e-8)


def test_more_pairs_than_a_block_holds():
    theta = np.linspace(0.0, 1.0, BLOCK + 1)
    cos, sin = cos_sin(range(SHORTEST), theta[::BLOCK])
    assert cos.shape == (SHORTEST, 2)
    # One row a block: pair counts above BLOCK still make a row at a time.
    from rope_lib._runs import run_tables

    cos, sin = run_tables(5.0, 2, theta, 1.0)
    np.testing.assert_allclose(cos[1], np.cos(6 * theta), atol=6e-8)
    np.testing.assert_allclose(sin[0], np.sin(5 * theta), atol=6e-8)


@pytest.mark.parametrize(
    "ids",
    [
        np.arange(SHORTEST - 1.0),
        np.arange(SHORTEST, dtype=float)[::-1],
        2.0 * np.arange(SHORTEST),
        np.zeros(SHORTEST),
        np.arange(2.0 * SHORTEST).reshape(2, -1),
        np.roll(np.arange(float(SHORTEST)), 1),
    ],
)
def test_what_is_no_long_run(ids):
    assert long_run(ids, np.ones(2)) is None


def test_other_long_tables_are_right():
    ids = np.arange(SHORTEST)[::-1]
    cos, _ = cos_sin(ids, [0.3])
    np.testing.assert_allclose(cos[:, 0], np.cos(0.3 * ids), atol=6e-8)
    wide, _ = cos_sin(np.arange(SHORTEST), [0.3], dtype=np.float64)
    np.testing.assert_array_equal(wide[:, 0], np.cos(0.3 * np.arange(SHORTEST)))


def test_shapes():
    theta = inverse_frequencies(8)
    for positions, shape in (
        (5, (4,)),
        (2.5, (4,)),
        ([7, 9], (2, 4)),
        (range(3), (3, 4)),
        ((1, 2, 3), (3, 4)),
        (np.zeros((2, 1, 3), np.int32), (2, 1, 3, 4)),
        ([], (0, 4)),
        (np.zeros((2, 0), np.int64), (2, 0, 4)),
    ):
        for table in cos_sin(positions, theta):
            assert table.shape == shape
            assert table.dtype == np.float32


def test_positions_decide_the_kind(kind):
    theta = inverse_frequencies(8)
    expected = cos_sin([3, 4], theta)
    for ids in (np.array([3, 4]), np.array([3, 4], np.uint8), np.array([3.0, 4.0], np.float32)):
        for table, value in zip(cos_sin(kind.make(ids), theta), expected, strict=True):
            np.testing.assert_allclose(kind.read(table), value, atol=6e-8)
            assert table.dtype == kind.xp.float32


def test_numbers_and_lists_take_the_kind_of_the_frequencies(kind):
    theta = kind.make(inverse_frequencies(8))
    for positions in (3, 3.0, [3], range(3, 4)):
        table, _ = cos_sin(positions, theta)
        np.testing.assert_allclose(
            kind.read(table).reshape(-1), np.cos(3 * inverse_frequencies(8)), atol=6e-8
        )


def test_dtypes(kind):
    ids = kind.make(np.array([3, 4]))
    for dtype in (kind.xp.float32, kind.xp.float64):
        assert cos_sin(ids, [1.0], dtype=dtype)[1].dtype == dtype
    with pytest.raises(TypeError, match=rf"^dtype must be a {kind.name} .*, got .*int64$"):
        cos_sin(ids, [1.0], dtype=kind.xp.int64)
    with pytest.raises(
        TypeError, match=rf"^dtype must be a {kind.name} floating dtype, got float99$"
    ):
        cos_sin(ids, [1.0], dtype="float99")


def test_numpy_dtypes_by_name():
    assert cos_sin([3], [1.0], dtype="float16")[0].dtype == np.float16
    assert cos_sin([3], [1.0], dtype=np.dtype("float64"))[0].dtype == np.float64


@pytest.mark.parametrize(
    ("positions", "inv_freq", "error", "message"),
    [
        ([1.0, math.nan], [1.0], ValueError, "positions must be finite .* got nan"),
        ([1.0, -math.inf], [1.0], ValueError, "positions must be finite .* got -inf"),
        ([2**53], [1.0], ValueError, r"positions must be finite and below 2\*\*53 .* got 900719"),
        ([2**53 + 1], [1.0], ValueError, "positions must be finite and below"),
        ([-(2**53)], [1.0], ValueError, "positions must .* got -9007199254740992.0"),
        ([2**63], [1.0], ValueError, "positions must be finite and below"),
        ([2**70], [1.0], TypeError, "positions must hold numbers, got list of object"),
        ([1e300], [1.0], ValueError, r"positions must be finite .* got 1e\+300"),
        ([True], [1.0], TypeError, "positions must hold real numbers, got dtype bool"),
        (1j, [1.0], TypeError, "positions must hold real numbers, got dtype complex128"),
        ("3", [1.0], TypeError, "positions must hold numbers, got str"),
        (None, [1.0], TypeError, "positions must hold numbers, got NoneType"),
        ([[1], [1, 2]], [1.0], ValueError, "positions must be a number or a rectangular array"),
        ([1], [math.nan], ValueError, "inv_freq must be finite .* got nan"),
        ([1], [1e300], ValueError, r"inv_freq must be finite and below 2\*\*53"),
        ([1], [], ValueError, r"inv_freq must have shape \(dim/2,\), got \(0,\)"),
        ([1], 1.0, ValueError, r"inv_freq must have shape \(dim/2,\), got \(\)"),
        ([1], [[1.0]], ValueError, r"inv_freq must have shape \(dim/2,\), got \(1, 1\)"),
        ([1], [True], TypeError, "inv_freq must hold real numbers, got dtype bool"),
        ([1], {"a": 1}, TypeError, "inv_freq must hold numbers, got dict"),
    ],
)
def test_bad_input_is_named(positions, inv_freq, error, message):
    with pytest.raises(error, match=f"^{message}"):
        cos_sin(positions, inv_freq)


@pytest.mark.parametrize(
    ("factor", "error", "message"),
    [
        (0.0, ValueError, "attention_factor must be positive, got 0.0"),
        (-1, ValueError, "attention_factor must be positive, got -1.0"),
        (math.nan, ValueError, "attention_factor must be finite, got nan"),
        (None, TypeError, "attention_factor must be a real number, got None"),
    ],
)
def test_bad_factors_are_named(factor, error, message):
    with pytest.raises(error, match=f"^{message}"):
        cos_sin([1], [1.0], attention_factor=factor)


def test_the_last_exact_position_is_allowed():
    cos, _ = cos_sin([2**53 - 1], [1.0], dtype=np.float64)
    with mpmath.workdps(40):
        assert float(cos[0, 0]) == pytest.approx(float(mpmath.cos(2**53 - 1)), abs=1e-15)


class Traced(np.ndarray):
    """Stands for a JAX tracer, where JAX is not installed."""


@pytest.fixture
def jax(monkeypatch):
    fake = SimpleNamespace(
        core=SimpleNamespace(Tracer=Traced), config=SimpleNamespace(jax_enable_x64=False)
    )
    monkeypatch.setitem(sys.modules, "jax", fake)
    monkeypatch.setattr("rope_lib.angles.is_jax", lambda x: isinstance(x, np.ndarray))
    return fake


NARROW = "^dtype must be at most float32 while jax_enable_x64 is off, got float64$"


def test_concrete_jax_positions_are_computed_by_numpy(jax):
    cos, sin = cos_sin([10**6], [0.1, 0.3])
    np.testing.assert_allclose(cos, np.cos(1e6 * np.array([[0.1, 0.3]])), atol=6e-8)
    np.testing.assert_allclose(sin, np.sin(1e6 * np.array([[0.1, 0.3]])), atol=6e-8)
    assert cos.dtype == sin.dtype == np.float32
    with pytest.raises(ValueError, match=NARROW):
        cos_sin([1], [0.1], dtype=np.float64)
    jax.config.jax_enable_x64 = True
    assert cos_sin([1], [0.1], dtype=np.float64)[0].dtype == np.float64


def test_traced_jax_positions_need_float64(jax):
    traced = np.arange(3).view(Traced)
    cases = ((traced, [1.0], "positions"), ([np.nan], np.ones(2).view(Traced), "inv_freq"))
    for positions, inv_freq, name in cases:  # refused before anything is cast or checked
        with pytest.raises(ValueError, match=rf"^{name} are traced by JAX with jax_"):
            cos_sin(positions, inv_freq)
    jax.config.jax_enable_x64 = True
    np.testing.assert_allclose(cos_sin(traced, [1.0])[0][:, 0], np.cos(np.arange(3)), atol=6e-8)


def test_torch_values_are_checked_where_they_lie_on_the_host():
    torch = pytest.importorskip("torch")
    nan = torch.tensor([float("nan")])
    with pytest.raises(ValueError, match=r"^inv_freq must be finite"):
        cos_sin(torch.arange(3), nan)
    with pytest.raises(ValueError, match=r"^positions must be finite and below 2\*\*53"):
        cos_sin(torch.tensor([2**53]), [1.0])
    # Elsewhere reading them back would make the host wait; NumPy frequencies come from the host.
    ids = torch.arange(3, device="meta")
    for inv_freq in ([0.3], nan, nan.to("meta")):
        assert cos_sin(ids, inv_freq)[0].device.type == "meta"
    with pytest.raises(ValueError, match=r"^inv_freq must be finite"):
        cos_sin(ids, [float("nan")])


def test_what_lies_elsewhere_is_read_back_where_it_must(monkeypatch):
    torch = pytest.importorskip("torch")
    read: list[str] = []
    monkeypatch.setattr("rope_lib.angles.check_exact", lambda _, name: read.append(name))
    ids, theta = torch.arange(3, device="meta"), torch.ones(2, device="meta")
    cos_sin(ids, theta)
    assert read == []
    cos_sin(ids.float(), theta)
    assert read == ["positions"]


def test_kinds_do_not_mix():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="inv_freq must be a NumPy or numpy array, got torch"):
        cos_sin(np.arange(3), torch.ones(2))


@given(
    st.one_of(st.integers(), st.floats(), st.lists(st.floats()), st.text(), st.none()),
    st.one_of(st.floats(), st.lists(st.one_of(st.floats(), st.integers())), st.booleans()),
    st.one_of(st.floats(), st.integers(), st.none()),
)
def test_no_input_gives_nan_or_an_error_from_inside(positions, inv_freq, factor):
    try:
        tables = cos_sin(positions, inv_freq, attention_factor=factor, dtype=np.float64)
    except (ValueError, TypeError) as error:
        named = str(error).split()[0]
    else:
        named = "attention_factor" if all(np.isfinite(t).all() for t in tables) else "NaN"
    assert named in {"positions", "inv_freq", "attention_factor"}
