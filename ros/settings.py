"""The node's parameters: what they mean, what they may be, which can change while it runs.

Numbers are accepted with or without a decimal point. Everything is checked here, so that the
rest of the node never meets a wrong value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any, NamedTuple

from ..model.base.errors import CutjointError
from ..model.base.thresholds import MOST_SUBSTEPS, SAME_TIME
from ..model.control.command_policy import FREQUENCY, STREAM_LAG, TIMEOUT, WATCHDOGS
from .motor_commands import INTERFACES

REAL_TIME, FAST, LOCK_STEP, FOLLOW_CLOCK, PAUSED = MODES = (
    "real_time",
    "fast",
    "lock_step",
    "follow_clock",
    "paused",
)
OWN_GRAVITY = "description"
BRAKE, COAST = STOPS = ("brake", "coast")


class SettingError(CutjointError):
    """A parameter with a wrong value."""


class Setting(NamedTuple):
    """One parameter: `check` takes its name and a value and returns the value to use, or raises."""

    default: Any
    about: str
    check: Callable[[str, Any], Any]
    changeable: bool = False


def _setting(*what: Any) -> Any:
    return field(metadata={"setting": Setting(*what)})


def within(low: float, high: float, zero: bool = False) -> Callable[[str, Any], float]:
    """A number between two others; also zero if `zero`."""

    def check(name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingError(f"{name} must be a number, not '{value}'")
        if not isfinite(value) or not (low <= value <= high or (zero and value == 0)):
            raise SettingError(
                f"{name} must be from {low:g} to {high:g}{', or 0' if zero else ''}, not {value:g}"
            )
        return float(value)

    check.bounds = (0.0 if zero else low, high)  # type: ignore[attr-defined]
    return check


def _is(fits: Callable[[Any], bool], what: str) -> Callable[[str, Any], Any]:
    """A value that fits, as it is."""

    def check(name: str, value: Any) -> Any:
        if not fits(value):
            raise SettingError(f"{name} must be {what}, not '{value}'")
        return value

    return check


_text = _is(lambda value: isinstance(value, str), "text")
_flag = _is(lambda value: isinstance(value, bool), "true or false")
_watchdog = _is(lambda value: value in WATCHDOGS, f"one of {', '.join(WATCHDOGS)}")
_stop = _is(lambda value: value in STOPS, f"one of {', '.join(STOPS)}")
_mode = _is(lambda value: value in MODES, f"one of {', '.join(MODES)}")
_interface = _is(lambda value: value in INTERFACES, f"one of {', '.join(INTERFACES)}")


def _tries(name: str, value: Any) -> int | None:
    most = within(1, MOST_SUBSTEPS, zero=True)(name, value)
    if most != int(most):
        raise SettingError(f"{name} must be a whole number, not {value}")
    return int(most) or None


def _mechanism(name: str, value: Any) -> str:
    if not _text(name, value):
        raise SettingError("say which mechanism: 'cutjoint node NAME', or parameter mechanism:=NAME")
    return str(value)


def _gravity(name: str, value: Any) -> float | tuple[float, ...] | None:
    if value == OWN_GRAVITY:
        return None
    if isinstance(value, str):
        try:
            value = [float(part) for part in value.strip("[]() ").split(",")]
        except ValueError:
            raise SettingError(f"{name} must be a number, three numbers or '{OWN_GRAVITY}'") from None
    numbers = list(value) if isinstance(value, Sequence) or hasattr(value, "tolist") else [value]
    check = within(-1e4, 1e4)
    given = tuple(check(name, x) for x in numbers)
    if len(given) not in (1, 3):
        raise SettingError(f"{name} takes one number g for (0, 0, -g), or three, not {len(given)}")
    return given[0] if len(given) == 1 else given


def _start(name: str, value: Any) -> dict[str, list[float]]:
    """`joint=value joint=value,value` as coordinates by joint."""
    result: dict[str, list[float]] = {}
    for word in _text(name, value).split():
        joint, equals, numbers = word.partition("=")
        try:
            result[joint] = [float(x) for x in numbers.split(",")]
        except ValueError:
            equals = ""
        if not equals:
            raise SettingError(f"{name} takes JOINT=VALUE with spaces between, not '{word}'")
    return result


def _names(name: str, value: Any) -> list[str]:
    """Names with spaces between, or a list of them."""
    words = value.split() if isinstance(value, str) else value
    if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise SettingError(f"{name} takes names with spaces between, not '{value}'")
    return list(words)


def _pose(name: str, value: Any) -> list[float]:
    """Six numbers, or three, or none."""
    words = value.split() if isinstance(value, str) else list(value)
    try:
        numbers = [float(word) for word in words]
    except (TypeError, ValueError):
        raise SettingError(f"{name} takes six numbers, x y z roll pitch yaw, not '{value}'") from None
    if len(numbers) not in (0, 3, 6) or not all(isfinite(x) for x in numbers):
        raise SettingError(f"{name} takes six numbers, x y z roll pitch yaw, not '{value}'")
    return numbers + [0.0] * (6 - len(numbers)) if numbers else []


often = within(0.01, 10000, zero=True)


@dataclass
class Settings:
    """Checked values of all parameters; each field says what a parameter may be."""

    mechanism: str = _setting("", "name of an example or path of a description file", _mechanism)
    trust: bool = _setting(False, "hand a xacro file to the xacro package, which runs what it says", _flag)
    accept_inertia: bool = _setting(False, "repair inertias of a robot's file that no body can have", _flag)
    mode: str = _setting(REAL_TIME, f"how time passes: {', '.join(MODES)}", _mode, True)
    rate: float = _setting(1000.0, "periods a simulated second, Hz", within(1, 10000))
    step: float = _setting(
        0.0, "integration step, s, a part of the period; 0 for the period", within(1e-6, 1, True)
    )
    substeps: int | None = _setting(
        0, "shorter steps that a step may try where it has to; 1: none, 0: as many as it takes", _tries
    )
    gravity: float | tuple[float, ...] | None = _setting(
        OWN_GRAVITY, "m/s²: g for (0, 0, -g), or three numbers, or 'description'", _gravity
    )
    live_gravity: bool = _setting(
        False,
        "make gravity a parameter of the mechanism, parameter.gravity, that changes while it runs",
        _flag,
    )
    start: Mapping[str, list[float]] = _setting(
        "", "coordinates held at the start, such as 'motor1=0.1 motor2=0.2'", _start
    )
    hold: bool = _setting(
        True,
        "hold the start pose until the first command; false lets go, true holds from the next reset",
        _flag,
        True,
    )
    compensate_wrench: bool = _setting(
        False,
        "hold and follow as if the topic wrench were known; false: it pushes the joints away, as with servos",
        _flag,
        True,
    )
    command_interface: str = _setting(
        "effort", f"what numbers on the topic commands are: {', '.join(INTERFACES)}", _interface
    )
    command_timeout: float = _setting(
        TIMEOUT, "s of silence before torques go to zero; 0: never", within(1e-3, 3600, True), True
    )
    watchdog: str = _setting(
        WATCHDOGS[0], "what torques do then: zero, or hold what they were", _watchdog, True
    )
    interpolation_period: float = _setting(
        0.0,
        f"s between streamed positions, which are then joined smoothly, {STREAM_LAG:g} periods late; 0: not",
        within(1e-3, 1, True),
        True,
    )
    command_stamps: bool = _setting(
        True, "refuse joint_commands whose header.stamp is old, or ahead of this node's clock", _flag, True
    )
    emergency_stop: str = _setting(
        BRAKE, "what an emergency stop does: brake and hold, or coast without torque", _stop, True
    )
    joint_state_rate: float = _setting(100.0, "joint states a simulated second; 0: every period", often, True)
    diagnostics_rate: float = _setting(1.0, "diagnostics a second; 0: none", often, True)
    diagnostics: Sequence[str] = _setting(
        "", "further outputs there, such as 'energy body.*.position'", _names
    )
    marker_rate: float = _setting(20.0, "markers a second while somebody listens; 0: none", often, True)
    outputs: Sequence[str] = _setting(
        "", "outputs on the topic outputs, such as 'energy body.*.position'", _names
    )
    poses: Sequence[str] = _setting("", "bodies and frames on pose/NAME and twist/NAME; patterns too", _names)
    tf: Sequence[str] = _setting("", "bodies and frames on /tf, '*' for all; needs tf2_msgs", _names)
    reactions: Sequence[str] = _setting(
        "", "joints whose reactions are on reaction/NAME; patterns too", _names
    )
    imus: Sequence[str] = _setting("", "bodies and frames with an inertial sensor, on imu/NAME", _names)
    wrench_on: str = _setting("", "body or frame that the topic wrench pushes; empty: none", _text)
    record: str = _setting("", "file to record to, such as run.mcap; empty: none", _text)
    placed_at: Sequence[float] = _setting(
        "", "x y z roll pitch yaw of its ground in the frame world, on /tf_static", _pose
    )
    frame_prefix: str = _setting("", "in front of all frames, such as 'left/'; for several robots", _text)
    publish_clock: bool = _setting(False, "publish /clock, and stamp messages with simulated time", _flag)
    clock_rate: float = _setting(100.0, "clock messages a simulated second; 0: every period", often, True)
    tracking_frequency: float = _setting(
        FREQUENCY, "rad/s: how stiffly poses are held and trajectories followed", within(0.1, 1000), True
    )
    rehearse: bool = _setting(
        True, "try trajectories out before following them, and refuse those that can't be", _flag, True
    )
    realtime_priority: float = _setting(0.0, "SCHED_FIFO priority, 1 to 99; 0: none", within(1, 99, True))
    udp: str = _setting("", "HOST:PORT to listen on for a device in the loop; empty: none", _text)
    udp_peer: str = _setting("", "HOST[:PORT] of the only device heard there; empty: who speaks first", _text)
    udp_key: str = _setting(
        "", "file with a key that the device's packets are signed with; empty: none", _text
    )
    autostart: bool = _setting(
        True, "configure and activate itself; false: wait for a lifecycle manager", _flag
    )
    compile: bool = _setting(True, "compile the equations where a C compiler is found", _flag)

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Settings:
        """All settings from raw values, defaults for those not given; checks them one by one and together."""
        settings = cls(**{n: s.check(n, values.get(n, s.default)) for n, s in SETTINGS.items()})
        settings.steps  # noqa: B018  raises if step and rate do not fit
        if settings.publish_clock and settings.mode == FOLLOW_CLOCK:
            raise SettingError(
                "one publishes /clock and others follow it: not both publish_clock and follow_clock"
            )
        if settings.udp and settings.mode == LOCK_STEP:
            raise SettingError(
                "udp needs time to run by itself; choose mode real_time, or lock_step without udp"
            )
        return settings

    @property
    def period(self) -> float:
        return 1.0 / self.rate

    @property
    def steps(self) -> int:
        """Integration steps in one period."""
        if not self.step:
            return 1
        count = round(self.period / self.step)
        if count < 1 or abs(count * self.step - self.period) > SAME_TIME * self.period:
            raise SettingError(
                f"step {self.step:g} s does not divide the period {self.period:g} s of rate {self.rate:g} Hz"
            )
        return count

    def change(self, name: str, value: Any) -> Any:
        """The checked value for a change while running; says why not otherwise."""
        if not SETTINGS[name].changeable:
            raise SettingError(
                f"{name} can't change while the node runs; start it again with {name}:={value}"
            )
        checked = SETTINGS[name].check(name, value)
        change = {checked, self.mode} if name == "mode" and checked != self.mode else set()
        if change & {LOCK_STEP, FOLLOW_CLOCK} and change != {FOLLOW_CLOCK, PAUSED}:
            raise SettingError(
                f"mode can't change from {self.mode} to {checked} while the node runs; start it again"
            )
        return checked


SETTINGS: dict[str, Setting] = {f.name: f.metadata["setting"] for f in fields(Settings)}
