"""The bmv2 target: simple_switch, controlled over Thrift."""

from .conversion import bmv2_capabilities, bmv2_resolve
from .switch import Bmv2Switch, bmv2_target

__all__ = ["Bmv2Switch", "bmv2_capabilities", "bmv2_resolve", "bmv2_target"]
