"""python -m experiments [name ...]: what the book's longer measurements found, computed again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import torch

from experiments import driver

EXPERIMENTS = (
    *("changes", "stretch", "pairs_layers", "length", "bases", "retrieval", "finetune"),
    *("digits", "learned", "partial"),
    *("encodings", "sizes", "costs"),
    *("platforms", "tiny_lm"),
)
RESULTS, TRIALS = Path("experiments/results"), Path("_build/experiments")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = _parser()
    args = parser.parse_args(arguments)
    if unknown := [name for name in args.names if name not in EXPERIMENTS]:
        parser.error(f"{unknown[0]!r} is none of the experiments: {', '.join(EXPERIMENTS)}")
    if args.threads:
        torch.set_num_threads(args.threads)
    folder = args.folder or (TRIALS if args.quick else RESULTS)
    for name in args.names:
        command = f"python -m experiments {name}{' --quick' if args.quick else ''}"
        module = import_module(f"experiments.{name}")
        path = folder / f"{name}.json"
        try:
            driver.run(module, path, command, quick=args.quick, fresh=args.fresh)
        except driver.MixedError as error:
            sys.exit(str(error))
        except KeyboardInterrupt:
            sys.exit(f"Stopped. The same command goes on from the last whole point in {path}.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", default=EXPERIMENTS, help=", ".join(EXPERIMENTS)
    )
    parser.add_argument("--quick", action="store_true", help="tiny, for a look")
    parser.add_argument("--fresh", action="store_true", help="forget the points stored so far")
    parser.add_argument("--threads", type=int, help="torch's threads (default: one a core)")
    parser.add_argument(
        "--folder", type=Path, help=f"where the JSON goes (default {RESULTS}, quick {TRIALS})"
    )
    return parser


if __name__ == "__main__":
    main()
