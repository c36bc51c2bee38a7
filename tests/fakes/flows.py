"""A stand-in for nashbed-flows: the same protocol, checked strictly, no packet sent.

FAKE_FLOWS picks a fault: wrong_cc, short (a flow ends early), sink_loss (a sink reads less),
no_connect (the sender fails), silent (the sink never says that it listens).
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from nashbed.controlplane.contract.messages.generator import GeneratorConfig
from nashbed.controlplane.contract.records import FLOW_SAMPLE, GOODPUT
from tests.fakes.traffic import stream_bytes

FAULT = os.environ.get("FAKE_FLOWS", "")


def say(event: str, **more: Any) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def check(config: dict[str, Any]) -> None:
    GeneratorConfig.model_validate(config)
    assert Path(config["out"]).is_absolute()
    assert [f["flow"] for f in config["flows"]] == list(range(len(config["flows"])))
    for flow in config["flows"]:
        assert 0 <= flow["start_ns"] < config["duration_ns"]
        assert flow["sport"] == 10000 + flow["flow"]
        assert flow["dport"] == 5001


def wait_until(t_ns: int) -> None:
    while (left := t_ns - time.monotonic_ns()) > 0:
        time.sleep(min(left / 1e9, 0.05))


def sender(config: dict[str, Any]) -> None:
    if FAULT == "no_connect":
        say("error", exit=4, error="flow 0: connection timed out")
        sys.exit(4)
    applied = {f["flow"]: f["cc"] for f in config["flows"]}
    if FAULT == "wrong_cc":
        applied[0] = "reno"
    ready = [{"flow": f, "cc_applied": cc, "handshake_ns": 10**7} for f, cc in applied.items()]
    say("ready", notsent_lowat_bytes=131072, flows=ready)
    t0_ns = json.loads(sys.stdin.readline())["t0_ns"]
    wait_until(t0_ns + config["duration_ns"])
    end_ns = config["duration_ns"]
    samples = np.zeros(2 * len(applied), FLOW_SAMPLE)
    samples["flow"] = np.repeat(np.arange(len(applied)), 2)
    samples["t_ns"] = t0_ns + np.tile([0, end_ns // 2], len(applied))
    samples["has_bbr"] = [applied[f] == "bbr" for f in samples["flow"]]
    samples["bbr_pacing_gain"] = np.where(samples["has_bbr"] == 1, 320, 0)
    times = {"t0_ns": t0_ns, "duration_ns": end_ns}
    (Path(config["out"]) / "times.bin").write_text(json.dumps(times))
    samples.tofile(Path(config["out"]) / "flow_samples.bin")
    flows = [
        {
            "flow": f["flow"], "cc_applied": applied[f["flow"]], "start_ns": f["start_ns"],
            "connect_ns": -(10**8), "handshake_ns": 10**7,
            "end_ns": end_ns // 2 if FAULT == "short" else end_ns + 1000,
            "bytes_acked": stream_bytes(), "bytes_sent": stream_bytes() + 6000,
            "bytes_retrans": 6000, "total_retrans": 6, "notsent_bytes": 0,
            "min_rtt_us": 20000, "error": None,
        }
        for f in config["flows"]
    ]  # fmt: skip
    lateness = {"count": 2, "missed": 0, "mean_ns": 1000, "max_ns": 5000}
    say("done", lost=0, lateness=lateness, flows=flows)


def sink(config: dict[str, Any]) -> None:
    if FAULT == "silent":
        time.sleep(3600)
    say("listening", addresses=1)
    t0_ns = json.loads(sys.stdin.readline())["t0_ns"]
    wait_until(t0_ns + config["duration_ns"])
    count = len(config["flows"])
    goodput = np.zeros(2 * count, GOODPUT)
    goodput["flow"] = np.tile(np.arange(count), 2)
    goodput["t_ns"] = t0_ns + np.repeat([config["duration_ns"] // 4, config["duration_ns"]], count)
    goodput["bytes"] = stream_bytes() // 2
    goodput.tofile(Path(config["out"]) / "goodput.bin")
    read = stream_bytes() - (1 if FAULT == "sink_loss" else 0)
    flows = [
        {"flow": f["flow"], "bytes": read, "first_byte_ns": 10, "last_byte_ns": 20,
         "closed": "reset", "error": None}
        for f in config["flows"]
    ]  # fmt: skip
    lateness = {"count": 0, "missed": 0, "mean_ns": 0, "max_ns": 0}
    say("done", strangers=0, acks=50, segments=100, lateness=lateness, flows=flows)


if __name__ == "__main__":
    assert sys.argv[1] == "--config"
    loaded = json.loads(Path(sys.argv[2]).read_text())
    check(loaded)
    {"sender": sender, "sink": sink}[loaded["role"]](loaded)
