#!/usr/bin/env python3
"""A stand-in for nashbed-cc: the same protocol, nothing is registered.

FAKE_CC picks a fault: verifier, name_taken, not_permitted, dies (once it is ready), silent.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

FAULT = os.environ.get("FAKE_CC", "")
LOG = [
    "0: R1=ctx() R10=fp0",
    "; u32 cwnd = tp->snd_cwnd; @ mycc.c:22",
    "8: (61) r1 = *(u32 *)(r6 +1444)",
    "R6 invalid mem access 'scalar'",
    "processed 9 insns (limit 1000000) max_states_per_insn 0 total_states 0",
]


def say(event: str, **more: Any) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def main() -> int:
    args = sys.argv[1:]
    only_check = args[:1] == ["--check"]
    for number, path in enumerate(args[only_check:]):
        name = Path(path).name.partition(".")[0]
        if FAULT in ("verifier", "name_taken", "not_permitted"):
            log = LOG if FAULT == "verifier" else []
            message = f"not taken: {name}"
            say("refused", object=path, reason=FAULT, message=message, log=log)
            print(f"nashbed-cc: {path}: {message}", file=sys.stderr)
            return 4
        say("registered", name=name, object=path, state_map=40 + number, state_bytes=64)
    if FAULT != "silent":
        say("ready")
    if FAULT == "dies":
        print("nashbed-cc: dying as asked", file=sys.stderr)
        return 4
    if not only_check:
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
