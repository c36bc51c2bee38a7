"""The explorer in a real browser: opened, zoomed, selected, compared, linked; nothing complained.

The page's policy forbids strings as scripts, so a test asks for what it waits for again and again.
All tests open their runs in the same tab: a tab of its own takes longer than what is tested.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from nashbed.controlplane.contract.records import KIND_DEPARTED, MARK_CAPABLE, MARK_CE
from nashbed.controlplane.store.sealed_trial import open_trial
from tests.support.programs import need_program
from tests.support.synthetic_run import SCENARIO, RunWriter, edit_json, write_table

from .test_server import Client, a_trial, serving

pytestmark = pytest.mark.slow
api = pytest.importorskip("playwright.sync_api", reason="needs playwright: `make venv`")
S = 1_000_000_000
WAIT_S = 60.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    need_program("chromium")
    with api.sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


class Screen:
    """A tab that shows runs, and what its console said."""

    def __init__(self, browser: Any) -> None:
        self.page = browser.new_context().new_page()
        self.shown: tuple[str, int, str] | None = None
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", lambda said: self._hear(said.type, said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self._ask(request.url))

    def visit(self, client: Client, width: int = 900, scheme: str = "light") -> Screen:
        """Open pages of this server from now on, in a window of this kind.

        The page that is there is left if the window changes: it would draw itself anew, later.
        """
        shown = client.server.address, width, scheme
        if shown != self.shown:
            self.leave()
        self.client, self.shown = client, shown
        self.complaints, self.elsewhere = [], []
        self.page.set_viewport_size({"width": width, "height": 700})
        self.page.emulate_media(color_scheme=scheme)
        return self

    def leave(self) -> None:
        """What is opened next is loaded anew."""
        self.page.goto("about:blank")

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def _ask(self, url: str) -> None:
        if not url.startswith((self.client.server.address, "data:")):
            self.elsewhere.append(url)

    def script(self, code: str, value: Any = None) -> Any:
        return self.page.evaluate(code, value)

    def until(self, true: Callable[[], Any]) -> None:
        end = time.monotonic() + WAIT_S
        while not true():
            problem = self.page.locator("#problem").inner_text()
            assert time.monotonic() < end, f"not within {WAIT_S:.0f} s: {problem}"
            self.page.wait_for_timeout(50)

    def views(self) -> int:
        return int(self.script("document.body.dataset.views || 0"))

    def after(self, act: Callable[[], Any]) -> None:
        """Act, and wait for the next view."""
        before = self.views()
        act()
        self.until(lambda: self.views() > before)

    def open(self, view: str = "") -> None:
        """By a link within the page, if it is there already."""
        url = f"{self.client.server.address}#{view}"
        if self.page.url == url:
            self.leave()
        before = self.views()
        self.page.goto(url)
        self.until(lambda: self.views() > before)

    def span(self) -> tuple[float, float]:
        low, high = self.script("[view.from, view.to]")
        return low, high

    def panels(self) -> list[str]:
        found: list[str] = self.script(
            "[...document.querySelectorAll('[data-panel]')].map((p) => p.dataset.panel)"
        )
        return found

    def quiet(self) -> None:
        """Nothing was complained of, nothing was asked for elsewhere, and nothing is cut off."""
        assert self.complaints == []
        assert self.elsewhere == []
        wide = self.script("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, "the page is wider than its window"


@pytest.fixture(scope="module")
def tab(browser: Any) -> Screen:
    return Screen(browser)


@pytest.fixture(scope="module")
def run(whole_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that tests only look at."""
    return Path(shutil.copytree(whole_run, tmp_path_factory.mktemp("explored") / "run"))


