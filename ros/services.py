"""Services of the node, each under `~/`: jobs that the loop does between two periods."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from ..model.base.errors import CutjointError
from .loop import Loop
from .settings import LOCK_STEP, PAUSED

PATIENCE = 30.0  # seconds a service waits for the loop


class Services:
    """reset, step, pause, emergency_stop, linearize, save_state, restore_state."""

    def __init__(self, node: Any, loop: Loop, linear: Any):
        self.node, self.loop, self._linear = node, loop, linear
        self._saved: Any = None
        jobs = {"reset": self.reset, "step": self.step, "linearize": self._linearize}
        jobs |= {"save_state": self._save, "restore_state": self._restore}
        for name, job in jobs.items():
            node.create_service(Trigger, f"~/{name}", self._service(job))
        switches: dict[str, Callable[[bool], str]] = {"pause": self.pause}
        switches["emergency_stop"] = loop.emergency_stop
        for switch, act in switches.items():
            node.create_service(SetBool, f"~/{switch}", self._switch(act))

    def _service(self, job: Callable[[], str]) -> Callable[[Any, Any], Any]:
        """A Trigger service that does its job between two periods and says how it went."""

        def answer(request: Any, response: Any) -> Any:
            try:
                response.message, response.success = self.loop.ask(job).result(PATIENCE), True
            except CutjointError as problem:
                response.message, response.success = str(problem), False
            except Exception as problem:  # a service must answer, and the node must live
                response.message, response.success = f"{type(problem).__name__}: {problem}", False
                self.node.get_logger().error(f"service failed: {response.message}")
            return response

        return answer

    def reset(self) -> str:
        self.loop.put(self.loop.simulation.reset)
        return "at the start"

    def _save(self) -> str:
        self._saved = self.loop.simulation.state
        return f"saved at {self.loop.time:.6f} s"

    def _restore(self) -> str:
        saved = self._saved
        if saved is None:
            raise CutjointError("nothing is saved; call 'save_state' first")
        self.loop.put(lambda: self.loop.simulation.put(saved))
        return f"back at {self.loop.time:.6f} s"

    def step(self) -> str:
        loop = self.loop
        if loop.settings.mode not in (PAUSED, LOCK_STEP):
            raise CutjointError(f"time runs by itself in mode {loop.settings.mode}; call 'pause' first")
        if loop.fault:
            raise CutjointError(loop.fault)
        if not loop.active:
            raise CutjointError("the node is not active; activate it first")
        loop.advance()
        if loop.fault:
            raise CutjointError(loop.fault)
        return f"at {loop.time:.6f} s"

    def _linearize(self) -> str:
        simulation = self.loop.simulation
        model = simulation.linearize()
        message = {"time": self.loop.time, "mechanism": simulation.mechanism.name, **model.as_dict()}
        self._linear.publish(String(data=json.dumps(message)))
        return f"published on linear_model, {np.shape(model.A)[0]} states"

    def _switch(self, act: Callable[[bool], str]) -> Callable[[Any, Any], Any]:
        """A SetBool service that does so as well."""
        return lambda request, response: self._service(lambda: act(request.data))(request, response)

    def pause(self, still: bool) -> str:
        """Pause or run on; running on goes to the mode there was before."""
        loop = self.loop
        if loop.settings.mode == LOCK_STEP:
            raise CutjointError("lock-step waits for commands anyway")
        if still:
            loop.set_mode(PAUSED)
        elif loop.fault:
            raise CutjointError(f"{loop.fault}; call 'reset' first")
        elif loop.settings.mode == PAUSED:
            loop.set_mode(loop.running)
        return loop.settings.mode


async def rest(node: Any, seconds: float) -> None:
    """Let the executor do other things for a while."""
    future, steady = Future(), Clock(clock_type=ClockType.STEADY_TIME)
    timer = node.create_timer(seconds, lambda: future.set_result(None), clock=steady)
    await future
    node.destroy_timer(timer)
