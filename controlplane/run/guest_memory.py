"""Memory for the guests of running lanes: what is left, once those that run have all of theirs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from ..contract.testbed import MIB
from ..contract.trial import Setting
from ..machine.guest.memory import MemoryRoom, memory_room
from ..plan.estimates import guest_takes_bytes


@dataclass(frozen=True)
class GuestMemory:
    """What a guest may take while others run.

    Attributes:
        held_bytes: Lane -> what the guest that runs there has taken so far.
        room: What this machine has left.
    """

    held_bytes: Callable[[Hashable], int]
    room: Callable[[], MemoryRoom] = memory_room

    def left(self, running: Mapping[Hashable, Setting]) -> MemoryRoom:
        """What is left when all guests that run have taken what they are expected to.

        Args:
            running: Lane -> setting of its trial.
        """
        room = self.room()
        growth = sum(
            max(0, guest_takes_bytes(setting) - self.held_bytes(lane))
            for lane, setting in running.items()
        )
        return MemoryRoom(room.free_bytes - growth, room.total_bytes, room.place)


def shortage(room: MemoryRoom, setting: Setting) -> str:
    """Why a trial waits for memory, in words; empty: there is enough for it.

    Args:
        room: What is left.
        setting: Of the trial.
    """
    needed = guest_takes_bytes(setting)
    if needed <= room.free_bytes:
        return ""
    free_mib = max(0, room.free_bytes) // MIB
    return f"{free_mib} MiB of memory left ({room.place}), a trial takes {needed // MIB}"
