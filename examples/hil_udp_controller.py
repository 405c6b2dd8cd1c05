"""A controller without ROS that holds a simulated mechanism over UDP.

It stands in for a device that speaks nothing but packets (layout: `model/control/packets.py`); for
every state it answers with torques of a PD law. Run the mechanism in one terminal and this in
another:

    cutjoint node stewart --start motor1=0.2 --param udp=127.0.0.1:47000
    python -m cutjoint.examples.hil_udp_controller --motors 3

The native loop speaks the same packets:

    cutjoint realtime stewart -o bench
    bench/stewart --udp 127.0.0.1:47000 --start motor1=0.2
    python -m cutjoint.examples.hil_udp_controller --motors 3

`--loss 0.1` throws away a tenth of the packets each way, to see how the loop stands it. Ctrl-C or
`--time` ends it with a report of how regular the states came.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from cutjoint.model.control.packets import COMMAND, STATE, Counts, Packet, Sequence32, pack, unpack
from cutjoint.ros.histogram import Jitter
from cutjoint.ros.udp import parse_address

HELLO = 0.1  # seconds without a state after which the device calls again


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", default="127.0.0.1:47000", help="HOST:PORT of the node")
    parser.add_argument("--motors", type=int, required=True, help="number of motors")
    parser.add_argument("--target", nargs="+", type=float, help="positions to hold (default: the first seen)")
    parser.add_argument("--kp", type=float, default=2000.0, help="N·m/rad")
    parser.add_argument("--kd", type=float, default=150.0, help="N·m·s/rad")
    parser.add_argument("--rate", type=float, default=1000.0, help="states expected a second")
    parser.add_argument("--loss", type=float, default=0.0, help="part of the packets to lose each way")
    parser.add_argument("--seed", type=int, default=0, help="of the losses")
    parser.add_argument("--key", help="file with the key that packets are signed with")
    parser.add_argument("--time", type=float, default=0.0, help="seconds to run, 0 until Ctrl-C")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    stop = False

    def ask_to_stop(*_: Any) -> None:
        nonlocal stop
        stop = True

    signal.signal(signal.SIGINT, ask_to_stop)
    signal.signal(signal.SIGTERM, ask_to_stop)
    node = parse_address(args.to)
    key = Path(args.key).read_bytes() if args.key else b""
    chance = random.Random(args.seed)
    jitter = Jitter(1.0 / args.rate)
    counts = Counts()
    states = Sequence32(counts)
    target, error, sent, last = args.target, 0.0, 0, 0.0
    end = time.monotonic() + args.time if args.time else float("inf")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(HELLO)

        def send(torques: list[float], answer: int = 0, stamp: float = 0.0) -> None:
            nonlocal sent
            sent += 1
            if chance.random() >= args.loss:
                line.sendto(pack(Packet(COMMAND, sent, answer, stamp, 0.0, tuple(torques)), key), node)

        send([0.0] * args.motors)  # the node answers whoever speaks to it
        while not stop and time.monotonic() < end:
            try:
                data = line.recv(2048)
            except (TimeoutError, ConnectionRefusedError):
                send([0.0] * args.motors)
                continue
            state = unpack(data, STATE, key)
            if state is None or len(state.parts[0]) != args.motors:
                counts.malformed += 1
                continue
            if chance.random() < args.loss or not states.news(state.sequence):
                continue
            now = time.monotonic()
            if last:
                jitter.add(now - last)
            last = now
            q, v, *_ = state.parts
            target = target or list(q)
            error = max(abs(a - b) for a, b in zip(target, q, strict=True))
            torques = [args.kp * (a - b) - args.kd * c for a, b, c in zip(target, q, v, strict=True)]
            send(torques, state.sequence, state.stamp)
    report = jitter.report()
    print(report.text("states"), flush=True)
    print(json.dumps({"answered": sent, "lost": counts.lost, "error": error, "p99": report.p99}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
