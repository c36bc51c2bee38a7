"""Changes that are taken back: the switch is left in its earlier state."""

from __future__ import annotations

from collections.abc import Sequence

from ...contract.errors import TargetError
from .change import Change, Query
from .client import BfRtClient


class UndoLog:
    """Makes changes and remembers how to take each back.

    Args:
        client: An open client.
    """

    def __init__(self, client: BfRtClient) -> None:
        self._client = client
        self._undo: dict[tuple[str, str, int], Change] = {}

    def apply(self, changes: Sequence[Change]) -> None:
        """Make changes; what an entry was before our first change of it is remembered."""
        for change in changes:
            if change.verb != "clear" and _place(change) not in self._undo:
                self._undo[_place(change)] = self._inverse(change)
        self._client.write(changes)

    def take_back(self, changes: Sequence[Change]) -> None:
        """Take back only these."""
        undone = [self._undo.pop(_place(c)) for c in changes if _place(c) in self._undo]
        self._client.write(undone[::-1])

    def undo(self) -> None:
        """Take everything back, the last first; one that fails does not keep the others.

        Raises:
            TargetError: Something could not be taken back; the line names the first.
        """
        failed: list[TargetError] = []
        for change in reversed(self._undo.values()):
            try:
                self._client.write([change])
            except TargetError as error:
                failed.append(error)
        self._undo.clear()
        if failed:
            raise TargetError(f"{failed[0].message} (while leaving the switch as it was found)")

    def _inverse(self, change: Change) -> Change:
        """The change that brings the entry back as it is now.

        What is modified is the chip's and was there before; what is added is ours.
        """
        if change.verb != "modify":
            return Change("delete", change.table, change.key, pipe=change.pipe)
        query = Query(change.table, change.key, change.pipe, from_hardware=False)
        entry = self._client.entry(query)
        table = self._client.info.table(change.table)
        known = table.written_fields(entry.action)
        same = entry.action == change.action
        names = [n for n in entry.data if n in known and (n in change.data or not same)]
        data = {name: entry.data[name] for name in names}
        return Change("modify", change.table, change.key, data, entry.action, change.pipe)


def _place(change: Change) -> tuple[str, str, int]:
    return change.table, repr(sorted(change.key.items())), change.pipe
