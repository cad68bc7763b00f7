"""What is timed: shapes as in a model of 32 heads of 128 channels, and a long table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from benchmarks.measure import Times, extra_memory, take_times
from benchmarks.peers import Peer, peers, rope_lib_step
from rope_lib import apply_rope, inverse_frequencies
from rope_lib.layout import Layout

Tensor = torch.Tensor
Step = Callable[[], Tensor]
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2e-2}
"""Of the largest entry: float32 angles and bfloat16 tables are some peers' own choice."""
DECODED = 4096
"""Rows of the tables that a decode step gathers from."""


@dataclass(frozen=True)
class Workload:
    """One call that models make; each peer gets x in the axis order that it expects."""

    name: str
    layout: Layout
    dtype: torch.dtype = torch.float32
    batch: int = 1
    heads: int = 32
    seq: int = 2048
    dim: int = 128
    rotary: int = 128
    backward: bool = False
    decode: bool = False
    repeats: int = 1

    @property
    def baseline(self) -> str:
        return "2 clones" if self.backward else "clone"


@dataclass
class Result:
    """The times of one workload, and bytes beyond the output as a share of x."""

    name: str
    baseline: str
    times: Times
    extra: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)


def all_workloads(device: torch.device, *, quick: bool) -> list[Workload]:
    """Every x of a prefill is 32 MiB on a CPU, beyond what malloc keeps, and 256 MiB on a GPU."""
    batch = 8 if device.type == "cuda" else 1
    found = []
    for layout in ("half", "interleaved"):
        plain = Workload(f"prefill float32, {layout}", layout, batch=batch)
        narrow = f"prefill bfloat16, {layout}"
        found += [
            plain,
            replace(plain, name=narrow, dtype=torch.bfloat16, seq=4096),
            replace(plain, name=f"forward and backward, {layout}", backward=True),
            replace(plain, name=f"partial 25 %, {layout}", rotary=32),
            Workload(f"decode, {layout}", layout, batch=64, seq=1, decode=True, repeats=20),
        ]
    if quick:
        found = [w if w.decode else replace(w, batch=1, heads=8, seq=512) for w in found]
    if device.type == "cuda":  # many calls for one wait, which takes a tenth of such a copy
        found = [replace(w, repeats=20) for w in found]
    return found


def steps(work: Workload, device: torch.device, *, compiled: bool = False) -> dict[str, Step]:
    """Name -> one call; all return the same numbers, in the peer's own order of axes."""
    contenders = peers(work.layout)
    found = {peer.name: _step(work, peer, device) for peer in contenders}
    if compiled:
        torch.compiler.reset()
        for peer in contenders:
            if peer.compiles:
                name = f"{peer.name}, compiled"
                found[name] = _step(work, peer, device, compiled=True)
    return found


def run(work: Workload, device: torch.device, *, rounds: int, compiled: bool) -> Result:
    """Check that all agree, then time them in turns."""
    functions: dict[str, Callable[[], Any]] = dict(steps(work, device, compiled=compiled))
    errors = check(work, functions, device)
    timed_too = _limits(work, device)
    times = take_times({**timed_too, **functions}, rounds=rounds, repeats=work.repeats)
    result = Result(work.name, work.baseline, times, errors=errors)
    if not (work.backward or work.decode):
        size = _x(work, device).nbytes
        result.extra = {name: extra_memory(function) / size for name, function in functions.items()}
    return result


def check(work: Workload, functions: dict[str, Step], device: torch.device) -> dict[str, float]:
    """Each result's largest distance from a float64 rotation, over its largest entry.

    Raises:
        AssertionError: one is beyond what its dtype allows, so its time would mean nothing.
    """
    exact = _exact(work, device)
    errors = {}
    for name, function in functions.items():
        turned = function().detach()
        if turned.shape != exact.shape:
            turned = turned.transpose(1, 2)
        errors[name] = float((turned.double() - exact).abs().max() / exact.abs().max())
        if not errors[name] <= TOLERANCE[work.dtype]:
            raise AssertionError(f"{name} is off by {errors[name]:.1e} in {work.name}")
    return errors


def _step(work: Workload, peer: Peer, device: torch.device, *, compiled: bool = False) -> Step:
    x, tables = _x(work, device), peer.tables(_angles(work, device), work.dtype)
    rotate = peer.rotate
    if work.rotary < work.dim and not peer.partial:
        rotate = _first_channels(rotate, work.rotary)
    if work.decode:
        rotate = _gathering(rotate, _positions(work, device))
    if compiled:
        rotate = torch.compile(rotate, fullgraph=True, dynamic=False)
    if peer.seq_first:
        x = x.transpose(1, 2).contiguous()
    if not work.backward:
        return lambda: rotate(x, *tables)
    x, gradient = x.requires_grad_(), x.detach().clone()
    return lambda: torch.autograd.grad(rotate(x, *tables), x, gradient)[0]


def _first_channels(rotate: Callable[..., Tensor], rotary: int) -> Callable[..., Tensor]:
    def step(x: Tensor, *tables: Tensor) -> Tensor:
        return torch.cat([rotate(x[..., :rotary], *tables), x[..., rotary:]], -1)

    return step


def _gathering(rotate: Callable[..., Tensor], positions: Tensor) -> Callable[..., Tensor]:
    def step(x: Tensor, *tables: Tensor) -> Tensor:
        return rotate(x, *(table[positions] for table in tables))

    return step


def _limits(work: Workload, device: torch.device) -> dict[str, Callable[[], Any]]:
    """The machine's own speed for these bytes, and rope_lib writing into memory already there."""
    x = _x(work, device)
    if work.backward:
        return {"2 clones": lambda: (x.clone(), x.clone())}
    found: dict[str, Callable[[], Any]] = {"clone": x.clone}
    if work.name.startswith("prefill"):
        target = torch.zeros_like(x)
        found["copy_"] = lambda: target.copy_(x)
        if device.type == "cpu":
            rotate = rope_lib_step(work.layout)
            tables = peers(work.layout)[0].tables(_angles(work, device), work.dtype)
            found["rope_lib, out="] = lambda: rotate(x, *tables, out=target)
    return found


def _x(work: Workload, device: torch.device) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    shape = (work.batch, work.heads, work.seq, work.dim)
    return torch.randn(shape, generator=generator).to(work.dtype).to(device)


def _angles(work: Workload, device: torch.device) -> Tensor:
    """Float64, shape (seq, pairs), or a row for each position that a decode step may gather.

    Positions stay below 64: speed does not depend on them, and peers with float32 angles agree.
    """
    theta = torch.from_numpy(inverse_frequencies(work.rotary))
    rows = torch.arange(DECODED if work.decode else work.seq, dtype=torch.float64) % 64
    return (rows[:, None] * theta).to(device)


def _positions(work: Workload, device: torch.device) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(DECODED, (work.batch, 1), generator=generator).to(device)


def _exact(work: Workload, device: torch.device) -> Tensor:
    angles = _angles(work, device)
    if work.decode:
        angles = angles[_positions(work, device)].unsqueeze(1)
    x = _x(work, device).double()
    return apply_rope(x, angles.cos(), angles.sin(), layout=work.layout, inverse=work.backward)
