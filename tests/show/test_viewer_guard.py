"""Who may speak to the viewer: its own page, on this machine or with the token, and nobody else."""

from __future__ import annotations

import contextlib
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from cutjoint import CutjointError, Engine, Simulation, load
from cutjoint.model.view import guard
from cutjoint.model.view.cli import find_port
from cutjoint.model.view.view import HOST, Viewer

viser = pytest.importorskip("viser", reason="viser, of the extra 'view', is not installed")
client = pytest.importorskip("websockets.sync.client")
from websockets.exceptions import InvalidStatus  # noqa: E402  (viser brings it)

PROTOCOL = f"viser-v{viser.__version__}"


@cache
def engine() -> Engine:
    return Engine(load("double_pendulum"), compile=False)


@contextlib.contextmanager
def serving(host: str = HOST) -> Iterator[tuple[Viewer, int]]:
    viewer = Viewer(Simulation(engine()), find_port(None, host), host=host)
    try:
        yield viewer, viewer.server.get_port()
    finally:
        viewer.close()


def connect(port: int, host: str, path: str = "/", **headers: str) -> bool:
    """Whether a WebSocket of a client that says this is answered by viser; False if it is refused."""
    with socket.create_connection((HOST, port)) as plain:
        how: dict[str, Any] = {"sock": plain, "compression": None, "subprotocols": [PROTOCOL]}
        try:
            address = f"ws://{host}{path}"
            with client.connect(address, additional_headers=headers, proxy=None, **how) as opened:
                return bool(opened.recv(timeout=30))  # the scene
        except InvalidStatus as refused:
            assert refused.response.status_code == 403
            return False


def test_a_page_from_elsewhere_is_refused() -> None:
    """Any page in the user's browser could read and drive the viewer."""
    with serving() as (_, port):
        here = f"localhost:{port}"
        assert connect(port, here, Origin=f"http://{here}")
        assert connect(port, f"127.0.0.1:{port}", Origin=f"http://127.0.0.1:{port}")
        assert connect(port, here)  # a program, which could say anything
        assert connect(port, "localhost:9000", Origin="http://localhost:9000")  # a tunnel's other end
        for origin in ("http://elsewhere.invalid", "null", f"http://localhost:{port + 1}", "http://["):
            assert not connect(port, here, Origin=origin), origin


def test_another_name_for_this_machine_is_refused() -> None:
    """As by DNS rebinding, where page and server share a name that is not ours."""
    with serving() as (_, port):
        for host in ("elsewhere.invalid", f"elsewhere.invalid:{port}", f"localhost.elsewhere.invalid:{port}"):
            assert not connect(port, host, Origin=f"http://{host}"), host
        request = urllib.request.Request(f"http://{HOST}:{port}/", headers={"Host": "elsewhere.invalid"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request, timeout=30)


def test_beyond_this_machine_the_token_opens_it() -> None:
    with serving("0.0.0.0") as (viewer, port):
        token = viewer.guard.token
        name = f"bench.invalid:{port}"
        assert len(token) >= 32 and viewer.address.endswith(f":{port}/?token={token}")
        assert connect(port, name, f"/?token={token}", Origin=f"http://{name}")
        assert connect(port, name, Origin=f"http://{name}", Cookie=f"a=b; cutjoint-x={token}")
        assert not connect(port, name, Origin=f"http://{name}")
        assert not connect(port, name, f"/?token={token[:-1]}", Origin=f"http://{name}")
        assert not connect(port, f"localhost:{port}", Origin=f"http://localhost:{port}")
        assert not connect(port, name, f"/?token={token}", Origin="http://elsewhere.invalid")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"http://{HOST}:{port}/", timeout=30)


@pytest.mark.browser
@pytest.mark.parametrize("host", [HOST, "0.0.0.0"])
def test_the_page_itself_works_in_a_real_browser(host: str, tmp_path: Path) -> None:
    with serving(host) as (viewer, port), Browser(tmp_path / "profile", 800, 560) as browser:
        secret = f"/?token={viewer.guard.token}" if viewer.guard.token else ""
        browser.open(f"http://localhost:{port}{secret}")
        browser.until("document.body.innerText.includes('largest reaction')")
        browser.open(f"http://localhost:{port}/")  # later, by a bookmark: the browser remembers
        browser.until("document.body.innerText.includes('largest reaction')")


@pytest.mark.browser
def test_a_foreign_page_in_the_same_browser_gets_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with serving() as (_, port), Browser(tmp_path / "profile", 400, 300) as browser:
        page.write_text("<!doctype html><title>elsewhere</title>")
        browser.open(page.as_uri())
        script = "new Promise(done => {{ const s = new WebSocket('ws://localhost:{}', '{}');"
        script += " s.onmessage = s.onopen = () => done('answered'); s.onerror = () => done('refused'); }})"
        assert browser.script(script.format(port, PROTOCOL)) == "refused"


def test_a_viser_that_goes_round_the_guard_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_standing_before", lambda *_: contextlib.nullcontext())
    with pytest.raises(CutjointError, match="can't be kept from strangers"):
        Viewer(Simulation(engine()), find_port(None))


def test_an_address_of_another_machine_is_one_sentence() -> None:
    with pytest.raises(CutjointError, match=r"--host: '192\.0\.2\.1' is no address of this machine"):
        find_port(None, "192.0.2.1")
