"""Every place that writes aside and renames, in processes that are killed at that moment.

`python -m tests.support.killed_writer` reads lines `[PLACE, FOLDER, MOMENT]` and answers each with
an exit code. Of moments there are `before` the first result has its name, `after` the last one has
(a SIGKILL both), `clean`, what comes next, and `never`: it is written twice, as it is `unflushed`,
with nothing that waits for the disk.
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import jinja2
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from nashbed.analysis import traces
from nashbed.analysis.clock import of_run
from nashbed.analysis.figures import atlas_map
from nashbed.analysis.figures.sketch import Sketch
from nashbed.analysis.pyramid import levels
from nashbed.analysis.report import build
from nashbed.analysis.report.evaluation import write_pages
from nashbed.analysis.results import export
from nashbed.analysis.results.evaluation import Evaluated
from nashbed.controlplane.cli import bench
from nashbed.controlplane.cluster import credentials, kernels, parcel
from nashbed.controlplane.cluster.identity import KernelIdentity
from nashbed.controlplane.cluster.parcel import remove_leftovers
from nashbed.controlplane.config import load_scenario, parse_scenario, parse_testbed
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.machine.c_files import guest_modules, objects
from nashbed.controlplane.machine.guest.scratch import KEPT, guests_folder, remove_dead_sessions
from nashbed.controlplane.machine.host import runs
from nashbed.controlplane.machine.kernels import build as kernel_build
from nashbed.controlplane.machine.kernels.cache import GuestKernel, find_kernel, kernel_cache
from nashbed.controlplane.run import replay
from nashbed.controlplane.run.active_run import new_run
from nashbed.controlplane.store import documents, run_directory, staging
from nashbed.controlplane.store.staging import remove_stale
from nashbed.controlplane.study.adaptive import make_chooser
from tests.support.cached_kernels import put_kernel
from tests.support.kernel_source import make_tree
from tests.unit.controlplane.conftest import SCENARIO, TESTBED, plan_of

Files = dict[str, str]


@dataclass(frozen=True)
class Place:
    """A place that writes aside and renames.

    Attributes:
        module: Where it is.
        write: Writes something of this text into a folder, in the product's own way.
        clean: What comes next and cleans up; None: it is written again.
    """

    module: str
    write: Callable[[Path, str], object]
    clean: Callable[[Path], object] | None = None


def files_in(folder: Path) -> Files:
    """What has its name in a folder, with its content; without the logs of builds."""
    found = [path for path in folder.rglob("*") if path.is_file() and not _aside(path, folder)]
    found = [path for path in found if path.suffix != ".log"]
    return {str(path.relative_to(folder)): path.read_bytes().hex() for path in sorted(found)}


def left_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.name.endswith(".tmp")]


def _aside(path: Path, folder: Path) -> bool:
    return any(part.endswith(".tmp") for part in path.relative_to(folder).parts)


def _put(name: str, new: Any) -> None:
    """Replace something of the product for the rest of this process."""
    patch(f"nashbed.{name}", new).start()


def _document(folder: Path, text: str) -> None:
    documents.write_document(folder / "plan.json", runs.own_state("ab12", text))


def _state(folder: Path, text: str) -> None:
    runs.StateFile(runs.own_state("ab12", text), folder)


def _document_in_a_dead_run(folder: Path, text: str) -> None:
    documents.write_document(folder / "manifest.json", runs.own_state("ab12", text))


def _next_run(folder: Path) -> None:
    dead = runs.own_state("ab12", folder).model_copy(update={"pid": 2**22 + 1})
    runs.require_removed(dead)


def _new_run(folder: Path, text: str) -> None:
    scenario, bed = parse_scenario(SCENARIO, "s.yaml"), parse_testbed(TESTBED, "t.yaml")
    new_run(folder, scenario, bed, plan_of(scenario.model, bed.model), make_chooser)


def _trial(folder: Path, text: str) -> None:
    directory = run_directory.RunDirectory(folder)
    directory.trials.mkdir(exist_ok=True)
    with directory.unsealed(f"trial-{text}") as made:
        made.mkdir()
        pq.write_table(pa.table({"text": [text]}), made / "flows.parquet")
        directory.seal(f"trial-{text}", TrialRecord.model_construct(id=text))


def _resume(folder: Path) -> None:
    run_directory.RunDirectory(folder).remove_unfinished()


def _packed(folder: Path, text: str, shared: Path | None = None) -> parcel.Parcel:
    sent = folder / "sent" / f"trial-{text}"
    sent.mkdir(parents=True, exist_ok=True)
    (sent / "postcards.parquet").write_text(text * parcel.LARGE_BYTES)
    return parcel.pack(sent, shared)


def _keep(folder: Path, text: str) -> None:
    _packed(folder.parent, text, folder)


def _end_of_run(folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    trials = folder.parent / "trials" / "t"
    trials.mkdir(parents=True)
    for name in before - {path.name for path in left_in(folder)}:
        (trials / name).symlink_to(folder / name / "postcards.parquet")
    remove_leftovers(folder, trials.parent)


def _unpack(folder: Path, text: str) -> None:
    parcel.unpack(_packed(folder.parent, text), folder / f"trial-{text}")


def _install(folder: Path, text: str) -> None:
    """A kernel that came; what is there is no kernel, and is replaced."""
    os.environ["XDG_CACHE_HOME"] = str(folder.parent / f"client-{text}")
    if not kernel_cache().exists():
        put_kernel("6.1.176")
    client = find_kernel()
    (client.tree / "text").write_text(text)
    packed = kernels.pack_kernel(client)
    os.environ["XDG_CACHE_HOME"] = str(folder)
    there = kernel_cache() / client.folder.name
    (there / "kernel.json").unlink(missing_ok=True)
    identity = KernelIdentity(
        name="", release=client.release, recipe=client.digest, binary=client.binary_digest
    )
    kernels.install_kernel(identity, packed)
    if text == "old":  # what is there next time is not a kernel, but all of it
        (there / "kernel.json").unlink()


def _credentials(folder: Path, text: str) -> None:
    """Those that are there are about to end."""
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    path = guests_folder() / KEPT
    if path.exists():
        os.utime(path, (0, 0))
    credentials.kept("client")


def _build_kernel(folder: Path, text: str) -> None:
    os.environ["XDG_CACHE_HOME"] = str(folder)
    _put("controlplane.machine.kernels.build.TOOLS", ("make",))
    _put("controlplane.machine.kernels.build.knows_release", lambda release: False)
    release = {"old": (6, 1), "new": (6, 12)}[text]
    tree = folder.parent / f"tree-{text}"
    if not tree.exists():
        make_tree(tree, release)
    kernel_build.build_kernel(str(tree), 1, lambda what, done, total: None)


def _module(folder: Path, text: str) -> None:
    (folder / "tree").mkdir(exist_ok=True)
    (folder / "tree" / "Makefile").write_text("modules:\n\t@cat $(M)/*/*.c > $(M)/mine.ko\n")
    kernel = GuestKernel("6.1.7", "linux-source-6.1", "d" * 64, folder / "linux", "b" * 64)
    (folder.parent / f"{text}.c").write_text(text)
    guest_modules.module_of(kernel, CFile("mine", folder.parent / f"{text}.c", text * 12))


def _object(folder: Path, text: str) -> None:
    os.environ["XDG_CACHE_HOME"] = str(folder.parent / "cache")
    _put(
        "controlplane.machine.c_files.objects.run_compiler",
        lambda source, args: Path(args[-1]).write_text(text),
    )
    cca = CFile("mine", folder.parent / "mine.c", text)
    objects.compile_object(cca, ["clang"], folder / "mine.bpf.o")


def _replay(folder: Path, text: str) -> None:
    def into(capture: Path, config: dict[str, Any], made: Path) -> None:
        (made / replay.SUMMARY).write_text(text)

    _put("controlplane.run.replay._into", into)
    scenario, capture = folder.parent / "s.yaml", folder.parent / "a.pcap"
    scenario.write_text(SCENARIO.replace("2bdp", "10pkt"))
    capture.touch()
    replay.replay(capture, load_scenario(scenario), folder / "out")


def _report(folder: Path, text: str) -> None:
    def draw(*given: Any) -> list[Path]:
        path: Path = given[1] / "figure.svg"
        path.write_text(text)
        return [path]

    _put("analysis.report.build.draw_all", draw)
    _put("analysis.report.build.page_context", lambda findings, figures: {"text": text})
    written: Any = SimpleNamespace(model_dump=lambda mode: {"text": text})
    _put("analysis.report.build.report_summary", lambda findings: written)
    pages = jinja2.Environment(loader=jinja2.DictLoader({"report.html.j2": "{{ text }}"}))
    _put("analysis.report.build.environment", lambda: pages)
    findings: Any = SimpleNamespace(
        summary=SimpleNamespace(measures=None, equilibria=None),
        correlation=None,
        taps=SimpleNamespace(compared=()),
        sharing=(),
    )
    build._write(folder, findings, ("html", "svg"), lambda *_: None)


def _mismatches(folder: Path, text: str) -> None:
    mismatch = SimpleNamespace(**dict.fromkeys(of_run.COLUMNS, text))
    compared: Any = [SimpleNamespace(trial="t", mismatches=[mismatch])]
    of_run.write_mismatches(compared, folder)


def _export(folder: Path, text: str) -> None:
    table = pl.DataFrame({"text": [text]})
    _put("analysis.results.export.flat_tables", lambda measures: {"trials": table})
    measures: Any = None
    export.export_run(measures, folder / "tables")


def _trace(folder: Path, text: str) -> None:
    def write(chosen: object, path: Path) -> dict[str, int]:
        path.write_text(text)
        return {"events": 1}

    chosen: Any = SimpleNamespace(control={0: "cubic"}, trial=SimpleNamespace(id="t"))
    with patch.dict(traces.FORMATS, {"perfetto": ("pftrace", write)}):
        traces.export_trial(folder, "perfetto", chosen)


def _atlas(folder: Path, text: str) -> None:
    def save(figure: object, stem: Path, formats: tuple[str, ...]) -> None:
        for suffix in formats:
            stem.with_name(f"{stem.name}.{suffix}").write_text(text)

    for name, new in {
        "draw_map": lambda *asked: object(), "save": save,
        "points_csv": lambda *asked: text, "map_json": lambda *asked: text,
    }.items():  # fmt: skip
        _put(f"analysis.figures.atlas_map.{name}", new)
    nothing: Any = None
    atlas_map.write_map(nothing, (), folder, "today", {})


def _pyramid(folder: Path, text: str) -> None:
    none: Any = np.zeros(0, np.int64)
    for name, new in {
        "source_of": lambda trial: text, "_fill": lambda *asked: None,
        "_writer": lambda path: nullcontext(),
        "RowGroups.read": lambda path: levels.RowGroups(none, none, none, none),
    }.items():  # fmt: skip
        _put(f"analysis.pyramid.levels.{name}", new)
    trial: Any = SimpleNamespace(arrays=lambda *asked: {"flow": [0]}, file=folder.joinpath)
    levels.build_pyramid(trial, folder / "pyramid")


def _evaluation(folder: Path, text: str) -> None:
    battery = SimpleNamespace(
        name="b",
        title="t",
        source="s",
        subject="x",
        references=(),
        limited=False,
        harm=None,
        games=(),
    )
    found: Any = Evaluated(battery, text, "quick", (), (), (), {})
    write_pages(found, folder)


def _figure(folder: Path, text: str) -> None:
    made: Any = SimpleNamespace(name="f", table=lambda: text)
    Sketch.save(made, folder, ["csv"])


PLACES = {
    "document": Place("controlplane.store.documents", _document),
    "document of a dead run": Place(
        "controlplane.store.documents", _document_in_a_dead_run, _next_run
    ),
    "state": Place("controlplane.machine.host.runs", _state, remove_dead_sessions),
    "state in real time": Place("controlplane.machine.host.runs", _state, runs.remove_dead_runs),
    "trial": Place("controlplane.store.run_directory", _trial, _resume),
    "large tables": Place("controlplane.cluster.parcel", _keep, _end_of_run),
    "parcel": Place("controlplane.cluster.parcel", _unpack, remove_stale),
    "credentials": Place("controlplane.cluster.credentials", _credentials),
    "kernel that came": Place("controlplane.cluster.kernels", _install),
    "kernel": Place("controlplane.machine.kernels.build", _build_kernel),
    "module": Place("controlplane.machine.c_files.guest_modules", _module),
    "object": Place("controlplane.machine.c_files.objects", _object),
    "replay": Place("controlplane.run.replay", _replay),
    "report": Place("analysis.report.build", _report),
    "evaluation": Place("analysis.report.evaluation", _evaluation),
    "mismatches": Place("analysis.clock.of_run", _mismatches),
    "export": Place("analysis.results.export", _export),
    "trace": Place("analysis.traces.export", _trace),
    "figure": Place("analysis.figures.sketch", _figure),
    "atlas": Place("analysis.figures.atlas_map", _atlas),
    "pyramid": Place("analysis.pyramid.levels", _pyramid),
    "bench.json": Place(
        "controlplane.cli.bench", lambda folder, text: bench._write(folder / "bench.json", text)
    ),
}
"""By what they write."""
IN_PLACE = {"new run": Place("controlplane.run.active_run", _new_run)}
"""What is made in its place, and counts once its last document is renamed."""


def _write(place: Place, folder: Path, moment: str) -> None:
    """Write, note what is there, and be killed writing again."""
    usual, moved = staging._move, list[Path]()

    def counted(made: Path, target: Path, replace: bool) -> None:
        moved.append(target)
        usual(made, target, replace)

    with patch.object(staging, "_move", counted):
        place.write(folder, "old")
    results = len(moved)
    assert results > 0, "nothing was renamed"
    before_of(folder).write_text(json.dumps(files_in(folder)))

    def killed(made: Path, target: Path, replace: bool) -> None:
        if moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        counted(made, target, replace)
        if len(moved) == 2 * results:
            os.kill(os.getpid(), signal.SIGKILL)

    with patch.object(staging, "_move", killed):
        place.write(folder, "new")


def _clean(place: Place, folder: Path) -> None:
    if place.clean is not None:
        place.clean(folder)
    else:
        place.write(folder, "new")


def _never_killed(place: Place, folder: Path, flushed: bool) -> None:
    with nullcontext() if flushed else patch.object(staging, "_flush", lambda path: None):
        place.write(folder, "old")
        place.write(folder, "new")


def before_of(folder: Path) -> Path:
    """The file that says what was there before a writer was killed."""
    return folder.with_suffix(".json")


def main() -> None:
    """Do what is asked for, each in a process of its own, and say how that ended."""
    for line in sys.stdin:
        name, folder, moment = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                place = (PLACES | IN_PLACE)[name]
                if moment == "clean":
                    _clean(place, Path(folder))
                elif moment in ("never", "unflushed"):
                    _never_killed(place, Path(folder), moment == "never")
                else:
                    _write(place, Path(folder), moment)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
