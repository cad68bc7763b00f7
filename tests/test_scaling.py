"""The scalings: literal values (mpmath, 50 digits, or the papers' own numbers) and properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rope_lib import inverse_frequencies
from rope_lib._parameters import LARGEST, integer, number, show
from rope_lib.scaling import (
    SCALINGS,
    Frequencies,
    bands,
    critical_dimension,
    default,
    dynamic,
    from_parameters,
    keyword_defaults,
    keywords,
    linear,
    llama3,
    longrope,
    ntk,
    proportional,
    yarn,
    yarn_mscale,
    yarn_ramp_ends,
)

LLAMA31 = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
DIMS = st.integers(2, 96).map(lambda pairs: 2 * pairs)
BASES = st.floats(2.0, 1e8)
FACTORS = st.floats(1.0, 1e3)
LENGTHS = st.integers(16, 10**6)


def close(actual: object, expected: object) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-13)


class TestPlain:
    def test_default_is_the_paper(self) -> None:
        found = default(4, 10_000.0)
        close(found.inv_freq, [1.0, 0.01])
        close(default(4, 16.0).inv_freq, [1.0, 0.25])
        assert found.inv_freq.dtype == np.float64
        assert (found.attention_factor, found.softmax_multiplier) == (1.0, 1.0)

    def test_linear_divides_every_pair(self) -> None:
        found = linear(4, 10_000.0, factor=8)
        close(found.inv_freq, [0.125, 0.00125])
        assert (found.attention_factor, found.softmax_multiplier) == (1.0, 1.0)

    @pytest.mark.parametrize(
        ("factor", "base"), [(2, 20_221.261689737912), (4, 40_889.942432486216)]
    )
    def test_ntk_base(self, factor: int, base: float) -> None:
        """G16: the first pair keeps its frequency, the last is divided by factor exactly."""
        found = ntk(128, 10_000.0, factor=factor).inv_freq
        plain = inverse_frequencies(128, 10_000.0)
        close(found[1], base ** (-2 / 128))
        assert found[0] == 1.0
        close(found[-1], plain[-1] / factor)

    def test_ntk_of_the_smallest_base(self) -> None:
        # Base 1·2^(4/2) = 4, and 4^(−2/4) = 1/2.
        close(ntk(4, 1.0, factor=2).inv_freq, [1.0, 0.5])

    def test_dynamic_starts_above_the_trained_length(self) -> None:
        """G17: the multiplier is 1 up to L0 and, for factor 4, 5 (not 2) at 2·L0."""
        given = {"factor": 4.0, "original_max_position_embeddings": 2048}
        plain = inverse_frequencies(128, 10_000.0)
        for seq_len in (None, 1, 2047, 2048):
            np.testing.assert_array_equal(
                dynamic(128, 10_000.0, **given, seq_len=seq_len).inv_freq, plain
            )
        twice = dynamic(128, 10_000.0, **given, seq_len=4096).inv_freq
        close(twice[[1, 63]], [0.84412203648854951, 2.3095639693789164e-5])
        close(plain[-1] / twice[-1], 5.0)
        assert dynamic(128, 10_000.0, **given, seq_len=2049).inv_freq[-1] < plain[-1]

    @settings(deadline=None)
    @given(dim=DIMS, base=BASES, factor=FACTORS)
    def test_dynamic_at_length_is_ntk(self, dim: int, base: float, factor: float) -> None:
        """At L = 2·L0 dynamic is NTK-aware scaling by factor + 1."""
        found = dynamic(
            dim, base, factor=factor, original_max_position_embeddings=1024, seq_len=2048
        )
        np.testing.assert_allclose(
            found.inv_freq, ntk(dim, base, factor=factor + 1.0).inv_freq, rtol=1e-9
        )

    def test_dynamic_never_shrinks_the_base_by_rounding(self) -> None:
        # 1e17/3·3 − (1e17 − 1) is 0 in float64, not 1.
        found = dynamic(8, 10.0, factor=1e17, original_max_position_embeddings=3)
        np.testing.assert_array_equal(found.inv_freq, inverse_frequencies(8, 10.0))

    def test_proportional_turns_the_first_pairs(self) -> None:
        """Gemma 4's global layers: 64 of 256 pairs, exponents over the whole head."""
        found = proportional(512, 1e6, partial_rotary_factor=0.25).inv_freq
        assert found.shape == (256,)
        close(found[:64], 1e6 ** (-2 * np.arange(64) / 512))
        assert not found[64:].any()
        close(proportional(512, 1e6, partial_rotary_factor=0.25, factor=8.0).inv_freq, found / 8)
        close(proportional(8, 1e6).inv_freq, inverse_frequencies(8, 1e6))

    def test_proportional_share_is_cut_down(self) -> None:
        # int(0.3·10/2) = int(1.5) = 1
        assert np.count_nonzero(proportional(10, 1e4, partial_rotary_factor=0.3).inv_freq) == 1


