"""Programs in a fork of an interpreter that has imported it all: they start at once.

A new interpreter takes two seconds of processor time to import what a run needs. Tests that stop a
command, or give it a terminal, start a process of its own (`support/command.py`).
"""

import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 300.0


def nashbed(args: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run `nashbed ARGS`, as `script` does."""
    return script("nashbed", args)


def script(path: Path | str, args: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run a Python program in this folder and environment; what it prints is kept.

    Args:
        path: Its file; `nashbed`: the command line.

    Raises:
        subprocess.TimeoutExpired: It took too long and was killed.
    """
    with tempfile.TemporaryDirectory(prefix="nashbed-test-") as folder:
        streams = [f"{folder}/out", f"{folder}/err"]
        asked = {
            "words": [str(path), *args], "folder": str(Path.cwd()), "streams": streams,
            "environment": dict(os.environ),
        }  # fmt: skip
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps(asked), file=server.stdin, flush=True)
        code = json.loads(server.stdout.readline())
        out, err = (Path(path).read_text() for path in streams)
        if code is None:
            raise subprocess.TimeoutExpired(list(args), PATIENCE_S, out, err)
        return subprocess.CompletedProcess(args, code, out, err)


@cache
def _server() -> subprocess.Popen[str]:
    """One for each process that runs tests; it ends with its standard input."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def _serve() -> None:
    from nashbed.controlplane.cli.app import COMMANDS

    for command in COMMANDS:
        command.load()
    for part in ("planning", "running", "runs"):  # which commands import when they need them
        import_module(f"nashbed.{part}")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become(**json.loads(line))
        ended = signal.sigtimedwait({signal.SIGCHLD}, PATIENCE_S)
        if ended is None:
            os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(json.dumps(None if ended is None else code), flush=True)


def _become(
    words: Sequence[str], environment: Mapping[str, str], folder: str, streams: Sequence[str]
) -> None:
    from nashbed.controlplane.cli.main import main

    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(streams, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = words
    if words[0] == "nashbed":
        main()
    sys.path[0] = str(Path(words[0]).parent)
    runpy.run_path(words[0], run_name="__main__")
    sys.exit()


if __name__ == "__main__":
    _serve()
