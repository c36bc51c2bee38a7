"""A client hears all that the workers of its run say, from the first word on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from distributed import Client

from ..machine.log import LOG
from .crew import address_of, scheduler_is_gone

Event = tuple[float, Mapping[str, Any]]
HELLO = "hello"
AGAIN_S = 0.05


@contextmanager
def hearing(client: Client, topic: str, on_event: Callable[[Event], None]) -> Iterator[None]:
    """Hear a topic until the block ends.

    A subscription takes another way to the scheduler than what the client asks for, and may be
    later than the first words of a worker, which nobody would hear. So the client speaks to itself
    until it hears that.

    Args:
        client: The client.
        topic: The topic.
        on_event: Called with each event, in a thread of the client's.

    Raises:
        HostError: The scheduler is gone.
    """
    heard = threading.Event()

    def take(event: Event) -> None:
        if event[1]["what"] == HELLO:
            heard.set()
        else:
            on_event(event)

    address = address_of(client)
    client.subscribe_topic(topic, take)
    try:
        while not heard.is_set():
            client.log_event(topic, {"what": HELLO})
            heard.wait(AGAIN_S)
    except OSError as error:
        raise scheduler_is_gone(address) from error
    try:
        yield
    finally:
        try:
            client.unsubscribe_topic(topic)
        except Exception as error:
            LOG.info("%s: the topic was not given up: %s", topic, error)