@pytest.fixture(scope="module")
def client(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(run, tmp_path_factory.mktemp("cache")) as client:
        yield client


@pytest.fixture
def screen(tab: Screen, client: Client) -> Iterator[Screen]:
    yield tab.visit(client)
    tab.quiet()


def test_from_the_run_to_a_trial_and_back(screen: Screen, run: Path) -> None:
    screen.open()
    assert "A synthetic run" in screen.page.locator("h1").inner_text()
    assert screen.page.locator(".payoffs canvas").count() == 1
    screen.page.locator("summary").nth(2).click()
    trial = a_trial(run)
    screen.after(lambda: screen.page.get_by_role("link", name=trial).click())
    assert screen.page.locator("h1").inner_text() == trial
    assert screen.panels()[:6] == ["queue", "rate", "sender", "rtt", "states", "events"]
    assert screen.span() == (0, 6 * S)
    screen.after(lambda: screen.page.keyboard.press("Escape"))
    assert screen.page.locator("#trial").is_hidden()


def test_zoom_and_pan_by_mouse_and_keyboard(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}")
    place = screen.page.locator('[data-panel="queue"] .u-over').bounding_box()
    x, y, width = place["x"], place["y"] + place["height"] / 2, place["width"]

    def drag() -> None:
        screen.page.mouse.move(x + width / 3, y)
        screen.page.mouse.down()
        screen.page.mouse.move(x + width * 2 / 3, y, steps=4)
        screen.page.mouse.up()

    screen.after(drag)
    low, high = screen.span()
    assert low == pytest.approx(2 * S, abs=0.05 * S)
    assert high == pytest.approx(4 * S, abs=0.05 * S)
    screen.after(lambda: screen.page.mouse.wheel(0, -100))
    assert screen.span()[1] - screen.span()[0] == pytest.approx((high - low) / 1.4, rel=1e-6)
    screen.after(lambda: screen.page.keyboard.press("b"))
    assert screen.span() == (low, high)
    screen.after(lambda: screen.page.keyboard.press("w"))
    assert screen.span() == (1 * S, 6 * S)
    screen.after(lambda: screen.page.keyboard.press("+"))
    assert screen.span() == (2.25 * S, 4.75 * S)
    screen.after(lambda: screen.page.keyboard.press("ArrowRight"))
    assert screen.span() == (2.875 * S, 5.375 * S)
    screen.after(lambda: screen.page.keyboard.press("0"))
    assert screen.span() == (0, 6 * S)


def test_down_to_single_packets_with_their_fields(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}&from={2 * S}&to={2 * S + 60_000_000}")
    assert "packets" in screen.panels()
    expected = screen.client.json(
        f"packets?trial={a_trial(run)}&from={2 * S}&to={2 * S + 60_000_000}"
    )["packets"]
    screen.page.locator("details.packet-table summary").click()
    rows = screen.page.locator("details.packet-table tbody tr")
    assert rows.count() == len(expected["seq"])
    first = rows.first.locator("td").all_inner_texts()
    assert first == [str(expected[name][0]) for name in expected]
    screen.page.locator('[data-panel="packets"] .u-over').hover(position={"x": 300, "y": 60})
    screen.until(lambda: "TCP sequence" in screen.page.locator(".readout").inner_text())
    # Of a datagram, which has no flags, nothing is said of TCP.
    of_tcp = screen.script("columns[0].packetText(0)")
    of_udp = screen.script("columns[0].packets.tcp_flags[0] = 0, columns[0].packetText(0)")
    assert of_udp == re.sub(r", TCP sequence \d+, flags 0x\w+", "", of_tcp) != of_tcp


def test_flows_on_and_off(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}")
    screen.page.get_by_role("button", name="all bbr", exact=True).click()
    assert screen.script("columns[0].layers().map((layer) => layer.name)") == ["0 cubic", "1 cubic"]
    screen.page.get_by_role("button", name="0", exact=True).click()
    assert screen.script("columns[0].layers().map((layer) => layer.name)") == ["1 cubic"]
    assert "off=0%2C2%2C3" in screen.page.url
    screen.page.get_by_role("button", name="all bbr", exact=True).click()
    screen.page.keyboard.press("f")
    assert screen.script("columns[0].layers().map((layer) => layer.name)") == ["cubic", "bbr"]


def test_two_trials_on_one_axis(screen: Screen, run: Path) -> None:
    other = a_trial(run, 3)
    screen.open(f"trial={a_trial(run)}")
    screen.after(lambda: screen.page.locator("#with").select_option(other))
    assert screen.page.locator("#columns > section").count() == 2
    assert screen.panels().count("queue") == 2
    screen.after(lambda: screen.page.keyboard.press("+"))
    axes = "columns.map(({panels}) => panels.queue.plot.scales.x)"
    ranges = screen.script(f"{axes}.map(({{min, max}}) => [min, max])")
    assert ranges == [[1.5, 4.5]] * 2


def test_two_trials_have_the_same_scales(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}&with={a_trial(run, 3)}")
    own = screen.script("columns.map(({panels}) => panels.queue.own)")
    tops = screen.script("columns.map(({panels}) => panels.queue.plot.scales.y.max)")
    assert own[0] != own[1]
    assert tops == [max(own)] * 2


def test_nothing_is_drawn_above_the_rate_of_the_link(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}&from={2 * S}&to={2 * S + 60_000_000}&by=strategy")
    found = screen.script("""() => {
      const [{panels, queue, facts}] = columns;
      const sums = (rows) => rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0));
      const drawn = sums(panels.rate.series.rows.map((row) => row.values));
      const counted = sums(queue.departed_bytes.map((row) => Array.from(row)));
      const per = 8e9 / queue.width_ns;
      return {
        drawn: Array.from(drawn), counted: counted.map((each) => each * per), rate: facts.rate_bps,
        link: Array.from(panels.rate.link), width_s: queue.width_ns / 1e9,
      };
    }""")
    assert max(found["counted"]) > 1.2 * found["rate"]  # bins narrower than a packet's time
    assert max(found["drawn"]) <= found["rate"] * (1 + 1e-6)
    assert found["link"] == pytest.approx([found["rate"]] * len(found["link"]))
    before_view = (sum(found["counted"]) - sum(found["drawn"])) * found["width_s"] / 8
    assert 0 <= before_view <= 1514 + 1e-3


def test_colours_tell_states_and_flows_apart(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}")
    states = screen.script("Object.values(STATE_COLOURS)")
    assert len({*states}) == len(states)
    shades = screen.script(
        """() => {
          const flows = Array(10).fill({strategy: "cubic", colour: "#0072b2"});
          return flows.map((_, i) => shade(flows, i));
        }"""
    )
    assert len({*shades}) == 10


def test_two_cursors_and_the_totals_between_them(screen: Screen, run: Path) -> None:
    trial = a_trial(run)
    screen.open(f"trial={trial}&a={2 * S}")
    over = screen.page.locator('[data-panel="queue"] .u-over')
    box = over.bounding_box()
    over.hover(position={"x": box["width"] / 2, "y": 40})
    screen.page.keyboard.press("2")
    screen.until(lambda: "apart" in screen.page.locator("#cursors").inner_text())
    at = screen.script("view.b")
    assert at == pytest.approx(3 * S, abs=0.05 * S)
    summary = screen.page.locator("details.totals summary")
    screen.until(lambda: "from cursor to cursor" in summary.inner_text())
    totals = screen.client.json(f"totals?trial={trial}&from={2 * S}&to={at}")
    assert screen.script("columns[0].totals.data.departed_bytes") == totals["departed_bytes"]
    assert f"b={at}" in screen.page.url
    screen.page.keyboard.press("3")
    screen.until(lambda: "of the view" in summary.inner_text())


def test_the_next_trial_over_the_same_time(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}&from={2 * S}&to={4 * S}")
    ids = screen.script(
        "run.settings.flatMap((s) => s.mixes.flatMap((m) => m.trials)).map((t) => t.id)"
    )
    at = ids.index(a_trial(run))
    for key, step in (("n", 1), ("p", 0)) if at + 1 < len(ids) else (("p", -1), ("n", 0)):
        screen.after(lambda key=key: screen.page.keyboard.press(key))
        assert screen.page.locator("h1").inner_text() == ids[at + step]
        assert screen.span() == (2 * S, 4 * S)


def test_a_view_is_saved_as_picture_and_as_table(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}&from={2 * S}&to={4 * S}&b={3 * S}")

    def saved(name: str) -> str:
        with screen.page.expect_download() as download:
            screen.page.get_by_role("button", name=name, exact=True).click()
        assert download.value.suggested_filename == f"{a_trial(run)}.{name.lower()}"
        return Path(download.value.path()).read_text()

    table = pl.read_csv(saved("CSV").encode(), infer_schema=False)
    rates = table.filter(panel="rate", series="0 cubic").select("time_s", "value").cast(pl.Float64)
    series = "columns[0].panels.rate.series"
    shown = [screen.script(f"[...{series}.{each}]") for each in ("t_s", "rows[0].values")]
    inside = [pair for pair in zip(*shown, strict=True) if 2 <= pair[0] <= 4]
    assert rates.to_numpy() == pytest.approx(np.array(inside))
    assert {*table["panel"]} >= {"queue", "rate", "sender", "rtt", "states"}
    picture = ElementTree.fromstring(saved("SVG"))
    words = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Throughput", "B", a_trial(run)} <= {*words}
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}path"))) > 8


