"""What a run opens on a machine that others use too: as an ordinary second user, nothing opens.

The doors are not listed here but found: whatever the run's processes listen at, whatever files they
hold open, and all that is in their folders. The caller's umask takes nothing away (000).
"""

import ctypes
import errno
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from nashbed.analysis.explore.content import Explorer
from nashbed.analysis.explore.server import ADDRESS, ExplorerServer
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.guest.kernel import check_guests
from nashbed.controlplane.machine.kernels.cache import kernel_cache
from tests.e2e.conftest import NASHBED, ROOT, STATE, Nashbed, run_id
from tests.support import guests

pytestmark = [pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]

OWN_DISCIPLINE = ROOT / "hosts" / "dpdk" / "core" / "disciplines" / "mine.c"
NOBODY = 65534
CLONE_NEWNET = 0x40000000
LISTENS = {"unix": "00010000", "tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
"""Kind of socket -> its column of flags or state in /proc/net where it takes what comes."""
OPENED = "opened"
PATIENCE_S = 60.0


@dataclass
class Doors:
    """Everything by which somebody might come in.

    Attributes:
        sockets: UNIX sockets in the file system, or abstract ones (with @).
        ports: Namespace and port of TCP and UDP sockets.
        namespaces: Handles of the run's network namespaces.
        files: Regular files that its processes have open, or that lie in its folders.
        folders: Folders of its own, and in which its processes stand.
    """

    sockets: set[str] = field(default_factory=set)
    ports: set[tuple[str, str]] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)

    def look_at_process(self, proc: Path) -> None:
        """Add what a process listens at and has open."""
        held = [str(fd.readlink()) for fd in (proc / "fd").iterdir()]
        inodes = {each[8:-1] for each in held if each.startswith("socket:[")}
        self.files |= {each for each in held if each.startswith("/") and Path(each).is_file()}
        self.folders.add(str((proc / "cwd").readlink()))
        where = str((proc / "ns" / "net").readlink())
        for kind, listens in LISTENS.items():
            for row in (proc / "net" / kind).read_text().splitlines()[1:]:
                words = row.split()
                unix = kind == "unix"
                if words[3] != listens or words[6 if unix else 9] not in inodes:
                    continue
                if not unix:
                    self.ports.add((where, f"{kind} {words[1]}"))
                elif len(words) > 7:
                    self.sockets.add(words[7])

    def look_at_folder(self, folder: Path) -> None:
        """Add all that is below a folder."""
        for place, _, names in os.walk(folder):
            self.folders.add(place)
            found = {Path(place, name) for name in names}
            self.files |= {str(each) for each in found if each.is_file()}
            self.sockets |= {str(each) for each in found if each.is_socket()}


def descendants(pid: int) -> Iterator[Path]:
    """A process and all below it, in /proc."""
    proc = Path(f"/proc/{pid}")
    yield proc
    with suppress(OSError):
        for task in (proc / "task").iterdir():
            for child in (task / "children").read_text().split():
                yield from descendants(int(child))


def doors_of(process: subprocess.Popen[str], folder: Path) -> Doors:
    """All doors of a run as they are now."""
    doors = Doors()
    for proc in descendants(process.pid):
        with suppress(OSError):  # it has ended meanwhile
            doors.look_at_process(proc)
    for each in (folder / "results", folder / "cache", *(folder / "tmp").iterdir()):
        doors.look_at_folder(each)
    doors.folders |= {str(STATE), *map(str, Path("/run/dpdk").rglob("*"))}
    for run in (folder / "results").glob("*-e2e*"):
        doors.look_at_folder(STATE / run_id(run))
        doors.files |= {str(each) for each in STATE.glob(f"{run_id(run)}.json")}
        doors.namespaces |= {str(n) for n in Path("/run/netns").glob(f"nb{run_id(run)}-*")}
    return doors


def error_of(attempt: Callable[[], object]) -> str:
    """What an attempt is answered."""
    try:
        attempt()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return OPENED


