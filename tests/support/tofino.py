"""A Tofino testbed for tests."""

import json
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.testbed import SwitchTofino

ROOT = Path(__file__).resolve().parents[2]
CHIPS = ("tofino1", "tofino2")
PORTS = {
    "senders": {"port": 128, "speed": "25gbit"},
    "receivers": {"port": 136, "speed": "25gbit"},
    "telemetry": {"port": 144, "speed": "25gbit", "fec": "rs"},
}

TESTBED = """\
name: lab
target: tofino
switch:
  grpc: "{address}"
  chip: {chip}
  ports: {ports}
ports:
  senders: {{driver: af_xdp}}
  switch: {{driver: af_xdp}}
  telemetry: {{driver: af_xdp}}
  receivers: {{driver: kernel, host_iface: enp4s0}}
capacity: {{rate: 250mbit, lanes: 1}}
"""


def artefact(chip: str) -> Path:
    """The program's committed bf-rt.json."""
    return ROOT / "p4src" / "tofino" / chip / "bf-rt.json"


def bed_text(address: str, chip: str = "tofino1") -> str:
    """A testbed file of a switch at an address."""
    return TESTBED.format(address=address, chip=chip, ports=json.dumps(PORTS))


def settings(chip: str, address: str, **changed: Any) -> SwitchTofino:
    """The `switch` section."""
    section = {"grpc": address, "chip": chip, "ports": PORTS} | changed
    return SwitchTofino.model_validate(section)