def test_more_than_two_controls_have_a_picture(screen: Screen) -> None:
    run = screen.client.json("run?")
    names = run["strategies"] = ["cubic", "bbr", "reno"]
    run["colours"] = dict.fromkeys(names, "#0072b2")
    for mix in run["settings"][0]["mixes"]:
        mix["flows"] = dict.fromkeys(names, 1)
        for trial in mix["trials"]:
            trial["goodput_bps"] = dict.fromkeys(names, 1e6)
    screen.page.route("**/run?", lambda route: route.fulfill(json=run))
    screen.leave()
    screen.open()
    assert screen.page.locator(".payoffs canvas").count() == 1
    assert screen.page.locator(".payoffs .legend").inner_text().split() == names
    screen.page.unroute("**/run?")
    screen.leave()


def test_a_link_reproduces_the_view(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}")
    screen.after(lambda: screen.page.keyboard.press("w"))
    screen.page.locator("#show").select_option("inflight")
    screen.page.keyboard.press("q")
    screen.page.get_by_role("button", name="1", exact=True).click()
    shown = [
        "JSON.stringify({...view, off: [...view.off]})",
        "[...document.querySelectorAll('[data-panel] h3')].map((each) => each.textContent)",
    ]
    before = [screen.script(each) for each in shown]
    assert "In flight" in before[1]
    link = screen.page.url.partition("#")[2]
    screen.leave()
    screen.open(link)
    assert [screen.script(each) for each in shown] == before


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(400, "dark"), *(pytest.param(*more, marks=pytest.mark.long)
                      for more in ((400, "light"), (1300, "light"), (1300, "dark")))],
)  # fmt: skip
def test_it_fits_narrow_and_wide_windows(
    tab: Screen, client: Client, run: Path, width: int, scheme: str
) -> None:
    screen = tab.visit(client, width, scheme)
    screen.open()
    screen.quiet()
    screen.open(f"trial={a_trial(run)}")
    screen.quiet()
    lightness = screen.script("getComputedStyle(document.body).backgroundColor")
    assert (int(lightness.split("(")[1].split(",")[0]) > 128) == (scheme == "light")


