"""The README's commands on bare Debian machines: `make fresh`.

Each root is made of Debian's packages (mmdebstrap) with nothing in it but what Debian requires,
make, and authorities' certificates, and a clone of the last commit. What runs there is shown as a
table and kept under build/fresh.
"""

import argparse
import fcntl
import os
import platform
import re
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tests.fresh import machine as machines
from tests.fresh.machine import FreshError, Machine, told
from tests.fresh.outcome import (
    Outcome,
    around_table,
    counted_tests,
    digests,
    markdown_table,
    text_table,
    trials,
    write_into,
)
from tests.support.container import KEPT, ProfileError, profile_text

REPOSITORY = Path(__file__).resolve().parents[2]
OUT = REPOSITORY / "build" / "fresh"
SUITES = ("trixie", "bookworm")
OTHER_SUITES = ("sid",)
"""Those on which wheels are tried, too, where that is asked for."""
USER = "nash"
BASE_LIMIT_S = 15 * 60
PACKAGES_LIMIT_S = 30 * 60
STILL_GOING_S = 60
"""Without a terminal a line is shown so often."""
LEAST_DISK_BYTES = 8 * 10**9
TAIL_LINES = 15
OK, FAILED, HOST, INTERRUPTED = 0, 1, 4, 130


@dataclass(frozen=True)
class Step:
    """A command that a person types.

    Attributes:
        user: Who types it.
        limit_s: It is stopped after this time.
        counts: "tests" or "trials".
    """

    command: str
    user: str
    limit_s: float
    counts: str


WHEEL = (
    "python3 -m venv venv",
    "venv/bin/pip install --quiet dist/*.whl",
    "venv/bin/nashbed run quickstart --testbed virtual",
    "python3 dist/container.py venv/bin/nashbed verify results/*-quickstart --count 1",
)
"""What a person types who has wheels and no checkout; the last as a default container allows it."""
CONTAINER = REPOSITORY / "tests" / "support" / "container.py"
QUICKSTART = (
    ".venv/bin/nashbed", "run", "quickstart", "--testbed", "virtual", "--no-report", "--out",
)  # fmt: skip

STEPS = {
    "run": Step("make run", "root", 30 * 60, "trials"),
    "real-run": Step("make run TESTBED=configs/testbeds/embedded.yaml", "root", 30 * 60, "trials"),
    "user-run": Step("make run", USER, 40 * 60, "trials"),
    "test": Step("make test", "root", 75 * 60, "tests"),
    "long": Step("make test-long", "root", 150 * 60, "tests"),
    "check": Step("make check", USER, 30 * 60, "tests"),
    "wheel": Step("; ".join(WHEEL[1:3]), USER, 20 * 60, "trials"),
}


