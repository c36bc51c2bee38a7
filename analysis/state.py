"""A mix as a state of the game: for each flow group, how many flows run each strategy."""

from collections.abc import Sequence

from nashbed.controlplane.contract.trial import Mix

State = tuple[tuple[int, ...], ...]
"""One tuple for each group: flows of each strategy, in the scenario's order."""


def mix_state(mix: Mix, strategies: Sequence[str]) -> State:
    """The state of a mix; a strategy that a group does not name has no flow there."""
    return tuple(tuple(group.counts.get(name, 0) for name in strategies) for group in mix)


def strategy_totals(state: State) -> tuple[int, ...]:
    """Flows of each strategy over all groups."""
    return tuple(sum(counts) for counts in zip(*state, strict=True))


def state_text(state: State, strategies: Sequence[str], groups: Sequence[str]) -> str:
    """Say a state in words, e.g. `7 cubic + 3 bbr`, with the group's name if there are several.

    Where no flow of a group runs, it is `none`.
    """
    parts = []
    for name, counts in zip(groups, state, strict=True):
        pairs = zip(counts, strategies, strict=True)
        flows = " + ".join(f"{count} {strategy}" for count, strategy in pairs if count) or "none"
        parts.append(f"{name}: {flows}" if len(groups) > 1 else flows)
    return "; ".join(parts)
