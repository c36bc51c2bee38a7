"""A run whose trials ran on several testbeds: do these measure the same?"""

from .compare import Comparisons, TestbedComparison, compare_testbeds

__all__ = ["Comparisons", "TestbedComparison", "compare_testbeds"]
