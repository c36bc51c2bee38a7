"""The files that a scenario names for their content: trace, sizes of transfers, and programs."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..contract.errors import ConfigError
from ..contract.flow_group import FlowGroup
from ..contract.model import FileModel
from ..contract.program import FlowProgram
from ..contract.scenario import Scenario
from ..contract.strategy import ProgramInFile
from ..contract.traffic import FileSizes
from .programs import check_cc, find_program, read_program
from .sizes import read_sizes
from .trace import read_trace

FindFile = Callable[[str], Path]
"""Path of a file as it is written in a scenario -> where it is."""
F = TypeVar("F", bound=FileModel)
C = TypeVar("C")


class NamedFiles:
    """Reads the files that a scenario names, each by its path as it is written.

    Args:
        name: The scenario's file, for messages; what it names is relative to it.
        find: Where a file is instead, as in a run directory, which keeps copies.

    Attributes:
        found: Path as it is written -> the file that was read.
    """

    def __init__(self, name: str, find: FindFile | None = None) -> None:
        self._folder = Path(name).parent
        self.found: dict[str, Path] = {}
        self._name = name
        self._find = find

    def read(self, scenario: Scenario) -> Scenario:
        """The scenario with what is in its files.

        Raises:
            ConfigError: A file cannot be read, or is not what it should be.
        """
        bottleneck, trace = scenario.bottleneck, scenario.bottleneck.trace
        if trace is not None:
            repeat = trace.repeat
            read = self._read(
                "bottleneck.trace", trace, lambda path: read_trace(path, repeat=repeat)
            )
            bottleneck = bottleneck.model_copy(update={"trace": read})
        flows = tuple(self._with_sizes(i, group) for i, group in enumerate(scenario.flows))
        changed = {"bottleneck": bottleneck, "flows": flows}
        return self.with_programs(scenario.model_copy(update=changed))

    def with_programs(self, scenario: Scenario) -> Scenario:
        """The scenario with its programs alone.

        Raises:
            ConfigError: A file cannot be read, or is not what it should be.
        """
        strategies = tuple(map(self._with_program, scenario.strategies))
        return scenario.model_copy(update={"strategies": strategies})

    def _with_program(self, strategy: str) -> str:
        if not isinstance(strategy, ProgramInFile):
            return strategy
        find = self._find or (lambda written: find_program(written, self._folder))

        def read(path: Path) -> FlowProgram:
            program = read_program(path)
            check_cc(strategy, program, path)
            return program

        path = find(strategy.path)
        program = self._content("strategies", strategy.path, path, read)
        return ProgramInFile(str(strategy), strategy.path, program)

    def _with_sizes(self, index: int, group: FlowGroup) -> FlowGroup:
        if not isinstance(group.size, FileSizes):
            return group
        size = self._read(f"flows[{index}].size.file", group.size, read_sizes)
        return group.model_copy(update={"size": size})

    def _read(self, key: str, model: F, read: Callable[[Path], object]) -> F:
        path = self._find(model.file) if self._find else self._folder / model.file
        return model.with_content(self._content(key, model.file, path, read))

    def _content(self, key: str, written: str, path: Path, read: Callable[[Path], C]) -> C:
        where = f"{self._name}: {key}: {path}"
        try:
            content = read(path)
        except OSError as error:
            raise ConfigError(f"{where}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from error
        self.found[written] = path
        return content
