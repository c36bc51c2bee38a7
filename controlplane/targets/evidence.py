"""What each claim about hardware and hosts has met so far, and what stays unproven."""

from ..contract.model import ContractModel


class Evidence(ContractModel):
    """One claim.

    Attributes:
        claim: What nashbed says it does.
        met: The nearest real thing that it has met, here or on a machine like this one.
        proves: What that shows.
        unproven: What it cannot show.
    """

    claim: str
    met: str
    proves: str
    unproven: str


EVIDENCE = (
    Evidence(
        claim="The P4 bottleneck is drop-tail to the byte, and its postcards are exact (`dpdk`, "
        "`virtual`)",
        met="DPDK's SWX pipeline, interpreted and compiled, against plain Python models and one "
        "conformance suite for all targets; whole trials of some Mbit/s on two packet loops",
        proves="order, conservation, limits, departure times and postcards, packet by packet, and "
        "to the byte however lanes are spread over loops",
        unproven="whole trials on several polling loops with cores left for the flows: the machine "
        "had two cores",
    ),
    Evidence(
        claim="The same P4 program runs on `bmv2`",
        met="simple_switch 1.15.5, built from its source: the conformance suite and live trials "
        "(57 tests, which CI skips)",
        proves="parsing, tables, registers, postcards; whole trials of some Mbit/s",
        unproven="exact rates: simple_switch limits packets per second",
    ),
    Evidence(
        claim="The P4 program runs on a Tofino switch, and the control plane drives it",
        met="p4c's Tofino backend and assembler; the source of the switch's driver; a server that "
        "refuses what that driver refuses, table by table",
        proves="the program fits both chips; every request is one that the driver accepts, and "
        "the undo restores what was there",
        unproven="anything on the software model or on a chip: the shaper's rate, cells, depths, "
        "times, the packet generator, port speeds, FEC and cables",
    ),
    Evidence(
        claim="Flows of real kernels run through DPDK, with emulated base RTTs",
        met="kernel TCP over AF_XDP, AF_PACKET and TAP ports on virtual interfaces; testpmd on "
        "the same ports for comparison; e1000e, vmxnet3 and virtio-net in QEMU, whole "
        "runs on e1000e included (`make test-pci`)",
        proves="every frame counted, round trips and departures within a certificate's bounds "
        "(`nashbed calibrate`)",
        unproven="more than a few Mbit/s on PCI, RSS, NUMA, time stamps made by NICs",
    ),
    Evidence(
        claim="Virtual time gives the shares of real time",
        met="User-Mode Linux against this machine's kernel, by two one-sided tests",
        proves="of nine mixes of ten flows four are equivalent within two points and none is "
        "shown to differ; starts are alike if the kernels are",
        unproven="the other 27 mixes of the matrix; fifty flows",
    ),
    Evidence(
        claim="Time stamps of captures are read exactly, whoever wrote them",
        met="published formats, tshark's decoders, captures made byte by byte",
        proves="every field, for whole and for damaged files",
        unproven="files written by the devices themselves",
    ),
    Evidence(
        claim="The FPGA core stamps frames at line rate",
        met="Icarus Verilog against plain Python models, with LiteEth's MAC from RGMII pins to "
        "RGMII pins; place and route on two ECP5 chips and for a board (Yosys, nextpnr)",
        proves="stamps, trailers, FCS and back-pressure, beat by beat; one port of 64 bits at the "
        "156.25 MHz of 10 GbE on the faster chip; two ports of 1 Gbit/s on a board of 50 euros by "
        "nextpnr's timing",
        unproven="the bitstream on that board: RGMII delays, link; 512 bits placed",
    ),
    Evidence(
        claim="Pktgen-DPDK can load a bottleneck for its calibration",
        met="Pktgen-DPDK 23.03 over a virtual interface; in the tests, a stand-in with what it "
        "answered",
        proves="the script, every frame counted, a calibration",
        unproven="line rate",
    ),
)
