"""The files of an atlas: its figure, every point, and what was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.store.staging import Staging

from ..atlas.compute import EquilibriumMap
from ..atlas.settings import PlacedSetting
from ..atlas.tables import map_json, points_csv
from . import phase_diagram
from .style import house_style, save

STEM = "atlas"
FORMATS = ("png", "pdf", "svg")
FILES = (*(f"{STEM}.{suffix}" for suffix in FORMATS), f"{STEM}.csv", f"{STEM}.json")


def check_folder(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that an atlas cannot go into.

    Args:
        folder: Where its files are to go.
        overwrite: Whether an atlas that is there may be replaced.

    Raises:
        ConfigError: It is no folder, or has an atlas.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--out: {folder} is a file; give a folder")
    there = [name for name in FILES if (folder / name).exists()]
    if there and not overwrite:
        raise ConfigError(
            f"--out: {folder} has {', '.join(there)}; give a new folder, or --overwrite"
        )


def write_map(
    computed: EquilibriumMap,
    placed: Sequence[PlacedSetting],
    folder: Path,
    note: str,
    made: Mapping[str, Any],
) -> list[Path]:
    """Write all files of an atlas; a stop leaves the files that were there before.

    Args:
        computed: The map.
        placed: The measured settings that belong on it.
        folder: Where they go; it is made if it is missing.
        note: What the figure says besides, such as the date.
        made: When and by what it was made, for the JSON file.

    Raises:
        ConfigError: The model answers nowhere on the map.
        HostError: A file cannot be written.
    """
    with house_style():
        figure = phase_diagram.draw(computed, placed, note)
        if figure is None:
            why = computed.points[0].crossing.refusals
            raise ConfigError(f"--model: {computed.model} answers nowhere on the map: {why[0]}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with Staging(folder, STEM) as staging:
                work = staging.place
                save(figure, work / STEM, FORMATS)
                (work / f"{STEM}.csv").write_text(points_csv(computed))
                (work / f"{STEM}.json").write_text(map_json(computed, placed, made))
                return [staging.publish(work / name, folder / name) for name in FILES]
        except OSError as error:
            raise HostError(f"{folder}: cannot be written ({error.strerror or error})") from error
