"""python -m benchmarks: rope_lib beside other libraries and the machine's copy limit."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def main() -> None:
    args = _parser().parse_args()
    # All three are read once, when the libraries load, so they load below. Threads that spin
    # while they wait would count as processor time.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    if args.huge_pages:
        os.environ["THP_MEM_ALLOC_ENABLE"] = "1"
    import torch

    from benchmarks import measure, report

    if args.threads:
        torch.set_num_threads(args.threads)
    device = torch.device(args.device)
    report.run(
        device,
        quick=args.quick,
        compiled=not (args.quick or args.eager),
        rounds=args.rounds or (3 if args.quick else 15),
        clock="wall" if device.type == "cuda" else args.clock,
        folder=args.folder,
        allocator=measure.fix_allocator(),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small and eager: 20 s, for a look")
    parser.add_argument("--eager", action="store_true", help="leave torch.compile out")
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    parser.add_argument("--threads", type=int, help="torch's threads (default: one a core)")
    parser.add_argument("--rounds", type=int, help="turns (default 15, quick 3)")
    parser.add_argument(
        "--clock",
        choices=["cpu", "wall"],
        default="cpu",
        help="time that ratios are made of: this process's (default) or the wall's; both are kept",
    )
    parser.add_argument(
        "--huge-pages", action="store_true", help="THP_MEM_ALLOC_ENABLE=1: fewer page faults"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("_build/benchmarks"),
        help="where the JSON goes (default _build/benchmarks; benchmarks/results keeps it)",
    )
    return parser


if __name__ == "__main__":
    main()
