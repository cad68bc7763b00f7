"""A layer dealt out among processes: all together agree with one, and a dead one is named."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from rope_lib.sharding import ORDERS, held_tokens

SCRIPT = Path(__file__).parents[1] / "examples" / "ranks.py"


# ---- which tokens a rank holds


def test_two_ranks_and_eight_tokens():
    assert held_tokens(0, 2, 8).tolist() == [0, 1, 2, 3]
    assert held_tokens(1, 2, 8).tolist() == [4, 5, 6, 7]
    assert held_tokens(0, 2, 8, order="zig-zag").tolist() == [0, 1, 6, 7]
    assert held_tokens(1, 2, 8, order="zig-zag").tolist() == [2, 3, 4, 5]


def test_packed_documents_are_dealt_out_one_by_one():
    assert held_tokens(0, 2, [4, 4], order="zig-zag").tolist() == [0, 3, 4, 7]
    assert held_tokens(1, 2, [4, 4], order="zig-zag").tolist() == [1, 2, 5, 6]
    assert held_tokens(1, 2, (4, 8)).tolist() == [2, 3, 8, 9, 10, 11]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_every_token_is_held_once_and_all_hold_as_many(order, ranks):
    lengths = [2 * ranks, 6 * ranks]
    held = [held_tokens(rank, ranks, lengths, order=order) for rank in range(ranks)]
    assert sorted(np.concatenate(held).tolist()) == list(range(8 * ranks))
    assert {len(each) for each in held} == {8}
    assert all((np.diff(each) > 0).all() and each.dtype == np.int64 for each in held)


@pytest.mark.parametrize("ranks", [2, 4])
def test_zig_zag_shares_causal_work_evenly_and_contiguous_does_not(ranks):
    tokens = 16 * ranks
    work = {
        order: [int((held_tokens(r, ranks, tokens, order=order) + 1).sum()) for r in range(ranks)]
        for order in ORDERS
    }
    assert len(set(work["zig-zag"])) == 1
    least, most = work["contiguous"][0], work["contiguous"][-1]
    # Chunk r of c tokens has c (c r + (c + 1) / 2) scores.
    assert least == 16 * 17 / 2
    assert most == least + 16 * 16 * (ranks - 1)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((2, 2, 8), ValueError, "rank must be below ranks, got 2 of 2"),
        ((-1, 2, 8), ValueError, "rank must be at least 0, got -1"),
        ((0, 0, 8), ValueError, "ranks must be at least 1, got 0"),
        ((0, 2, 7), ValueError, "multiple of 2, the chunks of 2 ranks in contiguous order, got 7"),
        ((0, 2, []), ValueError, "at least 1 document, got 0"),
        ((0, 2, [4, 0]), ValueError, "tokens must be at least 1, got 0"),
        ((0, 2, 8.0), TypeError, "tokens must be an integer, got 8.0"),
    ],
)
def test_what_cannot_be_dealt_out_is_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        held_tokens(*arguments)


def test_zig_zag_needs_two_chunks_a_rank_and_other_orders_are_unknown():
    with pytest.raises(ValueError, match=r"multiple of 4, .* zig-zag order, got 6; pad it"):
        held_tokens(0, 2, 6, order="zig-zag")
    with pytest.raises(ValueError, match="one of 'contiguous', 'zig-zag', got 'ring'"):
        held_tokens(0, 2, 8, order="ring")


# ---- processes


def torchrun(ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What torchrun printed; a run that hangs fails the test."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks)]
    return subprocess.run(
        [*command, str(SCRIPT), *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )


def check(found: dict[str, float]) -> None:
    typical = found.pop("typical output")
    right = {way: difference for way, difference in found.items() if "from 0" not in way}
    assert set(right) == {"heads", *ORDERS}
    assert max(right.values()) < 1e-5
    assert min(found[f"{order}, from 0"] for order in ORDERS) > typical / 2


def test_four_ranks_agree_with_one_process():
    run = torchrun(4)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found.pop("ranks") == 4
    check(found)


def test_two_ranks_agree_with_one_process_and_with_pytorchs_own_tools():
    run = torchrun(2, "--tools")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found.pop("ranks") == 2
    dealt = [held_tokens(rank, 2, 64, order="zig-zag").tolist() for rank in range(2)]
    assert found.pop("context_parallel deals") == [*dealt[0], *dealt[1]]
    ring = found.pop("context_parallel's attention")  # it runs on GPUs only
    assert "scaled_dot_product" in ring if isinstance(ring, str) else ring < 1e-5
    for way in ("DTensor", "parallelize_module", "context_parallel's ids"):
        assert found.pop(way) < 1e-5
    check(found)


def test_a_rank_that_is_killed_ends_the_run_within_seconds_and_is_named():
    run = torchrun(2, "--kill", "1", "--patience", "500")
    ended = time.time()
    killed = json.loads(run.stdout)["killed at"]
    assert run.returncode != 0
    cause = run.stderr.partition("Root Cause")[2]
    assert re.search(r"rank +: 1 ", cause)
    assert "Signal 9 (SIGKILL) received" in cause
    [noticed] = re.findall(r"time +: (\S+)", cause)
    assert datetime.strptime(noticed, "%Y-%m-%d_%H:%M:%S").timestamp() - killed < 20
    assert ended - killed < 60  # two seconds on an idle machine, 14 on a very busy one


def test_a_rank_that_does_not_come_is_named_after_the_time_limit():
    run = torchrun(2, "--stall", "1", "--patience", "2")
    assert run.returncode != 0
    assert run.stdout == ""
    assert "Ranks 1 failed to pass monitoredBarrier in 2000 ms" in run.stderr


def test_started_without_torchrun_it_says_how_to_start_it():
    run = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=600)
    assert run.returncode == 1
    assert "torchrun --nproc-per-node 2 examples/ranks.py" in run.stderr
