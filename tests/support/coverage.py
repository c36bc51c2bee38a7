"""What no test enters: modules, functions and lines, of Python and of C.

    python -m tests.support.coverage build/coverage

`make coverage` runs the tests and then this. It makes the pages `python/html` and `c/index.html`
in that folder, and `unentered.txt`, which has only what was never run.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(sys.executable).parent
C_SOURCES = ("hosts/", "analysis/")


@dataclass(frozen=True)
class Function:
    """A function.

    Attributes:
        name: Its name, with its class.
        entered: Whether it was ever run.
    """

    name: str
    line: int
    entered: bool


@dataclass(frozen=True)
class SourceFile:
    """What was run of a file.

    Attributes:
        path: From the repository's root.
        run: Lines that were run.
        missed: Lines that were not.
    """

    path: str
    run: frozenset[int]
    missed: frozenset[int]
    functions: tuple[Function, ...]


def of_python(report: dict[str, Any]) -> list[SourceFile]:
    """What coverage's JSON report says."""
    return [
        SourceFile(
            path=path,
            run=frozenset(file["executed_lines"]),
            missed=frozenset(file["missing_lines"]),
            functions=tuple(
                Function(name, region["start_line"], bool(region["executed_lines"]))
                for name, region in file["functions"].items()
                if name and (region["executed_lines"] or region["missing_lines"])
            ),
        )
        for path, file in sorted(report["files"].items())
    ]


def of_c(report: dict[str, Any]) -> list[SourceFile]:
    """What gcovr's JSON report says; a line or function of several programs counts once."""
    return [_c_file(file) for file in sorted(report["files"], key=lambda file: str(file["file"]))]


def _c_file(file: dict[str, Any]) -> SourceFile:
    lines: dict[int, int] = defaultdict(int)
    for line in file["lines"]:
        lines[line["line_number"]] += line["count"]
    calls: dict[tuple[str, int], int] = defaultdict(int)
    for function in file["functions"]:
        if "execution_count" in function:  # else of a header, and inlined everywhere
            calls[function["name"], function["lineno"]] += function["execution_count"]
    return SourceFile(
        path=file["file"],
        run=frozenset(line for line, count in lines.items() if count),
        missed=frozenset(line for line, count in lines.items() if not count),
        functions=tuple(Function(name, at, n > 0) for (name, at), n in sorted(calls.items())),
    )


def listed(title: str, files: Sequence[SourceFile]) -> Iterator[str]:
    lines = sum(len(file.run) + len(file.missed) for file in files)
    run = sum(len(file.run) for file in files)
    functions = [function for file in files for function in file.functions]
    entered = sum(function.entered for function in functions)
    yield (
        f"{title}: {100 * run / max(1, lines):.1f} % of {lines} lines run; "
        f"{len(functions) - entered} of {len(functions)} functions never entered"
    )
    never = [file for file in files if file.missed and not file.run]
    yield from (f"  file      {file.path}" for file in never)
    for file in files:
        if file not in never:
            yield from (
                f"  function  {file.path}:{each.line} {each.name}"
                for each in file.functions
                if not each.entered
            )
    for file in files:
        if file.run and file.missed:
            yield f"  lines     {file.path}: {ranges(file.missed)}"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in ascending order, neighbours as a range."""
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0])
    ]
    return ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in runs)


def _program(name: str, *arguments: str, **environment: str) -> None:
    subprocess.run(
        [str(PROGRAMS / name), *arguments], cwd=ROOT, check=True, env=os.environ | environment
    )


def report_python(folder: Path) -> list[SourceFile]:
    """Make the pages on Python; what was run.

    Args:
        folder: Of coverage, in which `python` has the data.
    """
    place = {"COVERAGE_FILE": str(folder / "python" / "data")}
    if any((folder / "python").glob("data.*")):  # of processes that outlived pytest
        _program("coverage", "combine", "--quiet", "--append", **place)
    _program("coverage", "html", "--quiet", "-d", str(folder / "python" / "html"), **place)
    _program("coverage", "json", "--quiet", "-o", str(folder / "python.json"), **place)
    return of_python(json.loads((folder / "python.json").read_text()))


def report_c(folder: Path) -> list[SourceFile]:
    """Make the pages on C; what was run.

    Args:
        folder: Of coverage, in which C was built.
    """
    (folder / "c").mkdir(exist_ok=True)
    _program(
        "gcovr",
        *("--root", str(ROOT), "--merge-mode-functions", "separate"),
        # Counts of processes that write at once may overflow; whether a line was run stays right.
        *("--gcov-ignore-parse-errors", "negative_hits.warn_once_per_file"),
        *(word for source in C_SOURCES for word in ("--filter", source)),
        *("--json", str(folder / "c.json"), "--html-details", str(folder / "c" / "index.html")),
        *(str(folder / "hosts"), str(folder / "analysis")),
    )
    return of_c(json.loads((folder / "c.json").read_text()))


def main(folder: Path) -> None:
    python = list(listed("Python", report_python(folder)))
    c = list(listed("C", report_c(folder)))
    (folder / "unentered.txt").write_text("\n".join([*python, "", *c]) + "\n")
    print(python[0], c[0], f"the list: {folder / 'unentered.txt'}", sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
