"""Start the node, let it run, and leave cleanly whatever ends it.

A mechanism is built (traced and compiled, at its first start) while nothing of ROS is there: so a
signal can end that at once, and leaves nothing behind.
"""

import contextlib
import gc
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from ..model.base.errors import CutjointError
from ..model.base.posix_signals import stop_on_signal
from ..model.base.subprocesses import scratch_folder
from ..model.compile.cache import LOG
from ..model.control.runtime_parameters import with_runtime_parameters
from ..model.loading import load
from ..model.simulation import Simulation
from .loop import IDLE, Loop
from .node import NAME, MechanismNode
from .parameters import declare_parameters, own_overrides
from .settings import REAL_TIME, Settings

LET_GO = 10.0  # seconds that the middleware has to end: all that is ours has ended by then
SWITCH = 1e-4  # seconds a thread may keep Python to itself while another waits; 5e-3 by default


def run(values: dict[str, Any], ros_arguments: Sequence[str], failed: int) -> int:
    """Run until SIGINT or SIGTERM and return 0; `values` are parameters that the command line sets.

    `failed` is the exit code after a failure that ROS keeps from being told in the usual way.
    """
    with log_folder():
        return _run(values, ros_arguments, failed)


def _run(values: dict[str, Any], ros_arguments: Sequence[str], failed: int) -> int:
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    settings, given = _read_settings(overrides, ros_arguments)
    loop = loop_of(settings, given) if settings.autostart else None
    with stop_on_signal() as stop, let_go(failed) as end, ros(ros_arguments):
        node = MechanismNode(overrides, loop, loop_of)
        node.quit = stop.set
        try:
            if not stop.is_set():
                _work(node, stop)
        finally:
            end(sys.exc_info()[1])
            node.destroy_node()
    return 0


@contextmanager
def log_folder() -> Iterator[None]:
    """A place for ROS's log files where its own can't be written: rclpy would refuse to start."""
    try:
        home = os.environ.get("ROS_HOME")
        base = Path(home) if home else Path.home() / ".ros"
        folder = Path(os.environ.get("ROS_LOG_DIR") or base / "log")
        folder.mkdir(parents=True, exist_ok=True)
        writable, why = os.access(folder, os.W_OK | os.X_OK), f"'{folder}' can't be written"
    except (OSError, RuntimeError) as problem:  # the last: nobody knows where home is
        writable, why = False, str(problem).rstrip(".")
    if writable:
        if "HOME" not in os.environ:  # ROS asks nobody else where home is
            os.environ["ROS_LOG_DIR"] = str(folder)
        yield
        return
    with scratch_folder("log-") as temporary:
        warnings.warn(f"ROS's log files are kept for this run only: {why}; set ROS_LOG_DIR", stacklevel=2)
        os.environ["ROS_LOG_DIR"] = str(temporary)
        yield


@contextmanager
def let_go(failed: int) -> Iterator[Callable[[BaseException | None], None]]:
    """Leave some time after one is told of the end, whether or not ROS has: rarely, it waits for itself."""
    timers: list[threading.Timer] = []

    def leave(problem: BaseException | None) -> None:
        why = f"{problem}; " if problem else ""  # which nobody else can tell any more
        said = f"cutjoint: {why}ROS did not let go within {LET_GO:g} s; left without it"
        print(said, file=sys.stderr, flush=True)
        os._exit(failed if problem else 0)

    def end(problem: BaseException | None) -> None:
        timers.append(threading.Timer(LET_GO, leave, [problem]))
        timers[-1].daemon = True
        timers[-1].start()

    try:
        yield end
    finally:  # also after a failure, which is told by whoever started the node
        for timer in timers:
            timer.cancel()


@contextmanager
def ros(arguments: Sequence[str], context: rclpy.Context | None = None) -> Iterator[None]:
    try:  # rclpy's own handlers would shut the context down under our feet
        words, handlers = ["cutjoint", *arguments], SignalHandlerOptions.NO
        rclpy.init(args=words, context=context, signal_handler_options=handlers)
    except Exception as problem:  # rclpy's own error types are private
        raise CutjointError(f"--ros-args: {str(problem).partition(', at ')[0]}") from problem
    try:
        yield
    finally:
        rclpy.try_shutdown(context=context)


def _read_settings(
    overrides: Sequence[Parameter], ros_arguments: Sequence[str]
) -> tuple[Settings, dict[str, Any]]:
    """What the node's parameters will be."""
    with _node_for_a_moment(ros_arguments, overrides) as node:
        return declare_parameters(node), own_overrides(node)