class Progress:
    """Says what is going on: one line that changes, or in a log a line a minute."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._begun = time.monotonic()
        self._due = self._begun + STILL_GOING_S
        self._changes = sys.stderr.isatty()
        say(f"{what} ...")

    def __call__(self, line: str) -> None:
        now = time.monotonic()
        minutes, seconds = divmod(int(now - self._begun), 60)
        text = f"{self._what} {minutes}:{seconds:02d}  {line}"
        if self._changes:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\033[K{text[:width]}")
            sys.stderr.flush()
        elif now >= self._due:
            self._due = now + STILL_GOING_S
            say(text)

    def end(self, word: str) -> None:
        if self._changes:
            sys.stderr.write("\r\033[K")
        minutes, seconds = divmod(int(time.monotonic() - self._begun), 60)
        say(f"{self._what}: {word} ({minutes} min {seconds} s)")


def docker_profile() -> Path:
    """Docker's filter of system calls as this machine's Debian has it, one for all roots."""
    path = OUT / KEPT
    try:
        path.write_text(profile_text())
    except ProfileError as error:
        raise FreshError(str(error)) from error
    return path


def say(text: str) -> None:
    """Tell the person; results go to the standard output."""
    print(text, file=sys.stderr, flush=True)


class FreshRoots:
    """The machines of one Debian release, made as they are needed."""

    def __init__(self, suite: str, folder: Path, cache: Path | None) -> None:
        self._suite = suite
        self._folder = folder
        self._cache = cache / suite if cache else None
        self._base: Machine | None = None
        self._shared: Machine | None = None
        self._made: list[Machine] = []

    def for_step(self, name: str, step: Step) -> tuple[Machine, str, str]:
        """The machine that a step's command is typed in, the user's name there, the clone's commit.

        What root types finds nothing but the base. An ordinary user cannot install packages: his
        machine has them, by root's `make packages` or, for tests, `make test-packages`, and each
        of his commands is a user's of its own.
        """
        if step.user == "root":
            machine = self._new(name)
            return machine, "root", machines.put_clone(REPOSITORY, machine, "root")
        if name == "wheel":
            return self._with_wheels(name, step)
        machine = self._with_packages("packages" if step.counts == "trials" else "test-packages")
        user = f"{step.user}-{name.removeprefix('user-')}"
        log = self._log("user")
        machines.add_user(machine, user, log, lambda line: None)
        return machine, user, machines.put_clone(REPOSITORY, machine, user)

    def _log(self, name: str) -> Path:
        return OUT / f"{self._suite}-{name}.log"

    def _machine(self, name: str) -> Machine:
        full = f"{self._suite}-{name}"
        machine = Machine(full, self._folder / full, self._cache)
        self._made.append(machine)
        return machine

    def _new(self, name: str) -> Machine:
        if self._base is None:
            self._base = self._made_base()
        machine = self._machine(name)
        machines.copy_of(self._base, machine)
        return machine

    def _made_base(self) -> Machine:
        if self._cache:
            self._cache.mkdir(parents=True, exist_ok=True)
        base = self._machine("base")
        log = self._log("base")
        log.unlink(missing_ok=True)
        progress = Progress(f"{self._suite}: a minimal root")
        machines.make_base(self._suite, base, log, progress, BASE_LIMIT_S)
        progress.end("made")
        return base

    def _with_packages(self, target: str) -> Machine:
        """The users' machine, with the packages that a target of the Makefile installs."""
        log = self._log("user")
        if self._shared is None:
            machine = self._new("user")
            machines.put_clone(REPOSITORY, machine, "root")
            log.unlink(missing_ok=True)
            self._shared = machine
        progress = Progress(f"{self._suite}: make {target}, as root")
        self._shared.must_run(f"cd nashbed && make {target}", log, progress, PACKAGES_LIMIT_S)
        progress.end("done")
        return self._shared

    def _with_wheels(self, name: str, step: Step) -> tuple[Machine, str, str]:
        """A bare machine with Python's environments alone, and in a user's home what dist/ has."""
        wheels = sorted((REPOSITORY / "dist").glob("*.whl"))
        if len(wheels) < 2:
            raise FreshError("dist/ has not both wheels: run `make wheel`")
        machine = self._new(name)
        log = self._log(name)
        install = "apt-get update -q && apt-get install -q -y --no-install-recommends python3-venv"
        machine.must_run(install, log, lambda line: None, PACKAGES_LIMIT_S)
        machines.add_user(machine, step.user, log, lambda line: None)
        machines.put_files([*wheels, CONTAINER, docker_profile()], machine, step.user)
        return machine, step.user, machines.head(REPOSITORY)

    def forget(self, machine: Machine) -> None:
        if machine is not self._shared:
            machines.remove(machine.folder)

    def remove(self) -> None:
        for machine in self._made:
            machines.remove(machine.folder)