class TestYarn:
    def test_ramp_ends(self) -> None:
        """G12: Llama 2 and DeepSeek."""
        given = {"original_max_position_embeddings": 4096}
        assert yarn_ramp_ends(128, 1e4, **given) == (20.0, 46.0)
        close(
            yarn_ramp_ends(128, 1e4, **given, truncate=False),
            (20.944481620636053, 45.026881273754549),
        )
        assert yarn_ramp_ends(64, 1e4, **given) == (10.0, 23.0)
        close(
            yarn_ramp_ends(64, 1e4, **given, truncate=False),
            (10.472240810318027, 22.513440636877274),
        )

    def test_ramp_ends_stay_among_the_channels(self) -> None:
        assert yarn_ramp_ends(8, 2.0, original_max_position_embeddings=10**9) == (88.0, 7.0)
        assert yarn_ramp_ends(8, 1e4, original_max_position_embeddings=7) == (0.0, 1.0)

    @pytest.mark.parametrize(
        ("factor", "expected"),
        [
            (4, 1.1386294361119891),
            (8, 1.2079441541679836),
            (16, 1.2772588722239781),
            (32, 1.3465735902799727),
            (40, 1.3688879454113936),
        ],
    )
    def test_attention_factor(self, factor: int, expected: float) -> None:
        """G13: 0.1·ln f + 1."""
        found = yarn(128, 1e4, factor=factor, original_max_position_embeddings=4096)
        close(found.attention_factor, expected)
        close(yarn_mscale(factor), expected)
        assert found.softmax_multiplier == 1.0

    @pytest.mark.parametrize(
        ("mscale", "expected"), [(0.707, 1.5896261651208735), (1.0, 1.8738542070926266)]
    )
    def test_deepseek_warms_the_softmax(self, mscale: float, expected: float) -> None:
        """G14: V2 and V3 leave cos and sin alone."""
        found = yarn(
            64,
            1e4,
            factor=40,
            original_max_position_embeddings=4096,
            mscale=mscale,
            mscale_all_dim=mscale,
        )
        assert found.attention_factor == 1.0
        close(found.softmax_multiplier, expected)

    def test_deepseek_frequencies(self) -> None:
        """Kept up to pair 10, divided by 40 from pair 23, a linear blend between."""
        found = yarn(64, 1e4, factor=40, original_max_position_embeddings=4096).inv_freq
        close(
            found[[10, 15, 23, 31]],
            [
                0.056234132519034908,
                0.0083345089510207752,
                3.3338035804083101e-5,
                3.3338035804083101e-6,
            ],
        )

    def test_llama2_frequencies(self) -> None:
        found = yarn(128, 1e4, factor=16, original_max_position_embeddings=4096).inv_freq
        close(
            found[[20, 33, 46, 63]],
            [
                0.056234132519034908,
                0.0046004354678503472,
                8.3345089510207752e-5,
                7.2173874043091136e-6,
            ],
        )

    def test_ramp_of_gpt_oss_is_not_rounded(self) -> None:
        found = yarn(
            64, 150_000.0, factor=32, original_max_position_embeddings=4096, truncate=False
        ).inv_freq
        close(
            found[[7, 8, 12, 17, 18, 31]],
            [
                0.073744568210260814,
                0.050813274815461474,
                0.0067949594897322178,
                0.00012931870124506272,
                3.8308812373753383e-5,
                3.0235114281192144e-7,
            ],
        )

    def test_two_mscales_make_a_ratio(self) -> None:
        given = {"factor": 40, "original_max_position_embeddings": 4096}
        found = yarn(64, 1e4, **given, mscale=1.0, mscale_all_dim=0.5)
        close(found.attention_factor, 1.3688879454113936 / 1.1844439727056968)
        close(found.softmax_multiplier, 1.1844439727056968**2)

    def test_one_mscale_alone_changes_nothing_on_cos_and_sin(self) -> None:
        given = {"factor": 40, "original_max_position_embeddings": 4096}
        for alone in ({"mscale": 0.5}, {"mscale_all_dim": 0.5}, {"mscale": 0, "mscale_all_dim": 1}):
            close(yarn(64, 1e4, **given, **alone).attention_factor, 1.3688879454113936)
        assert yarn(64, 1e4, **given, mscale=0.5).softmax_multiplier == 1.0
        assert yarn(64, 1e4, **given, mscale_all_dim=0.0).softmax_multiplier == 1.0
        close(yarn(64, 1e4, **given, mscale_all_dim=0.5).softmax_multiplier, 1.1844439727056968**2)

    def test_attention_factor_given_is_used(self) -> None:
        found = yarn(
            64,
            1e4,
            factor=40,
            original_max_position_embeddings=4096,
            attention_factor=0.75,
            mscale=1.0,
            mscale_all_dim=0.5,
        )
        assert found.attention_factor == 0.75
        close(found.softmax_multiplier, 1.1844439727056968**2)

    def test_ramp_without_width(self) -> None:
        """Where both ends meet, pairs below are kept and pairs above divided; nothing is 0/0."""
        ends = {
            "original_max_position_embeddings": 4096,
            "beta_fast": 1.0 + 1e-12,
            "beta_slow": 1.0,
            "truncate": False,
        }
        found = yarn(64, 1e4, factor=4, **ends).inv_freq
        plain = inverse_frequencies(64, 1e4)
        assert np.isfinite(found).all()
        close(found[:23], plain[:23])
        close(found[23:], plain[23:] / 4)

    def test_all_pairs_kept_when_all_turn_often(self) -> None:
        """By the ramp over rotations (eq. 18); released code would divide all pairs here."""
        found = yarn(8, 2.0, factor=4, original_max_position_embeddings=10**9).inv_freq
        close(found, inverse_frequencies(8, 2.0))

    @settings(deadline=None)
    @given(dim=DIMS, base=BASES, factor=FACTORS, length=LENGTHS, truncate=st.booleans())
    def test_between_kept_and_divided(
        self, dim: int, base: float, factor: float, length: int, truncate: bool
    ) -> None:
        plain = inverse_frequencies(dim, base)
        found = yarn(
            dim, base, factor=factor, original_max_position_embeddings=length, truncate=truncate
        ).inv_freq
        assert (found <= plain * (1 + 1e-14)).all()
        assert (found >= plain / factor * (1 - 1e-14)).all()
        assert (np.diff(found) < 0).all()


