"""Figures as files, which processes beside this one write."""

import gc
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from .style import SVG_DPI

AT_ONCE = 4
"""Figures that a process saves: to copy this one takes a third of the time of one figure."""
Save = Callable[[Figure, Path, Sequence[str]], object]


def save(figure: Figure, stem: Path, formats: Sequence[str]) -> list[Path]:
    """Save a figure in each format; the bytes depend on the data only.

    Args:
        stem: Path without suffix.
        formats: Suffixes: png, pdf, svg.
    """
    # Laid out once: each format would do it again, and it takes as long as the drawing.
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)
        # The solver's last digits vary with the addresses of its variables.
        for ax in figure.axes:
            ax.set_position(Bbox(ax.get_position(original=True).get_points().round(9)))
    paths = []
    for suffix in formats:
        path = stem.with_name(f"{stem.name}.{suffix}")
        metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
        dpi = SVG_DPI if suffix == "svg" else "figure" if suffix == "pdf" else None
        with _glyphs_only() if suffix == "pdf" else nullcontext():
            figure.savefig(path, format=suffix, metadata=metadata.get(suffix), dpi=dpi)
        paths.append(path)
    return paths


@contextmanager
def _glyphs_only() -> Iterator[None]:
    """Fonts in a PDF without OpenType's layout tables: no viewer reads them.

    matplotlib places each glyph itself, but has fontTools cut these tables down, too, which takes
    longer than all the rest of a figure.
    """
    from fontTools import subset  # noqa: PLC0415 - slow to import

    usual = subset.load_font

    def load_font(*args: Any, **options: Any) -> Any:
        font = usual(*args, **options)
        for table in ("GDEF", "GPOS", "GSUB"):
            if table in font:
                del font[table]
        return font

    subset.load_font = load_font
    try:
        yield
    finally:
        subset.load_font = usual


@contextmanager
def saving_beside() -> Iterator[Save]:
    """Yield what `save` is, but on all cores: files are whole when the block ends.

    Layout and files take several times as long as drawing a figure. That remains here, for it reads
    the data by libraries with threads of their own, which a forked process lacks; matplotlib has
    none. What no process could save is saved here, so that its error is this process's.
    """
    drawn: list[Callable[[], object]] = []
    begun: deque[tuple[int | None, list[Callable[[], object]]]] = deque()

    def begin() -> None:
        if len(begun) == len(os.sched_getaffinity(0)):
            finish_first()
        begun.append((_fork(drawn), list(drawn)))
        drawn.clear()

    def finish_first() -> None:
        process, saves = begun.popleft()
        if not _succeeded(process):
            for each in saves:
                each()

    def save_beside(figure: Figure, stem: Path, formats: Sequence[str]) -> None:
        drawn.append(partial(save, figure, stem, formats))
        if len(drawn) == AT_ONCE:
            begin()

    try:
        yield save_beside
        if drawn:
            begin()
        while begun:
            finish_first()
    finally:
        for process, _ in begun:
            _succeeded(process)


def _fork(saves: Sequence[Callable[[], object]]) -> int | None:
    """Save in a copy of this process, which says nothing; None: there can be no more."""
    parent, status = os.getpid(), 1
    try:
        process = os.fork()
        if process == 0:
            gc.disable()
            warnings.simplefilter("ignore")
            for each in saves:
                each()
            status = 0
    except OSError:
        return None
    finally:
        if os.getpid() != parent:
            os._exit(status)
    return process


def _succeeded(process: int | None) -> bool:
    """Wait for a process."""
    try:
        return process is not None and os.waitpid(process, 0)[1] == 0
    except ChildProcessError:  # where the caller ignores SIGCHLD, nobody knows how it ended
        return False
