"""A humanoid's controller: estimate, gate the contacts, look ahead, and turn aims into torques."""

from __future__ import annotations

import time as clock
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trundle.checks import FloatArray, number
from trundle.contact.packed import FrameMotion
from trundle.contact.patch import PlacedPatch
from trundle.control.inverse_dynamics import Command
from trundle.models.robots.servo import Servo
from trundle.models.urdf.articulated import ArticulatedTerms, Momentum
from trundle.numerics.rotations import quaternion_of, rotation_by, rotation_z
from trundle.parameters import Checked, Period, parameter
from trundle.simulate.mujoco.pushes import ForcePulse
from trundle.status import Status
from trundle.systems.multicontact.centroidal.centroidal import CentroidalState
from trundle.systems.multicontact.preview import Preview, PreviewPlan, ReferencePath
from trundle.systems.multicontact.whole_body.base_estimator import AttitudeFilter, LegOdometry, Measurement, shift_base
from trundle.systems.multicontact.whole_body.joint_targets import JointTargets
from trundle.systems.multicontact.whole_body.pick_and_place import Handling
from trundle.systems.multicontact.whole_body.progress import Gating, WalkProgress
from trundle.systems.multicontact.whole_body.stepping import Footsteps, SwingMotion
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController, WholeBodyTarget


@dataclass(frozen=True)
class ControlPeriods(Checked):
    """Periods of the whole-body controller and of the preview."""

    control: Period = parameter(0.002, "s")
    preview: Period = parameter(0.04, "s, between two plans")


@dataclass(eq=False)
class ControllerDiagnostics:
    """Diagnostics of the last control step, for records.

    Attributes
    ----------
    com, com_rate, momentum : (3,)
        Estimated.
    aim : (3,) m
        Of the centre of mass.
    base : (3,) m
        Estimated.
    plan_time : float, s
        Of the plan's clock, which waits for late ground.
    solve_time, preview_time : float, s
        Processor time of the last tick without the preview, and of the last preview.
    standing : tuple of str
    spent : float, s
        Processor time of all ticks and previews since the start.
    torque_use : float
        Largest |torque| / limit since the start.
    begun : int
        Travels that have begun.
    started : (3,)
        Estimated angular momentum where the plan in force was made.
    """

    com: FloatArray = field(default_factory=lambda: np.zeros(3))
    com_rate: FloatArray = field(default_factory=lambda: np.zeros(3))
    momentum: FloatArray = field(default_factory=lambda: np.zeros(3))
    aim: FloatArray = field(default_factory=lambda: np.zeros(3))
    base: FloatArray = field(default_factory=lambda: np.zeros(3))
    plan_time: float = 0.0
    solve_time: float = 0.0
    preview_time: float = 0.0
    standing: tuple[str, ...] = ()
    spent: float = 0.0
    torque_use: float = 0.0
    begun: int = 0
    started: FloatArray = field(default_factory=lambda: np.zeros(3))