class TestLlama3:
    def test_bands(self) -> None:
        """G11: pairs 0..28 kept, 29..34 blended, 35..63 divided."""
        found = llama3(128, 5e5, **LLAMA31)
        plain = inverse_frequencies(128, 5e5)
        assert bands(plain, found.inv_freq, 8.0) == (29, 6, 29)
        np.testing.assert_array_equal(found.inv_freq[:29], plain[:29])
        np.testing.assert_array_equal(found.inv_freq[35:], plain[35:] / 8.0)
        assert (found.attention_factor, found.softmax_multiplier) == (1.0, 1.0)

    def test_frequencies(self) -> None:
        close(
            llama3(128, 5e5, **LLAMA31).inv_freq[[28, 29, 31, 34, 35, 63]],
            [
                0.003211445994752591,
                0.0021665707635033586,
                0.00085675141291963208,
                0.00017850781276799642,
                9.556212353964683e-5,
                3.0689259889145111e-7,
            ],
        )

    @settings(deadline=None)
    @given(dim=DIMS, base=BASES, factor=FACTORS, length=LENGTHS)
    def test_definition_pair_by_pair(
        self, dim: int, base: float, factor: float, length: int
    ) -> None:
        """Meta's three cases, written out one pair at a time."""
        found = llama3(
            dim,
            base,
            factor=factor,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=length,
        ).inv_freq
        for scaled, kept in zip(found, inverse_frequencies(dim, base), strict=True):
            wavelength = 2 * math.pi / kept
            if wavelength < length / 4.0:
                expected = kept
            elif wavelength > length / 1.0:
                expected = kept / factor
            else:
                smooth = (length / wavelength - 1.0) / (4.0 - 1.0)
                expected = (1.0 - smooth) * kept / factor + smooth * kept
            assert scaled == pytest.approx(expected, rel=1e-12)


