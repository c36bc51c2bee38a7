"""manifest.json: everything needed to judge or repeat a run."""

from typing import Final, Literal

from pydantic import Field

from .certificate import Standing
from .messages.dataplane import Hello
from .model import ContractModel, JsonObject

MANIFEST_FORMAT: Final = 2


class GuestKernelFacts(ContractModel):
    """A kernel that the hosts of a virtual run ran on.

    Attributes:
        release: Its release, e.g. 6.1.176.
        package: The source package that it was built from, with its version.
        digest: SHA-256 of what it was built from: source version, edits, driver, configuration.
        binary_digest: SHA-256 of the binary.
    """

    release: str
    package: str
    digest: str
    binary_digest: str


class CcaFacts(ContractModel):
    """A CCA that the hosts' kernel did not have of its own.

    Attributes:
        source: Its C file: relative to the run directory, or (of a shipped one) to the checkout.
        shipped: Whether it is one of hosts/cc.
        digest: SHA-256 of that file and what it includes.
        object_digest: SHA-256 of the eBPF object that the kernel was given; empty before the first
            trial, and in virtual time.
        object_from: What made that object.
        modules: In virtual time: release of a guests' kernel -> SHA-256 of the module that it was
            given.
    """

    source: str
    shipped: bool
    digest: str
    object_digest: str = ""
    object_from: str = ""
    modules: dict[str, str] = Field(default_factory=dict)


class DisciplineFacts(ContractModel):
    """A queue discipline of the user's own.

    Attributes:
        source: Its C file, relative to the run directory.
        digest: SHA-256 of that file and what it includes.
        object_digest: SHA-256 of what the data plane loads of it.
        object_from: The compiler that made that.
    """

    source: str
    digest: str
    object_digest: str
    object_from: str


class TestbedFacts(ContractModel):
    """One of the testbeds that the trials of a run could be given to.

    Attributes:
        testbed_digest: SHA-256 of its testbed file.
        artefact_digest: Digest of its P4 artefact, as reported by the data plane.
        dataplane: What its data plane says about itself (`contract.messages.dataplane.Hello`).
        hosts: Names of the machines whose workers offered it.
        kernel: Kernel release and version.
        cpu: CPU model and number of cores.
        ports: Port -> driver, interface and MAC address.
        sysctls: Sysctl -> value, as applied in the hosts' namespaces.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    target: str
    testbed_digest: str
    certificate: Standing
    artefact_digest: str
    dataplane: JsonObject
    hosts: tuple[str, ...] = ()
    kernel: str
    cpu: str
    ports: dict[str, JsonObject]
    sysctls: dict[str, str]


class FileFacts(ContractModel):
    """The copy of a file that a scenario names for its content.

    Attributes:
        kept: Where it is, relative to the run directory.
        digest: Its SHA-256.
    """

    kept: str
    digest: str


class Manifest(ContractModel):
    """The record of a run.

    Attributes:
        format: Version of the run directory's layout.
        started_utc: Wall-clock start (ISO 8601).
        scenario_digest: SHA-256 of scenario.yaml.
        testbed_digest: SHA-256 of testbed.yaml.
        artefact_digest: Digest of the P4 artefact, as reported by the data plane.
        applied: Setting label -> what the target applied.
        software: Component -> version.
        git: Commit and whether the tree was clean; empty outside a git checkout.
        guest_kernels: As the settings name it (empty: the testbed's) -> kernel of the hosts in
            virtual time; empty in real time.
        guest_programs: Our programs that the guests run and the libraries that they compute in,
            C's and DPDK's; in real time, too, programs that are strategies with all of their
            libraries: by file name -> SHA-256.
        CCAs: Name -> CCA that the hosts' kernel did not have of its own.
        disciplines: Name -> queue discipline of the user's own.
        files: Path that the scenario names, as written -> the copy of that file.
        repeatable: Whether the same trial gives the same bytes again.
        cpu: CPU model and number of cores.
        clocksource: The kernel's current clock source.
        sysctls: Sysctl -> value, as applied in the hosts' namespaces.
        ports: Port -> driver, interface and MAC address.
        host: More facts about the machine (offloads, rps_cpus, huge pages, memory).
        certificate: State of the testbed's certificate; null: not recorded.
        sealed: File of the run directory -> SHA-256: all that the run was given, and each sealed
            trial's list of its own files.
        testbeds: Name -> testbed that trials could be given to; empty: all ran on the one above.
        status: State of the run.
    """

    format: Literal[2] = MANIFEST_FORMAT
    run: str
    scenario: str
    started_utc: str
    seed: int
    scenario_digest: str
    testbed_digest: str
    artefact_digest: str
    applied: dict[str, JsonObject]
    software: dict[str, str]
    git: dict[str, str]
    kernel: str
    guest_kernels: dict[str, GuestKernelFacts] = Field(default_factory=dict)
    guest_programs: dict[str, str] = Field(default_factory=dict)
    controls: dict[str, CcaFacts] = Field(default_factory=dict)
    disciplines: dict[str, DisciplineFacts] = Field(default_factory=dict)
    files: dict[str, FileFacts] = Field(default_factory=dict)
    repeatable: bool = False
    cpu: str
    clocksource: str
    sysctls: dict[str, str]
    ports: dict[str, JsonObject]
    host: JsonObject
    certificate: Standing | None = None
    sealed: dict[str, str] = Field(default_factory=dict)
    testbeds: dict[str, TestbedFacts] = Field(default_factory=dict)
    status: Literal["running", "interrupted", "failed", "complete"]


class HostNic(ContractModel):
    """A NIC of the hosts, as it is set during a run.

    Attributes:
        mtu: Its MTU in bytes.
        pauses: Its flow control (PAUSE frames), as read back while it has a link; `unsupported`:
            its driver has no such call.
    """

    interface: str
    mtu: int
    pauses: Literal["off", "on", "unsupported"]


class LabFacts(ContractModel):
    """What trials run on.

    Attributes:
        sysctls: Sysctl -> value, as applied in the hosts' namespaces.
        ports: Port -> driver, interface and MAC address, as far as the session knows.
        nics: Port -> the kernel's NIC at the other end of its cable, as it is set.
        qdiscs: Port -> the queue discipline of the hosts' interface at the other end, where the
            scenario asks for one.
    """

    hello: Hello
    sysctls: dict[str, str]
    ports: dict[str, JsonObject]
    nics: dict[str, HostNic] = Field(default_factory=dict)
    qdiscs: dict[str, str] = Field(default_factory=dict)
