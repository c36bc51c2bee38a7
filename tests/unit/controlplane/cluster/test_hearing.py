"""A client hears the first word of a worker, however late its subscription is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest
from distributed import Client
from nashbed.controlplane.cluster.hearing import hearing
from nashbed.controlplane.contract.errors import HostError

TOPIC = "nashbed-run"


class Scheduler:
    """Passes words on once it knows of a subscription, which comes with the third of them."""

    def __init__(self) -> None:
        self.address = "tcp://a:1"
        self.handler: Callable[[Any], None] | None = None
        self.words = 0

    def log_event(self, topic: str, said: dict[str, Any]) -> None:
        self.words += 1
        if self.words >= 3 and self.handler is not None:
            threading.Thread(target=self.handler, args=((0.0, said),)).start()


class FakeClient:
    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler

    def subscribe_topic(self, topic: str, handler: Callable[[Any], None]) -> None:
        assert topic == TOPIC
        self.scheduler.handler = handler

    def unsubscribe_topic(self, topic: str) -> None:
        self.scheduler.handler = None

    def log_event(self, topic: str, said: dict[str, Any]) -> None:
        self.scheduler.log_event(topic, said)


def test_nothing_is_said_before_it_is_heard() -> None:
    scheduler, heard = Scheduler(), []
    client = cast(Client, FakeClient(scheduler))
    with hearing(client, TOPIC, heard.append):
        assert scheduler.words >= 3
        assert scheduler.handler is not None
        scheduler.handler((1.0, {"what": "joined"}))
    assert heard == [(1.0, {"what": "joined"})], "the client's own words are for nobody else"
    assert scheduler.handler is None


def test_a_scheduler_that_is_gone_is_one_line() -> None:
    class Gone(Scheduler):
        def log_event(self, topic: str, said: dict[str, Any]) -> None:
            raise OSError("the connection is closed")

    client = cast(Client, FakeClient(Gone()))
    with (
        pytest.raises(HostError, match="tcp://a:1: the cluster's scheduler is gone"),
        hearing(client, TOPIC, lambda event: None),
    ):
        pytest.fail("nobody hears")
