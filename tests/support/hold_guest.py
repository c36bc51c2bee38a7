"""Holds a session in virtual time until it is stopped: a program that tests kill.

    python -m tests.support.hold_guest FOLDER [fake]

It prints a line of JSON with its scratch folder, another with its guest's process id, and lets
virtual time pass for ever.
"""

import json
import signal
import sys
from pathlib import Path
from typing import Any

from nashbed.controlplane.machine.guest.session import GuestSession
from tests.support import guests


def _stop(*_: object) -> None:
    sys.exit(0)


def _say(**content: Any) -> None:
    print(json.dumps(content), flush=True)


def main(folder: Path, fake: bool) -> None:
    signal.signal(signal.SIGTERM, _stop)
    if fake:
        guests.use_kernel(setattr, guests.fake_kernel(folder))
    session = GuestSession(guests.session_request(folder))
    try:
        session.open()
        _say(scratch=str(session.scratch))
        while True:
            _say(pid=guests.boot(session).pid)
            for _ in range(3):
                session.clock.sleep(10.0)
            if fake:
                signal.pause()
    finally:
        session.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] == ["fake"])
