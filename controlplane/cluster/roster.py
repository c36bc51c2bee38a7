"""The workers of a run as far as the client has heard: who takes part, who was refused and why."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ..machine.log import LOG
from .topics import JOINED, LOGGED, OFFERS, REFUSED, STARTED, WANTS_KERNELS

Say = Callable[[str], None]
"""Called with a line for the user."""


class Roster:
    """Kept up to date by events; safe between threads.

    Args:
        on_started: Called with the trial's id and the worker's name when a trial begins there.
        say: Told of workers that come, go and are refused.
    """

    def __init__(self, on_started: Callable[[str, str], None], say: Say) -> None:
        self._on_started = on_started
        self._say = say
        self._seats: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._testbeds: dict[str, str] = {}
        self._wanting: dict[str, str] = {}
        self._offers: dict[str, str] = {}
        self._lock = threading.Lock()

    def on_event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Take an event of the run's topic into account."""
        told = event[1]
        if told["what"] == STARTED:
            self._on_started(str(told["trial"]), str(told["name"]))
        elif told["what"] == JOINED:
            with self._lock:
                self._seats[told["worker"]] = int(told["seats"])
                self._testbeds[told["worker"]] = str(told["testbed"])
                self._refused.pop(told["worker"], None)
        elif told["what"] == WANTS_KERNELS:
            with self._lock:
                self._wanting[told["worker"]] = str(told["host"])
        elif told["what"] == OFFERS:
            with self._lock:
                self._offers[told["worker"]] = str(told["offer"])
        elif told["what"] == LOGGED:
            LOG.log(int(told["level"]), "worker %s: %s", told["name"], told["line"])
        elif told["what"] == REFUSED:
            self._refuse(told)

    def _refuse(self, told: Mapping[str, Any]) -> None:
        reasons = "; ".join(str(reason) for reason in told["reasons"])
        with self._lock:
            is_new = reasons not in self._refused.values()
            self._refused[told["worker"]] = reasons
            self._seats.pop(told["worker"], None)
        if is_new:  # many workers of one machine are refused for one reason
            self._say(f"worker {told['name']} on {told['host']} takes no part: {reasons}")

    def present(self, workers: Iterable[str]) -> None:
        """Note who is there; says who is gone.

        Args:
            workers: Addresses of all workers of the cluster.
        """
        there = set(workers)
        with self._lock:
            gone = [address for address in self._seats if address not in there]
            for address in gone:
                del self._seats[address]
            self._refused = {a: why for a, why in self._refused.items() if a in there}
        for address in gone:
            self._say(f"worker {address} is gone; what it was running runs elsewhere")

    def is_hopeless(self, workers: Collection[str]) -> bool:
        """Whether all workers that there are have been refused.

        Args:
            workers: Their addresses.
        """
        with self._lock:
            return bool(workers) and all(address in self._refused for address in workers)

    def is_undecided(self, workers: Collection[str]) -> bool:
        """Whether some of the workers that there are neither take part nor were refused yet.

        Args:
            workers: Their addresses.
        """
        with self._lock:
            answered = self._seats.keys() | self._refused.keys()
            return not answered.issuperset(workers)

    def take_wanting(self) -> dict[str, str]:
        """Workers that lack a kernel of virtual time, each of them once -> their machines."""
        with self._lock:
            wanting, self._wanting = self._wanting, {}
        return wanting

    def take_offers(self) -> dict[str, str]:
        """Workers that offer a real testbed -> a `TestbedOffer` as JSON, each of them once."""
        with self._lock:
            offers, self._offers = self._offers, {}
        return offers

    @property
    def seats(self) -> dict[str, int]:
        """Testbed -> trials that can run on it at once. Of virtual time there is one, ""."""
        with self._lock:
            total: Counter[str] = Counter()
            for worker, seats in self._seats.items():
                total[self._testbeds[worker]] += seats
            return dict(total)

    @property
    def workers(self) -> int:
        """Workers that take part."""
        with self._lock:
            return len(self._seats)

    @property
    def refusals(self) -> list[str]:
        """Why workers that are there take no part, each reason once."""
        with self._lock:
            return sorted(set(self._refused.values()))
