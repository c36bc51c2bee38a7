"""A stand-in for Slurm: sbatch runs a job's script on this machine, scancel ends it."""

from pathlib import Path

SBATCH = """#!/bin/sh
cp "$1" {folder}/script.$$
setsid sh {folder}/script.$$ > {folder}/output.$$ 2>&1 < /dev/null &
echo $! >> {folder}/submitted
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/bash
echo "$1" >> {folder}/cancelled
kill -TERM -- "-$1"
"""
REFUSING = """#!/bin/sh
echo "sbatch: error: invalid partition specified: nonesuch" >&2
exit 1
"""


def install(folder: Path, refuse: bool = False) -> None:
    """Write sbatch and scancel into a folder, for PATH.

    Args:
        folder: An existing folder; `submitted` and `cancelled` list jobs by their process group.
        refuse: Whether sbatch takes no job.
    """
    programs = {"sbatch": REFUSING if refuse else SBATCH, "scancel": SCANCEL}
    for name, text in programs.items():
        path = folder / name
        path.write_text(text.replace("{folder}", str(folder)))
        path.chmod(0o755)


def jobs(folder: Path, which: str) -> list[int]:
    """Process groups of jobs that were `submitted` or `cancelled`."""
    path = folder / which
    return sorted(map(int, path.read_text().split())) if path.exists() else []
