# SPDX-License-Identifier: Apache-2.0
"""Writes the distributions `nashbed` and `nashbed-kernel` into dist/: `make wheel`."""

# ruff: noqa: T201 -- a command line program says what it does.

from __future__ import annotations

import argparse
import sys

import kernel
import testbed

WHICH = ("nashbed", "kernel")


def main() -> int:
    """Make what is asked for."""
    parser = argparse.ArgumentParser(prog="hosts/wheel", description=__doc__)
    parser.add_argument("which", nargs="*", default=WHICH, help="of nashbed, kernel: both")
    parser.add_argument("--source", default="", help="of the kernel, as for `nashbed kernel build`")
    chosen = parser.parse_args()
    written = [testbed.make()] if "nashbed" in chosen.which else []
    if "kernel" in chosen.which:
        written += kernel.make(chosen.source)
    print(*written, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