# The strip below the axes.

SLOW_ANSWERS = """(ms) => {
  const fetched = window.fetch;
  const later = () => new Promise((go) => setTimeout(go, ms));
  window.fetch = (...asked) => later().then(() => fetched(...asked));
}"""


@pytest.mark.parametrize("slow_ms", [pytest.param(0, marks=pytest.mark.long), 300])
def test_the_strip_moves_and_resizes_the_view(screen: Screen, run: Path, slow_ms: int) -> None:
    screen.open(f"trial={a_trial(run)}&from={2 * S}&to={4 * S}")
    screen.script(SLOW_ANSWERS, slow_ms)
    screen.page.locator(".strip").scroll_into_view_if_needed()

    def drag(begin_s: float, end_s: float) -> None:
        strip = screen.page.locator(".strip").bounding_box()  # panels above come and go
        y = strip["y"] + strip["height"] / 2
        screen.page.mouse.move(strip["x"] + strip["width"] * begin_s / 6, y)
        screen.page.mouse.down()
        screen.page.mouse.move(strip["x"] + strip["width"] * end_s / 6, y, steps=3)
        screen.page.mouse.up()

    def settle(low: float, high: float) -> None:
        near = 0.05 * S
        screen.until(lambda: screen.span() == pytest.approx((low, high), abs=near))

    drag(3, 4)  # by its middle
    settle(3 * S, 5 * S)
    drag(5, 6)  # its end
    settle(3 * S, 6 * S)
    drag(3, 2)  # its beginning
    settle(2 * S, 6 * S)
    drag(4, 1)  # by its middle, to the edge of the trial
    settle(0, 4 * S)
    drag(5, 6)  # beside it: a new one
    settle(5 * S, 6 * S)
    screen.page.keyboard.press("b")
    settle(0, 4 * S)
    screen.leave()  # with its slow answers


def test_the_strip_answers_to_keys(screen: Screen, run: Path) -> None:
    screen.open(f"trial={a_trial(run)}&from={2 * S}&to={4 * S}")
    titles = {"from": "Beginning of the view", "view": "The view", "to": "End of the view"}
    grips = {
        name: screen.page.get_by_role("slider", name=t, exact=True) for name, t in titles.items()
    }
    for grip, key, expected in (
        ("view", "ArrowRight", (2.1 * S, 4.1 * S)), ("from", "ArrowLeft", (2.0 * S, 4.1 * S)),
        ("to", "End", (2.0 * S, 6 * S)), ("view", "Home", (0, 4 * S)),
    ):  # fmt: skip
        screen.after(lambda grip=grip, key=key: grips[grip].press(key))
        assert screen.span() == pytest.approx(expected)
        assert grips["to"].get_attribute("aria-valuenow") == f"{expected[1] / S:g}"


