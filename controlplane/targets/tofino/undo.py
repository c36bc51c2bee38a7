"""Changes that are taken back: what an entry was, and how the driver lets it be that again.

The driver differs from table to table (SDE 9.13; tests/fakes/bfrt_driver.py has the places in its
source), and three differences matter here:

- The mirror's table has no "insert or modify". So an entry is read first, then added or modified.
- A modification of a mirror session, or of a packet generator's application, sets to 0 what it
  leaves out. So all of such an entry is put back.
- An application that is enabled keeps its trigger. So it is disabled before it is put back.

A request is no transaction: the server goes on after an update that it refuses, and mirror and
traffic manager take no part in the driver's transactions. What was refused may have been made in
part (a port is there, its negotiation was refused); it is taken back as well, but nobody minds if
that fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...contract.errors import TargetError
from .client import BfRtClient, MissingEntryError, RefusedError
from .info import Change, Entry, Query, Table, Value

MIRROR_TABLE = "$mirror.cfg"
GENERATOR_TABLE = "pktgen.app_cfg"
WHOLE_ENTRIES = (MIRROR_TABLE, GENERATOR_TABLE)
ENABLED = "app_enable"
SHORTEST_GENERATED = 60
"""Bytes of a generated packet that both chips take. An application that nobody has configured is
read with a length of 0 on Tofino 2, which the driver refuses to write."""

Place = tuple[str, str, int]


@dataclass(frozen=True)
class Remembered:
    """How one entry is brought back.

    Attributes:
        changes: What to write, in order.
        made: Whether our change of it is known to have been made.
    """

    changes: tuple[Change, ...]
    made: bool = True


class UndoLog:
    """Makes changes and remembers how to take each back."""

    def __init__(self, client: BfRtClient) -> None:
        self._client = client
        self._undo: dict[Place, Remembered] = {}
        self._cleared: set[str] = set()

    def apply(self, changes: Sequence[Change]) -> None:
        """Make changes; what an entry was before our first change of it is remembered.

        Raises:
            TargetError: The switch refuses one; the others may have been made.
        """
        known = set(self._undo)
        resolved = [self._resolved(change) for change in changes]
        try:
            self._client.write(resolved)
        except TargetError as error:
            doubtful = error.not_made if isinstance(error, RefusedError) else resolved
            for place in {_place(change) for change in doubtful} - known:
                self._undo[place] = replace(self._undo[place], made=False)
            raise

    def take_back(self, changes: Sequence[Change]) -> None:
        """Take back only these."""
        undone = [self._undo.pop(_place(c)) for c in changes if _place(c) in self._undo]
        self._client.write([change for each in undone[::-1] for change in each.changes])

    def undo(self) -> None:
        """Take everything back, the last first; one that fails does not keep the others.

        Raises:
            TargetError: Something could not be taken back; the line names the first.
        """
        failed: list[TargetError] = []
        for remembered in reversed(self._undo.values()):
            try:
                self._client.write(remembered.changes)
            except TargetError as error:
                if remembered.made:
                    failed.append(error)
        self._undo.clear()
        self._cleared.clear()
        if failed:
            raise TargetError(f"{failed[0].message} (while leaving the switch as it was found)")

    def _resolved(self, change: Change) -> Change:
        """The change as the driver takes it, after its inverse is remembered."""
        if change.verb == "clear":
            self._cleared.add(change.table)
            return change
        place = _place(change)
        ours = place in self._undo
        before = None if ours else self._before(change)
        if not ours:
            self._undo[place] = Remembered(self._inverse(change, before))
        if change.verb != "set":
            return change
        return replace(change, verb="modify" if ours or before else "add")

    def _before(self, change: Change) -> Entry | None:
        """The entry as it is now; None: there is none. Reads nothing where that is known."""
        if change.verb == "add" or change.table in self._cleared:
            return None
        query = Query(change.table, change.key, change.pipe, from_hardware=False)
        try:
            return self._client.entry(query)
        except MissingEntryError:
            if change.verb == "modify":
                raise
            return None

    def _inverse(self, change: Change, before: Entry | None) -> tuple[Change, ...]:
        if before is None:
            return (Change("delete", change.table, change.key, pipe=change.pipe),)
        return restoring(change, before, self._client.info.table(change.table))


def restoring(change: Change, before: Entry, table: Table) -> tuple[Change, ...]:
    """Modifications that make a changed entry what it was before. Pure."""
    whole = table.name.endswith(WHOLE_ENTRIES) or before.action != change.action
    data = {
        name: value
        for name, value in table.writable(before).items()
        if whole or name in change.data
    }
    restored = Change("modify", change.table, change.key, data, before.action, change.pipe)
    if not table.name.endswith(GENERATOR_TABLE):
        return (restored,)
    return _application(restored)


def _application(restored: Change) -> tuple[Change, ...]:
    """Disabled, as it was, and enabled again if it was."""
    enabled = restored.data[ENABLED]
    config: dict[str, Value] = {n: v for n, v in restored.data.items() if n != ENABLED}
    length = config.get("pkt_len")
    if isinstance(length, int) and length < SHORTEST_GENERATED:
        config["pkt_len"] = SHORTEST_GENERATED
    steps = [replace(restored, data={ENABLED: False}), replace(restored, data=config)]
    if enabled:
        steps.append(replace(restored, data={ENABLED: True}))
    return tuple(steps)


def _place(change: Change) -> Place:
    return change.table, repr(sorted(change.key.items())), change.pipe
