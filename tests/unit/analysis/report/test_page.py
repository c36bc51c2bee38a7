"""The page as it is read: what stands where, on a screen of any width and on paper."""

import json
import re
from pathlib import Path

import pytest
from nashbed.analysis.nash.of_run import equilibria_of_run
from nashbed.analysis.report import build_report
from tests.support.shown_text import ShownPage
from tests.support.synthetic_run import write_run

from .test_report import Page, files_of

pytestmark = pytest.mark.slow

GLUED = re.compile(r"[a-z0-9)%][.;:,][A-Z]|[.;:,][A-Z][a-z]+ [a-z]+[.;:,][A-Z]|\s[.;,]")
"""The end of a sentence without a space behind it, or a space before a stop."""
FACT = re.compile(r"[A-Z0-9].*[^.]\.")


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two repetitions of two seconds: intervals, and trials that cannot have settled."""
    folder = tmp_path_factory.mktemp("page")
    run = write_run(folder / "run", trials=2, duration="2s", warmup="500ms")
    assert build_report(run) == run / "report" / "index.html"
    return run


@pytest.fixture(scope="module")
def page(repeated: Path) -> ShownPage:
    return ShownPage(repeated / "report" / "index.html")


def test_report_is_whole_and_self_contained(repeated: Path) -> None:
    report = repeated / "report"
    read = Page(report / "index.html")
    assert not read.open
    assert len(read.images) >= 5
    names = sorted(p.name for p in (report / "figures").iterdir())
    assert {Path(n).suffix for n in names} == {".svg"}
    assert "throughput_by_mix-b2bdp.svg" in names
    assert (report / "index.html").stat().st_size < 4_000_000
    assert not list(report.glob(".*"))
    summary = json.loads((report / "summary.json").read_text())
    assert len(summary["rows"]) == 5
    assert [row["mixes"] for row in summary["models"]["buffers"]] == [3, 3]
    for text in (
        "Equilibrium",
        "Models against measurement",
        "10 of 10 sealed trials",
        "conservation",
        "kernel",
    ):
        assert text in read.text


@pytest.mark.long
def test_figures_drawn_again_have_the_same_bytes(repeated: Path, tmp_path: Path) -> None:
    again = build_report(repeated, out=tmp_path / "again").parent
    assert files_of(again) == files_of(repeated / "report")


def test_the_mix_stands_alone_and_every_fact_in_a_line_of_its_own(
    page: ShownPage, repeated: Path
) -> None:
    (found,) = equilibria_of_run(repeated)
    headline = found.headline()
    assert found.unsettled
    (card,) = page.of_class("card")
    (mix,) = page.of_class("card-main")
    assert mix.lines == [headline.claim]
    assert headline.claim == f"at 2 s, from a common start: {headline.mix}"
    assert "95 %" not in headline.claim
    (asked,), (told,), (sure,) = (page.of_class(c) for c in ("question", "sentence", "sure"))
    assert asked.lines == [
        "If each of 4 flows could choose between cubic and bbr, how many would run which?"
    ]
    assert told.lines[0].startswith("With a buffer of 2 BDP, ")
    assert sure.lines[0].endswith("; not settled, so it holds at 2 s, from a common start.")
    setting, shown_mix, *facts = card.lines
    assert setting.startswith("10 Mbit/s, base RTT 40 ms, buffer 2 BDP")
    assert shown_mix == headline.claim
    assert facts[0] == f"95 % interval of trials of this length and start: {headline.interval}."
    assert f"{found.unsettled} of {found.trials} trials had not settled (~)." in facts
    assert any(fact.startswith("By each repetition alone: ") for fact in facts)
    assert all(FACT.fullmatch(fact) for fact in facts), facts


def test_no_two_sentences_are_glued_together(page: ShownPage) -> None:
    shown = [e for e in page.elements if e.tag in {"p", "li", "td", "th", "dd", "h2"}]
    texts = [line for each in shown if not each.is_in("keys") for line in each.lines]
    assert len(texts) > 200
    assert [text for text in texts if GLUED.search(text)] == []


def test_every_table_can_be_scrolled(page: ShownPage) -> None:
    tables = page.of_tag("table")
    assert len(tables) >= 5
    assert all(table.is_in("scroll") for table in tables)


def test_intervals_stand_below_their_means(page: ShownPage) -> None:
    """Beside them they would make the table of the mixes wider than a window."""
    intervals = page.of_class("below")
    assert len(intervals) >= 5
    assert all(each.tag == "small" and each.around[-1].tag == "td" for each in intervals)


def rules(page: Path, media: str) -> str:
    """The rules of the page's style sheet under an @media."""
    text = page.read_text()
    start = text.index(f"@media {media} {{")
    depth = 0
    for end in range(text.index("{", start), len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[start:end]
    raise AssertionError("the style sheet ends within a rule")


def test_on_paper_nothing_is_cut(repeated: Path) -> None:
    page = repeated / "report" / "index.html"
    printed = rules(page, "print")
    assert re.search(r"figure, tr[^{]*\{ break-inside: avoid; \}", printed)
    assert re.search(r"\.scroll \{ max-height: none; overflow: visible; [^}]*\}", printed)
    assert "#validity { page: across; }" in printed  # a column for each gate
    # Paper has what its reader opened, and how to read the first picture.
    assert re.findall(r"(\S*)::details-content", printed) == ["details.how"]
    assert "section { break-inside" not in page.read_text()  # one is longer than a sheet


def test_what_cannot_be_read_small_has_a_row_of_its_own(page: ShownPage) -> None:
    wide = {name for figure in page.of_class("wide") for name in figure.classes}
    assert wide == {"wide", "throughput_by_mix", "model_assumptions"}
    assert all(figure.tag == "figure" for figure in page.of_class("wide"))


def test_commands_and_units_are_written_as_such(page: ShownPage) -> None:
    (facts,) = page.of_class("facts")
    assert "2 s, of which 500 ms warm-up" in facts.lines
    assert "4 main (40 ms)" in facts.lines
    assert "`" not in facts.text
    limits = [each for each in page.of_tag("code") if each.is_in("limits")]
    assert "duration: {until: settled}" in [each.text for each in limits]


def test_only_a_dark_screen_darkens_figures(repeated: Path) -> None:
    page = repeated / "report" / "index.html"
    dark = rules(page, "screen and (prefers-color-scheme: dark)")
    assert "figure img" in dark
    assert "invert(" in dark
    assert page.read_text().count("invert(") == 1


def test_it_says_how_to_open_the_run_in_the_explorer(page: ShownPage, repeated: Path) -> None:
    assert f"nashbed explore {repeated}" in [each.text for each in page.of_tag("code")]
