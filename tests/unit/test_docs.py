"""The documentation: it builds strictly, its links lead somewhere, and it needs no network."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import nashbed as nb
import pytest
from nashbed.analysis.metrics import METRICS
from nashbed.controlplane.cli.app import COMMANDS
from nashbed.controlplane.contract.errors import EXIT_CODES
from nashbed.controlplane.store.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Tag -> attribute that names what a browser loads with a page."""

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """What a page links to, what it loads, and which anchors it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if "id" in has:
            self.anchors.add(has["id"])
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        if has.get(LOADED.get(tag, "")):
            self.loads.append(has[LOADED[tag]])


@pytest.fixture(scope="module", params=["basic", pytest.param("furo", marks=pytest.mark.long)])
def site(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The site, built as `make docs` does; half of its time is Furo's tree on each page."""
    made, theme = tmp_path_factory.mktemp("docs"), f"html_theme={request.param}"
    (line,) = [x for x in (ROOT / "Makefile").read_text().splitlines() if "-m sphinx" in x]
    words = line.split()[1:]
    assert words[-4:] == ["-d", "build/doctrees", "docs", "build/docs"]
    done = subprocess.run(
        [sys.executable, *words[:-4], "-D", theme, "-d", made / "doctrees", "docs", made / "html"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return made / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_link_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    lost = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            if re.match(r"\w+:", link):
                continue
            where, _, anchor = unquote(link).partition("#")
            aim = (path.parent / where.partition("?")[0]).resolve() if where else path
            known = pages.get(aim)
            if not aim.is_file() or (anchor and known and anchor not in known.anchors):
                lost.append(f"{path.relative_to(site)}: {link}")
    assert not lost


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    foreign = [link for page in pages.values() for link in page.loads if re.match(r"\w*:?//", link)]
    for path in site.rglob("*.css"):
        foreign += re.findall(
            r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^)"']+)""", path.read_text()
        )
    assert not foreign


def text_of(site: Path, page: str) -> str:
    return re.sub(r"<[^>]+>", "", (site / "reference" / page).read_text())


@pytest.mark.parametrize("kind", ["scenario", "testbed", "cluster"])
def test_every_key_is_there_with_its_meaning(site: Path, kind: str) -> None:
    schema = json.loads((ROOT / "configs" / "schema" / f"{kind}.schema.json").read_text())
    page = (site / "reference" / f"{kind}.html").read_text()
    rows = re.findall(
        r"<tr[^>]*>\s*<td><p><code[^>]*><span[^>]*>([^<]+)</span></code></p></td>(.*?)</tr>",
        page,
        re.S,
    )
    cells = [
        (key, re.sub(r"<[^>]+>", "", rest.rpartition("<td>")[2]).strip()) for key, rest in rows
    ]
    models = [schema, *(each for each in schema["$defs"].values() if "properties" in each)]
    keys = [key for model in models for key in model["properties"] if key != "$schema"]
    assert sorted(key for key, _ in cells) == sorted(keys)
    assert [key for key, meaning in cells if len(meaning) < 4] == []


def test_the_reference_of_python_is_what_is_public(pages: dict[Path, Page], site: Path) -> None:
    anchors = pages[site / "reference" / "python.html"].anchors
    documented = {
        match[1] for each in anchors if (match := re.fullmatch(r"(?:module-)?nashbed\.(\w+)", each))
    }
    assert documented == set(nb.__all__)


def test_metrics_that_pages_name_exist() -> None:
    """A name whose last word is that of a metric is one, or is said somewhere in the product."""
    last = {name.rpartition("_")[2] for name in METRICS}
    files = (f for room in ("analysis", "controlplane") for f in (ROOT / room).rglob("*.py"))
    known = {*METRICS, *(word for f in files for word in re.findall(r"\w+", f.read_text()))}
    named = {
        (str(page.relative_to(ROOT)), name)
        for page in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", page.read_text())
    }
    assert [n for n in sorted(named) if n[1].rpartition("_")[2] in last and n[1] not in known] == []


def test_commands_tables_metrics_and_exit_codes_are_all_there(site: Path) -> None:
    commands = text_of(site, "commands.html")
    for lazy in COMMANDS:
        for name in ("", *(f" {each}" for each in getattr(lazy.load(), "commands", {}))):
            assert f"nashbed {lazy.name}{name}" in commands
    tables = text_of(site, "run-directory.html")
    assert [c for schema in TABLES.values() for c in schema.names if c not in tables] == []
    metrics = text_of(site, "metrics.html")
    assert [name for name in METRICS if name not in metrics] == []
    codes = text_of(site, "exit-codes.html")
    assert [each for each in EXIT_CODES if each.meaning not in codes] == []


def test_type_checkers_know_nashbed_and_take_what_the_tutorial_writes(tmp_path: Path) -> None:
    tutorial = (ROOT / "docs" / "tutorials" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", tutorial, re.DOTALL)
    mine = tmp_path / "mine.py"
    mine.write_text("".join(blocks) + "scenario.flows[0].base_rtt.seconds + plan.trials\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", mine],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    said = done.stdout.splitlines()
    assert len(said) == 2, done.stdout  # of the last line alone, which is wrong on purpose
    assert 'operand types for + ("float" and "tuple[PlannedTrial, ...]")' in said[0]
