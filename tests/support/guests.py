"""Sessions in virtual time for tests: with the stand-in for a guest, or with a built kernel."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.strategy import ModuleParameters
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.guest import kernel as guest_kernel
from nashbed.controlplane.machine.guest import session as guest_session
from nashbed.controlplane.machine.guest.session import GuestSession
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.machine.kernels.cache import GuestKernel
from nashbed.controlplane.machine.paths import spec
from nashbed.controlplane.machine.process.managed import ManagedProcess

ROOT = Path(__file__).resolve().parents[2]
FAKE_KERNEL = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.fakes.guest import main
main()
"""
Patch = Any
"""Sets an attribute of a module: pytest's monkeypatch.setattr, or setattr."""


def fake_kernel(folder: Path) -> GuestKernel:
    """The stand-in as a kernel's binary."""
    binary = folder / "linux"
    binary.write_text(FAKE_KERNEL)
    binary.chmod(0o755)
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()
    return GuestKernel("6.1.0", "linux-source-6.1", "fake", binary, digest)


def use_kernel(patch: Patch, kernel: GuestKernel) -> None:
    """Have sessions start this kernel, whatever else of a guest is built."""
    for module in (guest_session, guest_kernel):
        patch(module, "find_kernel", lambda wanted="": kernel)
        patch(module, "built", lambda path: path)
    patch(guest_kernel, "LOADER", ())  # it starts no script
    patch(guest_session, "check_guests", lambda testbed: None)


def session_request(folder: Path, **changes: Any) -> SessionRequest:
    """Asks for a session in virtual time with two flow groups."""
    content = {
        "run_id": "ab12",
        "folder": folder,
        "testbed": Testbed(name="virtual", target="virtual"),
        "lanes": 1,
        "groups": 2,
        "window_bytes": 2_000_000,
    }
    return SessionRequest(**(content | changes))


def boot(
    session: GuestSession, seed: int = 1, module_parameters: ModuleParameters | None = None
) -> ManagedProcess:
    """A fresh guest with an ordinary configuration of the data plane."""
    config = session.scratch / "dataplane.json"
    content = {
        "spec": str(spec()),
        "huge_pages": False,
        "memory_mb": 800,
        "lanes": 1,
        "flow_capacity": 64,
        "queue_packets": 16384,
        "control_socket": str(session.scratch / "control.sock"),
        "ports": session.ports(),
    }
    config.write_text(json.dumps(content))
    return session.boot(config, seed, "", module_parameters or {})


def left_of(scratch: str) -> list[int]:
    """Processes that belong to a session's guests: the kernels and all that they have made."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if f"uml_dir={scratch}".encode() in words:
            pids.append(int(path.parent.name))
    return pids


def says(after_ns: int, event: str, **more: Any) -> dict[str, Any]:
    """A step of the stand-in's processes: an event, some time after the step before."""
    return {"after_ns": after_ns, "line": json.dumps({"event": event, **more})}


def ends(after_ns: int, code: int = 0) -> dict[str, Any]:
    """A step of the stand-in's processes: its end."""
    return {"after_ns": after_ns, "exit": code}
