"""`cutjoint view`: mechanisms in the browser, to play, scrub, drive, pose and pull."""

from __future__ import annotations

import argparse
import socket
import sys
from typing import TYPE_CHECKING, Any

from ..base.errors import CutjointError, how_to_install
from ..base.posix_signals import stop_on_signal
from ..cli.common import MANY, Options, load_mechanism, number, prepare_simulation, read_torques

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from ..simulation import Simulation

HELP = "Show mechanisms in the browser until Ctrl-C: play, scrub, drive, pose, pull; see reactions and paths."
EXAMPLE = """
cutjoint view stewart
cutjoint view stewart --torque all=10 --gravity 0 --time 3 --port 8090
cutjoint view docs/gallery/walking_leg.yaml --torque crank=2 --trace foot --plot joint.crank.velocity
cutjoint view fourbar slider_crank        # side by side
"""
FIRST_PORT = 8080
HOST = "127.0.0.1"


def add_arguments(option: Options) -> None:
    option("mechanism", nargs="+")
    option("--port", "N", f"where the page is served (default: the first free from {FIRST_PORT})")
    text = "serve the page beyond this machine, at this address (0.0.0.0: all), to whoever has its token"
    option("--host", "ADDRESS", text, default=HOST)
    text = "simulate that long before the page opens, s (default 2)"
    option("--time", "S", text, default="2")
    option("--input --torque", text="where the sliders of inputs start; all=VALUE for every one")
    text = "draw the path of a body's origin or of a named frame; also chosen in the page"
    option("--trace", "NAME", text, **MANY)
    option(
        "--plot", "NAME", "plot an output beside the picture while it runs; also chosen in the page", **MANY
    )
    option("--gravity")
    option("--no-browser", text="do not open a browser, only serve the page")
    option("--no-compile")


def run(args: argparse.Namespace) -> int:
    seconds = number(args.time, "--time", "s")
    if not 0 <= seconds <= 300:
        raise CutjointError(f"--time must be between 0 and 300 s, not {args.time}")
    port = find_port(args.port, args.host)
    try:
        import viser  # noqa: F401
    except ImportError as problem:
        raise CutjointError(
            f"the browser view needs viser ({problem}); {how_to_install('view')}"
        ) from problem
    from .view import Viewer

    viewer = Viewer(simulations(args), port, seconds, args.trace, args.plot, args.host)
    names = ", ".join(station.name for station in viewer.stations)
    with stop_on_signal() as stop:  # before it is said that Ctrl-C ends it
        try:
            print(f"{names}: {viewer.address} (Ctrl-C ends it)", flush=True)
            if not args.no_browser and sys.stdout.isatty():
                import webbrowser

                webbrowser.open(viewer.address)
            viewer.run(stop)
        finally:
            viewer.close()
    return 0


def simulations(args: argparse.Namespace) -> list[Simulation]:
    """All mechanisms with handles for the mouse; each takes the torques of those motors that it has."""
    from ..simulation import Simulation
    from .pull import with_handles

    mechanisms = {name: load_mechanism(args, name) for name in args.mechanism}
    taken: dict[str, list[str]] = {name: [] for name in mechanisms}
    for word in args.torque:
        problems = []
        for name, mechanism in mechanisms.items():
            try:
                read_torques([word], mechanism)
                taken[name].append(word)
            except CutjointError as problem:
                problems.append(problem)
        if len(problems) == len(mechanisms):
            raise problems[0]

    def made(mechanism: Mechanism, **how: Any) -> Simulation:
        return Simulation(with_handles(mechanism), **how)

    found = []
    for name in args.mechanism:
        own = argparse.Namespace(**vars(args) | {"mechanism": name, "torque": taken[name]})
        found.append(prepare_simulation(own, made, compile=False if args.no_compile else None))
    return found


def find_port(text: str | None, host: str = HOST) -> int:
    """The port asked for, if nobody has it; the first free one if none was asked for."""
    if not is_free(0, host):
        raise CutjointError(f"--host: '{host}' is no address of this machine; 0.0.0.0 stands for all of them")
    if text is None:
        for port in range(FIRST_PORT, FIRST_PORT + 100):
            if is_free(port, host):
                return port
        raise CutjointError(f"ports {FIRST_PORT} to {FIRST_PORT + 99} are all in use; choose one with --port")
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise CutjointError(f"--port: '{text}' is not a port; give a number from 1024 to 65535")
    if not is_free(int(text), host):
        raise CutjointError(f"--port: {text} is in use or not allowed; choose another, or leave --port out")
    return int(text)


def is_free(port: int, host: str = HOST) -> bool:
    """Whether a server can be put there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            if sys.platform != "win32":  # there it would let two programs share a port
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError:
        return False
    return True
