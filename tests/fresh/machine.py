"""Bare Debian machines: a minimal root each, entered in namespaces of its own.

A root is a folder; all mounts are made in a mount namespace that ends with its processes
(enter.sh), so that a root can be removed at any time. The network is the host's, for packages
must be loaded, and so are its kernel's settings: huge pages are given back afterwards.
"""

import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ENTER = Path(__file__).with_name("enter.sh")
LOCAL_AUTHORITIES = Path("/usr/local/share/ca-certificates")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
APT_SETTINGS = r"Acquire::(https?::(Proxy|Timeout)\b|Check-(Valid-Until|Date)|Retries)"
"""What a root's apt takes over from the host's."""
HANDED_ON = re.compile(r"(?i)(https?|no|all|ftp)_proxy|PIP_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE")
"""Variables of the host that say how the network is reached."""
NAMESPACES = ("--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
PROGRAMS = {"mmdebstrap": "mmdebstrap", "git": "git", "unshare": "util-linux"}
"""What the host needs -> its Debian package."""
MARK = ".made-by-make-fresh"
LONGEST_LINE = 100

Show = Callable[[str], None]


class FreshError(Exception):
    """Why a machine could not be made."""


@dataclass(frozen=True)
class Ended:
    """How a command in a machine ended.

    Attributes:
        code: Its exit code; None: it was stopped at its time limit.
        processor_s: The processor time of all its processes.
    """

    code: int | None
    seconds: float
    processor_s: float


@dataclass(frozen=True)
class Machine:
    """A root that commands can be run in.

    Attributes:
        folder: Holds the root and the mark that says who made it.
        cache: A folder of downloaded .deb files that is kept; None: they are the root's own.
    """

    name: str
    folder: Path
    cache: Path | None = None

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def command(self, script: str, user: str = "root") -> list[str]:
        """What runs a shell script in the machine, from the user's home."""
        home = "/root" if user == "root" else f"/home/{user}"
        variables = {
            "PATH": SYSTEM_PATH, "HOME": home, "USER": user, "LOGNAME": user,
            "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TERM": "dumb",
        }  # fmt: skip
        words = [f"{name}={value}" for name, value in (handed_on() | variables).items()]
        shell = ["/bin/sh", "-c", f"cd {shlex.quote(home)} && {script}"]
        cache = str(self.cache.resolve()) if self.cache else ""
        entered = [str(ENTER), str(self.root.resolve()), self.name, cache, user]
        return in_namespaces(["env", "-i", *words, "/bin/sh", *entered, *shell])

    def run(self, script: str, log: Path, show: Show, limit_s: float, user: str = "root") -> Ended:
        """Run a shell script; its output goes to a log, its last line is shown."""
        return follow(self.command(script, user), log, show, limit_s)

    def must_run(self, script: str, log: Path, show: Show, limit_s: float) -> Ended:
        """Run a shell script as root; raises FreshError where it fails."""
        ended = self.run(script, log, show, limit_s)
        if ended.code != 0:
            raise FreshError(f"{script}: {told(ended.code)}; {log}")
        return ended


def told(code: int | None) -> str:
    """How a command ended, in words."""
    return "stopped at its time limit" if code is None else f"exit code {code}"


def in_namespaces(args: list[str]) -> list[str]:
    """A command whose mounts and processes end with it, and it with us, however we end."""
    return ["setpriv", "--pdeathsig", "KILL", "unshare", *NAMESPACES, *args]


def handed_on(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that a machine gets from this one."""
    return {name: value for name, value in environment.items() if HANDED_ON.fullmatch(name)}


def missing_programs() -> list[str]:
    """The Debian packages of programs that are not here."""
    return sorted({package for name, package in PROGRAMS.items() if shutil.which(name) is None})


def follow(args: list[str], log: Path, show: Show, limit_s: float) -> Ended:
    """Run a command until it ends or its time is up; whatever happens, nothing of it is left."""
    begun, used_s = time.monotonic(), _processor_s()
    with log.open("ab") as output:
        process = subprocess.Popen(
            args, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            while process.poll() is None and time.monotonic() - begun < limit_s:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(1)
                show(last_line(log))
            code = process.poll()
        finally:
            stop(process)
    return Ended(code, time.monotonic() - begun, _processor_s() - used_s)


def _processor_s() -> float:
    """Processor time of all that was waited for; a machine's first process waits for all others."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the machine's first process, and so all others; returns when they are gone."""
    while process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        with suppress(OSError):
            below = [int(pid) for pid in children.read_text().split()] or [process.pid]
            for pid in below:
                os.kill(pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)


def last_line(log: Path) -> str:
    """The last line of a log that says something."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        lines = file.read().decode(errors="replace").split("\n")
    return next((line.strip()[:LONGEST_LINE] for line in reversed(lines) if line.strip()), "")


def sources(suite: str, targets: str) -> list[str]:
    """A suite's lines of sources, from the mirrors that this machine's apt has.

    Args:
        suite: Such as "trixie".
        targets: A line for each list of packages: label, address.

    Returns:
        Nothing where this machine has no mirror of Debian: mmdebstrap knows one.
    """
    mirrors: dict[str, str] = {}
    for line in targets.splitlines():
        label, _, address = line.partition(" ")
        mirrors.setdefault(label, address)
    if "Debian" not in mirrors:
        return []
    suites = [(mirrors["Debian"], suite)]
    if suite != "sid":  # which is updated itself
        suites.append((mirrors["Debian"], f"{suite}-updates"))
    if suite != "sid" and "Debian-Security" in mirrors:
        suites.append((mirrors["Debian-Security"], f"{suite}-security"))
    return [f"deb [signed-by={KEYRING}] {address} {name} main" for address, name in suites]


def make_base(suite: str, machine: Machine, log: Path, show: Show, limit_s: float) -> Ended:
    """Make a minimal root: what Debian calls required, apt, make, and authorities' certificates."""
    targets = _output("apt-get", "indextargets", "--format", "$(LABEL) $(SITE)",
                      "Created-By: Packages")  # fmt: skip
    settings = [
        line for line in _output("apt-config", "dump").splitlines() if re.match(APT_SETTINGS, line)
    ]
    mark(machine.folder)
    temporary = machine.folder / "tmp"
    temporary.mkdir()
    args = [
        "mmdebstrap", "--mode=root", "--variant=minbase", "--include=ca-certificates,make",
        *(f"--aptopt={line}" for line in settings), *_cached(machine.cache),
        suite, str(machine.root), *sources(suite, targets),
    ]  # fmt: skip
    ended = follow(in_namespaces(["env", f"TMPDIR={temporary}", *args]), log, show, limit_s)
    if ended.code != 0:
        raise FreshError(f"mmdebstrap {suite}: {told(ended.code)}; {log}")
    root = machine.root
    for path in [LOCAL_AUTHORITIES, *map(Path, handed_on().values())]:
        hand_over(path, root)
    machine.must_run("update-ca-certificates", log, show, limit_s)
    return ended


def hand_over(path: Path, root: Path) -> None:
    """Copy a file or folder of this machine to the same place in a root that has none there.

    A link within the root may point out of it: through one nothing is written.
    """
    place = root / str(path).lstrip("/")
    if place.is_dir() and not place.is_symlink() and not any(place.iterdir()):
        place.rmdir()
    outside = not place.parent.resolve().is_relative_to(root.resolve())
    if not path.is_absolute() or outside or os.path.lexists(place):
        return
    if path.is_dir():
        shutil.copytree(path, place)
    elif path.is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)


def _cached(cache: Path | None) -> list[str]:
    """mmdebstrap's options that keep what it loads."""
    if cache is None:
        return []
    there = "/var/cache/apt/archives"
    return [
        "--skip=download/empty", "--skip=essential/unlink",
        f'--setup-hook=mkdir -p "$1"{there}', f"--setup-hook=sync-in {cache} {there}",
        f"--customize-hook=sync-out {there} {cache}",
    ]  # fmt: skip


def _output(*args: str) -> str:
    return subprocess.run(args, capture_output=True, text=True, check=True).stdout


def copy_of(base: Machine, machine: Machine) -> None:
    """Make a machine as bare as the base."""
    mark(machine.folder)
    args = ["cp", "--archive", "--reflink=auto", "--one-file-system"]
    subprocess.run([*args, str(base.root), str(machine.root)], check=True)
    hosts = f"127.0.0.1 localhost\n127.0.1.1 {machine.name}\n::1 localhost\n"
    (machine.root / "etc" / "hosts").write_text(hosts)


def add_user(machine: Machine, user: str, log: Path, show: Show) -> None:
    machine.must_run(f"useradd --create-home {user}", log, show, 60)


def put_clone(repository: Path, machine: Machine, user: str) -> str:
    """Put a clone of the last commit into a user's home; returns the commit.

    Raises:
        FreshError: It is not of the last commit.
    """
    home = machine.root / ("root" if user == "root" else f"home/{user}")
    clone = home / "nashbed"
    git = ["git", "clone", "--quiet", "--depth", "1", f"file://{repository}", str(clone)]
    subprocess.run(git, check=True)
    commit = head(repository)
    if head(clone) != commit:
        raise FreshError(f"{clone}: is at {head(clone)}, and the last commit is {commit}")
    owner = home.stat()
    for path in [clone, *clone.rglob("*")]:
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
    return commit


def put_files(files: Sequence[Path], machine: Machine, user: str) -> None:
    """Put files into the folder `dist` of a user's home."""
    home = machine.root / "home" / user
    folder = home / "dist"
    folder.mkdir()
    for path in files:
        shutil.copy(path, folder)
    owner = home.stat()
    for path in [folder, *folder.iterdir()]:
        os.chown(path, owner.st_uid, owner.st_gid)


def head(repository: Path) -> str:
    return _output("git", "-C", str(repository), "rev-parse", "HEAD").strip()


def uncommitted(repository: Path) -> list[str]:
    """Files that differ from the last commit."""
    status = _output("git", "-C", str(repository), "status", "--porcelain")
    return [line[3:] for line in status.splitlines()]


def mark(folder: Path) -> None:
    """Make a folder that `remove` may remove, in place of an earlier one."""
    remove(folder)
    folder.mkdir(parents=True)
    (folder / MARK).touch()


def remove(folder: Path) -> None:
    """Remove a folder that `mark` made; raises FreshError for any other, or one with mounts."""
    if not folder.exists():
        return
    if not (folder / MARK).is_file():
        raise FreshError(f"{folder}: was not made here; remove it")
    place = f"{folder.resolve()}/"
    within = [point for point in mount_points() if f"{point}/".startswith(place)]
    if within:
        raise FreshError(f"{folder}: is left as it is, for {within[0]} is mounted there")
    # The mark goes last, so that what is left of a removal that was stopped can be removed.
    for path in folder.iterdir():
        if path.name != MARK:
            subprocess.run(["rm", "-rf", "--one-file-system", "--", str(path)], check=True)
    shutil.rmtree(folder)


def mount_points() -> list[str]:
    """Where something is mounted, as this process sees it."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), line.split()[4]) for line in lines]


@contextmanager
def huge_pages_kept() -> Iterator[None]:
    """Afterwards as many huge pages are reserved as before."""
    before = HUGE_PAGES.read_text()
    try:
        yield
    finally:
        if HUGE_PAGES.read_text() != before:
            HUGE_PAGES.write_text(before)
