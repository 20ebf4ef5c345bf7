"""A MuJoCo model under a sampled controller: the simulation loop and its record."""

from __future__ import annotations

import itertools
import math
import time as clock
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, final

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.errors import ControlLostError, InputError
from trundle.records import Policy
from trundle.records.policy import held_alone, period_of
from trundle.simulate.divergence import DivergenceCheck
from trundle.simulate.mujoco.mjcf import compile_mjcf, load_mujoco
from trundle.simulate.mujoco.pushes import Action, AppliedPulses, ForcePulse
from trundle.simulate.mujoco.sensors import DelayedReadings, Sensors
from trundle.simulate.run import not_captured
from trundle.status import Status
from trundle.threads import made_once

__all__ = ["Fall", "MujocoPlant", "PlantRun", "PlantView"]

if TYPE_CHECKING:
    import mujoco
    from numpy.typing import ArrayLike

_NONE = np.zeros(3)
_EXACT = Sensors()

Actuate = Callable[["PlantView", FloatArray], FloatArray]
"""From a policy's answer to the model's actuators."""

Sampled = Callable[["PlantView"], "ArrayLike"]
"""A number or an array of a plant, for its record."""


@final
class PlantView:
    """What may be read of a running plant, world axes, SI."""

    def __init__(self, module: ModuleType, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.mujoco, self.model, self.data = module, model, data
        self._wrench = np.zeros(6)
        self._forces: dict[int, FloatArray] = {}
        self._pairs: dict[tuple[int, int], FloatArray] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self.data.time)

    def rotation(self, body: str) -> FloatArray:
        """Return R_world_body (3, 3)."""
        return self.data.xmat[self.body(body)].reshape(3, 3)

    def position(self, body: str) -> FloatArray:
        """Return the origin (3,) of the body's frame, m."""
        return self.data.xpos[self.body(body)]

    def velocity(self, body: str) -> FloatArray:
        """Return the twist (6,) of the body's frame, world axes, angular first."""
        result = np.zeros(6)
        kind = self.mujoco.mjtObj.mjOBJ_XBODY
        self.mujoco.mj_objectVelocity(self.model, self.data, kind, self.body(body), result, 0)
        return result

    def speeds(self) -> dict[str, float]:
        """Return the speed (m/s) of each body: of its centre of mass, plus of its turning at its radius of gyration."""
        model, data, bodies = self.model, self.data, slice(1, None)  # body 0 is the world
        turning = data.cvel[bodies, :3]
        arms = data.xipos[bodies] - data.subtree_com[model.body_rootid[bodies]]
        inertia, mass = model.body_inertia[bodies].max(axis=1, initial=0.0), model.body_mass[bodies]
        gyration = np.sqrt(inertia / np.where(mass > 0.0, mass, 1.0))
        centers = np.linalg.norm(data.cvel[bodies, 3:] + np.cross(turning, arms), axis=1)
        found = centers + gyration * np.linalg.norm(turning, axis=1)
        return {model.body(i + 1).name: speed for i, speed in enumerate(found.tolist())}

    def contact_force(self, geom: int) -> FloatArray:
        """Return the sum (3,) of the contact forces on the geom with this number in the last step, N."""
        return self._forces.get(geom, _NONE)

    def remember_forces(self) -> None:
        """Keep the contact forces of the step just done: the next step's first half overwrites where they belong."""
        data, self._forces, self._pairs = self.data, {}, {}
        for i in range(data.ncon):
            contact = data.contact[i]
            if contact.efc_address < 0:
                continue
            self.mujoco.mj_contactForce(self.model, data, i, self._wrench)
            on_second = contact.frame.reshape(3, 3).T @ self._wrench[:3]  # MuJoCo: of the first geom on the second
            for geom, force in ((int(contact.geom1), -on_second), (int(contact.geom2), on_second)):
                self._forces[geom] = self._forces.get(geom, _NONE) + force
            pair = int(contact.geom1), int(contact.geom2)
            self._pairs[pair] = self._pairs.get(pair, _NONE) + on_second

    def force_between(self, geom: int, other: int) -> FloatArray:
        """Return the force (3,) of the geom `other` on `geom` in the last step, N."""
        return self._pairs.get((other, geom), _NONE) - self._pairs.get((geom, other), _NONE)

    def distance(self, geom: int, other: int, most: float = 5.0) -> float:
        """Return the signed distance of two geoms, at most `most`, m."""
        line = np.zeros(6)
        return float(self.mujoco.mj_geomDistance(self.model, self.data, geom, other, most, line))

    def geom(self, name: str) -> int:
        """Return the number of the geom `name`."""
        return self._number("geom", name)

    def body(self, name: str) -> int:
        """Return the number of the body `name`."""
        return self._number("body", name)

    def _number(self, kind: str, name: str) -> int:
        if (kind, name) not in self._numbers:  # looking a name up takes longer than a step
            self._numbers[kind, name] = int(getattr(self.model, kind)(name).id)
        return self._numbers[kind, name]


