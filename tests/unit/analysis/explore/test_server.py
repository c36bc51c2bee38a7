"""The explorer's server: who gets in, what is answered, and nothing besides."""

import errno
import hashlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.explore.content import ANSWERS, Explorer
from nashbed.analysis.explore.server import ADDRESS, PAGE, POLICY, ExplorerServer
from nashbed.analysis.pyramid import levels
from nashbed.controlplane.contract.records import KIND_DEPARTED, MARK_CAPABLE, MARK_CE
from nashbed.controlplane.store.sealed_trial import SealedTrial, open_trial
from tests.support.synthetic_run import SCENARIO, RunWriter, write_table

S = 1_000_000_000
ROOT = Path(__file__).resolve().parents[4]
VENDOR = ROOT / "analysis" / "explore" / "page" / "vendor"


class Client:
    def __init__(self, server: ExplorerServer) -> None:
        self.server = server

    def raw(
        self, path: str, method: str = "GET", host: str | None = None
    ) -> tuple[int, Any, bytes]:
        connection = http.client.HTTPConnection(ADDRESS, self.server.server_port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True)
            if host != "":
                connection.putheader("Host", host or f"{ADDRESS}:{self.server.server_port}")
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, rest: str) -> tuple[int, Any, bytes]:
        return self.raw(f"/{self.server.token}/{rest}")

    def json(self, rest: str) -> dict[str, Any]:
        status, _, content = self.get(rest)
        assert status == 200, content
        return json.loads(content)

    def arrays(self, rest: str) -> dict[str, Any]:
        status, _, content = self.get(rest)
        assert status == 200, content
        length = int.from_bytes(content[:8], "little")
        head: dict[str, Any] = json.loads(content[8 : 8 + length])
        for name, place in head["arrays"].items():
            flat = np.frombuffer(
                content, place["kind"], int(np.prod(place["shape"])), 8 + length + place["at"]
            )
            head[name] = flat.reshape(place["shape"])
        return head

    def ready(self, trial: str) -> dict[str, Any]:
        """The facts of a trial once its queue can be shown, or cannot."""
        for _ in range(600):
            facts = self.json(f"trial?trial={trial}")
            if facts["queue"]["state"] != "building":
                return facts
            time.sleep(0.05)
        raise AssertionError("still building")