def given_parameters(ros_arguments: Sequence[str]) -> dict[str, Any]:
    """All that the node would be given by these words."""
    with _node_for_a_moment(ros_arguments) as node:
        return {name: node.get_parameter(name).value for name in node.list_parameters([], 0).names}


@contextmanager
def _node_for_a_moment(ros_arguments: Sequence[str], overrides: Sequence[Parameter] = ()) -> Iterator[Node]:
    """A node of the same name, to see what parameters it is given."""
    context = rclpy.Context()
    with ros(ros_arguments, context):
        node = rclpy.create_node(
            NAME,
            context=context,
            parameter_overrides=list(overrides),
            automatically_declare_parameters_from_overrides=True,
            start_parameter_services=False,
            enable_rosout=False,
        )
        try:
            yield node
        finally:
            node.destroy_node()


def loop_of(settings: Settings, parameters: dict[str, Any]) -> Loop:
    """A mechanism ready to run with values of its parameters; what has to be built for it is told."""
    say, begin = get_logger(NAME), time.monotonic()

    class Tell(logging.Handler):
        count = 0

        def emit(self, record: logging.LogRecord) -> None:
            if record.msg.startswith("built"):
                self.count += 1
            else:
                say.info(f"{settings.mechanism}: {record.getMessage()}")

    tell, level = Tell(), LOG.level
    LOG.addHandler(tell)
    LOG.setLevel(logging.INFO)
    try:
        mechanism = load(settings.mechanism, settings.trust, settings.accept_inertia)
        described, push = with_runtime_parameters(mechanism, settings.live_gravity, settings.wrench_on)
        simulation = Simulation(
            described,
            gravity=settings.gravity,
            parameters=parameters,
            start=settings.start,
            compile=None if settings.compile else False,
            substeps=settings.substeps,
        )
        loop = Loop(simulation, settings)
        loop.push = push
    finally:
        LOG.setLevel(level)
        LOG.removeHandler(tell)
    if tell.count:
        kept = " and kept for the next start" if settings.compile else ""
        took = time.monotonic() - begin
        say.info(f"{settings.mechanism}: {tell.count} functions built in {took:.1f} s{kept}")
    return loop


def _work(node: MechanismNode, stop: threading.Event) -> None:
    """The loop in this thread, the executor in another."""
    say = node.get_logger()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    listener = threading.Thread(target=_listen, args=(executor, node, stop), name="executor", daemon=True)
    listener.start()
    switch = sys.getswitchinterval()
    try:
        if node.settings.autostart:
            node.trigger_configure()
            if node.failure is None:
                node.trigger_activate()
        else:
            say.info("waits to be configured and activated (lifecycle)")
        _prefer(node, listener)
        sys.setswitchinterval(SWITCH)
        gc.collect()
        gc.freeze()  # what is there now stays; collections look at new objects only
        while not stop.is_set() and node.failure is None:
            if node.loop is None:
                node.do_jobs(IDLE)
            else:
                node.loop.run(stop)
        if node.failure is not None:
            raise node.failure
    finally:
        stop.set()
        if node.loop is not None:
            node.loop.close()
        sys.setswitchinterval(switch)
        listener.join(timeout=5.0)
        executor.shutdown(timeout_sec=1.0)
        if node.loop is not None and node.telling is not None:
            for line in node.telling.health.last_words(node.loop):
                say.info(line)
            node.telling.close()


def _listen(executor: SingleThreadedExecutor, node: MechanismNode, stop: threading.Event) -> None:
    """Take messages in. In real time at most two a period, so that a flood can't starve the loop.

    Topics keep only their latest message, so what waits here is never old.
    """
    rest = node.settings.period / 2
    while not stop.is_set():
        begin = time.monotonic()
        try:
            executor.spin_once(timeout_sec=0.1)
        except ExternalShutdownException:
            return
        except Exception as problem:  # one bad message must not silence all others
            if stop.is_set():
                return
            node.warn("executor", f"{type(problem).__name__}: {problem}")
        if node.settings.mode == REAL_TIME:
            ahead = begin + rest - time.monotonic()
            if ahead > 0:
                time.sleep(min(ahead, 0.005))


def _prefer(node: MechanismNode, listener: threading.Thread) -> None:
    """Real-time scheduling where asked and allowed.

    Also for the executor: the loop waits for whoever has the interpreter, and would wait for other programs.
    """
    priority = int(node.settings.realtime_priority)
    if not priority:
        return
    try:
        for thread in (0, listener.native_id or 0):
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
    except (AttributeError, OSError) as problem:
        with contextlib.suppress(Exception):
            node.get_logger().warning(
                f"realtime_priority {priority} can't be had ({problem}); allow it with 'ulimit -r' or as root"
            )
