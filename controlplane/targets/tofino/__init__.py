"""The tofino target: a switch driven over BfRt gRPC."""

from .capabilities import tofino_capabilities, tofino_section
from .examination import examine_switch
from .preview import preview_session, preview_setting
from .resolving import tofino_resolve
from .switch import TofinoSwitch

__all__ = [
    "TofinoSwitch",
    "examine_switch",
    "preview_session",
    "preview_setting",
    "tofino_capabilities",
    "tofino_resolve",
    "tofino_section",
]
