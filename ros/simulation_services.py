"""Services of simulation_interfaces, where that package is installed; `simulator.py` answers them."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..model import CutjointError
from .loop import Loop
from .services import PATIENCE
from .simulator import ABOUT, FEATURES, OK, QUITTING, UNSUPPORTED, Answer, Simulator

try:  # in no registry of Python packages; part of ROS installations
    from simulation_interfaces import msg, srv
    from simulation_interfaces.action import SimulateSteps
except ImportError:
    msg = srv = SimulateSteps = None


CHUNK = 100  # steps between two words of feedback


class SimulationServices:
    """The standard's services under the node's own name, each answered between two periods."""

    def __init__(self, node: Any, loop: Loop):
        self.node, self.loop, self.simulator = node, loop, Simulator(loop)
        for name, answer in self.answers().items():
            node.create_service(getattr(srv, name), f"~/{_snake(name)}", self._service(answer))
        self._actions()

    def answers(self) -> dict[str, Callable[[Any, Any], Answer]]:
        """By service: from a request, filling in the response, to an answer."""
        s = self.simulator

        def no(why: str) -> Callable[[Any, Any], Answer]:
            return lambda request, response: Answer(UNSUPPORTED, why)

        return {
            "GetSimulatorFeatures": self._features,
            "GetSimulationState": self._state,
            "SetSimulationState": lambda request, response: self._set_state(request.state.state),
            "StepSimulation": lambda request, response: s.step(request.steps),
            "ResetSimulation": lambda request, response: s.reset(request.scope),
            "GetEntities": self._entities,
            "GetEntityState": self._entity_state,
            "SetEntityState": self._set_entity_state,
            "GetEntityInfo": self._info,
            "SpawnEntity": no("a node is one mechanism; start another node for another one"),
            "DeleteEntity": no("a node is one mechanism; end the node"),
        }

    def _service(self, answer: Callable[[Any, Any], Answer]) -> Callable[[Any, Any], Any]:
        def call(request: Any, response: Any) -> Any:
            try:
                done = self.loop.ask(lambda: answer(request, response)).result(PATIENCE)
            except CutjointError as problem:
                done = Answer(4, str(problem))
            if hasattr(response, "result"):
                response.result.result, response.result.error_message = done.code, done.text
            return response

        return call

    def _features(self, request: Any, response: Any) -> Answer:
        response.features.features = [getattr(msg.SimulatorFeatures, name) for name in FEATURES]
        response.features.custom_info = ABOUT
        return Answer(OK)

    def _state(self, request: Any, response: Any) -> Answer:
        done = self.simulator.state()
        response.state.state = done.value
        return done

    def _set_state(self, wanted: int) -> Answer:
        done = self.simulator.set_state(wanted)
        if done.value == QUITTING:
            self.node.quit()
        return done

    def _entities(self, request: Any, response: Any) -> Answer:
        filters = request.filters
        if filters.tags.tags or filters.bounds.points:
            return Answer(UNSUPPORTED, "entities are filtered by name and category only")
        done = self.simulator.entities(filters.filter, [c.category for c in filters.categories])
        response.entities = done.value or []
        return done

    def _entity_state(self, request: Any, response: Any) -> Answer:
        done = self.simulator.entity_state(request.entity)
        if done.value is not None:
            at, state = done.value, response.state
            state.header.stamp = self.node.telling.stamp()
            state.header.frame_id = f"{self.loop.settings.frame_prefix}ground"
            p, o = state.pose.position, state.pose.orientation
            p.x, p.y, p.z = at.position
            o.w, o.x, o.y, o.z = at.orientation
            state.twist.linear.x, state.twist.linear.y, state.twist.linear.z = at.velocity
            w = state.twist.angular
            w.x, w.y, w.z = at.angular_velocity
        return done

    def _set_entity_state(self, request: Any, response: Any) -> Answer:
        if request.set_acceleration:
            return Answer(UNSUPPORTED, "accelerations follow from forces")
        p, o = request.state.pose.position, request.state.pose.orientation
        v, w = request.state.twist.linear, request.state.twist.angular
        pose = (p.x, p.y, p.z, o.w, o.x, o.y, o.z) if request.set_pose else None
        twist = (v.x, v.y, v.z, w.x, w.y, w.z) if request.set_twist else None
        return self.simulator.set_entity_state(request.entity, pose, twist)

    def _info(self, request: Any, response: Any) -> Answer:
        done = self.simulator.info(request.entity)
        if done.value is not None:
            response.info.category.category, response.info.description, response.info.tags = done.value
        return done

    def destroy(self) -> None:
        self._server.destroy()

    def _actions(self) -> None:
        """SimulateSteps, with feedback on the way."""
        from rclpy.action import ActionServer

        def run(goal: Any) -> Any:
            result, feedback, made = SimulateSteps.Result(), SimulateSteps.Feedback(), 0
            total = goal.request.steps
            while made < total and not goal.is_cancel_requested:
                some = min(CHUNK, total - made)
                done = self.loop.ask(partial(self.simulator.step, some)).result(PATIENCE)
                result.result.result, result.result.error_message = done.code, done.text
                if done.code != OK:
                    goal.abort()
                    return result
                made += some
                feedback.completed_steps, feedback.remaining_steps = made, total - made
                goal.publish_feedback(feedback)
            if made < total:
                goal.canceled()
            else:
                result.result.result = OK
                goal.succeed()
            return result

        self._server = ActionServer(self.node, SimulateSteps, "~/simulate_steps", run)


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
