"""How fast the explorer is, and what memory it takes: by hand, on a quiet machine.

    .venv/bin/python -m tests.support.explorer_speed results/<run> [ZOOMS]

Zooms are at random places (of one seed) of the run's first trial, of all of it, 10 %, 1 % and
0.1 %, and then by keys. A time is from the change of the view until the frame with the result is
drawn. Memory is what /proc says: resident of the server, proportional (shared pages counted once)
of the browser.
"""

import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

SHARES = {1.0: 8, 0.1: 4, 0.01: 4, 0.001: 4}
"""Part of the trial in view -> one in how many of the zooms."""
KEYS = ["+"] * 12 + ["ArrowRight"] * 3 + ["-"] * 12
WALKS = 3
FIRST_VIEW_S = 300.0
KEY_PAUSE_S = 0.3
ZOOM = "([a, b]) => { zoomTo(a, b); }"


def descendants(pid: int) -> list[int]:
    """A process and all below it."""
    said = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [pid, *(each for child in said.stdout.split() for each in descendants(int(child)))]


def browser_processes() -> list[int]:
    """Those of the browser that this process has started."""
    return [
        pid
        for pid in descendants(os.getpid())
        if "chrom" in Path(f"/proc/{pid}/comm").read_text()
    ]  # fmt: skip


def mebibytes(pids: list[int], what: str) -> float:
    """Memory of processes: `Rss` or `Pss`."""
    lines = [
        line
        for pid in pids
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        if line.startswith(f"{what}:")
    ]
    return sum(int(line.split()[1]) for line in lines) / 1024


def told(times_ms: list[float]) -> str:
    """Median, 95th percentile and largest of times."""
    ordered = sorted(times_ms)
    high = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return (
        f"median {statistics.median(ordered):.0f} ms, 95th percentile {high:.0f} ms, "
        f"largest {ordered[-1]:.0f} ms (n = {len(ordered)})"
    )


def views(page: Any) -> int:
    """How many views the page has drawn."""
    return int(page.evaluate("document.body.dataset.views || 0"))


def first_view(page: Any, address: str) -> float:
    """Seconds until the trial is drawn, opened anew."""
    page.goto("about:blank")
    begun = time.monotonic()
    page.goto(address)
    while views(page) < 1:  # the page's policy forbids to wait for a string of script
        if time.monotonic() - begun > FIRST_VIEW_S:
            shown = page.locator("body").inner_text()
            sys.exit(f"no view within {FIRST_VIEW_S:g} s; the page says: {shown[:500]}")
        time.sleep(0.01)
    return time.monotonic() - begun


def after(page: Any, change: Any) -> float:
    """Milliseconds that the page took for a change of the view."""
    before = views(page)
    change()
    while views(page) == before:
        time.sleep(0.005)
    return float(page.evaluate("document.body.dataset.ms"))


def random_zooms(page: Any, count: int) -> None:
    """Zoom about, and say how long it took."""
    length = page.evaluate("columns[0].facts.duration_ns")
    draw = random.Random(1)
    every: list[float] = []
    for share, one_in in SHARES.items():
        times = []
        for _ in range(count // one_in):
            width = int(length * share * draw.uniform(0.7, 1.0))
            start = draw.randrange(0, length - width)
            span = [start, start + width]
            times.append(after(page, lambda span=span: page.evaluate(ZOOM, span)))
        print(f"{share:.1%}: {told(times)}")
        every += times
    print(f"random zooms: {told(every)}")


def zooms_by_keys(page: Any) -> None:
    """In, to the side and out, as a person does."""
    page.evaluate("() => { ACTIONS.whole(); }")
    time.sleep(1)
    times = []
    for key in KEYS * WALKS:
        times.append(after(page, lambda key=key: page.keyboard.press(key)))
        time.sleep(KEY_PAUSE_S)
    print(f"by keys: {told(times)}")


def measure(page: Any, address: str, server: int, zooms: int) -> None:
    print(f"first view, its pyramid made where there is none: {first_view(page, address):.2f} s")
    again = [first_view(page, address) for _ in range(3)]
    print("first view again: " + ", ".join(f"{seconds:.2f} s" for seconds in again))
    random_zooms(page, zooms)
    zooms_by_keys(page)
    time.sleep(1)
    parts = mebibytes([server], "Rss"), mebibytes(browser_processes(), "Pss")
    print(f"memory: server {parts[0]:.0f} MiB, browser {parts[1]:.0f} MiB, {sum(parts):.0f} MiB")


def main() -> None:
    run, zooms = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 400
    trial = min(path.name for path in (run / "trials").iterdir())
    command = [str(Path(sys.executable).with_name("nashbed")), "explore", str(run)]
    print("load:", Path("/proc/loadavg").read_text().split()[0])
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as started,
    ):
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
        measure(page, f"{address}#trial={trial}", server.pid, zooms)
        browser.close()
        server.terminate()


if __name__ == "__main__":
    main()
