"""The figures of a run by name, none of them drawn yet."""

from nashbed.controlplane.contract.errors import ConfigError

from ..results.summary import RunSummary
from .catalogue import sketches
from .sketch import Sketch

ALL = "all"


class Figures(dict[str, Sketch]):
    """The figures of a run by name; by kind, the first one of it."""

    def __init__(self, summary: RunSummary) -> None:
        measures = summary.measures
        self._path = measures.run.path
        found = sketches(measures, summary.equilibria)
        super().__init__((each.name, each) for each in found)

    def __missing__(self, name: str) -> Sketch:
        """The first figure of a kind."""
        return self.named(name)[0]

    def named(self, name: str, setting: str = "") -> list[Sketch]:
        """Those of a name or a kind; `all`: every one.

        Raises:
            ConfigError: There is none; the text lists the kinds.
        """
        known = [each for each in self.values() if not setting or each.setting == setting]
        if found := [each for each in known if name in {each.name, each.kind, ALL}]:
            return found
        where = f" at {setting}" if setting else ""
        kinds = ", ".join(dict.fromkeys(each.kind for each in known)) or "none"
        raise ConfigError(f"{self._path}: has no figure {name!r}{where}; it has {kinds}")
