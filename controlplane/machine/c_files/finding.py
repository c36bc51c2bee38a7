"""Which C files a scenario needs: CCAs, queue disciplines, policies of shared memory.

A strategy that the hosts' kernel has is the kernel's own CCA. Any other is in a C file: one of
hosts/cc, or the user's. A discipline's or a policy's file is always the user's.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from ...config import Loaded
from ...contract.c_files import SUFFIX, CFile, stem
from ...contract.disciplines import Choice
from ...contract.errors import ConfigError, HostError, did_you_mean
from ...contract.scenario import Scenario, combinations, varied
from ...contract.strategy import CcaInFile
from ...contract.testbed import Testbed
from ..paths import guest_configuration
from ..process.flow_programs import require_programs
from .kernel_support import kernels_own, require_ccas, takes_modules
from .kinds import CCA, DISCIPLINE, SHIPPED_CCAS, require_runnable, shipped_cca
from .parameters import require_parameters

_NAMES = """bbr bic brutal cdg cubic dctcp highspeed htcp hybla illinois lp nv prague reno
scalable vegas veno westwood yeah"""
KNOWN = frozenset(_NAMES.split())
"""Names of Linux CCAs: distinguishes a spelling mistake from a missing module."""


def find_ccas(scenario: Loaded[Scenario], testbed: Loaded[Testbed]) -> tuple[CFile, ...]:
    """The CCAs that a scenario needs and the hosts' kernel does not have, in its order.

    What is neither the kernel's nor found is left out: `check_strategies` speaks of it.

    Raises:
        ConfigError: A file is missing or has a name that is taken; one line for each.
    """
    written, own = written_files(scenario), files_in(testbed)
    kernels = kernels_own(testbed.model)

    def read(name: str) -> CFile | None:
        source = _source_of(name, written, own, kernels)
        return None if source is None else CCA.read(source)

    found = _each(scenario.model.kernel_ccas, read, f"{scenario.name}: strategies")
    return tuple(cca for cca in found if cca is not None)


def find_disciplines(scenario: Loaded[Scenario]) -> tuple[CFile, ...]:
    """The disciplines, and the policies of the memory, that a scenario names by their files.

    Raises:
        ConfigError: A file is missing, or two have one name; one line for each.
    """
    found: dict[str, CFile] = {}

    def read(file: str) -> None:
        own = DISCIPLINE.read(Path(scenario.name).parent / file)
        if own.name in found:
            raise ConfigError(f"{file}: there is another {own.name}; rename one of the files")
        found[own.name] = own

    _each(dict.fromkeys(_discipline_files(scenario.model)), read, f"{scenario.name}: discipline")
    return tuple(found.values())


def _each(
    names: Iterable[str], read: Callable[[str], CFile | None], where: str
) -> list[CFile | None]:
    """Read all; raises ConfigError with one line for each that cannot be."""
    found, problems = [], []
    for name in names:
        try:
            found.append(read(name))
        except ConfigError as error:
            problems.append(f"{where}: {error.message}")
    if problems:
        raise ConfigError("\n".join(problems))
    return found


def _discipline_files(scenario: Scenario) -> list[str]:
    """The files of disciplines and policies, as they are written."""
    found: list[Choice | None] = []
    for values in combinations(scenario):
        bottleneck = varied(scenario, values).bottleneck
        found += bottleneck.discipline, bottleneck.shared_buffer
        found += [queue.discipline for queue in bottleneck.queues or ()]
    return [each.file for each in found if each is not None and each.file]


def written_files(scenario: Loaded[Scenario]) -> dict[str, Path]:
    """The strategies that a scenario names by the paths of their files: name -> file."""
    folder, names = Path(scenario.name).parent, scenario.model.strategies
    return {str(name): folder / name.path for name in names if isinstance(name, CcaInFile)}


def files_in(testbed: Loaded[Testbed]) -> dict[str, Path]:
    """The C files in the testbed's folder of CCAs: name -> file.

    Raises:
        ConfigError: There is no such folder.
    """
    if testbed.model.controls is None:
        return {}
    folder = Path(testbed.name).parent / testbed.model.controls
    if not folder.is_dir():
        raise ConfigError(f"{testbed.name}: controls: {folder}: no such folder")
    return {stem(str(file)): file for file in sorted(folder.glob(f"*{SUFFIX}"))}


def _source_of(
    name: str, written: dict[str, Path], own: dict[str, Path], kernels_own: Collection[str]
) -> Path | None:
    """The file of a CCA; None: it is the kernel's, or nobody's."""
    source = written.get(name, own.get(name))
    if source is not None and name in kernels_own:
        raise ConfigError(f"{source}: the kernel has {name!r} of its own; rename the file")
    if source is not None and name in SHIPPED_CCAS and name not in written:
        raise ConfigError(f"{source}: nashbed ships {name!r} as well; rename the file")
    if source is None and name not in kernels_own and name in SHIPPED_CCAS:
        return shipped_cca(name)
    return source


def require_strategies(scenario: Loaded[Scenario], testbed: Testbed, ccas: Sequence[CFile]) -> None:
    """Refuse strategies that the hosts cannot run here, by file or by name; touches nothing.

    Raises:
        ConfigError: One line for each strategy that is unknown or missing, or not for such time.
        HostError: One line for each thing that this machine lacks to run them.
    """
    files = {cca.name for cca in ccas}
    others = [name for name in scenario.model.kernel_ccas if name not in files]
    check_strategies(others, scenario.name, kernels_own(testbed), not testbed.is_virtual)
    require_runnable(ccas, testbed.is_virtual)
    require_programs(scenario.model, scenario.name)
    require_parameters(scenario.model, ccas)
    if not testbed.is_virtual:
        require_ccas(ccas)
    elif ccas and not takes_modules(guest_configuration()):
        names = ", ".join(cca.name for cca in ccas)
        raise HostError(f"{names}: the guests' kernel takes no modules, which it would need")


def check_strategies(
    strategies: Sequence[str], where: str, available: Sequence[str], loadable: bool = True
) -> None:
    """Refuse strategies, none of them from a file, that the hosts' kernel cannot run.

    This machine's kernel may load more than is available; a guest's has what is built in.

    Raises:
        ConfigError: One line for each strategy that is unknown or missing.
    """
    lines = [_problem(s, available, loadable) for s in strategies if s not in available]
    if lines:
        raise ConfigError("\n".join(f"{where}: strategies: {line}" for line in lines))


def _problem(strategy: str, available: Sequence[str], loadable: bool) -> str:
    has = f"available: {', '.join(dict.fromkeys((*available, *SHIPPED_CCAS)))}"
    if strategy in KNOWN and not loadable:
        return f"the guests' kernel has no {strategy!r} ({has})"
    if strategy in KNOWN:
        return f"this kernel has no {strategy!r}; try `modprobe tcp_{strategy}` ({has})"
    names = [*available, *SHIPPED_CCAS, *sorted(KNOWN)]
    hint = did_you_mean(strategy, names)
    return f"{strategy!r} is not a known congestion control; {hint}({has})"
