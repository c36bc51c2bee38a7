"""`nashbed explore`: it says where it is, serves, and ends with Ctrl-C."""

import signal
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import nashbed as nb
import pytest
from nashbed.controlplane.cli.explore import DISPLAYS, open_page
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.contract.errors import EXIT_CONFIG, EXIT_HOST, EXIT_OK
from tests.support.command import command

Capture = pytest.CaptureFixture[str]


@pytest.mark.slow
def test_it_serves_until_ctrl_c(whole_run: Path) -> None:
    with command("explore", str(whole_run), "--view", "#trial=x", "--no-browser") as started:
        address = started.line_with("http://127.0.0.1:").strip()
        page, _, view = address.partition("#")
        assert view == "trial=x"
        started.line_with("Ctrl-C ends")
        with urlopen(page + "run", timeout=30) as answer:
            assert b"A synthetic run" in answer.read()
        code, rest = started.stop(signal.SIGINT)
        assert (code, rest.strip()) == (EXIT_OK, "")


def test_the_browser_opens_a_page_that_only_its_user_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leads to the address, which is not among the browser's arguments: `ps` shows those."""
    address, read = 'http://127.0.0.1:1/token/#a="b"', []

    def look(url: str) -> bool:
        page = Path(url.removeprefix("file://"))
        assert (page.parent, page.stat().st_mode & 0o777) == (tmp_path, 0o600)
        read.append(page.read_text())
        return "token" not in url

    monkeypatch.setattr("webbrowser.open", look)
    for variables, is_open in (({}, False), ({"WAYLAND_DISPLAY": "wayland-0"}, True)):
        for name in DISPLAYS:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with ExitStack() as held:
            assert open_page(address, tmp_path, held) is is_open
    (page,) = read
    assert 'url=http://127.0.0.1:1/token/#a=&quot;b&quot;"' in page
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_named(whole_run: Path, capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["explore", str(whole_run), "--port", str(port)]) == EXIT_HOST
    assert f"port {port}: Address already in use" in capsys.readouterr().err


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert run(["explore", str(tmp_path)]) == EXIT_CONFIG
    assert "not a nashbed run directory" in capsys.readouterr().err


def test_from_python(whole_run: Path) -> None:
    with nb.open_run(whole_run).explore() as server:
        assert server.address.startswith("http://127.0.0.1:")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(nb.HostError, match="port"):
        nb.open_run(whole_run).explore(taken.getsockname()[1])
