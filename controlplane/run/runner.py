"""A whole run: from a plan, or from what is left of one, to a sealed run directory."""

import logging
from collections.abc import Generator

from ..contract.errors import Interrupted, NashbedError
from ..contract.manifest import Manifest
from ..contract.trial import TrialRecord
from ..machine.c_files.kept import with_objects
from ..machine.log import close_log, log_to
from .active_run import ActiveRun
from .dispatcher import Executor, JobBook, dispatch, watch
from .manifest import with_guest_kernels, with_programs
from .progress import OnProgress, Snapshot
from .this_machine import ThisMachine

LOG = logging.getLogger(__name__)


def execute(
    run: ActiveRun, on_progress: OnProgress, executor: Executor | None = None
) -> list[TrialRecord]:
    """Run all jobs of a run; returns every sealed record.

    Args:
        on_progress: Called with the state of the run, again and again.
        executor: Where; None: on this machine.

    Raises:
        NashbedError: As `progress_of` does; Interrupted on Ctrl-C.
    """
    watch(progress_of(run, executor), on_progress)
    return run.directory.sealed()


def progress_of(run: ActiveRun, executor: Executor | None = None) -> Generator[Snapshot]:
    """Run all jobs of a run, and say where it stands, again and again.

    Closing the generator stops the run.

    Args:
        executor: Where; None: on this machine.

    Raises:
        NashbedError: What ended the run early. The machine has been given back, finished
            trials are kept, and the manifest says how the run ended.
    """
    handler = log_to(run.directory.log)
    try:
        run.directory.remove_unfinished()
        first = run.work.start()
        if first:
            run.write_manifest(_with_guests_and_ccas(run))
            book = JobBook(first, run.work, run.directory.note_failure)
            with (executor or ThisMachine()).opened(run, book) as workers:
                yield from dispatch(book, workers)
        run.set_status("complete")
    except BaseException as error:
        stopped = isinstance(error, Interrupted | KeyboardInterrupt | GeneratorExit)
        LOG.error("run ended early: %s", error, exc_info=not isinstance(error, NashbedError))
        run.set_status("interrupted" if stopped else "failed")
        raise
    finally:
        close_log(handler)


def _with_guests_and_ccas(run: ActiveRun) -> Manifest:
    """The manifest with the kernels of guests, and what is loaded into the hosts' kernels."""
    bed, manifest = run.testbed.model, run.manifest
    if bed.is_virtual:
        manifest = with_guest_kernels(manifest, bed, run.plan)
    manifest = with_programs(manifest, run.scenario.model, is_virtual=bed.is_virtual)
    return with_objects(manifest, bed, run.ccas)