LONGROPE = {
    "short_factor": [1.0, 2.0],
    "long_factor": [4.0, 8.0],
    "original_max_position_embeddings": 4096,
}


class TestLongRope:
    def test_long_list_above_the_trained_length_only(self) -> None:
        for seq_len in (None, 1, 4095, 4096):
            found = longrope(4, 1e4, **LONGROPE, factor=32, seq_len=seq_len)
            close(found.inv_freq, [1.0, 0.005])
        close(longrope(4, 1e4, **LONGROPE, factor=32, seq_len=4097).inv_freq, [0.25, 0.00125])

    def test_attention_factor(self) -> None:
        """G15: Phi-3.5."""
        found = longrope(4, 1e4, **LONGROPE, factor=32)
        close(found.attention_factor, 1.1902380714238083)
        assert found.softmax_multiplier == 1.0

    def test_attention_factor_without_extension(self) -> None:
        assert longrope(4, 1e4, **LONGROPE, factor=1).attention_factor == 1.0
        assert longrope(4, 1e4, **LONGROPE, factor=0.5).attention_factor == 1.0
        # ln 1 = 0 is divided by nothing, even where the logarithm of the length is 0 itself.
        short = {**LONGROPE, "original_max_position_embeddings": 1}
        assert longrope(4, 1e4, **short, factor=1).attention_factor == 1.0

    def test_attention_factor_of_the_shortest_length(self) -> None:
        # √(1 + ln 2 / ln 2) = √2
        short = {**LONGROPE, "original_max_position_embeddings": 2}
        close(longrope(4, 1e4, **short, factor=2).attention_factor, 1.4142135623730951)

    def test_attention_factor_given_needs_no_factor(self) -> None:
        assert longrope(4, 1e4, **LONGROPE, attention_factor=1.5).attention_factor == 1.5


class TestSpectrum:
    @pytest.mark.parametrize(
        ("base", "length", "dimension", "never"),
        [(1e4, 4096, 92, 18), (1e4, 2048, 82, 23), (5e5, 8192, 70, 29)],
    )
    def test_critical_dimension(self, base: float, length: int, dimension: int, never: int) -> None:
        """G18, and the same count taken pair by pair."""
        assert critical_dimension(128, base, length) == dimension
        turns = length * inverse_frequencies(128, base) / (2 * math.pi)
        assert int((turns < 1).sum()) == never == 64 - dimension // 2

    def test_critical_dimension_stays_within_the_head(self) -> None:
        assert critical_dimension(64, 1.5, 10**9) == 64
        assert critical_dimension(64, 1e4, 3) == 0
        assert critical_dimension(2, 1e4, 7) == 2
        assert isinstance(critical_dimension(64, 1.5, 10**9), int)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ((1, 1e4, 4096), "dim must be an integer from 2 to"),
            ((64, 1.0, 4096), r"base must be above 1 and at most 1e\+30, got 1\.0"),
            ((64, 1e4, 0), "length must be an integer from 1 to"),
        ],
    )
    def test_critical_dimension_refuses(self, given: tuple[int, float, int], message: str) -> None:
        with pytest.raises(ValueError, match=f"^{message}"):
            critical_dimension(*given)

    def test_bands_are_exact(self) -> None:
        """A hair off, if rounding does not explain it, is neither kept nor divided."""
        plain = np.array([1.0, 1.0, 1.0, 1.0])
        scaled = np.array([1.0, 1.0 - 1e-10, 0.25, 0.25 + 1e-10])
        assert bands(plain, scaled, 4.0) == (1, 2, 1)

    def test_bands_of_the_others(self) -> None:
        plain = inverse_frequencies(128, 1e4)
        assert bands(plain, linear(128, 1e4, factor=2.0).inv_freq, 2.0) == (0, 0, 64)
        assert bands(plain, ntk(128, 1e4, factor=2.0).inv_freq, 2.0) == (1, 62, 1)
        given = {"factor": 16.0, "original_max_position_embeddings": 4096}
        assert bands(plain, yarn(128, 1e4, **given).inv_freq, 16.0) == (21, 25, 18)
        assert bands(plain, plain, 1.0) == (64, 0, 0)
        still = proportional(8, 1e4, partial_rotary_factor=0.5).inv_freq
        assert bands(inverse_frequencies(8, 1e4), still, 2.0) == (2, 2, 0)


