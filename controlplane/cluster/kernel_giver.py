"""Kernels of virtual time from the client to workers that lack them: one copy to each machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..machine.kernels.cache import find_kernel
from .kernels import pack_kernel
from .request import RunBundle
from .roster import Say
from .tasks import look_again, take_kernels

Ask = Callable[..., None]
"""Called with workers, and what they are to do with which arguments; returns once they have."""


class KernelGiver:
    """Gives the client's kernels away.

    The workers of a machine share what is in its cache: one of them is given the kernels, and then
    the others look again. Who still lacks them has a cache of its own, and is given them next time.

    Args:
        bundle: The run.
        ask: Has workers do something.
        say: Told what the user should know.
    """

    def __init__(self, bundle: RunBundle, ask: Ask, say: Say) -> None:
        self._bundle = bundle
        self._ask = ask
        self._say = say
        self._machines: set[str] = set()
        self._looked: set[str] = set()

    def give(self, wanting: Mapping[str, str]) -> None:
        """Give them to workers that lack them.

        Args:
            wanting: Addresses of workers -> the machines that they are on.
        """
        if not wanting:
            return
        chosen = [worker for worker in sorted(wanting) if self._is_chosen(worker, wanting[worker])]
        others = sorted(set(wanting) - set(chosen))
        self._looked.update(others)
        if chosen:
            machines = ", ".join(sorted({wanting[worker] for worker in chosen}))
            self._say(f"giving our kernels of virtual time to {machines}")
            self._ask(chosen, take_kernels, self._bundle.run, self._packed())
        self._ask(others, look_again, self._bundle.run)

    def _is_chosen(self, worker: str, machine: str) -> bool:
        """The first of a machine, and whoever has looked again in vain."""
        if machine in self._machines:
            return worker in self._looked
        self._machines.add(machine)
        return True

    def _packed(self) -> list[tuple[str, bytes]]:
        return [
            (kernel.model_dump_json(), pack_kernel(find_kernel(kernel.release)))
            for kernel in self._bundle.identity.kernels
        ]
