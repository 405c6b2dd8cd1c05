"""What the loop has to say of itself: for /diagnostics while it runs, in words at the end."""

import time
from dataclasses import asdict
from typing import Any

import numpy as np

from ..model.base.errors import UnknownName
from ..model.base.thresholds import NEAR_SINGULAR, SAME_TIME
from ..model.control.command_law import POSITION
from ..model.manifold.step import TRIES
from .loop import Loop
from .settings import REAL_TIME, SettingError

OK, WARN, ERROR = 0, 1, 2
STANDARD = ("loop.residual", "singularity.distance", "singularity.rank")  # always told, in words


class Health:
    """Turns counters into a level, a sentence and key-value pairs; remembers the last look for rates."""

    def __init__(self, loop: Loop):
        self._wall, self._time, self._cpu = time.monotonic(), loop.time, time.process_time()
        self._begin = (self._wall, self._cpu)
        self._overruns = 0
        self._regular = loop.simulation.topology()
        outputs = loop.simulation.variables().outputs
        try:
            self._chosen = [column.name for column in outputs.columns(loop.settings.diagnostics)]
        except UnknownName as problem:
            raise SettingError(f"diagnostics: {problem}") from None
        self._rows = np.concatenate([outputs.rows(STANDARD), outputs.rows(self._chosen)])

    def look(self, loop: Loop) -> tuple[int, str, dict[str, Any]]:
        """Level, message and values since the last look."""
        now, at, cpu = time.monotonic(), loop.time, time.process_time()
        elapsed = max(now - self._wall, SAME_TIME)
        commands, pace = loop.commands, loop.pace
        residual, distance, rank, *chosen = loop.simulation.read(self._rows).tolist()
        values: dict[str, Any] = {
            "mode": loop.settings.mode,
            "simulated time": f"{at:.6f}",
            "real time factor": f"{(at - self._time) / elapsed:.4f}",
            "cpu": f"{(cpu - self._cpu) / elapsed:.3f}",
            "loop residual": f"{residual:.3e}",
            "singularity distance": f"{distance:.6g}",
            "rank": f"{rank:.0f} of {self._regular.rank}",
            "mobility": self._regular.mobility,
            "sub-steps tried": f"{loop.simulation.counters[TRIES]:.0f}",
            "overruns": pace.overruns,
            "lag": f"{pace.lag:.6f}",
            "drift": f"{pace.drift(now) if loop.settings.mode == REAL_TIME else 0.0:.6f}",
            "command age": "none" if commands.silent else f"{now - commands.seen:.4f}",
            "commands received": commands.received,
            "commands refused": commands.refused,
            "commands stale": commands.stale,
            "commands lost": commands.lost,
            "held at the start": commands.holding,
            "interpolation lag": f"{loop.stream.lag:.4g}",
            "emergency stop": loop.stop_state,
            "trajectories replaced": loop.trajectories.replaced,
            "commands beyond limits": commands.saturated,
            **_jitter("period", pace.jitter),
            **_jitter("command interval", commands.jitter),
        }
        values |= {name: f"{x:.9g}" for name, x in zip(self._chosen, chosen, strict=True)}
        if loop.link is not None:
            values |= {f"udp {name}": count for name, count in asdict(loop.link.counts).items()}
            values |= _jitter("udp response", loop.link.response)
        late = pace.overruns - self._overruns
        self._wall, self._time, self._cpu, self._overruns = now, at, cpu, pace.overruns
        notes = [loop.fault] if loop.fault else []
        if rank < self._regular.rank or distance < NEAR_SINGULAR:
            notes.append("near a singular pose")
        if late and loop.settings.mode == REAL_TIME:
            notes.append(f"{late} overruns since the last report")
        if loop.stopped:
            notes.append(f"emergency stop: {loop.stop_state}")
        elif commands.silent and commands.received and not (commands.latest.kind == POSITION).all():
            notes.append(f"commands have stopped: {commands.kept()}")
        if fast := loop.drives.too_fast():
            notes.append(f"faster than its speed limit: {', '.join(fast)}")
        level = ERROR if loop.fault else WARN if notes else OK
        return level, "; ".join(notes) or loop.settings.mode.replace("_", " "), values

    def last_words(self, loop: Loop) -> list[str]:
        """What a user wants to know after a run."""
        elapsed = time.monotonic() - self._begin[0]
        lines = [
            f"{loop.periods} periods of {1e3 * loop.settings.period:g} ms in {elapsed:.3f} s, "
            f"{100 * (time.process_time() - self._begin[1]) / elapsed:.1f} % of a core"
        ]
        pace = loop.pace
        if pace.jitter.report().count:
            drift = pace.drift(pace.last)  # at a tick, so without the part of a period since
            lines += [
                pace.jitter.report().text("period"),
                f"{pace.overruns} overruns, simulated time {1e3 * drift:.3f} ms behind",
            ]
        if loop.commands.jitter.report().count:
            lines.append(loop.commands.jitter.report().text("commands"))
        if loop.link is not None:
            counts = ", ".join(f"{count} {name}" for name, count in asdict(loop.link.counts).items())
            lines += [f"udp packets: {counts}", loop.link.response.report().text("udp response")]
        return lines


def _jitter(name: str, jitter: Any) -> dict[str, Any]:
    r = jitter.report()
    return {
        f"{name} mean": f"{r.mean:.6f}",
        f"{name} p99": f"{r.p99:.6f}",
        f"{name} max": f"{r.longest:.6f}",
        f"{name} missed": r.missed,
    }