def enter(namespace: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(os.open(namespace, os.O_RDONLY), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(path.replace("@", "\0"))


def try_all(doors: Doors) -> dict[str, str]:
    """Door -> what is answered there."""
    said = {door: error_of(lambda door=door: connect(door)) for door in doors.sockets}
    said |= {door: error_of(lambda door=door: enter(door)) for door in doors.namespaces}
    said |= {door: error_of(lambda door=door: os.open(door, os.O_RDWR)) for door in doors.files}
    new = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    for folder in doors.folders:
        said[folder] = error_of(lambda folder=folder: os.open(f"{folder}/from-nobody", new))
    return said


def as_nobody(doors: Callable[[], dict[str, str]]) -> dict[str, str]:
    """What an ordinary user is answered, who has no more than the number of one."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        os.write(writes, json.dumps(doors()).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as answer:
        said: dict[str, str] = json.loads(answer.read())
    assert os.waitpid(child, 0)[1] == 0
    return said


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, with a `tmp` as the system's is: others write to it."""
    folder = Path(tempfile.mkdtemp(prefix="nb-", dir="/var/tmp"))
    folder.chmod(0o755)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def a_run(folder: Path, testbed: str) -> Iterator[subprocess.Popen[str]]:
    """A run with a discipline of the user's own, which is stopped at the end."""
    tool = Nashbed(folder, alone=False)
    shutil.copy(OWN_DISCIPLINE, folder / "mine.c")
    scenario = tool.scenario(duration="60s", buffer="2bdp, discipline: ./mine.c")
    kernels = folder / "cache" / "nashbed" / "kernels"
    kernels.parent.mkdir(parents=True)
    kernels.symlink_to(kernel_cache())
    environment = os.environ | {
        "TMPDIR": str(folder / "tmp"), "XDG_RUNTIME_DIR": "",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }  # fmt: skip
    with subprocess.Popen(
        [NASHBED, "run", scenario, "--testbed", tool.testbed(testbed), "--out", tool.results],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, umask=0,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_S)


def is_open(doors: Doors, listening: str) -> bool:
    """Whether a trial goes on: somebody serves the control socket, and in real time flows too."""
    control = any(socket.endswith("control.sock") for socket in doors.sockets)
    return control and (listening == "unix" or bool(doors.ports))


@pytest.mark.parametrize(("testbed", "listening"), [("embedded", "tcp"), ("virtual", "unix")])
def test_no_door_of_a_run_opens_for_another_user(
    open_folder: Path, tmp_path: Path, testbed: str, listening: str
) -> None:
    if testbed == "virtual":
        need_guests(tmp_path)
    doors = Doors()
    with a_run(open_folder, testbed) as process:
        deadline = time.monotonic() + PATIENCE_S
        while not is_open(doors, listening):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, doors
            doors = doors_of(process, open_folder)
        said = as_nobody(lambda: try_all(doors))
        for door in [door for door, word in said.items() if word == "ENOENT"]:
            if not os.path.lexists(door):  # the run has removed it meanwhile
                del said[door]
    assert {door: word for door, word in said.items() if word not in ("EACCES", "EPERM")} == {}
    # A port is in a namespace of the run's, into which nobody came.
    assert str(Path("/proc/self/ns/net").readlink()) not in {where for where, _ in doors.ports}
    assert len(doors.namespaces) == (3 if testbed == "embedded" else 0)
    # What is dangerous to share was among what was tried.
    names = {Path(door).name for door in said}
    assert {"control.sock", "dataplane.json", "mine.so", "mine.c", "manifest.json"} <= names


def test_the_explorer_tells_another_user_nothing(tmp_path: Path) -> None:
    with ExplorerServer(Explorer(tmp_path, tmp_path)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            said = as_nobody(lambda: asked(server.server_port, ["/", "/run", f"/{'x' * 32}/run"]))
        finally:
            server.shutdown()
            thread.join()
    assert set(said.values()) == {"403 not without the token that was told"}


def asked(port: int, paths: list[str]) -> dict[str, str]:
    """Path -> what is answered there."""
    said = {}
    for path in paths:
        connection = http.client.HTTPConnection(ADDRESS, port, timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        said[path] = f"{answer.status} {answer.read().decode()}"
    return said


def need_guests(folder: Path) -> None:
    """Skip the test where no guest can be started."""
    try:
        check_guests(guests.session_request(folder).testbed)
    except HostError as error:
        pytest.skip(error.message)
