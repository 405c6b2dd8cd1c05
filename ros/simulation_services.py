"""Services of simulation_interfaces, where that package is installed; `simulator.py` answers them."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..model.base.errors import CutjointError
from ..model.control.frame_readings import Sensed
from ..model.describe.mechanism import GROUND
from .loop import Loop
from .services import PATIENCE, rest
from .simulator import ABOUT, FAILED, FEATURES, OK, QUITTING, UNSUPPORTED, Answer, Simulator

try:  # in no registry of Python packages; part of ROS installations
    from simulation_interfaces import msg, srv
    from simulation_interfaces.action import SimulateSteps
except ImportError:
    msg = srv = SimulateSteps = None


CHUNK = 100  # steps between two looks at whether to go on
SOON = 0.001  # seconds in which others have their turn then
SETTABLE = ("pose", "twist", "acceleration")


class SimulationServices:
    """The standard's services under the node's own name, each answered between two periods."""

    def __init__(self, node: Any, loop: Loop):
        self.node, self.loop, self.simulator = node, loop, Simulator(loop)
        for name, answer in self.answers().items():
            if hasattr(srv, name):  # releases of the package differ
                node.create_service(getattr(srv, name), f"~/{_snake(name)}", self._service(answer))
        steps = self._answering(lambda request, response: self._steps(request.steps))
        node.create_service(srv.StepSimulation, "~/step_simulation", steps)
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
            "ResetSimulation": lambda request, response: s.reset(request.scope),
            "GetEntities": self._entities,
            "GetEntityState": self._entity_state,
            "GetEntitiesStates": self._entity_states,
            "SetEntityState": self._set_entity_state,
            "GetEntityInfo": self._info,
            "SpawnEntity": no("a node is one mechanism; start another node for another one"),
            "SpawnEntities": no("a node is one mechanism; start another node for another one"),
            "DeleteEntity": no("a node is one mechanism; end the node"),
        }

    def _service(self, answer: Callable[[Any, Any], Answer]) -> Callable[[Any, Any], Any]:
        """A service that is answered by the loop's thread."""

        def asked(request: Any, response: Any) -> Answer:
            done: Answer = self.loop.ask(lambda: answer(request, response)).result(PATIENCE)
            return done

        return self._answering(asked)

    def _answering(self, answer: Callable[[Any, Any], Answer]) -> Callable[[Any, Any], Any]:
        def call(request: Any, response: Any) -> Any:
            try:
                done = answer(request, response)
            except CutjointError as problem:
                done = Answer(FAILED, str(problem))
            except Exception as problem:  # a service must answer, and the node must live
                done = Answer(FAILED, f"{type(problem).__name__}: {problem}")
                self.node.get_logger().error(f"service failed: {done.text}")
            if hasattr(response, "result"):
                response.result.result, response.result.error_message = done.code, done.text
            return response

        return call

    def _steps(self, total: int) -> Answer:
        made, done = 0, Answer(OK)
        while made < total and done.code == OK:
            made, done = self._some(made, total)
        return done

    def _some(
        self, made: int, total: int, tell: Callable[[int], None] = lambda made: None
    ) -> tuple[int, Answer]:
        """Some of many periods, so that the node can end between them; `tell` hears of each."""
        job = partial(self.simulator.step, min(CHUNK, total - made), lambda k: tell(made + k))
        done = self.loop.ask(job).result(PATIENCE)
        made += done.value or 0
        if done.code != OK:
            done = done._replace(text=f"{done.text}; {made} of {total} steps were made")
        return made, done

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
            self._fill(response.state, done.value)
        return done

    def _entity_states(self, request: Any, response: Any) -> Answer:
        filters = request.filters
        if filters.tags.tags or filters.bounds.points:
            return Answer(UNSUPPORTED, "entities are filtered by name and category only")
        done = self.simulator.entity_states(filters.filter, [c.category for c in filters.categories])
        for name, at in done.value or ():
            state = msg.EntityState()
            self._fill(state, at)
            response.entities.append(name)
            response.states.append(state)
        return done

    def _fill(self, state: Any, at: Sensed) -> None:
        """A message of what a body does, in the frame of the mechanism's ground."""
        state.header.stamp = self.node.telling.stamp()
        state.header.frame_id = f"{self.loop.settings.frame_prefix}{GROUND}"
        turn = state.pose.orientation
        turn.w, turn.x, turn.y, turn.z = at.orientation
        for message, values in (
            (state.pose.position, at.position),
            (state.twist.linear, at.velocity),
            (state.twist.angular, at.angular_velocity),
            (state.acceleration.linear, at.acceleration),
            (state.acceleration.angular, at.angular_acceleration),
        ):
            message.x, message.y, message.z = values

    def _set_entity_state(self, request: Any, response: Any) -> Answer:
        """Its flags say what to set; releases without flags set pose and twist."""
        wanted = {what: getattr(request, f"set_{what}", what != "acceleration") for what in SETTABLE}
        if wanted["acceleration"]:
            return Answer(UNSUPPORTED, "accelerations follow from forces")
        p, o = request.state.pose.position, request.state.pose.orientation
        v, w = request.state.twist.linear, request.state.twist.angular
        pose = (p.x, p.y, p.z, o.w, o.x, o.y, o.z) if wanted["pose"] else None
        twist = (v.x, v.y, v.z, w.x, w.y, w.z) if wanted["twist"] else None
        return self.simulator.set_entity_state(request.entity, pose, twist, request.state.header.frame_id)

    def _info(self, request: Any, response: Any) -> Answer:
        done = self.simulator.info(request.entity)
        if done.value is not None:
            response.info.category.category, response.info.description, response.info.tags = done.value
        return done

    def destroy(self) -> None:
        self._server.destroy()

    def _actions(self) -> None:
        """SimulateSteps, with feedback on the way; the executor goes on meanwhile."""
        from rclpy.action import ActionServer, CancelResponse
        from rclpy.callback_groups import ReentrantCallbackGroup
        from rclpy.qos import QoSProfile

        async def run(goal: Any) -> Any:
            result, feedback = SimulateSteps.Result(), SimulateSteps.Feedback()
            total, made, done = goal.request.steps, 0, Answer(OK)

            def tell(made: int) -> None:
                feedback.completed_steps, feedback.remaining_steps = made, total - made
                goal.publish_feedback(feedback)

            try:
                while made < total and done.code == OK and not goal.is_cancel_requested:
                    made, done = self._some(made, total, tell)
                    await rest(self.node, SOON)
            except CutjointError as problem:
                done = Answer(FAILED, str(problem))
            result.result.result, result.result.error_message = done.code, done.text
            if done.code != OK:
                goal.abort()
            elif made < total:
                goal.canceled()
            else:
                goal.succeed()
            return result

        self._server = ActionServer(
            self.node,
            SimulateSteps,
            "~/simulate_steps",
            run,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
            feedback_pub_qos_profile=QoSProfile(depth=CHUNK),  # all that is told between two looks
        )


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
