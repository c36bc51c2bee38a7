"""Load generators behind one seam: Pktgen-DPDK, dpdk-testpmd, and our own."""

from .base import Burst, BurstStep, Load

__all__ = ["Burst", "BurstStep", "Load"]