@contextmanager
def serving(run: Path, cache: Path) -> Iterator[Client]:
    with ExplorerServer(Explorer(run, cache)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Client(server)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def client(run_copy: Path, tmp_path: Path) -> Iterator[Client]:
    with serving(run_copy, tmp_path / "cache") as client:
        yield client


def a_trial(run: Path, number: int = 2) -> str:
    return sorted(path.name for path in (run / "trials").iterdir())[number]


# Who gets in.


def test_it_listens_on_loopback_alone(client: Client) -> None:
    assert client.server.socket.getsockname()[0] == "127.0.0.1"
    assert client.server.address.startswith("http://127.0.0.1:")


def test_tokens_are_random_and_long(run_copy: Path, tmp_path: Path) -> None:
    tokens = set()
    for _ in range(3):
        with ExplorerServer(Explorer(run_copy, tmp_path)) as server:
            tokens.add(server.token)
    assert len(tokens) == 3
    assert min(map(len, tokens)) >= 32


@pytest.mark.parametrize("name", ["", "run", "explorer.js", "view?trial=x&from=0&to=1&pixels=1"])
def test_nothing_is_answered_without_the_token(client: Client, name: str) -> None:
    token = client.server.token
    for path in (f"/{name}", f"/{token[:-1]}/{name}", f"/{token}x/{name}", f"//{name}", "*", "x"):
        status, _, content = client.raw(path)
        assert (status, token.encode() in content) == (403, False), path


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "", "[::1]:1"]
)
def test_a_name_that_was_rebound_is_refused(client: Client, host: str) -> None:
    path = f"/{client.server.token}/run"
    assert client.raw(path, host=host.format(port=client.server.server_port))[0] == 403
    assert client.raw(path, host=f"localhost:{client.server.server_port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_only_get_is_answered(client: Client, method: str) -> None:
    assert client.raw(f"/{client.server.token}/run", method)[0] == 501


@pytest.mark.parametrize(
    "name",
    ["../manifest.json", "..%2fmanifest.json", "%2e%2e/manifest.json", "/etc/passwd",
     "vendor/LICENSE", "manifest.json", "page/index.html", "trials/"],
)  # fmt: skip
def test_there_is_no_path(client: Client, name: str) -> None:
    assert client.get(name)[0] == 404


@pytest.mark.parametrize("name", sorted(set(ANSWERS) - {"run"}))
@pytest.mark.parametrize("trial", ["../..", "..%2f..", "/etc", "", ".", "x'; DROP TABLE p; --"])
def test_a_trial_is_one_of_the_runs(client: Client, name: str, trial: str) -> None:
    query = f"trial={trial.replace(' ', '%20')}&from=0&to=1&pixels=10"
    status, _, content = client.get(f"{name}?{query}")
    assert (status, content) == (400, b"there is no such trial")


@pytest.mark.parametrize(
    "span", ["", "from=1", "from=a&to=2", "from=2&to=1", f"from=0&to={10**30}", "from=0&to=1e9"]
)
def test_a_span_is_two_whole_numbers(client: Client, run_copy: Path, span: str) -> None:
    trial = a_trial(run_copy)
    client.ready(trial)
    assert client.get(f"view?trial={trial}&pixels=100&{span}")[0] == 400


def test_each_answer_has_the_policy(client: Client) -> None:
    for path in (f"/{client.server.token}/", f"/{client.server.token}/run", "/", "/x/run"):
        _, headers, _ = client.raw(path)
        assert headers["Content-Security-Policy"] == POLICY
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY


def test_the_page_names_nothing_elsewhere(client: Client) -> None:
    for name in PAGE:
        status, _, content = client.get(name)
        assert status == 200
        said = content.replace(b"https://github.com/leeoniya/uPlot", b"")
        said = said.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"http://" not in said, name
        assert b"https://" not in said, name


def test_nothing_of_the_run_is_written_but_pyramids(client: Client, run_copy: Path) -> None:
    def content() -> dict[str, str]:
        files = (p for p in run_copy.rglob("*") if p.is_file() and "pyramids" not in p.parts)
        return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    before = content()
    client.ready(a_trial(run_copy))
    client.json("run")
    assert content() == before


def test_the_plotting_library_is_the_released_one() -> None:
    """The digests are of the files in the package that package-lock.json names."""
    lock = json.loads((VENDOR / "package-lock.json").read_text())
    assert lock["packages"]["node_modules/uplot"]["version"] == "1.6.32"
    for line in (VENDOR / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


# What is answered.


def test_the_run(client: Client, run_copy: Path) -> None:
    said = client.json("run")
    (setting,) = said["settings"]
    assert [mix["text"] for mix in setting["mixes"]][1:3] == ["3 cubic + 1 bbr", "2 cubic + 2 bbr"]
    (trial,) = setting["mixes"][2]["trials"]
    assert trial["id"] == a_trial(run_copy)
    assert set(trial["goodput_bps"]) == {"cubic", "bbr"}
    assert sum(trial["goodput_bps"].values()) * 2 == pytest.approx(9.4e6, rel=0.1)


def test_a_view(client: Client, run_copy: Path) -> None:
    trial = a_trial(run_copy)
    facts = client.ready(trial)
    assert facts["queue"] == {"state": "ready"}
    assert [flow["strategy"] for flow in facts["flows"]] == ["cubic", "cubic", "bbr", "bbr"]
    query = f"trial={trial}&from={1_920_000_000}&to={4_480_000_000}"
    view = client.arrays(f"view?{query}&pixels=40")
    assert (view["start_ns"], view["width_ns"]) == (1_920_000_000, 64_000_000)
    assert view["departed_bytes"].shape == (4, 40)
    totals = client.json(f"totals?{query}")
    assert view["departed_bytes"].sum(axis=1).tolist() == totals["departed_bytes"]
    samples = client.arrays(f"samples?{query}&pixels=1000&show=cwnd")
    assert samples["cwnd"].shape == samples["epoch"].shape == (4, len(samples["t_ns"]))
    assert view["packets"] == sum(totals["departed_packets"]) + sum(totals["dropped_packets"])
    assert totals["marked_packets"] is None
    few = client.json(f"packets?trial={trial}&from={2 * S}&to={2 * S + 10_000_000}")["packets"]
    assert set(few) >= {"tcp_seq", "queue_bytes", "enqueue_ns", "dequeue_ns"}
    assert len(few["flow"]) > 0


def test_a_trial_that_is_sealed_meanwhile_appears(client: Client, run_copy: Path) -> None:
    before = client.json("run")["trials"]
    old = run_copy / "trials" / a_trial(run_copy)
    new = old.with_name(old.name.replace("-r0-", "-r7-"))
    staged = run_copy / "trials" / ".staged"
    staged.mkdir()
    for path in old.iterdir():
        (staged / path.name).write_bytes(path.read_bytes())
    record = json.loads((staged / "trial.json").read_text())
    (staged / "trial.json").write_text(json.dumps(record | {"id": new.name, "repetition": 7}))
    assert client.json("run")["trials"] == before
    staged.rename(new)
    assert client.json("run")["trials"] == before + 1
    assert client.ready(new.name)["id"] == new.name


@pytest.mark.parametrize("show", ["", "srtt2", "states", "../trial"])
def test_only_a_series_of_the_senders_is_shown(client: Client, run_copy: Path, show: str) -> None:
    status, _, content = client.get(
        f"samples?trial={a_trial(run_copy)}&from=0&to={S}&pixels=100&show={show}"
    )
    assert (status, content) == (400, b"`show` is none of the senders' series")


def test_marks_are_counted_where_there_can_be_any(client: Client, run_copy: Path) -> None:
    trial = a_trial(run_copy)
    assert client.json(f"trial?trial={trial}")["can_mark"] is False
    cards = open_trial(run_copy / "trials" / trial).arrays("postcards")
    ce = (cards["seq"] % 9 == 0) & (cards["kind"] == KIND_DEPARTED)
    marked_trial = run_copy / "trials" / a_trial(run_copy, 3)
    marks = np.where(ce, MARK_CE | MARK_CAPABLE, 0)
    write_table(marked_trial, "postcards", cards | {"marks": marks})
    assert client.ready(marked_trial.name)["can_mark"] is True
    query = f"trial={marked_trial.name}&from=0&to={10 * S}"
    expected = np.bincount(cards["flow"][ce], minlength=4).tolist()
    assert client.json(f"totals?{query}")["marked_packets"] == expected
    view = client.arrays(f"view?{query}&pixels=50")
    assert view["marked_packets"].sum(axis=1).tolist() == expected


# Runs that lack something.


def test_an_empty_run(tmp_path: Path) -> None:
    run = RunWriter(tmp_path / "run", SCENARIO).finish()
    with serving(run, tmp_path / "cache") as client:
        said = client.json("run")
        assert (said["trials"], said["damaged"]) == (0, [])


def test_invalid_trials_are_shown_and_not_counted(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run", SCENARIO)
    writer.add(writer.settings()[0], (2,), valid=False)
    with serving(writer.finish(), tmp_path / "cache") as client:
        (setting,) = client.json("run")["settings"]
        (trial,) = setting["mixes"][0]["trials"]
        assert (trial["valid"], trial["counted"]) == (False, False)
        assert trial["reasons"] == ["lateness: 9 ms is above 0.5 ms"]
        assert client.ready(trial["id"])["queue"] == {"state": "ready"}


def test_damaged_postcards_are_named(client: Client, run_copy: Path) -> None:
    path = run_copy / "trials" / a_trial(run_copy) / "postcards.parquet"
    content = path.read_bytes()
    third = len(content) // 3
    path.write_bytes(content[:third] + b"\xff" * third + content[2 * third :])
    state = client.ready(a_trial(run_copy))["queue"]
    assert state["state"] == "damaged"
    assert "postcards" in state["problem"]


def test_a_damaged_trial_is_listed(client: Client, run_copy: Path) -> None:
    path = run_copy / "trials" / a_trial(run_copy)
    (path / "flow_samples.parquet").write_bytes(b"nothing")
    said = client.json("run")
    assert [each["id"] for each in said["damaged"]] == [path.name]
    assert client.get(f"trial?trial={path.name}")[0] == 400


@pytest.mark.parametrize(
    ("tables", "state", "samples"),
    [(("bins", "flow_samples"), "ready", True), (("flow_samples",), "none", True),
     (("goodput",), "none", False)],
)  # fmt: skip
def test_what_was_not_kept_is_not_shown(
    tmp_path: Path, tables: tuple[str, ...], state: str, samples: bool
) -> None:
    writer = RunWriter(tmp_path / "run", SCENARIO)
    trial = writer.add(writer.settings()[0], (2,), tables=tables).name
    with serving(writer.finish(), tmp_path / "cache") as client:
        facts = client.ready(trial)
        assert facts["queue"]["state"] == state
        assert facts["tables"] == [t for t in ("bins", "flow_samples", "goodput") if t in tables]
        query = f"trial={trial}&from=0&to={6 * S}&pixels=100&show=cwnd"
        assert client.get(f"view?{query}")[0] == (200 if state == "ready" else 400)
        assert ("none" not in client.arrays(f"samples?{query}")) == samples
        assert (
            "goodput" in tables
            or client.json("run")["settings"][0]["mixes"][0]["trials"][0]["goodput_bps"] == {}
        )


def test_two_explorers_at_once(run_copy: Path, tmp_path: Path) -> None:
    trial = a_trial(run_copy)
    with serving(run_copy, tmp_path) as one, serving(run_copy, tmp_path) as other:
        for client in (one, other):
            client.json(f"trial?trial={trial}")
        query = f"view?trial={trial}&from=0&to={6 * S}&pixels=20"
        views = []
        for client in (one, other):
            assert client.ready(trial)["queue"] == {"state": "ready"}
            views.append(client.arrays(query)["departed_bytes"].tolist())
        assert views[0] == views[1]
    assert [path.name for path in (run_copy / "pyramids").iterdir()] == [trial]


def test_a_read_only_run_has_its_pyramids_in_the_cache(
    run_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root writes anywhere, so the run directory refuses here by itself."""
    made = levels.build_pyramid

    def refuse(trial: SealedTrial, folder: Path, *rest: Any) -> Any:
        if run_copy in folder.parents:
            raise OSError(errno.EROFS, "Read-only file system")
        return made(trial, folder, *rest)

    monkeypatch.setattr(levels, "build_pyramid", refuse)
    trial = a_trial(run_copy)
    with serving(run_copy, tmp_path / "cache") as client:
        assert client.ready(trial)["queue"] == {"state": "ready"}
        assert client.arrays(f"view?trial={trial}&from=0&to={6 * S}&pixels=20")["packets"] > 0
    assert [path.name for path in (tmp_path / "cache").glob("*/*")] == [trial]
    assert not list((run_copy / "pyramids").iterdir())