def test_marks_have_ticks_of_their_own(tab: Screen, run_copy: Path, tmp_path: Path) -> None:
    trial = run_copy / "trials" / a_trial(run_copy)
    cards = open_trial(trial).arrays("postcards")
    ce = (cards["seq"] % 9 == 0) & (cards["kind"] == KIND_DEPARTED)
    marks = np.where(ce, MARK_CE | MARK_CAPABLE, 0)
    write_table(trial, "postcards", cards | {"marks": marks})
    with serving(run_copy, tmp_path / "cache") as client:
        screen = tab.visit(client)
        screen.open(f"trial={trial.name}")
        screen.until(lambda: screen.page.locator("details.totals").count() == 1)
        events = screen.page.locator('[data-panel="events"]')
        assert events.locator("h3").inner_text() == "Drops, marks and retransmissions"
        queue = "columns[0].queue"
        bins = f"{queue}.width_ns * {queue}.marked_packets[0].length"
        end = screen.script(f"{queue}.start_ns + {bins}")
        shown = (ce & (cards["dequeue_ns"] < end)).sum()
        assert shown > 0
        assert f"CE marks ({shown} in view)" in events.locator(".legend").inner_text()
        assert "marked" in screen.page.locator("details.totals th").all_text_contents()
        found = screen.script(
            """() => {
              const panel = columns[0].panels.events, colour = packed(css("--mark"));
              return panel.raster.pixels.filter((each) => each === colour).length;
            }"""
        )
        assert found > 0
        screen.quiet()


def test_the_picture_of_payoffs_and_the_table_are_linked(screen: Screen) -> None:
    screen.open()
    picture = screen.page.locator(".payoffs .u-over")
    box = picture.bounding_box()
    picture.click(position={"x": box["width"] / 2, "y": 40})
    row = screen.page.locator("tr.chosen")
    assert row.get_attribute("data-mix") == "2 cubic + 2 bbr"
    assert row.locator("details").get_attribute("open") is not None
    screen.page.locator('tr[data-mix="1 cubic + 3 bbr"]').hover()
    assert row.get_attribute("data-mix") == "1 cubic + 3 bbr"


# Runs that lack something.


def opened(tab: Screen, run: Path, tmp_path: Path, *views: str) -> list[str]:
    """What a page says in each view of a run, without a complaint."""
    texts = []
    with serving(run, tmp_path / "cache") as client:
        for view in views:
            tab.visit(client).open(view)
            tab.quiet()
            texts.append(tab.page.locator("body").inner_text())
    return texts


def test_a_run_with_invalid_trials(tab: Screen, tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run", SCENARIO | {"duration": "2s"})
    trial = writer.add(writer.settings()[0], (2,), valid=False).name
    of_run, of_trial = opened(tab, writer.finish(), tmp_path, "", f"trial={trial}")
    assert "1, 1 invalid" in of_run
    assert "invalid: lateness: 9 ms" in of_trial


def test_a_run_with_a_damaged_table(tab: Screen, run_copy: Path, tmp_path: Path) -> None:
    path = run_copy / "trials" / a_trial(run_copy) / "postcards.parquet"
    content = path.read_bytes()
    third = len(content) // 3
    path.write_bytes(content[:third] + b"\xff" * third + content[2 * third :])
    (text,) = opened(tab, run_copy, tmp_path, f"trial={path.parent.name}")
    assert "the queue is damaged" in text
    assert "Smoothed RTT" in text
    (path.parent / "goodput.parquet").write_bytes(b"nothing")
    assert f"{path.parent.name} is damaged" in opened(tab, run_copy, tmp_path, "")[0]


def test_an_unknown_trial_is_said(tab: Screen, client: Client) -> None:
    screen = tab.visit(client)
    screen.page.goto(client.server.address + "#trial=nothing")
    screen.until(lambda: screen.page.locator("#problem").is_visible())
    assert screen.page.locator("#problem").inner_text() == "there is no such trial"


def test_a_trial_that_is_sealed_meanwhile_appears(
    tab: Screen, run_copy: Path, tmp_path: Path
) -> None:
    edit_json(run_copy / "manifest.json", status="running")
    late = run_copy / "trials" / a_trial(run_copy, 0)
    late.rename(run_copy / "late")
    with serving(run_copy, tmp_path / "cache") as client:
        screen = tab.visit(client)
        screen.open()
        facts = screen.page.locator("#facts")
        assert "4 of 5 planned trials" in facts.inner_text()
        (run_copy / "late").rename(late)
        screen.until(lambda: "5 of 5" in facts.inner_text())
        screen.quiet()
