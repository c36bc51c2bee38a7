"""Run the data plane once, to its end, and turn its exit code into our error."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from ..contract.errors import ConfigError, HostError, InternalError, NashbedError, TargetError
from ..contract.messages import EffectiveConfiguration, ErrorEvent, read_message
from ..store.staging import scratch_folder
from . import command
from .command import Completed

REPLAY_TIMEOUT_S = 24 * 3600.0
_ERRORS: dict[int, type[NashbedError]] = {2: ConfigError, 3: TargetError, 4: HostError}


def run_dataplane(args: Sequence[str]) -> Completed:
    """Run it and wait; raises the error of its exit code with its last words.

    Args:
        args: The program and its arguments.
    """
    done = command.attempt(args, timeout_s=REPLAY_TIMEOUT_S)
    if done.code != 0:
        kind = _ERRORS.get(done.code, InternalError)
        raise kind(_last_words(done))
    return done


def p4_runs_as(program: Path, spec: Path) -> tuple[str, str]:
    """How a data plane runs a compiled P4 program: "native" or "interpreted", and why not native.

    Args:
        program: The data plane.
        spec: The P4 program.
    """
    port = {"driver": "af_packet", "iface": "none"}
    config = {
        "spec": str(spec),
        "control_socket": "/unused",
        "ports": {"senders": port, "receivers": port},
    }
    with scratch_folder("check") as folder:
        file = folder / "dataplane.json"
        file.write_text(json.dumps(config))
        done = run_dataplane([str(program), "--config", str(file), "--check"])
    checked = read_message(EffectiveConfiguration, done.out, "data plane: --check")
    return str(checked.pipeline), done.err.strip()


def _last_words(done: Completed) -> str:
    """The error that it reports: as a JSON line, or as the last line of its standard error."""
    for line in reversed(done.out.splitlines()):
        with contextlib.suppress(ValidationError):
            return ErrorEvent.model_validate_json(line).error
    lines = [line.strip() for line in done.err.splitlines() if line.strip()]
    return lines[-1] if lines else f"the data plane ended with code {done.code}"
