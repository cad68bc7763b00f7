"""What the library promises, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.measure import Clock
from benchmarks.workloads import Result

Results = Mapping[str, Result]


@dataclass(frozen=True)
class Verdict:
    """One budget: measured is None where this run did not measure it."""

    budget: str
    sign: str
    limit: float
    measured: float | None

    @property
    def word(self) -> str:
        if self.measured is None:
            return "not measured"
        met = self.measured <= self.limit if self.sign == "<=" else self.measured >= self.limit
        return "met" if met else "missed"

    def __str__(self) -> str:
        measured = "-" if self.measured is None else f"{self.measured:.4g}"
        return f"{self.budget:<66} {self.sign} {self.limit:<6.3g} {measured:>8}  {self.word}"


def verdicts(results: Results, clock: Clock, *, on_gpu: bool) -> list[Verdict]:
    """Every budget of this kind of device; ratios are medians by the clock named."""
    made = _gpu(results, clock) if on_gpu else _cpu(results, clock)
    return list(made)


def _cpu(results: Results, clock: Clock) -> Iterator[Verdict]:
    def ratio(work: str, name: str, over: str) -> float | None:
        return _ratio(results, work, name, over, clock)

    f32, bf16, ours = "prefill float32, ", "prefill bfloat16, ", "rope_lib"
    inter, half, fast = f32 + "interleaved", f32 + "half", ours + ", compiled"
    yield Verdict("float32 interleaved / clone", "<=", 1.2, ratio(inter, ours, "clone"))
    yield Verdict(
        "float32 interleaved with out= / copy_", "<=", 1.2, ratio(inter, ours + ", out=", "copy_")
    )
    yield Verdict("float32 half: transformers / ours", ">=", 2, ratio(half, "transformers", ours))
    yield Verdict("float32 half, compiled / clone", "<=", 1.25, ratio(half, fast, "clone"))
    yield Verdict(
        "float32 half: transformers / ours compiled", ">=", 4.5, ratio(half, "transformers", fast)
    )
    yield Verdict(
        "bfloat16 interleaved: Meta's complex form / ours",
        ">=",
        3.5,
        ratio(bf16 + "interleaved", "Meta's complex form", ours),
    )
    extra = [result.extra[ours] for result in results.values() if ours in result.extra]
    yield Verdict(
        "memory beyond the output / x, the worst eager case", "<=", 0.15, max(extra, default=None)
    )
    table = next((name for name in results if name.startswith("tables")), "")
    yield Verdict(
        "table: float32 outer product, cos, sin / ours",
        ">=",
        5,
        ratio(table, "float32 outer product, cos, sin", ours),
    )
    error = results[table].errors[ours] if table else None
    yield Verdict("table: largest error", "<=", 2e-7, error)


def _gpu(results: Results, clock: Clock) -> Iterator[Verdict]:
    for name in results:
        if name.startswith("prefill"):
            share = _ratio(results, name, "copy_", "rope_lib, compiled", clock)
            yield Verdict(f"{name}: share of copy bandwidth, compiled", ">=", 0.9, share)


def _ratio(results: Results, work: str, name: str, over: str, clock: Clock) -> float | None:
    """The median ratio, or None where one of the two was not timed."""
    timed = results[work].times.seconds if work in results else {}
    if name not in timed or over not in timed:
        return None
    return results[work].times.ratio(name, over, clock)[1]
