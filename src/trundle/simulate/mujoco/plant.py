"""A MuJoCo model under a sampled controller: the simulation loop and its record."""

from __future__ import annotations

import itertools
import math
import time as clock
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.errors import ControlLostError, InputError
from trundle.records import Policy
from trundle.records.policy import held_alone, period_of
from trundle.simulate.divergence import DivergenceCheck
from trundle.simulate.mujoco.mjcf import compile_mjcf, load_mujoco
from trundle.simulate.mujoco.pushes import Action, AppliedPulses, ForcePulse
from trundle.simulate.mujoco.sensors import DelayedReadings, Sensors
from trundle.simulate.mujoco.view import PlantView
from trundle.simulate.run import not_captured
from trundle.status import Status
from trundle.threads import made_once

__all__ = ["Fall", "MujocoPlant", "PlantRun"]

if TYPE_CHECKING:
    import mujoco
    from numpy.typing import ArrayLike

_EXACT = Sensors()

Actuate = Callable[[PlantView, FloatArray], FloatArray]
"""From a policy's answer to the model's actuators."""

Sampled = Callable[[PlantView], "ArrayLike"]
"""A number or an array of a plant, for its record."""


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
