"""What a testbed is believed to carry: as its file states, as was measured, or a careful guess."""

from __future__ import annotations

from dataclasses import replace

from ..config import Loaded
from ..contract.certificate import Standing
from ..contract.testbed import Testbed

STATED = "stated by the testbed file"
MEASURED = "measured by its calibration"
GUESSED = "a guess: `nashbed calibrate` measures it"


def with_capacity(testbed: Loaded[Testbed], known: Standing) -> tuple[Loaded[Testbed], str]:
    """The testbed with the capacity that counts, and where that is from.

    What the file states counts before what was measured: a person may have reasons.

    Args:
        testbed: The testbed as loaded.
        known: What its certificate is worth.
    """
    if testbed.model.states_capacity:
        return testbed, STATED
    if known.state != "certified" or known.capacity is None:
        return testbed, GUESSED
    model = testbed.model.model_copy(update={"capacity": known.capacity})
    return replace(testbed, model=model), MEASURED
