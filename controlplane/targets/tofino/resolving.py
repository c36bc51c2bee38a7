"""What a switch would do of a program, before anything is touched. Pure."""

from ...contract.target import Applied, Lane
from ...contract.testbed import SwitchTofino, Testbed
from .capabilities import CHIPS, applied, cells_for, check_ports, shaper_for, tofino_section
from .queues import expected_queues, queues_for


def tofino_resolve(testbed: Testbed, program: Lane) -> Applied:
    """What a testbed's switch would do.

    Raises:
        ConfigError: It cannot; the line says why.
    """
    return resolve(tofino_section(testbed), program)


def resolve(settings: SwitchTofino, program: Lane) -> Applied:
    """What a switch would do; see `tofino_resolve`."""
    chip = CHIPS[settings.chip]
    check_ports(settings, chip)
    if program.queues is not None:
        return expected_queues(settings, chip, queues_for(settings, chip, program))
    return applied(settings, chip, shaper_for(settings, chip, program), cells_for(chip, program))
