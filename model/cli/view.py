"""`cutjoint view`: a mechanism in the browser, to play, scrub, drive and pose."""

import argparse
import socket
import sys

from ..errors import CutjointError
from ..signals import stop_on_signal
from .common import Options, number, prepared

HELP = "Show a mechanism in the browser until Ctrl-C: play, scrub, drive motors, see reactions."
EXAMPLE = """
cutjoint view stewart
cutjoint view stewart --torque all=10 --gravity 0 --time 3 --port 8090
"""
FIRST_PORT = 8080


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--port", "N", f"where the page is served (default: the first free from {FIRST_PORT})")
    text = "simulate that long before the page opens, s (default 2)"
    option("--time", "S", text, default="2")
    option("--torque", text="where the sliders of motors and cylinders start; all=VALUE for every one")
    option("--gravity")
    option("--no-browser", text="do not open a browser, only serve the page")
    option("--no-compile")


def run(args: argparse.Namespace) -> int:
    seconds = number(args.time, "--time")
    if not 0 <= seconds <= 300:
        raise CutjointError(f"--time must be between 0 and 300 s, not {args.time}")
    port = find_port(args.port)
    try:
        import viser  # noqa: F401
    except ImportError as problem:
        raise CutjointError(
            f"the browser view needs viser ({problem}); run 'pip install cutjoint[view]'"
        ) from problem
    from ..show.view import Viewer

    simulation = prepared(args, compile=False if args.no_compile else None)
    inputs = dict(zip(simulation.inputs, simulation.u.tolist(), strict=True))
    viewer = Viewer(simulation, port, inputs, seconds)
    print(f"{simulation.mechanism.name}: {viewer.address} (Ctrl-C ends it)", flush=True)
    if not args.no_browser and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(viewer.address)
    with stop_on_signal() as stop:
        try:
            viewer.run(stop)
        finally:
            viewer.close()
    return 0


def find_port(text: str | None) -> int:
    """The port asked for, if nobody has it; the first free one if none was asked for."""
    if text is None:
        for port in range(FIRST_PORT, FIRST_PORT + 100):
            if is_free(port):
                return port
        raise CutjointError(f"ports {FIRST_PORT} to {FIRST_PORT + 99} are all in use; choose one with --port")
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise CutjointError(f"--port: '{text}' is not a port; give a number from 1024 to 65535")
    if not is_free(int(text)):
        raise CutjointError(f"--port: {text} is in use or not allowed; choose another, or leave --port out")
    return int(text)


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        if sys.platform != "win32":  # there it would let two programs share a port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
