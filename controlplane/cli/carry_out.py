"""Carry a run out with a display, and say how to go on where it stopped."""

from __future__ import annotations

from ..plan.resources import resources_of
from ..run.runner import ActiveRun, execute
from .progress import make_display


def carry_out(what: ActiveRun) -> None:
    """Run the jobs of a run with a display on standard error.

    Raises:
        NashbedError: What ended it early; the display has said how to go on.
    """
    display = make_display(what.plan, resources_of(what.testbed.model, what.plan))
    display.say(f"run directory: {what.directory.path}")
    certificate = what.manifest.certificate
    if certificate is not None and certificate.state != "certified":
        display.say(certificate.detail)
    try:
        with display:
            execute(what, display.show)
    except BaseException:
        display.say(f"finished trials are kept; go on with: nashbed resume {what.directory.path}")
        raise
