"""Load generators behind one seam: Pktgen-DPDK, dpdk-testpmd, and our own."""

from .base import Burst, Load, Step

__all__ = ["Burst", "Load", "Step"]