class TestFactorOne:
    """Factor 1 is no scaling, whatever the name."""

    @settings(deadline=None)
    @given(dim=DIMS, base=BASES, length=LENGTHS)
    def test_all(self, dim: int, base: float, length: int) -> None:
        plain = inverse_frequencies(dim, base)
        given = {"factor": 1.0, "original_max_position_embeddings": length}
        for found in (
            linear(dim, base, factor=1.0),
            ntk(dim, base, factor=1.0),
            dynamic(dim, base, **given),
            yarn(dim, base, **given),
            llama3(dim, base, **given, low_freq_factor=1.0, high_freq_factor=4.0),
            longrope(
                dim, base, **given, short_factor=[1.0] * plain.size, long_factor=[1.0] * plain.size
            ),
            proportional(dim, base),
        ):
            np.testing.assert_allclose(found.inv_freq, plain, rtol=1e-15)
            assert (found.attention_factor, found.softmax_multiplier) == (1.0, 1.0)


class TestRegistry:
    def test_names(self) -> None:
        assert list(SCALINGS) == [
            "default",
            "linear",
            "ntk",
            "dynamic",
            "yarn",
            "llama3",
            "longrope",
            "proportional",
        ]

    def test_keywords(self) -> None:
        assert keywords("dynamic") == {"factor": True, "original_max_position_embeddings": True}
        assert keywords("proportional") == {"partial_rotary_factor": False, "factor": False}

    def test_from_parameters(self) -> None:
        np.testing.assert_array_equal(from_parameters(4, 1e4, {}).inv_freq, [1.0, 0.01])
        found = from_parameters(128, 5e5, {"rope_type": "llama3", "rope_theta": 5e5, **LLAMA31})
        np.testing.assert_array_equal(found.inv_freq, llama3(128, 5e5, **LLAMA31).inv_freq)
        close(from_parameters(4, 1e4, {"type": "linear", "factor": 2}).inv_freq, [0.5, 0.005])
        close(from_parameters(4, 1e4, {"type": "linear", "rope_type": "default"}).inv_freq[0], 1.0)

    def test_from_parameters_aliases(self) -> None:
        given = {**LONGROPE, "factor": None, "attention_factor": 1.0, "type": "su"}
        close(from_parameters(4, 1e4, given).inv_freq, [1.0, 0.005])
        close(from_parameters(4, 1e4, given, seq_len=5000).inv_freq, [0.25, 0.00125])
        close(from_parameters(4, 1e4, {"type": "mrope"}, seq_len=5000).inv_freq, [1.0, 0.01])

    @pytest.mark.parametrize("rope_type", ["ntk_yarn", "Linear", 3, ["linear"]])
    def test_unknown_name(self, rope_type: object) -> None:
        with pytest.raises(ValueError, match=r"^rope_type must be one of default, li") as refused:
            from_parameters(4, 1e4, {"rope_type": rope_type})
        assert str(refused.value).endswith(f"longrope, proportional, su, mrope, got {rope_type!r}")

    def test_missing_parameter(self) -> None:
        with pytest.raises(
            ValueError, match=r"^factor is required by rope_type 'linear', got None"
        ):
            from_parameters(4, 1e4, {"rope_type": "linear", "factor": None})

    def test_frequencies_have_neutral_factors(self) -> None:
        found = Frequencies(np.ones(2))
        assert (found.attention_factor, found.softmax_multiplier) == (1.0, 1.0)