@dataclass(frozen=True)
class Fall:
    """When a robot has fallen: its body's origin below `lowest` (m), or its axis `up` tilted beyond `tilt` (rad)."""

    body: str
    lowest: float = 0.0
    tilt: float = math.inf
    up: tuple[float, ...] = (0.0, 0.0, 1.0)

    def reason(self, view: PlantView) -> str:
        """Return why the body counts as fallen, or nothing."""
        if view.position(self.body)[2] < self.lowest:
            return f"{self.body} is below {self.lowest:g} m"
        if math.isfinite(self.tilt) and view.rotation(self.body)[2] @ self.up < math.cos(self.tilt):
            return f"{self.body} leans by more than {math.degrees(self.tilt):.0f} deg"
        return ""


@dataclass(frozen=True, eq=False)
class PlantRun:
    """What a run left.

    Attributes
    ----------
    status : Status
        SUCCESS, FELL, DIVERGED, NOT_FINITE, or why the policy gave up.
    reason : str
        What happened; empty for success.
    time : (n,) s
    records : mapping of str to array
        One row a sample of everything that was asked for.
    wall_time : float, s
    """

    status: Status
    reason: str
    time: FloatArray
    records: Mapping[str, FloatArray]
    wall_time: float


@dataclass(frozen=True, eq=False)
class MujocoPlant:
    """A robot in MuJoCo under a sampled controller (final).

    Parameters
    ----------
    model : str or mujoco.MjSpec
        MJCF text, or a specification, made at run time.
    actuate : callable, optional
        From `PlantView` and a policy's answer to the actuators; the answer itself unless given.
    fall : sequence of Fall
    start : callable, optional
        Puts a fresh plant where the run begins.

    Raises
    ------
    MissingExtraError
        If MuJoCo is not installed.
    InputError
        If it refuses the model.
    """

    model: str | mujoco.MjSpec
    actuate: Actuate | None = None
    fall: Sequence[Fall] = ()
    start: Callable[[PlantView], None] | None = None
    _compiled: dict[str, mujoco.MjModel] = field(default_factory=dict, init=False, repr=False)

    def view(self) -> PlantView:
        """Return a fresh plant at its start."""
        mj, model = load_mujoco(), made_once(self._compiled, "model", self._compile)
        view = PlantView(mj, model, mj.MjData(model))
        if self.start is not None:
            self.start(view)
        mj.mj_forward(view.model, view.data)
        view.remember_forces()
        return view

    def _compile(self) -> mujoco.MjModel:
        mj, made = load_mujoco(), compile_mjcf(self.model)
        made.opt.disableflags |= mj.mjtDisableBit.mjDSBL_AUTORESET  # a blow-up has to be seen
        return made

    def run(
        self,
        policy: Policy,
        duration: float,
        *,
        sensors: Sensors = _EXACT,
        pushes: Sequence[ForcePulse] = (),
        actions: Sequence[Action] = (),
        record: Mapping[str, Sampled] | None = None,
        output_step: float = 0.01,
        progress: Callable[[float], object] | None = None,
        extended: Callable[[], float] | None = None,
    ) -> PlantRun:
        """Run the controlled plant and return what was recorded.

        The policy is called at 0, period, 2 period, ... with a measurement; its answer is held. A policy of
        several rates has the shortest as its period.

        Parameters
        ----------
        policy : Policy
        duration : float, s
        sensors : Sensors
        pushes : sequence of ForcePulse
        actions : sequence of Action
        record : mapping of str to callable
            From a `PlantView` to a number or an array, at every sample.
        output_step : float, s
        progress : callable, optional
            Called now and then with the simulated time (s).
        extended : callable, optional
            Asked at the end for a longer duration (s), until it gives none: of a policy that had to wait.

        Raises
        ------
        InputError
            If a period is no multiple of the model's time step, or a push names no body of the model.
        """
        not_captured()
        run = _Run(self, policy, sensors, dict(record or {}), pushes, sorted(actions, key=lambda action: action.time))
        with held_alone(policy):
            step = positive("output_step", output_step, "s")
            return run.to(positive("duration", duration, "s"), step, progress, extended)


