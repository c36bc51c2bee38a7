"""The scripts in hosts/fpga, which are no package."""

import importlib.util
import sys
from types import ModuleType

from tests.rtl.simulate import RTL

FPGA = RTL.parent


def load_script(name: str) -> ModuleType:
    """A script of that folder as a module; loaded once."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FPGA / f"{name}.py")
        assert spec is not None and spec.loader is not None
        script = importlib.util.module_from_spec(spec)
        sys.modules[name] = script
        spec.loader.exec_module(script)
    return sys.modules[name]