GOOD = {
    "linear": {"factor": 2.0},
    "ntk": {"factor": 2.0},
    "dynamic": {"factor": 2.0, "original_max_position_embeddings": 64, "seq_len": 100},
    "yarn": {
        "factor": 2.0,
        "original_max_position_embeddings": 64,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": True,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "attention_factor": 1.0,
    },
    "llama3": LLAMA31,
    "longrope": {**LONGROPE, "factor": 2.0, "attention_factor": 1.0, "seq_len": 100},
    "proportional": {"factor": 2.0, "partial_rotary_factor": 0.5},
}
BAD_NUMBERS = ["8", True, None, [8.0], 1j, math.nan, math.inf, -math.inf, -1.0, 1e31, 10**400]
NONE_IS_ABSENT = {"mscale", "mscale_all_dim", "attention_factor", "seq_len"}


class TestRefusals:
    @pytest.mark.parametrize(
        ("rope_type", "name", "value"),
        [
            (rope_type, name, value)
            for rope_type, given in GOOD.items()
            for name in given
            for value in BAD_NUMBERS
            if not (value is None and name in NONE_IS_ABSENT)
            and not (name == "truncate" and value is True)
            and not (value is None and (rope_type, name) == ("longrope", "factor"))
        ],
        ids=lambda part: show(part)[:20],
    )
    def test_bad_value(self, rope_type: str, name: str, value: object) -> None:
        with pytest.raises(ValueError, match=rf"^{name}(\[0\])? must (be|have 2) "):
            SCALINGS[rope_type](4, 1e4, **{**GOOD[rope_type], name: value})

    @pytest.mark.parametrize("rope_type", list(GOOD))
    def test_zero_factor(self, rope_type: str) -> None:
        given = {**GOOD[rope_type], "factor": 0}
        given.pop("attention_factor", None)
        with pytest.raises(ValueError, match=r"^factor must be at least .*, got 0"):
            SCALINGS[rope_type](4, 1e4, **given)

    @pytest.mark.parametrize("rope_type", [name for name in GOOD if name != "longrope"])
    def test_factor_below_one(self, rope_type: str) -> None:
        with pytest.raises(ValueError, match=r"^factor must be at least 1 .*, got 0\.999"):
            SCALINGS[rope_type](4, 1e4, **{**GOOD[rope_type], "factor": 0.999})

    @pytest.mark.parametrize(
        ("rope_type", "changes", "message"),
        [
            ("yarn", {"beta_fast": 1.0}, r"beta_fast must be above beta_slow 1, got 1\.0"),
            (
                "llama3",
                {"low_freq_factor": 4.0},
                r"high_freq_factor must be above low_freq_factor 4, got 4\.0",
            ),
            ("longrope", {"short_factor": [1.0]}, "short_factor must have 2 entries.*, got 1"),
            ("longrope", {"long_factor": "ab"}, "long_factor must be a list, got 'ab'"),
            ("longrope", {"long_factor": [1.0, 0.0]}, r"long_factor\[1\] must be at least"),
            (
                "longrope",
                {"factor": None, "attention_factor": None},
                "factor must be given where attention_factor is not, got None",
            ),
            (
                "longrope",
                {"original_max_position_embeddings": 1, "attention_factor": None},
                "original_max_position_embeddings must be at least 2, got 1",
            ),
            ("dynamic", {"seq_len": 0}, "seq_len must be an integer from 1 to"),
            ("dynamic", {"original_max_position_embeddings": 2.5}, r"original.* an integer.*2\.5"),
            (
                "proportional",
                {"partial_rotary_factor": 0},
                "partial_rotary_factor must be above 0 and at most 1, got 0",
            ),
            (
                "proportional",
                {"partial_rotary_factor": 1.5},
                r"partial_rotary_factor must be above 0 and at most 1, got 1\.5",
            ),
        ],
    )
    def test_rules_between(self, rope_type: str, changes: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=f"^{message}"):
            SCALINGS[rope_type](4, 1e4, **{**GOOD[rope_type], **changes})

    @pytest.mark.parametrize("rope_type", list(GOOD))
    @pytest.mark.parametrize("dim", [3, 0, -2, 2.5, "4", None, True])
    def test_bad_dim(self, rope_type: str, dim: object) -> None:
        with pytest.raises((ValueError, TypeError), match=r"^dim must be "):
            SCALINGS[rope_type](dim, 1e4, **GOOD[rope_type])

    @pytest.mark.parametrize("rope_type", list(GOOD))
    @pytest.mark.parametrize("base", [0.5, math.nan, "1e4", None, True])
    def test_bad_base(self, rope_type: str, base: object) -> None:
        with pytest.raises((ValueError, TypeError), match=r"^base must be "):
            SCALINGS[rope_type](4, base, **GOOD[rope_type])

    @pytest.mark.parametrize("rope_type", ["ntk", "dynamic"])
    def test_ntk_needs_two_pairs(self, rope_type: str) -> None:
        with pytest.raises(ValueError, match=r"^dim must be at least 4 for NTK scaling, got 2"):
            SCALINGS[rope_type](2, 1e4, **GOOD[rope_type])

    def test_yarn_needs_a_base_above_one(self) -> None:
        with pytest.raises(ValueError, match=r"^base must be above 1 .*, got 1\.0"):
            yarn(4, 1.0, factor=2.0, original_max_position_embeddings=64)

    def test_wrong_kind_is_a_type_error(self) -> None:
        with pytest.raises(TypeError, match=r"^factor must be a number, got '2'"):
            linear(4, 1e4, factor="2")
        with pytest.raises(TypeError, match=r"^original_max_.* must be an integer, got True"):
            dynamic(4, 1e4, factor=2.0, original_max_position_embeddings=True)
        with pytest.raises(TypeError, match=r"^truncate must be true or false, got 1"):
            yarn(4, 1e4, factor=2, original_max_position_embeddings=64, truncate=1)


