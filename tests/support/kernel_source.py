"""A fake Linux source tree: it has what hosts/uml/edits.py looks for, and "compiles" at once."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from nashbed.controlplane.machine.paths import UML

MAKEFILE = """\
VERSION = {major}
PATCHLEVEL = {minor}
SUBLEVEL = 7

kernelversion:
	@echo {major}.{minor}.7
allnoconfig:
	@cp $(KCONFIG_ALLCONFIG) .config
	@echo 'CONFIG_CC_VERSION_TEXT="fakecc 1.0"' >> .config
	@{configured}
linux:
	@echo '  CC      init/main.o'
	@{compiled}
	@cat arch/um/drivers/nashbed_kern.c .config > linux
modules: linux
	@mkdir -p include/config include/linux include/drm include/generated scripts/mod
	@cp .config include/config/auto.conf
	@touch Module.symvers include/linux/tcp.h include/drm/drm.h scripts/mod/modpost scripts/mod/a.o
	@touch include/generated/rustc_cfg
.PHONY: linux modules
"""


def load_edits() -> ModuleType:
    """hosts/uml/edits.py, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("uml_edits", UML / "edits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


EDITS = load_edits()


def make_tree(
    folder: Path, release: tuple[int, int], configured: str = "true", compiled: str = "true"
) -> Path:
    """A tree of a release that every edit of it fits.

    Args:
        release: Its first two numbers.
        configured: A shell command that ends its configuration.
        compiled: A shell command in the middle of its compilation.
    """
    major, minor = release
    texts = {
        "Makefile": MAKEFILE.format(
            major=major, minor=minor, configured=configured, compiled=compiled
        ),
        "arch/um/drivers/Makefile": "",
    }
    for edit in EDITS.edits_of(release):
        for change in edit.changes:
            before = texts.get(change.path, "first line\n")
            if change.anchor not in before:
                texts[change.path] = f"{before}{change.anchor}\n"
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder
