"""What would be programmed for a setting, as lines; needs no switch."""

from ...contract.target import Lane
from ...contract.testbed import SwitchTofino, Testbed
from . import capabilities, programming, queues
from .capabilities import CHIPS, pipe_of
from .programming import QueueAddress


def preview_session(testbed: Testbed) -> list[str]:
    """What all lanes share.

    Where the switch's port groups have a queue is read from the switch; here it is named.
    """
    settings = capabilities.tofino_section(testbed)
    chip = CHIPS[settings.chip]
    ports = (settings.ports.senders, settings.ports.receivers, settings.ports.telemetry)
    deflected = _symbolic(settings.ports.telemetry.port, programming.DEFLECTED_QUEUE)
    changes = [programming.add_port(port, chip) for port in ports]
    changes += programming.session(settings, deflected)
    return [str(change) for change in changes]


def preview_setting(testbed: Testbed, program: Lane, lane: int = 0) -> list[str]:
    """What a setting programs for a lane."""
    settings = capabilities.tofino_section(testbed)
    chip = CHIPS[settings.chip]
    if program.queues is not None:
        return _preview_queues(settings, program, lane)
    shaper = capabilities.shaper_for(settings, chip, program)
    cells = capabilities.cells_for(chip, program)
    queue = _symbolic(settings.ports.receivers.port, programming.lane_queue(lane))
    lines = [str(c) for c in programming.lane(settings, lane, queue, shaper, cells)]
    return [*lines, _flows(lane, str(programming.lane_queue(lane)))]


def _preview_queues(settings: SwitchTofino, program: Lane, lane: int) -> list[str]:
    chip = CHIPS[settings.chip]
    wanted = queues.queues_for(settings, chip, program)
    first = programming.lane_queue(lane)
    last = first + len(wanted.queues)
    port = settings.ports.receivers.port
    places = [_symbolic(port, number) for number in range(first, last)]
    changes = queues.lane(settings, chip, lane, places, wanted)
    return [*map(str, changes), _flows(lane, f"{first} to {last - 1}, as its queue is")]


def _flows(lane: int, queue: str) -> str:
    """The flow table's entries, which differ by flow."""
    key = "each flow's addresses, ports and protocol"
    data = f"lane={lane}, flow=its number, queue={queue}"
    return f"set {programming.FLOW_TABLE} [{key}] {programming.TO_QUEUE} {data}"


def _symbolic(port: int, queue: int) -> QueueAddress:
    return QueueAddress(pipe_of(port), f"port {port}'s group", f"its queue {queue}")