class _Run:
    """One run: the loop's state."""

    def __init__(
        self,
        plant: MujocoPlant,
        policy: Policy,
        sensors: Sensors,
        record: Mapping[str, Sampled],
        pushes: Sequence[ForcePulse],
        actions: Sequence[Action],
    ) -> None:
        self.plant, self.policy, self.record = plant, policy, record
        self.view = plant.view()
        self.step = float(self.view.model.opt.timestep)
        kinds = self.view.mujoco.mjtWarning
        self.bad = [int(getattr(kinds, f"mjWARN_BAD{name}")) for name in ("QPOS", "QVEL", "QACC", "CTRL")]
        self.actions = deque(actions)
        self.every = _multiple("policy.period", period_of(policy), self.step)
        self.readings = DelayedReadings(sensors, self.step, self.every)
        self.divergence = DivergenceCheck(self.view.model.opt.gravity)
        self.pulses = AppliedPulses(self.view, pushes)
        self.rows: dict[str, list[FloatArray]] = {name: [] for name in record}
        self.times: list[float] = []

    def to(
        self,
        duration: float,
        output_step: float,
        progress: Callable[[float], object] | None,
        extended: Callable[[], float] | None,
    ) -> PlantRun:
        """Run for `duration` (s), or as long as `extended` says; return what was recorded every `output_step` (s)."""
        begin = clock.perf_counter()
        stride = _multiple("output_step", output_step, self.step)
        self.policy.reset()
        count = round(duration / self.step)
        status, reason = Status.SUCCESS, ""
        for i in itertools.count():
            if i == count and extended:
                count = max(count, round(extended() / self.step))
            status, reason = self._tick(i, i % stride == 0 or i == count)
            if status is not Status.SUCCESS or i == count:
                break
            if progress and i % 100 == 0:
                progress(i * self.step)
            self.view.mujoco.mj_step2(self.view.model, self.view.data)
            following = i + 1
            if self.readings.is_needed(following) or following % stride == 0 or following == count:
                self.view.remember_forces()
        records = {name: np.array(rows) for name, rows in self.rows.items()}
        return PlantRun(status, reason, np.array(self.times), records, clock.perf_counter() - begin)

    def _tick(self, i: int, sample: bool) -> tuple[Status, str]:
        """Do one step up to the actuators; return what ends the run."""
        view, data, time = self.view, self.view.data, i * self.step
        while self.actions and self.actions[0].time <= time + 1e-9:
            self.actions.popleft().do(view)
        view.mujoco.mj_step1(view.model, data)
        self.pulses.apply(view, time)
        if not self._finite():
            return Status.NOT_FINITE, f"the plant became unstable at {time:.3f} s"
        self.readings.read(i, view)
        if i % self.every == 0:
            try:
                self.divergence.check(time, data.qvel, view.speeds)
                answer = np.asarray(self.policy(time, self.readings.deliver(i)), dtype=np.float64)
            except ControlLostError as error:
                return error.status, str(error)
            if not np.all(np.isfinite(answer)):
                return Status.NOT_FINITE, f"the policy's answer at {time:.3f} s is not finite"
            self.answer = answer
        actuate = self.plant.actuate
        data.ctrl[:] = self.answer if actuate is None else actuate(view, self.answer)
        if sample:
            self.times.append(time)
            for name, of in self.record.items():
                self.rows[name].append(np.array(of(view), dtype=np.float64))
        reason = next((text for text in (fall.reason(view) for fall in self.plant.fall) if text), "")
        return (Status.FELL, f"{reason} at {time:.3f} s") if reason else (Status.SUCCESS, "")

    def _finite(self) -> bool:
        data = self.view.data
        return not data.warning.number[self.bad].any() and math.isfinite(float(data.qpos.sum() + data.qvel.sum()))


def _multiple(key: str, period: float, step: float) -> int:
    count = round(period / step)
    if count < 1 or abs(count * step - period) > 1e-6 * period:
        raise InputError(key, period, f"a multiple of the plant's step of {step:g} (s)")
    return count
