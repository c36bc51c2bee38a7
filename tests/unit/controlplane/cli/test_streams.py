"""Standard output that is full, closed or in ASCII: a command does its work all the same."""

import errno
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.contract.errors import EXIT_HOST

FORKED = """
import json, os, sys
from nashbed.controlplane.cli.app import COMMANDS
from nashbed.controlplane.cli.main import main
import nashbed.runs
for command in COMMANDS:
    command.load()

def code(args, streams):
    pid = os.fork()
    if pid == 0:
        for number, path in streams.items():
            if path:
                os.dup2(os.open(path, os.O_WRONLY), int(number))
            else:
                os.close(int(number))
                setattr(sys, ("stdin", "stdout", "stderr")[int(number)], None)
        sys.argv = ["nashbed", *args]
        try:
            main()
        except SystemExit as end:
            os._exit(end.code)
        os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

asked = json.load(sys.stdin)
print(json.dumps([code(*each) for each in asked]))
"""
"""Many commands with streams of their own, for one import."""

CHEAP = (
    ["validate", "quickstart", "--json"], ["validate", "nonsense"],
    ["export", "{run}", "--out", "{tmp}/export"], ["--help"],
)  # fmt: skip
FULL = {"1": "/dev/full"}
NOTHING = {"0": "", "1": "", "2": ""}
DEAF = {"1": "/dev/null", "2": "/dev/full"}


@pytest.fixture(scope="module")
def ended(whole_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """Command -> its exit codes with each kind of streams."""
    tmp = tmp_path_factory.mktemp("streams")
    commands = [[word.format(tmp=tmp, run=whole_run) for word in each] for each in CHEAP]
    kinds = ({"1": "/dev/null"}, FULL, NOTHING, DEAF)
    asked = [[args, streams] for args in commands for streams in kinds]
    done = subprocess.run(
        [sys.executable, "-c", FORKED], input=json.dumps(asked), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    codes = json.loads(done.stdout)
    return {" ".join(each): codes[len(kinds) * i :][: len(kinds)] for i, each in enumerate(CHEAP)}


@pytest.mark.slow
@pytest.mark.parametrize("command", [" ".join(each) for each in CHEAP])
def test_a_command_does_its_work_whatever_becomes_of_its_words(
    command: str, ended: dict[str, list[int]]
) -> None:
    usual, full, *others = ended[command]
    assert usual in {0, 2}
    assert full == (usual or EXIT_HOST)
    assert others == [usual] * 2


def nashbed(*args: str, stdout: int, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from nashbed.controlplane.cli import main; main()", *args],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment,
        check=False,
    )


@pytest.mark.slow
def test_a_full_device_is_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = nashbed("targets", stdout=full.fileno(), LC_ALL="C.UTF-8")
    assert done.returncode == EXIT_HOST
    assert done.stderr == (
        b"nashbed: standard output: No space left on device; what the command did is done\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_a_name_that_the_encoding_lacks_is_escaped(
    environment: dict[str, str], tmp_path: Path
) -> None:
    scenario = tmp_path / "schärfe.yaml"
    text = (Path(__file__).resolve().parents[4] / "configs/scenarios/quickstart.yaml").read_text(
        encoding="utf-8"
    )
    scenario.write_text(text.replace("title:", "title: ★ "), encoding="utf-8")
    done = nashbed("plan", str(scenario), "--no-model", stdout=subprocess.PIPE, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "nashbed: out of memory; free some"),
        (RuntimeError("can't start new thread"), "nashbed: no more threads or processes; raise"),
        (OSError(errno.EMFILE, "", "a.csv"), "nashbed: a.csv: too many open files; raise"),
        (OSError(errno.EFBIG, "", "a.csv"), "nashbed: a.csv: a file is larger than allowed; raise"),
    ],
)
def test_what_the_machine_lacks_is_no_internal_error(
    error: Exception,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("nashbed.controlplane.cli.app.LazyCommand.load", fails)
    assert run(["targets"]) == EXIT_HOST
    assert capsys.readouterr().err.startswith(line)


@pytest.mark.root
def test_without_proc_it_says_so() -> None:
    without = "mount -t tmpfs none /proc; exec $0 validate quickstart --testbed embedded"
    tool = Path(sys.executable).with_name("nashbed")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", without, tool],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == EXIT_HOST
    assert done.stderr == ("nashbed: /proc is not mounted; mount it (mount -t proc proc /proc)\n")


INTERRUPTED = """
import signal, sys
from nashbed.controlplane.cli.streams import open_streams
open_streams()
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("once", file=sys.stderr, flush=True)
    while True:
        pass
except KeyboardInterrupt:
    print("stopped", file=sys.stderr)
"""


@pytest.mark.slow
def test_what_a_signal_interrupts_is_written_once() -> None:
    """It comes once the line can be read: nine times in ten before the write has returned."""
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED], stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == "once\n"
            process.send_signal(signal.SIGINT)
            assert process.communicate()[1] == "stopped\n"