class HumanoidPolicy:
    """Policy of a robot that walks, or stands, on given footholds (final).

    Every tick: odometry, then the clock of the plan, which waits while a foot looks for ground that is late; every
    `periods.preview` a plan of the centre of mass from its MEASURED state with a share of its angular momentum; then
    whole-body control.

    Parameters
    ----------
    controller : WholeBodyController
    steps : Footsteps
    path : callable
        Times (n,) -> positions (n, 3), velocities (n, 3) that the centre of mass should follow.
    preview : Preview, optional
        Without it the path itself is tracked.
    q : (nq,)
        Where the robot starts: only the base's position is read.
    gating : Gating
    periods : ControlPeriods
    posture : callable, optional
        From the time (s) of the plan to joints (n,) rad; the robot's posture unless given.
    handling : Handling, optional
        What the hands do besides: an object to pick up, carry and set down.
    momentum_share : float
        Share of the estimated angular momentum with which plans begin. Most of it is that of legs that swing, which
        ends by itself: with all of it plans move the centre of mass against it (10 cm in a walk), with none a robot
        that stands bears weaker pushes.
    forces : sequence of ForcePulse
        On the base, known before: those that the forecast of the steps tells the preview.
    servo : Servo, optional
        Drives of position-controlled joints: the answers are their targets (n,) rad, see `JointTargets`.
    """

    def __init__(
        self,
        controller: WholeBodyController,
        steps: Footsteps,
        path: ReferencePath,
        q: FloatArray,
        preview: Preview | None = None,
        *,
        gating: Gating | None = None,
        periods: ControlPeriods | None = None,
        posture: Callable[[float], FloatArray] | None = None,
        handling: Handling | None = None,
        momentum_share: float = 0.3,
        forces: Sequence[ForcePulse] = (),
        servo: Servo | None = None,
    ) -> None:
        self._share = number("momentum_share", momentum_share, minimum=0.0, maximum=1.0)
        self.controller, self.steps, self.path, self.preview = controller, steps, path, preview
        self.gating, self.periods = gating or Gating(), periods or ControlPeriods()
        self._start, self._posture, self.handling = np.array(q), posture, handling
        self._targets = None if servo is None else JointTargets(servo, self.periods.control)
        self._forces = [(force, np.array(force.point), np.array(force.force)) for force in forces]
        robot = controller.humanoid.robot
        self._limit = robot.torque_limit
        self._radii = controller.humanoid.radii
        self._n, self._ends = len(robot.joints), tuple(controller.humanoid.ends)
        self.reset()

    @property
    def period(self) -> float:
        """Time between two calls, s."""
        return self.periods.control

    def reset(self) -> None:
        """Forget everything."""
        self.odometry = LegOdometry(period=self.periods.control)
        self.odometry.reset(self._start[:3])
        self.attitude = AttitudeFilter(period=self.periods.control)
        self.diagnostics, self.statuses, self.previews = ControllerDiagnostics(), Counter[Status](), Counter[Status]()
        self.plan: PreviewPlan | None = None
        self.command: Command | None = None
        if self.handling:
            self.handling.reset()
        self._previewed = False
        self._age, self._due, self._lift = 0.0, 0.0, 0.0
        self.progress = WalkProgress(self.steps, self.path, self.gating, self.periods.control)
        self._last, self._bend = np.zeros(self._n), np.zeros(self._n)
        self._held = self._last
        if self._targets:
            self._targets.reset()
            self._held = self._start[7 : 7 + self._n]

    def measurement(self, state: FloatArray) -> Measurement:
        """Return a measurement of `trundle.systems.multicontact.humanoid.mujoco_humanoid` by its parts."""
        n = self._n
        forces = state[2 * n + 6 :].reshape(-1, 3)
        named = dict(zip(self._ends, forces, strict=True))
        gyro = state[2 * n + 3 : 2 * n + 6]
        R = self.attitude(rotation_by(state[2 * n : 2 * n + 3]), gyro)
        return Measurement(state[:n], state[n : 2 * n], R, R @ gyro, named)

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return torques (n,) for a measurement, or targets (n,) rad of the joints' drives.

        A measurement that is not finite is counted in `statuses`, and the last answer is held.
        """
        if np.all(np.isfinite(state)):
            self._held = self._tick(time, state)
        else:
            self.statuses[Status.NOT_FINITE] += 1
        return self._held

    def _tick(self, time: float, state: FloatArray) -> FloatArray:
        """Return the answer to a measurement."""
        begin, self._previewed = clock.thread_time(), False
        measured = self.measurement(state)
        q, nu, terms, ends = self._estimate(measured)
        travels = self._go_on(measured, ends)
        load = self.handling.load(ends) if self.handling else None
        momentum = terms.momentum
        if momentum is None:
            raise RuntimeError("no momentum")
        if load:
            momentum = load.combined_momentum(momentum, self.controller.humanoid.robot.mass)
        com, rate, acceleration = self._com_reference(momentum)
        progress = self.progress
        aims = {t.name: progress.target(t, self._radii.get(t.name, 0.0)) for t in travels}
        yaw, turning = progress.steps.heading(progress.clock)
        if self.handling:
            aims |= self.handling.hand_targets(ends)
            load = self.handling.load_target(load, com, rate, yaw, turning) if load else None
        aim = WholeBodyTarget(
            com,
            rotation_z(yaw) @ self.controller.humanoid.R_ahead_base,
            progress.standing,
            aims,
            rate,
            acceleration + np.array([0.0, 0.0, self._height_correction(momentum)]),
            load=load,
            turning=turning,
            surfaces={name: progress.places[name].R_world_patch for name in progress.standing},
            forces=[(point, force) for pulse, point, force in self._forces if pulse.acts(time)],
        )
        if self._posture is not None:
            times = (min(progress.clock + late, progress.stopped_at) for late in (0.0, self.periods.control))
            now, ahead = (self._posture(time) for time in times)
            aim = replace(aim, posture=now, posture_rate=(ahead - now) / self.periods.control)
        command = self.command = self.controller(q, nu, aim, (terms, ends))
        self.statuses[command.status] += 1
        if command.usable:
            self._last, self._bend = command.u, command.nudot[6 : 6 + self._n]
        i = self.diagnostics
        i.com, i.com_rate, i.momentum, i.aim = momentum.com, momentum.com_rate, momentum.angular, com
        i.base, i.plan_time, i.standing, i.begun = q[:3], progress.clock, progress.standing, progress.begun
        i.torque_use = max(i.torque_use, float(np.max(np.abs(self._last) / self._limit)))
        taken = clock.thread_time() - begin
        i.spent += taken
        i.solve_time = taken - (i.preview_time if self._previewed else 0.0)
        if self._targets is None:
            return self._last
        return self._targets(measured.joints, measured.rates, self._bend, self._last)

    @property
    def landed(self) -> int:
        """How many travels have ended at their place."""
        return self.progress.landed

    def current_plan(self) -> tuple[FloatArray, dict[str, tuple[PlacedPatch, FloatArray]]]:
        """Return the position (3,) that the plan in force has now, and its contacts with their wrenches (6,) by end."""
        if self.plan is None:
            return self.diagnostics.aim, {}
        last, now = len(self.plan.times) - 2, self._plan_time(self.plan)
        k = int(np.clip(np.searchsorted(self.plan.times, now, side="right") - 1, 0, last))
        placed = zip(self.plan.contacts, self.plan.wrenches[k], self.plan.window.held[k], strict=True)
        return self.plan.at(now)[0], {contact.name: (contact, w) for contact, w, here in placed if here}

    def predict_angular_momentum(self, ahead: float = 0.0) -> FloatArray:
        """Return the angular momentum (3,) that the plan in force has `ahead` (s) of now, from where it was made.

        It begins with what was estimated there and gains what the plan's wrenches add, also about z;
        plans themselves begin with a share of it. Without a plan: what is estimated now.
        """
        if self.plan is None:
            return self.diagnostics.momentum
        now = self._plan_time(self.plan)
        return self.diagnostics.started + self.plan.at(now + ahead)[3] - self.plan.angular_momentum[0]

    def _plan_time(self, plan: PreviewPlan) -> float:
        """Return where in a plan the robot is, s: plans go on while the steps wait for late ground."""
        return float(plan.times[0]) + self._age

    # parts of a tick ------------------------------------------------------------------------------------

    def _estimate(
        self, measured: Measurement
    ) -> tuple[FloatArray, FloatArray, ArticulatedTerms, dict[str, FrameMotion]]:
        n = self._n
        q, nu = np.zeros(7 + n), np.zeros(6 + n)
        q[3:7], q[7:], nu[:3], nu[6:] = quaternion_of(measured.R), measured.joints, measured.omega, measured.rates
        terms, ends = self.controller.terms(q, nu)
        feet = tuple(name for name in self.progress.standing if name.endswith("_foot"))
        q[:3], nu[3:6] = self.odometry(ends, measured.forces, feet, self.periods.control)
        terms, ends = shift_base(terms, ends, q[:3], nu[3:6])
        return q, nu, terms, ends

    def _go_on(self, measured: Measurement, ends: dict[str, FrameMotion]) -> tuple[SwingMotion, ...]:
        """Advance the clock of the steps unless the ground, or the object, is late; return what travels."""
        period, progress = self.periods.control, self.progress
        planned = {name: float(wrench[5]) for name, (_, wrench) in self.current_plan()[1].items()}
        waiting = bool(self.handling) and self.handling.must_wait(progress.clock + period, measured.forces, period)
        before = progress.clock
        travels = progress.advance(measured.forces, ends, planned, self._radii, waiting)
        if progress.clock > before or progress.late or progress.settling:
            self._age, self._due = self._age + period, self._due - period
        if self.handling:
            self.handling.update(progress.clock, ends)
        for name in progress.standing:
            if name.endswith("_foot"):
                self.odometry.settle(name, float(progress.places[name].position[2]), 0.01)
        return travels

    def _com_reference(self, momentum: Momentum) -> tuple[FloatArray, FloatArray, FloatArray]:
        now = self.progress.clock
        if self.preview is not None and (self._due <= 1e-9 or self.plan is None):
            begin = clock.thread_time()
            state = CentroidalState(momentum.com, momentum.com_rate, self._share * momentum.angular)
            plan = self.preview(now, state, self.progress.forecast, self.progress.reference)
            self._due = self.periods.preview
            self.previews[plan.status] += 1
            if plan.usable:
                self.plan, self.diagnostics.started, self._age = plan, momentum.angular, 0.0
            self.diagnostics.preview_time, self._previewed = clock.thread_time() - begin, True
        if self.plan is None:
            p, v = self.progress.path(np.array([now]))
            return p[0], v[0], np.zeros(3)
        position, velocity, acceleration, _, _ = self.plan.at(self._plan_time(self.plan))
        return position, velocity, acceleration

    def _height_correction(self, momentum: Momentum) -> float:
        g = self.controller.gains
        if g.height == 0.0:
            return 0.0
        error = float(self.progress.path(np.array([self.progress.clock]))[0][0, 2]) - momentum.com[2]
        change = g.height * self.periods.control * error
        self._lift = float(np.clip(self._lift + change, -g.height_most, g.height_most))
        return self._lift
