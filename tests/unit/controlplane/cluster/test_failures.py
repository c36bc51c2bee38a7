"""Errors of trials: the client decides by them as a run on one machine would."""

from __future__ import annotations

import pytest
from nashbed.controlplane.cluster.failures import error_of, failure_of
from nashbed.controlplane.cluster.parcel import ParcelError
from nashbed.controlplane.cluster.request import Failure
from nashbed.controlplane.contract.errors import (
    ConfigError,
    HostError,
    InternalError,
    NashbedError,
    TargetError,
    is_repeatable,
)
from nashbed.controlplane.machine.controls.loader import ControlsLostError
from nashbed.controlplane.machine.kernels.cache import NoKernelError
from nashbed.controlplane.machine.process.command import CommandTimeoutError
from nashbed.controlplane.store.errors import DiskFullError, RunError


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HostError("x"), HostError),
        (CommandTimeoutError("x"), HostError),
        (ParcelError("x"), HostError),
        (DiskFullError("x"), DiskFullError),
        (ControlsLostError("x"), HostError),
        (NoKernelError("x"), HostError),
        (TargetError("x"), TargetError),
        (TargetError("x", repeatable=True), TargetError),
        (RunError("x"), ConfigError),
        (InternalError("x"), InternalError),
        (ZeroDivisionError("x"), InternalError),
        (MemoryError("x"), InternalError),
    ],
)
def test_an_error_arrives_as_the_nearest_kind(error: Exception, kind: type[NashbedError]) -> None:
    sent = failure_of(error, "worker 1 on there: x").model_dump_json()
    arrived = error_of(Failure.model_validate_json(sent))
    assert (type(arrived), arrived.message) == (kind, "worker 1 on there: x")
    assert is_repeatable(arrived) == is_repeatable(error)
    if isinstance(error, NashbedError):
        assert arrived.exit_code == error.exit_code


def test_a_kind_that_nobody_knows_is_a_bug() -> None:
    assert type(error_of(Failure(kind="Exception", message="x"))) is InternalError
