"""The mutation run's memory and its verdict: what `make mutate` does before and after mutmut.

    python tools/mutants.py forget   if the tests have changed, survivors are to be tried again
    python tools/mutants.py report   killed and survived per module, beside the list of survivors

The list, tests/mutation_survivors.txt, is made of reasons; below each, indented, are the mutants it
excuses: their function, the lines they take away and the lines they put there.
"""

from __future__ import annotations

import filecmp
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.utils.format_utils import orig_function_and_class_names_from_key

LIST = Path("tests/mutation_survivors.txt")
LEAST = 0.90
SURVIVED = ("survived", "no tests")
KILLED = ("killed", "timeout", "segfault")
Mutant = tuple[str, ...]
"""The function, then the lines that the mutation takes away and puts in its place."""


def verdicts() -> Iterator[SourceFileMutationData]:
    """What mutmut knows of each file's mutants so far."""
    for path in sorted(walk_mutatable_files()):
        data = SourceFileMutationData(path=path)
        data.load()
        yield data


def forget() -> None:
    """New tests may kill what survived the old ones; mutmut itself would not try again."""
    copies = Path("mutants/tests")
    if not copies.is_dir() or all(
        (copies / test.name).is_file() and filecmp.cmp(test, copies / test.name, shallow=False)
        for test in Path("tests").glob("*.py")
    ):
        return
    for data in verdicts():
        for name, code in data.exit_code_by_key.items():
            if status_by_exit_code[code] in SURVIVED:
                data.exit_code_by_key[name] = None
        data.save()


def described(data: SourceFileMutationData, name: str) -> Mutant:
    """The mutant in words that outlive a change elsewhere in its file."""
    function, owner = orig_function_and_class_names_from_key(name)
    where = f"{data.path} {owner + '.' if owner else ''}{function.rpartition('.')[2]}"
    diff = get_diff_for_mutant(name, path=data.path).splitlines()
    changed = (line for line in diff[3:] if line[0] in "+-")
    return (where, *(f"{line[0]} {line[1:].strip()}" for line in changed))


def listed(text: str) -> set[Mutant]:
    """The mutants of the list; what is not indented is for people."""
    mutants: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("  ") and line.strip()[:2] in ("- ", "+ "):
            mutants[-1].append(line.strip())
        elif line.startswith("  "):
            mutants.append([line.strip()])
    return {tuple(mutant) for mutant in mutants}


def report() -> int:
    """Print the table and what the list does not say; 0 where all is as it should be."""
    counts: dict[str, Counter[str]] = {}
    survivors = set()
    for data in verdicts():
        statuses = {name: status_by_exit_code[code] for name, code in data.exit_code_by_key.items()}
        if statuses:
            counts[str(data.path)] = Counter(statuses.values())
        survivors |= {described(data, name) for name in statuses if statuses[name] in SURVIVED}
    known = listed(LIST.read_text("utf-8"))
    total = sum(counts.values(), Counter())
    print_table(counts | {"together": total})
    print_mutants("Survivors without a reason in the list", survivors - known)
    print_mutants("In the list, but no survivors", known - survivors)
    complete = set(total) <= {*SURVIVED, *KILLED}
    if not complete:
        print("Not finished: `make mutate` goes on from here.")
    return 0 if complete and known == survivors and share(total) >= LEAST else 1


def share(counts: Counter[str]) -> float:
    """Killed mutants among those that have a verdict."""
    killed = sum(counts[status] for status in KILLED)
    return killed / max(1, killed + sum(counts[status] for status in SURVIVED))


def print_table(counts: dict[str, Counter[str]]) -> None:
    print(f"\n{'':40} killed  survived  no verdict")
    for name, found in counts.items():
        killed, survived = (sum(found[s] for s in group) for group in (KILLED, SURVIVED))
        rest = found.total() - killed - survived
        print(f"{name:40} {killed:6}  {survived:8}  {rest:10}  {share(found):7.1%}")


def print_mutants(title: str, mutants: set[Mutant]) -> None:
    if mutants:
        print(f"\n{title}:")
    for function, *lines in sorted(mutants):
        print(f"  {function}", *(f"    {line}" for line in lines), sep="\n")


if __name__ == "__main__":
    sys.exit({"forget": forget, "report": report}[sys.argv[1]]())