def take(
    suite: str, name: str, roots: FreshRoots, commit: str, chosen: argparse.Namespace
) -> Outcome:
    """Run one step; returns what it came to, which is kept before its machine is removed."""
    step = STEPS[name]
    if chosen.dpdk_source:
        step = replace(step, command=f"{step.command} DPDK_SOURCE=../{chosen.dpdk_source.name}")
    what = f"{suite}: {step.command}, as {'root' if step.user == 'root' else 'an ordinary user'}"
    log = OUT / f"{suite}-{name}.log"
    log.unlink(missing_ok=True)
    who = "root" if step.user == "root" else "user"
    try:
        machine, user, commit = roots.for_step(name, step)
    except FreshError as error:
        say(str(error))
        failed = Outcome(suite, step.command, who, commit, today(), 0.0, HOST, names=[str(error)])
        failed.save(kept_at(suite, name))
        return failed
    home = machine.root / ("root" if user == "root" else f"home/{user}")
    if name == "wheel":
        return take_wheel(suite, machine, log, commit, chosen.keep)
    if chosen.dpdk_source:
        shutil.copy(chosen.dpdk_source, home)
    progress = Progress(what)
    ended = machine.run(f"cd nashbed && {step.command}", log, progress, step.limit_s, user)
    outcome = Outcome(
        suite, step.command, who, commit, today(), ended.seconds, ended.code,
        processor_s=ended.processor_s,
    )  # fmt: skip
    outcome = counted(outcome, step, log.read_text(errors="replace"), home / "nashbed/results")
    outcome.save(kept_at(suite, name))
    progress.end("passed" if outcome.good else f"FAILED ({told(ended.code)}), see {log}")
    if not outcome.good:
        show_failure(outcome, log)
    if chosen.keep:
        say(f"    kept: {machine.root}")
    else:
        roots.forget(machine)
    return outcome


def take_wheel(suite: str, machine: Machine, log: Path, commit: str, keep: bool) -> Outcome:
    """Install the wheels, run the quickstart, hold its trials against the checkout's."""
    step = STEPS["wheel"]
    seconds: dict[str, float] = {}
    processor_s = 0.0
    for command in WHEEL:
        progress = Progress(f"{suite}: {command}, as an ordinary user")
        ended = machine.run(command, log, progress, step.limit_s, step.user)
        seconds[command] = ended.seconds
        processor_s += ended.processor_s
        progress.end(told(ended.code))
        if ended.code != 0:
            break
    results = machine.root / "home" / step.user / "results"
    valid, _ = trials(results)
    names = [
        f"{name}: not the tables of the checkout"
        for name, digest in checkouts_digests().items()
        if digests(results).get(name) != digest
    ]
    if not list(results.glob("*/report/index.html")):
        names.append("no report")
    outcome = Outcome(
        suite, step.command, "user", commit, today(), sum(seconds.values()), ended.code, "trials",
        passed=valid, failed=len(names), names=names, parts=seconds,
        processor_s=processor_s,
    )  # fmt: skip
    outcome.save(kept_at(suite, "wheel"))
    if not outcome.good:
        show_failure(outcome, log)
    if keep:
        say(f"    kept: {machine.root}")
    else:
        machines.remove(machine.folder)
    return outcome


@cache
def checkouts_digests() -> dict[str, str]:
    """The digests of the same trials, run from the checkout on this machine."""
    folder = OUT / "checkout"
    shutil.rmtree(folder, ignore_errors=True)
    progress = Progress("here: the quickstart, from the checkout")
    command = [str(REPOSITORY / QUICKSTART[0]), *QUICKSTART[1:], str(folder)]
    ended = machines.follow(command, OUT / "checkout.log", progress, 20 * 60)
    progress.end(told(ended.code))
    if ended.code != 0:
        raise FreshError(f"the quickstart of the checkout: {told(ended.code)}")
    return digests(folder)


def counted(outcome: Outcome, step: Step, log: str, results: Path) -> Outcome:
    """An outcome with what its tests or trials came to."""
    if step.counts == "trials":
        valid, invalid = trials(results)
        skipped = {"invalid attempts, made again": invalid} if invalid else {}
        return replace(outcome, what="trials", passed=valid, skipped=skipped)
    counts = counted_tests(log)
    return replace(
        outcome,
        passed=counts.passed, failed=counts.failed, skipped=counts.skipped, names=counts.names,
    )  # fmt: skip


