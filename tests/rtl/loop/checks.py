"""In the simulator: frames come to each port at the times of a plan; what leaves is written."""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from tests.rtl.registers import register_map
from tests.rtl.streams import never, sink, start

LEAD_CYCLES = 500
"""Before the first frame: reset, and setting the clock."""


async def give(dut: Any, prefix: str, plan: list[tuple[int, bytes]], period_ns: int) -> None:
    """Present each frame's first beat in the first cycle at or after its time.

    Args:
        dut: The design.
        prefix: Of the stream.
        plan: Time in ns after the lead, and bytes, of each frame.
        period_ns: Of the clock.
    """
    width = len(getattr(dut, f"{prefix}_tdata")) // 8
    pins = {n: getattr(dut, f"{prefix}_{n}") for n in ("tdata", "tkeep", "tvalid", "tlast")}
    for time_ns, frame in plan:
        due = (LEAD_CYCLES + -(-time_ns // period_ns)) * period_ns
        now = round(get_sim_time("ns"))
        assert now <= due, "the plan is denser than the port is fast"
        if due - period_ns > now:
            await Timer(due - period_ns // 2 - now, unit="ns")
            await RisingEdge(dut.clk)
        for at in range(0, len(frame), width):
            beat = frame[at : at + width]
            pins["tdata"].value = int.from_bytes(beat, "little")
            pins["tkeep"].value = (1 << len(beat)) - 1
            pins["tlast"].value = at + width >= len(frame)
            pins["tvalid"].value = 1
            await RisingEdge(dut.clk)
            ready = getattr(dut, f"{prefix}_tready").value
            assert ready == 1, "held back: the stamp would be late"
        pins["tvalid"].value = 0


@cocotb.test()
async def loop(dut: Any) -> None:
    folder = Path(os.environ["LOOP_FOLDER"])
    plan = json.loads((folder / "plan.json").read_text())
    registers = register_map()
    axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    takers = [sink(dut, f"m{port}_axis", never) for port in (0, 1)]
    for port in (0, 1):
        getattr(dut, f"s{port}_axis_tvalid").value = 0
        getattr(dut, f"s{port}_axis_tuser").value = 0
    await start(dut, plan["period_ns"])
    for name, value in (("NS", 0), ("FNS", 0), ("S", plan["epoch_s"]), ("S_HIGH", 0)):
        await axil.write_dword(registers[f"REG_SET_{name}"], value)
    givers = [
        cocotb.start_soon(
            give(
                dut,
                f"s{port}_axis",
                [(t, bytes.fromhex(f)) for t, f in plan["frames"][port]],
                plan["period_ns"],
            )
        )
        for port in (0, 1)
    ]
    for giver in givers:
        await giver
    for port, taker in enumerate(takers):
        frames = [bytes((await taker.recv()).tdata).hex() for _ in plan["frames"][port]]
        (folder / f"port{port}.json").write_text(json.dumps(frames))
