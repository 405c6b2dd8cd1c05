"""Who may speak to a page that is served: a browser lets any page it shows connect to any address.

viser answers everybody. So requests are looked at before it sees them: the name in the address must be this
machine's own (or else another name that leads here, as by DNS rebinding, would do), and a page that connects
must be the one that came from here (Origin). Who is served beyond this machine also needs a secret: it
is part of the address, and kept by the browser as a cookie.
"""

import contextlib
import http
import importlib
import io
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.cookies import CookieError, SimpleCookie
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..base.errors import CutjointError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("", "0.0.0.0", "::")
PATIENCE = 10.0  # seconds


class Guard:
    """What requests must have; without a token, only those to this machine's own names pass."""

    def __init__(self, token: str = ""):
        self.token = token

    def refusal(self, path: str, headers: Any) -> str:
        """Why a request is refused; nothing if it is welcome."""
        host = headers.get("Host", "")
        if not self.token and _name(f"http://{host}") not in LOOPBACK:
            return "this page is served to this machine only, by the name localhost"
        origin = headers.get("Origin")
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return "another page may not connect to this one"
        if self.token and not self._knows(path, headers):
            return "the address lacks its token: take it from where the page is served"
        return ""

    def _knows(self, path: str, headers: Any) -> bool:
        given = parse_qs(urlsplit(path).query).get("token", [])
        with contextlib.suppress(CookieError):
            given += [cookie.value for cookie in SimpleCookie(headers.get("Cookie", "")).values()]
        return any(secrets.compare_digest(word.encode(), self.token.encode()) for word in given)

    def process(self, inner: Any, connection: Any, request: Any) -> Any:
        """What websockets asks of each request: an answer, or None to let a WebSocket begin."""
        if why := self.refusal(request.path, request.headers):
            return connection.respond(http.HTTPStatus.FORBIDDEN, f"{why}\n")
        answer = inner(connection, request)
        if answer is not None and self.token:
            name = f"cutjoint-{self.token[:8]}"  # cookies know no ports: two viewers have one each
            answer.headers["Set-Cookie"] = f"{name}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        return answer


def _name(address: str) -> str:
    """The host of an address, without its port; nothing if it has none."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # half a bracket
        return ""


def serve_guarded(host: str, port: int, label: str, guard: Guard) -> Any:
    """A viser server whose requests all pass the guard; CutjointError if a release of viser goes round it."""
    import viser

    with contextlib.redirect_stdout(io.StringIO()), _standing_before(guard):  # its banner
        server = viser.ViserServer(host, port, label=label, verbose=False)
    if b" 403 " not in _answer_to_a_stranger(host, server.get_port()):
        server.stop()
        raise CutjointError(f"viser {viser.__version__} can't be kept from strangers; install 1.1.1")
    return server


@contextmanager
def _standing_before(guard: Guard) -> Iterator[None]:
    """While this lasts, servers that viser starts ask the guard: it offers no place for one."""
    import websockets.asyncio.server as real

    def serve(*args: Any, process_request: Any, **options: Any) -> Any:
        return real.serve(*args, process_request=partial(guard.process, process_request), **options)

    module: Any = importlib.import_module("viser.infra._infra")
    plain = module.websockets
    server = SimpleNamespace(**{**vars(real), "serve": serve})
    module.websockets = SimpleNamespace(**{**vars(plain), "asyncio": SimpleNamespace(server=server)})
    try:
        yield
    finally:
        module.websockets = plain


def _answer_to_a_stranger(host: str, port: int) -> bytes:
    """The first line that a foreign page's WebSocket gets."""
    place = "127.0.0.1" if host in EVERYWHERE else host
    lines = (
        "GET / HTTP/1.1",
        "Host: elsewhere.invalid",
        "Origin: http://elsewhere.invalid",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    )
    with socket.create_connection((place, port), PATIENCE) as stranger:
        stranger.sendall("\r\n".join([*lines, "", ""]).encode())
        return stranger.recv(1024).partition(b"\r\n")[0]