def show_failure(outcome: Outcome, log: Path) -> None:
    """What a person wants to read first: the tests that failed, or else the end of the log."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    for line in outcome.names or lines[-TAIL_LINES:]:
        say(f"    {line}")


def take_all(chosen: argparse.Namespace, commit: str) -> list[Outcome]:
    """Every step on every root; returns what those that were taken came to."""
    outcomes = []
    for suite in chosen.roots:
        roots = FreshRoots(suite, chosen.folder, chosen.cache)
        try:
            for name in chosen.steps:
                kept = kept_at(suite, name)
                if chosen.resume and passed_before(kept, commit):
                    say(f"{suite}: {name} has passed already")
                    continue
                kept.unlink(missing_ok=True)
                outcomes.append(take(suite, name, roots, commit, chosen))
        finally:
            if not chosen.keep:
                roots.remove()
    return outcomes


def kept_at(suite: str, name: str) -> Path:
    """Where is kept what a step came to."""
    return OUT / f"{suite}-{name}.json"


def passed_before(kept: Path, commit: str) -> bool:
    """Whether a step passed with this commit."""
    if not kept.is_file():
        return False
    outcome = Outcome.load(kept)
    return outcome.commit == commit and outcome.good


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def kept_outcomes() -> list[Outcome]:
    """What each step came to when it was last taken, in the table's order."""
    suites = (*SUITES, *OTHER_SUITES)
    paths = [OUT / f"{suite}-{name}.json" for suite in suites for name in STEPS]
    return [Outcome.load(path) for path in paths if path.is_file()]


def write_table(into: Path | None) -> list[Outcome]:
    """Write the table, and into a README if so asked; returns its lines."""
    outcomes = kept_outcomes()
    release = re.match(r"[\d.]*\d", platform.release())
    facts = {
        "cores": str(os.cpu_count()),
        "kernel": release[0] if release else platform.release(),
    }
    table = markdown_table(outcomes, facts)
    (OUT / "table.md").write_text(table + "\n")
    if into is not None:
        write_into(into, table)
    return outcomes


def require_host(folder: Path) -> None:
    """Raise FreshError where this machine cannot make others."""
    if os.geteuid() != 0:
        raise FreshError("not root: roots are made and entered as root; run `sudo make fresh`")
    missing = machines.missing_programs()
    if missing:
        raise FreshError(f"not installed: run `apt install {' '.join(missing)}`")
    for path in (OUT, folder):
        path.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < LEAST_DISK_BYTES:
        raise FreshError(
            f"{folder}: {free / 1e9:.1f} GB are free, and roots take {LEAST_DISK_BYTES / 1e9:.0f}"
        )


def chosen_of(args: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fresh", description=__doc__)
    parser.add_argument("--roots", default=" ".join(SUITES), help="of %(default)s, and sid")
    parser.add_argument("--steps", default=" ".join(STEPS), help="of %(default)s")
    parser.add_argument("--keep", action="store_true", help="leave the roots to be looked at")
    parser.add_argument("--resume", action="store_true", help="without what passed already")
    parser.add_argument("--cache", type=Path, help="folder to keep downloaded .deb files in")
    parser.add_argument("--folder", type=Path, default=OUT / "roots", help="where the roots are")
    parser.add_argument(
        "--dpdk-source", type=Path, metavar="FILE", help="DPDK's archive, for mirrors without it"
    )
    parser.add_argument("--into", type=Path, help="write the table between this file's markers")
    chosen = parser.parse_args(args)
    for name, known in (("roots", (*SUITES, *OTHER_SUITES)), ("steps", tuple(STEPS))):
        words = getattr(chosen, name).split()
        unknown = [word for word in words if word not in known]
        if unknown:
            parser.error(f"--{name}: {' '.join(unknown)}: there are {' '.join(known)}")
        setattr(chosen, name, words)
    if chosen.into is not None:
        try:  # before the roots are made, which takes half an hour
            around_table(chosen.into)
        except ValueError as error:
            parser.error(f"--into: {error}")
    return chosen


def main() -> int:
    """Make machines, run the commands, show the table."""
    chosen = chosen_of()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        require_host(chosen.folder)
        with (OUT / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fresh(chosen)
    except BlockingIOError:
        say("another `make fresh` is at work here")
    except FreshError as error:
        say(str(error))
    except KeyboardInterrupt:
        say("\nstopped")
        return INTERRUPTED
    return HOST


def fresh(chosen: argparse.Namespace) -> int:
    commit = machines.head(REPOSITORY)
    changed = machines.uncommitted(REPOSITORY)
    if changed:
        say(f"not in the clone, for it is not committed: {', '.join(changed)}")
    with machines.huge_pages_kept():
        outcomes = take_all(chosen, commit)
    table = write_table(chosen.into)
    print(text_table(table))
    return OK if all(outcome.good for outcome in outcomes) else FAILED


if __name__ == "__main__":
    sys.exit(main())
