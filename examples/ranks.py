"""One attention layer with RoPE, dealt out among processes, against the same layer in one.

    torchrun --nproc-per-node 4 examples/ranks.py
    torchrun --nproc-per-node 2 examples/ranks.py --tools      # and by PyTorch's own tools
    torchrun --nproc-per-node 2 examples/ranks.py --kill 1     # a rank dies: what does one see?
    torchrun --nproc-per-node 2 examples/ranks.py --stall 1    # a rank does not come

Rank 0 prints one line of JSON: way of dealing -> largest difference from one process, on any rank.
The ways called "from 0" make the mistake of counting each rank's positions from 0.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.functional import scaled_dot_product_attention

from rope_lib import apply_rope
from rope_lib.nn import RotaryEmbedding
from rope_lib.sharding import ORDERS, held_tokens

TOKENS, WIDTH, HEADS, KEY_HEADS, HEAD_DIM = 64, 64, 8, 4, 16
GRACE = 5.0  # seconds


class Attention(nn.Module):
    """Grouped-query attention that has as many heads as its weights have rows for."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, HEADS * HEAD_DIM, bias=False)
        self.key = nn.Linear(WIDTH, KEY_HEADS * HEAD_DIM, bias=False)
        self.value = nn.Linear(WIDTH, KEY_HEADS * HEAD_DIM, bias=False)
        self.out = nn.Linear(HEADS * HEAD_DIM, WIDTH, bias=False)
        self.rope = RotaryEmbedding(HEAD_DIM)

    def project(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(1, seq, width) -> q and k, turned, and v: each (1, heads, seq, head_dim)."""
        q, k, v = (split(linear(x)) for linear in (self.query, self.key, self.value))
        return *self.rope(q, k, positions), v

    def attend(self, q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
        mixed = scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).flatten(-2))

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        seen = positions[:, None] >= positions
        return self.attend(*self.project(x, positions), seen)


def split(x: Tensor) -> Tensor:
    return x.unflatten(-1, (-1, HEAD_DIM)).transpose(1, 2)


def by_sequence(
    layer: Attention,
    x: Tensor,
    held: Tensor,
    positions: Tensor,
) -> Tensor:
    """The outputs of the tokens held here; keys travel after their turn."""
    q, k, v = layer.project(x[:, held], positions)
    seen = held[:, None] >= gathered(held, 0)
    return layer.attend(q, gathered(k, 2), gathered(v, 2), seen)


def gathered(part: Tensor, dim: int) -> Tensor:
    """The parts of all ranks, joined in the order of the ranks."""
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part.contiguous())
    return torch.cat(parts, dim)


def by_heads(layer: Attention, x: Tensor, positions: Tensor) -> Tensor:
    """The outputs of all tokens. A rank turns the heads that it holds, by all positions."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    part = Attention().to(x.device)
    for name in ("query", "key", "value"):
        rows = layer.get_submodule(name).weight.chunk(ranks, 0)[rank]
        part.get_submodule(name).weight = nn.Parameter(rows)
    part.out.weight = nn.Parameter(layer.out.weight.chunk(ranks, 1)[rank])
    total = part(x, positions)
    dist.all_reduce(total)
    return total


def farthest(found: Tensor, expected: Tensor) -> float:
    """The largest difference on any rank."""
    worst = (found - expected).abs().max()
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return float(worst)


def by_hand(layer: Attention, x: Tensor) -> dict[str, Any]:
    """The heads dealt out, then the sequence: in either order, with right and wrong positions."""
    positions = torch.arange(TOKENS, device=x.device)
    whole = layer(x, positions)
    found: dict[str, Any] = {"typical output": float(whole.square().mean().sqrt())}
    found["heads"] = farthest(by_heads(layer, x, positions), whole)
    for order in ORDERS:
        mine = held_tokens(dist.get_rank(), dist.get_world_size(), TOKENS, order=order)
        held = torch.from_numpy(mine).to(x.device)
        from_0 = torch.arange(len(held), device=x.device)
        for name, ids in ((order, held), (f"{order}, from 0", from_0)):
            found[name] = farthest(by_sequence(layer, x, held, ids), whole[:, held])
    return found


def by_tools(layer: Attention, x: Tensor) -> dict[str, Any]:
    """The same with DTensor, its plan for tensor parallelism, and context_parallel."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = init_device_mesh(x.device.type, (dist.get_world_size(),))
    positions = torch.arange(TOKENS, device=x.device)
    whole, q, tables = layer(x, positions), split(layer.query(x)), layer.rope.tables(positions)

    shards = (distribute_tensor(table, mesh, [Shard(0)]) for table in tables)
    turned = apply_rope(distribute_tensor(q, mesh, [Shard(2)]), *shards)
    found: dict[str, Any] = {
        "DTensor": farthest(turned.full_tensor(), apply_rope(q, *tables)),
    }

    part, mine = x.clone(), positions.clone()
    with context_parallel(mesh, buffers=[part, mine], buffer_seq_dims=[1, 0]):
        found["context_parallel deals"] = gathered(mine, 0).tolist()
        by_its_ids = by_sequence(layer, x, mine, mine)
        found["context_parallel's ids"] = farthest(by_its_ids, whole[:, mine])
        found["context_parallel's attention"] = ring(*layer.project(part, mine), mine)

    columns = dict.fromkeys(("query", "key", "value"), ColwiseParallel())
    parallelize_module(layer, mesh, {**columns, "out": RowwiseParallel()})
    found["parallelize_module"] = farthest(layer(x, positions), whole)
    return found


def ring(q: Tensor, k: Tensor, v: Tensor, held: Tensor) -> float | str:
    """How far context_parallel's attention is from gathered keys, or why it does not run here."""
    q = q[:, :KEY_HEADS]
    seen = held[:, None] >= gathered(held, 0)
    expected = scaled_dot_product_attention(q, gathered(k, 2), gathered(v, 2), attn_mask=seen)
    try:  # inside context_parallel, the name in nn.functional is the ring
        found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    except RuntimeError as error:
        return str(error)
    return farthest(found, expected)


@record
def main() -> None:
    args = parse()
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    has_gpus = torch.cuda.device_count() >= ranks
    device = torch.device("cpu")
    if has_gpus:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("cpu:gloo,cuda:nccl" if has_gpus else "gloo")
    watch = dist.new_group(backend="gloo")
    if rank == args.kill:
        print(json.dumps({"killed at": time.time()}), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == args.stall:
        time.sleep(600)
    try:
        # Names the rank that does not come; an all_gather would only say that time is up.
        dist.monitored_barrier(watch, timedelta(seconds=args.patience), wait_all_ranks=True)
    except RuntimeError:
        # A survivor's error follows from another's death. Torchrun calls the earliest the root
        # cause, and on a busy machine it may hear of this one first.
        time.sleep(GRACE)
        raise

    torch.manual_seed(0)
    layer, x = Attention().to(device), torch.randn(1, TOKENS, WIDTH).to(device)
    with torch.no_grad():
        found = by_hand(layer, x) | (by_tools(layer, x) if args.tools else {})
    if rank == 0:
        print(json.dumps({"ranks": ranks, **found}), flush=True)
    dist.destroy_process_group()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tools", action="store_true", help="PyTorch's own tools as well")
    parser.add_argument("--kill", type=int, help="this rank kills itself")
    parser.add_argument("--stall", type=int, help="this rank sleeps")
    parser.add_argument(
        "--patience", type=float, default=120.0, help="seconds to wait for the others"
    )
    if "RANK" not in os.environ:
        sys.exit("Start it with torchrun --nproc-per-node 2 examples/ranks.py")
    return parser.parse_args()


if __name__ == "__main__":
    main()
