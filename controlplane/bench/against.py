"""Another commit beside this one: built in a folder of its own, and measured in turns with it."""

import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ..contract.benchmark import Benchmark
from ..contract.errors import ConfigError
from ..machine.paths import BUILD, ROOT
from ..machine.process import command
from ..store.staging import scratch_folder
from .all_parts import Call, PartAnswer, call

LINKS = Path("build", "pylinks")
"""Where `make` makes the package of links to a checkout's folders."""
NATIVE = Path("build", "dpdk-internal")
"""Headers for P4 as native code: of the installed DPDK, so that all commits need the same."""


@contextmanager
def beside(commit: str, turns: int) -> Iterator[Call]:
    """What measures a part of this checkout and of another commit in turns.

    The other one is unpacked and built in a folder that is removed whatever happens. It runs with
    this Python's packages.

    Raises:
        ConfigError: There is no such commit.
        HostError: It cannot be built.
    """
    with scratch_folder("against") as folder:
        _unpack(commit, folder)
        _build(folder)
        place = ("env", "--unset=NASHBED_BUILD", f"PYTHONPATH={folder / LINKS}")
        yield partial(in_turns, turns, call, partial(call, before=place))


def _unpack(commit: str, folder: Path) -> None:
    """No `git worktree`: a killed process leaves nothing of it in the repository."""
    archive = folder / "commit.tar"
    asked = ["git", "-C", str(ROOT), "archive", f"--output={archive}", commit]
    done = command.attempt(asked, timeout_s=None)
    if done.code != 0:
        raise ConfigError(f"--against {commit}: {done.complaint}")
    command.run(["tar", "--extract", f"--file={archive}", f"--directory={folder}"])
    archive.unlink()


def _build(folder: Path) -> None:
    (folder / NATIVE.parent).mkdir()
    (folder / NATIVE).symlink_to(ROOT / NATIVE)
    log = BUILD / "against.log"
    log.unlink(missing_ok=True)
    sys.stderr.write(f"building the other commit ({log})\n")
    # CI's strictness is for the commit that it tests.
    options = ["--no-print-directory", f"--directory={folder}", "WERROR="]
    command.follow(["make", *options, "build", str(LINKS / "nashbed")], log)


def in_turns(turns: int, new: Call, old: Call, part: Sequence[str]) -> PartAnswer:
    """Ratios of a part's benchmarks, new to old, one for each turn."""
    medians: dict[str, list[dict[str, float]]] = {"new": [], "old": []}
    units: dict[str, str] = {}
    for turn in range(2 * turns):
        name, run = (("new", new), ("old", old))[turn % 2]
        sys.stderr.write(f"turn {turn // 2 + 1} of {turns}: {name}\n")
        answer = run(part)
        if answer.error:
            return PartAnswer(ok=False, error=f"{name}: {answer.error}")
        medians[name].append({each.name: each.median for each in answer.figures})
        units |= {each.name: each.unit for each in answer.figures}
    known = [turn for each in medians.values() for turn in each]
    figures = (
        _ratio(name, unit, *([turn[name] for turn in each] for each in medians.values()))
        for name, unit in units.items()
        if all(turn.get(name) for turn in known)
    )
    return PartAnswer(ok=True, figures=tuple(figures))


def _ratio(name: str, unit: str, new: Sequence[float], old: Sequence[float]) -> Benchmark:
    middles = " to ".join(f"{statistics.median(each):.4g}" for each in (new, old))
    return Benchmark(
        name=f"{name}_new_over_old",
        unit="new/old",
        values=tuple(a / b for a, b in zip(new, old, strict=True)),
        detail=f"turn by turn; {middles} {unit}",
        data={"new": list(new), "old": list(old)},
    )
