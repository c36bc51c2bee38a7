"""How callers follow what takes long: they are called before each step."""

from nashbed.controlplane.machine.log import ShowStep

__all__ = ["ShowStep", "show_nothing"]


def show_nothing(_title: str, _done: int, _total: int) -> None:
    """Steps that nobody follows."""
