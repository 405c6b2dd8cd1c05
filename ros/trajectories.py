"""Which trajectory is followed, which are yet to begin, and which is being tried out.

All of it happens in the loop's thread but the trying, which real time never waits for: a worker tries one
trajectory after the other, and of those that wait only the newest. So that it tries the very motion that
will come, the moment of the start is chosen ahead: its double first goes on as the mechanism will. If it is
not done by then, a later moment is chosen. Where time passes on request, or as fast as it can, it does wait;
in `fast` mode no longer than it passes in between.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..model.base.errors import CutjointError
from ..model.base.thresholds import REHEARSED, SAME_TIME
from ..model.chain.chain import Chain
from ..model.chain.target import Target, described_target, resolve, target_numbers, target_rows
from ..model.control.computed_torque import Rehearsal, Wanted
from ..model.state import State
from .settings import FAST, FOLLOW_CLOCK, REAL_TIME
from .trajectory_interpolation import AcceptedPose, AcceptedTrajectory, Follower, Point

PACED = (REAL_TIME, FOLLOW_CLOCK)  # modes in which time waits for nobody
ROOM = 2.0  # times as long as trials took so far: what the next one is given
EARLY = 1.0  # seconds ahead of its stamp that a trajectory is tried at least
GUARD = 0.0002  # seconds before the loop goes on in which the worker does not
PATIENCE = 0.01  # seconds that the worker waits for a loop that never rests
FIRST = 0.1  # wall seconds of a second that is tried out, before one was
PLANNED = 0.2  # wall seconds in which a way to a pose is planned and tried out, before one was


class Trajectories:
    """The trajectories of a `Loop`."""

    def __init__(self, loop: Any):
        self.loop = loop
        self.follower: Follower | None = None  # what is followed
        self.agenda: list[AcceptedTrajectory] = []  # to begin, each at its `start`
        self.later: AcceptedTrajectory | None = None  # too far ahead to be tried yet
        self.replaced = 0  # by newer ones, before anybody tried them
        self._rehearsal = Rehearsal(loop.drives, loop.frequency)
        self._worker = ThreadPoolExecutor(1, "rehearsal")
        self._trials: list[tuple[AcceptedTrajectory, Future[Follower]]] = []
        self._waiting: AcceptedTrajectory | None = None  # until time has passed in `fast` mode
        self._rests_until, self._cost, self._planning = 0.0, FIRST, PLANNED
        self._chain: Chain | None = None

    def take(
        self, joints: Sequence[str], points: Sequence[Point], at: float | None = None
    ) -> AcceptedTrajectory:
        """Take a trajectory that begins at a simulated time, or now; none if it has no points.

        It begins from the state there is then. It is rehearsed, and refused with a sentence if it can't be
        followed; what was wanted before then goes on.
        """
        course = AcceptedTrajectory(tuple(joints), points, at)
        if not points:
            self.drop()
            self.loop.commands.clear()
            return course
        lead = self._lead(self._from_here(course))  # refuses what makes no sense at once
        lead = max(lead, EARLY) if lead else 0.0
        self._replace_later()
        if at is not None and at > self.loop.time + lead + SAME_TIME:
            course.start, self.later = at - lead, course
        else:
            self._try(course)
        return course

    def take_pose(self, target: Target) -> AcceptedPose:
        """Bring a frame to rest at a target, from the motion there is when its way begins.

        The way is planned beside the loop, where joints, limits and singular poses are looked at, then
        rehearsed as any trajectory.
        """
        chain = self.prepare()
        target_numbers(target)  # refuses what makes no sense at once
        target_rows(chain.mechanism, resolve(chain.mechanism, target))
        course = AcceptedPose(chain=chain, target=target)
        self._replace_later()
        self._try(course)
        return course

    def prepare(self) -> Chain:
        """The chain by which poses become joints, its equations compiled."""
        if self._chain is None:
            self._chain = chain = Chain(self.loop.simulation)
            for described in chain.mechanism.targets:
                pose = chain.pose(described.frame, base=described.base)
                here = described_target(described, pose.position, pose.orientation)
                with contextlib.suppress(CutjointError):  # it will be met again, and told, when asked for
                    chain.plan(here, duration=self.loop.settings.period)
        return self._chain

    def _replace_later(self) -> None:
        """What has not been tried yet will not be."""
        self.later = None
        if self._waiting is not None:
            self._replace(self._waiting)
            self._waiting = None

    def due(self) -> None:
        """Before a period: try and begin what is to begin now."""
        for course in (self.later, self._waiting):
            if course is None or self.loop.time < course.start - SAME_TIME:
                continue
            if course is self._waiting and time.monotonic() < self._rests_until:
                continue
            self.forget(course)
            try:
                self._try(course)
            except CutjointError as problem:
                self._refuse(course, problem)
        while self.agenda and self.loop.time >= self.agenda[0].start - SAME_TIME:
            self.follower = self.agenda.pop(0).follower

    def drop(self) -> None:
        """Something else is commanded: nothing is followed any more, nor will be."""
        for course, trial in self._trials:
            course.dropped = True
            trial.cancel()
        self._trials, self.agenda = [], []
        self.follower = self.later = self._waiting = None

    def leave(self, course: AcceptedTrajectory) -> None:
        """Stop where a trajectory is, or forget one that is yet to begin; not if something else took over."""
        if self.follower is not None and self.follower is course.follower:
            feeds, commands = self.follower.feeds, self.loop.commands
            self.drop()
            commands.take_over(commands.latest.still())
            if feeds:
                commands.clear()
        elif self.awaits(course):
            course.dropped = True
            self.forget(course)

    def forget(self, course: AcceptedTrajectory) -> None:
        """It is not to begin."""
        self.agenda = [x for x in self.agenda if x is not course]
        self.later = None if self.later is course else self.later
        self._waiting = None if self._waiting is course else self._waiting

    def awaits(self, course: AcceptedTrajectory) -> bool:
        """Whether it is yet to begin."""
        there = (self.later, self._waiting, *self.agenda, *(x for x, _ in self._trials))
        return not course.dropped and any(x is course for x in there)

    def close(self) -> None:
        self.drop()
        self._worker.shutdown(wait=False, cancel_futures=True)

    # -- trying out ------------------------------------------------------------------------------

    def _from_here(self, course: AcceptedTrajectory) -> Follower:
        """Followed from the present state."""
        loop = self.loop
        return course.follower_at(loop.drives, loop.commands.index, loop.commands.latest.still(), loop.time)

    def _lead(self, follower: Follower | None) -> float:
        """Simulated seconds between the begin of a trial and the start; None is yet to be planned."""
        settings = self.loop.settings
        if settings.mode not in PACED:
            return 0.0
        if follower is None:
            return ROOM * self._planning + settings.period
        tried = settings.rehearse and not follower.feeds
        return ROOM * self._cost * min(follower.end, REHEARSED) + settings.period if tried else 0.0

    def _try(self, course: AcceptedTrajectory) -> None:
        """Try it out, here or beside the loop, and have it begin."""
        loop, follower = self.loop, None if course.planned else self._from_here(course)
        if follower is not None and (not loop.settings.rehearse or follower.feeds):
            self._begin(course, follower, loop.time)
        elif loop.settings.mode in PACED:
            self._try_beside(course, max(self._lead(follower), (course.at or 0.0) - loop.time))
        elif loop.settings.mode == FAST and time.monotonic() < self._rests_until:
            self._waiting = course
        else:
            begin = time.monotonic()
            try:
                found = self._trial(course, loop.simulation.state, self._expected())()
            finally:
                self._rests_until = 2 * time.monotonic() - begin
            self._begin(course, found, loop.time)

    def _begin(self, course: AcceptedTrajectory, follower: Follower, start: float) -> None:
        """At a moment, in place of all that was to begin then or later."""
        course.follower, course.start = follower, start
        self.agenda = [*(x for x in self.agenda if x.start < start - SAME_TIME), course]

    def _try_beside(self, course: AcceptedTrajectory, lead: float) -> None:
        for other, trial in self._trials:
            if trial.cancel():  # nobody has begun to try it
                self._replace(other)
        loop, began = self.loop, time.monotonic()
        periods = max(round(lead / loop.settings.period), 1)
        lead = periods * loop.settings.period
        start = loop.time + lead

        def abandoned() -> bool:
            """Asked before every period."""
            self._make_way()
            return course.dropped

        state, expected = loop.simulation.state, self._expected()
        trial = self._worker.submit(self._trial(course, state, expected, periods, abandoned))
        self._trials = [(x, t) for x, t in self._trials if not x.dropped] + [(course, trial)]

        def done(trial: Future[Follower]) -> None:
            if not trial.cancelled():
                took = time.monotonic() - began
                loop.ask(lambda: self._tried(course, trial, start, lead, took))

        trial.add_done_callback(done)

    def _make_way(self) -> None:
        """Let the worker sleep unless the loop waits for some time yet.

        Threads share an interpreter, and one that calls short compiled functions gives it to others too
        briefly for them to wake up: the loop would wait for a whole trial.
        """
        begin = time.monotonic()
        while (now := time.monotonic()) < begin + PATIENCE and self.loop.rests_until < now + GUARD:
            time.sleep(GUARD)

    def _tried(
        self, course: AcceptedTrajectory, trial: Future[Follower], start: float, lead: float, took: float
    ) -> None:
        """It begins at the moment that was chosen; if that is over, a later one is."""
        self._trials = [(x, t) for x, t in self._trials if t is not trial]
        if course.dropped:
            return
        problem = trial.exception()
        if problem is not None:
            self._refuse(course, problem)
            return
        follower, now = trial.result(), self.loop.time
        if course.planned:
            self._planning = took
        else:
            self._cost = took / (lead + min(follower.end, REHEARSED))
        if now <= start + SAME_TIME:
            self._begin(course, follower, start)
        elif course.planned:
            self._plan_again(course, lead)
        elif self.loop.drives.is_where(follower.path):
            self._begin_late(course)
        elif self._trials:
            self._replace(course)
        elif lead < REHEARSED:
            self._try_beside(course, 2 * lead)
        else:  # the machine is too slow for it
            self._begin_late(course)

    def _plan_again(self, course: AcceptedTrajectory, lead: float) -> None:
        """From a later moment, unless something newer was asked for."""
        if self._trials:
            self._replace(course)
        elif lead < REHEARSED:
            self._try_beside(course, 2 * lead)
        else:
            self._refuse(course, CutjointError("its way is not found in time; the machine is too slow"))

    def _begin_late(self, course: AcceptedTrajectory) -> None:
        """From the present state, unless it is over by its stamp."""
        try:
            self._begin(course, self._from_here(course), self.loop.time)
        except CutjointError as problem:
            self._refuse(course, problem)

    def _trial(
        self,
        course: AcceptedTrajectory,
        state: State,
        expected: Callable[[float], Wanted],
        periods: int = 0,
        abandoned: Callable[[], bool] = lambda: False,
    ) -> Callable[[], Follower]:
        """What tries it out after some periods, and gives what to follow."""
        loop, rehearsal = self.loop, self._rehearsal
        near, settings, frequency = loop.values.position.copy(), loop.settings, loop.frequency
        start = state.time + periods * settings.period
        step, steps = settings.period / settings.steps, settings.steps

        def run() -> Follower:
            rehearsal.begin(state, near, abandoned)
            rehearsal.go_on(expected, periods, step, steps, frequency)
            others = expected(start).still()
            follower = course.follower_at(rehearsal.drives, loop.commands.index, others, start)
            follower.begin = start
            if settings.rehearse:
                rehearsal.run(others, follower.path, step, steps, frequency)
            return follower

        return run

    def _expected(self) -> Callable[[float], Wanted]:
        """What will be wanted at simulated times to come, as far as that is known."""
        latest, now = self.loop.commands.latest, self.follower
        plan = [(course.start, course.follower) for course in self.agenda]

        def orders(t: float) -> Wanted:
            follower = now
            for start, next_one in plan:
                follower = next_one if t >= start - SAME_TIME else follower
            found = None if follower is None else follower.orders(t)
            return latest if found is None else found

        return orders

    def _refuse(self, course: AcceptedTrajectory, problem: BaseException) -> None:
        course.refusal = str(problem) or type(problem).__name__
        self.loop.commands.refused += 1
        self.loop.outlet.warn(course.topic, f"{course.word} refused: {course.refusal}")

    def _replace(self, course: AcceptedTrajectory) -> None:
        course.dropped = True
        self.replaced += 1