class TestChecks:
    def test_limits_belong_to_the_range(self) -> None:
        assert number("x", LARGEST) == LARGEST
        assert number("x", 1, 1.0) == 1.0
        assert integer("x", 1) == 1
        assert integer("x", 2**53) == 2**53
        assert integer("x", 4096.0) == 4096
        assert isinstance(integer("x", 4096.0), int)
        assert integer("x", np.int64(7)) == 7
        with pytest.raises(ValueError, match="above 1 and at most 1e\\+30, got 1"):
            number("x", 1, 1.0, exclusive=True)

    def test_arrays_will_do_for_lists(self) -> None:
        given = {**LONGROPE, "short_factor": np.array([1.0, 2.0], dtype=np.float32)}
        close(longrope(4, 1e4, **given, factor=2.0).inv_freq, [1.0, 0.005])

    def test_show_is_short_and_always_works(self) -> None:
        assert show("x") == "'x'"
        assert show(list(range(100))).endswith("...")
        assert len(show("y" * 500)) == 80
        assert show(10**5000) == "a int too large to print"
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        assert show(deep) == "a list too large to print"

    @pytest.mark.parametrize("rope_type", list(GOOD))
    def test_extremes_stay_finite(self, rope_type: str) -> None:
        """The largest numbers that pass the checks overflow nothing."""
        given = dict(GOOD[rope_type])
        for name in ("factor", "attention_factor"):
            if name in given:
                given[name] = LARGEST
        for name in ("seq_len", "original_max_position_embeddings"):
            if name in given:
                given[name] = 2**53 if name == "seq_len" else 2
        found = SCALINGS[rope_type](4, LARGEST, **given)
        assert np.isfinite(found.inv_freq).all()
        assert math.isfinite(found.attention_factor)
        assert math.isfinite(found.softmax_multiplier)


def test_the_defaults_of_a_scaling_are_the_papers():
    assert keyword_defaults("yarn")["beta_fast"] == 32  # Peng et al., section 3.2
    assert keyword_defaults("yarn")["beta_slow"] == 1
    assert keyword_defaults("linear") == {"factor": None}
    for name in SCALINGS:
        required = {key for key, needed in keywords(name).items() if needed}
        assert {key for key in required if keyword_defaults(name)[key] is not None} == set()
