"""``python -m bench.faults [controllers]``: controllers whose measurements and ticks fail; ``--list`` names both.

Every controller runs under every fault, from 0.3 s on (inputs of the wrong sign: from the start), behind a
`trundle.control.Watchdog` (patience 50 ms, measurements that have not changed for 50 ms are lost, joints let go). A
cell says how the run ended: survives, with its largest error at the end where there is a goal; the name and time of a
safe stop; or how else it ended (fell, diverged, ...) and when.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from rich.console import Console
from rich.table import Table

import trundle as tr
from bench.control import DURATION, Q, R, plate
from trundle.records import Policy
from trundle.records.policy import AroundPolicy
from trundle.scenarios import build, load_scenario
from trundle.simulate.mujoco.plant import PlantRun
from trundle.simulate.mujoco.pushes import ForcePulse
from trundle.status import Status
from trundle.systems.multicontact.scenario.experiment import MulticontactExperiment
from trundle.systems.multicontact.scenario.trials import HumanoidTrial as Standing
from trundle.systems.planar.scenario.build import settings
from trundle.systems.planar.scenario.control import TrackExperiment
from trundle.systems.wallbounce.scenario.build import TrialsExperiment

BEGIN = 0.3
FAULTS: Mapping[str, tr.control.Faults] = {
    "none": tr.control.Faults(),
    "30 % dropped": tr.control.Faults(BEGIN, dropped=0.3),
    "10 ms late": tr.control.Faults(BEGIN, late=0.01),
    "10 % NaN": tr.control.Faults(BEGIN, nan=0.1),
    "NaN for 40 ms": tr.control.Faults(BEGIN, BEGIN + 0.04, nan=1.0),
    "NaN for good": tr.control.Faults(BEGIN, nan=1.0),
    "frozen 40 ms": tr.control.Faults(BEGIN, BEGIN + 0.04, frozen=True),
    "frozen for good": tr.control.Faults(BEGIN, frozen=True),
    "bias 0.01 (SI)": tr.control.Faults(BEGIN, bias=0.01),
    "30 % lost ticks": tr.control.Faults(BEGIN, lost=0.3),
    "model 10 % off": tr.control.Faults(),
    "90 % dropped": tr.control.Faults(BEGIN, dropped=0.9),
    "40 ms late": tr.control.Faults(BEGIN, late=0.04),
    "bias 0.05 (SI)": tr.control.Faults(BEGIN, bias=0.05),
    "90 % lost ticks": tr.control.Faults(BEGIN, lost=0.9),
    "model 30 % off": tr.control.Faults(),
    "wrong sign": tr.control.Faults(),
}
MODEL = {"model 10 % off": 1.1, "model 30 % off": 1.3}
"""The plant's masses and inertias over the model's."""
Wrap = Callable[[Policy, int], Policy]
"""(policy, number of inputs) -> policy."""


@dataclass(frozen=True)
class Ending:
    """How a run ended: its status, when (s), why, the largest error (m, rad) where there is a goal, and a safe stop."""

    status: Status
    time: float
    reason: str = ""
    error: float | None = None
    tolerance: float = np.inf
    stopped: float | None = None

    @property
    def verdict(self) -> str:
        """``survives``, ``safe-stop``, or how else it ended."""
        lost = self.error is not None and not self.error <= self.tolerance
        if self.status is not Status.SUCCESS:
            return self.status.label
        return "off its goal" if lost else "survives"

    def __str__(self) -> str:
        if self.stopped is not None:
            after = "" if self.status is Status.SAFE_STOP else f", {self.verdict} {self.time:.2f} s"
            return f"safe-stop {self.stopped:.2f} s{after}"
        if self.status is not Status.SUCCESS:
            return f"{self.verdict} {self.time:.2f} s"
        return self.verdict if self.error is None else f"{self.verdict} ({self.error:.1e})"


def simulated(run: tr.Trajectory, error: float, tolerance: float) -> Ending:
    """Return how a run of `trundle.simulate` ended."""
    if run.status is Status.SUCCESS:
        return Ending(run.status, float(run.time[-1]), "", error, tolerance)
    last = run.transitions[-1]
    return Ending(run.status, float(last["time"]), str(last["reason"]))


class Balancing:
    """`BalancingLQR`: an ellipse stays on its tip, by the motion of a line below it."""

    def pair(self, off: float) -> tr.RollingPair:
        """Return the pair, the object's mass, inertia and size times `off`."""
        body = tr.RigidBody(tr.Ellipse((0.03 * off, 0.05 * off)), mass=0.1 * off)
        return tr.RollingPair(body, tr.Hand(tr.Line()))

    @cached_property
    def policy(self) -> Policy:
        """The regulator."""
        weights = {"hand_position": 1.0, "hand_rotation": 1.0, "object_rotation": 50.0, "hand_velocity": 0.1}
        efforts = {"hand_angular_acceleration": 0.01, "hand_acceleration": 0.1}
        return tr.BalancingLQR(self.pair(1.0), self.pair(1.0).place(), weights, efforts, period=0.005)

    def run(self, wrap: Wrap, off: float) -> Ending:
        """Run with a plant that is `off` times the model."""
        pair = self.pair(off)
        start = pair.place(object_angle=0.05)
        run = tr.simulate(pair, start, 3.0, policy=wrap(self.policy, 3), output_step=0.05)
        return simulated(run, 2.0 * float(np.linalg.norm(run["object_quaternion"][-1, 1:])), 0.1)


class Tracking:
    """`TrackingLQR`: a ball follows a path on a plate that tilts there and back, to the middle again."""

    @cached_property
    def parts(self) -> tuple[tr.RollingPair, Policy]:
        """The pair and its tracker."""
        pair, reference = plate("rolling")
        return pair, tr.TrackingLQR(pair, reference, Q, R, period=0.005)

    def run(self, wrap: Wrap, off: float) -> Ending:
        """Run with a ball whose mass, inertia and radius are `off` times the model's."""
        pair, policy = self.parts
        ball = tr.RigidBody(tr.Sphere(radius=0.035 * off), mass=0.216 * off)
        real = replace(pair, body=ball)
        run = tr.simulate(real, real.place(), DURATION, policy=wrap(policy, 6), output_step=0.05)
        away = run["object_position"][-1] - run["hand_position"][-1]
        return simulated(run, float(np.linalg.norm(away[:2])), 0.02)


class CartPole:
    """`tr.lqr`: a pole on a cart that is pushed."""

    @cached_property
    def parts(self) -> tuple[tr.RollingTree, Policy]:
        """The robot and its regulator."""
        tree = self.tree(1.0)
        weights = {"cart.joint": 10.0, "pole.joint": 10.0, "cart.rate": 1.0, "pole.rate": 1.0}
        return tree, tr.lqr(tree, tree.place(), weights, {"cart.torque": 0.1}, 0.01)

    def tree(self, off: float) -> tr.RollingTree:
        """Return the robot with masses and inertias times `off`."""
        robot = tr.Robot()
        cart = robot.prismatic(None, (0, 0), 2.0 * off, 0.01 * off, name="cart")
        robot.revolute(cart, (0, 0), 0.5 * off, 0.01 * off, center_of_mass=(0, 0.5), name="pole", actuated=False)
        return robot.finish()

    def run(self, wrap: Wrap, off: float) -> Ending:
        """Run with a plant that is `off` times the model."""
        policy, tree = self.parts[1], self.tree(off)
        run = tr.simulate(tree, tree.place(pole=0.1), 4.0, policy=wrap(policy, 1), output_step=0.05)
        return simulated(run, float(np.max(np.abs(run["joint_position"][-1]))), 0.1)


@dataclass(frozen=True)
class Track:
    """Inverse dynamics of a scenario of kind `planar`."""

    name: str
    duration: float

    def run(self, wrap: Wrap, off: float) -> Ending:
        """Run with a plant whose masses and inertias are `off` times the model's."""
        length = f"simulation.duration={self.duration}"
        work = build(load_scenario(self.name, [length, f"plant.mass={off}", f"plant.inertia={off}"]))
        if not isinstance(work, TrackExperiment) or (policy := work.regulator()) is None:
            raise TypeError(self.name)
        plant, start = work.plant
        watched = wrap(policy, len(work.program.model.driven))
        run = tr.simulate(plant, start, **settings(work.tables), policy=watched)
        return simulated(run, float(np.max(np.abs(run["body_angle"][-1, 0]))), 0.5)


def in_mujoco(run: PlantRun) -> Ending:
    """Return how a run in MuJoCo ended."""
    return Ending(run.status, float(run.time[-1]) if len(run.time) else 0.0, run.reason)


@dataclass(frozen=True)
class Humanoid:
    """Whole-body control, with or without preview, of a scenario of kind `multicontact`, pushed at 0.6 s."""

    name: str
    duration: float
    push: float = 0.0
    preview: bool = True

    @cached_property
    def work(self) -> MulticontactExperiment:
        """The experiment."""
        work = build(load_scenario(self.name, [f"controller.preview.use={str(self.preview).lower()}"]))
        if not isinstance(work, MulticontactExperiment):
            raise TypeError(self.name)
        return work

    def run(self, wrap: Wrap, off: float) -> Ending:
        """Run with a plant whose masses are `off` times the model's."""
        work, policy = self.work, self.work.policy()
        plant = work.plant(Standing(0, off))
        made = plant.plant(work.start, lowest=work.tables.plant.fallen_height, tilt=work.tables.plant.fallen_tilt)
        sensors = plant.sensors(work.noise(), 0.0, 0)
        watched = wrap(policy, len(work.controller.humanoid.robot.joints))
        pushes = [ForcePulse("base", [0, 0, 0], [self.push / 0.1, 0, 0], 0.6, 0.1)] if self.push else []
        return in_mujoco(made.run(watched, self.duration, sensors=sensors, pushes=pushes))


@dataclass(frozen=True)
class WallBounce:
    """Predictive control of the robot that catches itself at a wall, one or both levels; pushed at 0.5 s."""

    levels: str

    def run(self, wrap: Wrap, off: float) -> Ending:
        """Run with a plant whose mass and inertia are `off` times the model's."""
        changes = [f'controller.levels="{self.levels}"', f"plant.mass={off}", f"plant.inertia={off}"]
        work = build(load_scenario("wallbounce-recover", changes))
        if not isinstance(work, TrialsExperiment):
            raise TypeError(self.levels)
        setup = work.setup
        trial = replace(setup.trials()[0], push=(24.0, 0.25, 0.1, 0.5, 0.5))
        plant, guide = setup.plant(), setup.guide(trial)
        watched = wrap(setup.policy(guide.reference, guide.surroundings), 9)
        start = plant.plant(setup.start(trial))
        return in_mujoco(start.run(watched, 2.5, sensors=setup.sensors(plant, trial), pushes=setup.pushes(trial)))


CONTROLLERS: Mapping[str, Balancing | Tracking | CartPole | Track | Humanoid | WallBounce] = {
    "LQR of a pole": CartPole(),
    "LQR, balancing": Balancing(),
    "LQR, tracking": Tracking(),
    "inverse dynamics, rover": Track("rover-sinusoid", 3.0),
    "inverse dynamics, leg": Track("leg-balance", 3.0),
    "whole-body": Humanoid("humanoid-stand", 3.0, 5.0, preview=False),
    "whole-body, preview": Humanoid("humanoid-stand", 3.0, 8.0),
    "walk, preview": Humanoid("humanoid-walk", 4.0),
    "MPC, implicit level": WallBounce("implicit-only"),
    "MPC, both levels": WallBounce("two-level"),
}


@dataclass(eq=False)
class Reversed(AroundPolicy):
    """A policy whose inputs have the wrong sign."""

    policy: Policy

    def reset(self) -> None:
        """Forget the last run."""
        self.policy.reset()

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        """Return the inputs (n_u,)."""
        return -np.asarray(self.policy(time, state))


def ending(controller: str, fault: str, watchdog: bool = True) -> Ending:
    """Return how a controller's run under a fault ended."""

    watched: list[tr.control.Watchdog] = []

    def wrapped(policy: Policy, size: int) -> Policy:
        if fault == "wrong sign":
            policy = Reversed(policy)
        if watchdog:
            policy = tr.control.Watchdog(policy, size, patience=0.05, settle=0.5, stale=0.05)
            watched.append(policy)
        return tr.control.Faulty(policy, FAULTS[fault])

    found = CONTROLLERS[controller].run(wrapped, MODEL.get(fault, 1.0))
    return replace(found, stopped=watched[0].stopped_at if watched else None)


def main() -> None:
    """Print the table, a line of Markdown a controller."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("controllers", nargs="*", help="default: all")
    parser.add_argument(
        "--faults", nargs="+", choices=FAULTS, default=list(FAULTS), metavar="fault", help="default: all"
    )
    parser.add_argument("--list", action="store_true", help="print the names of controllers and faults")
    parser.add_argument("--bare", action="store_true", help="without the watchdog")
    asked = parser.parse_args()
    if asked.list:
        print("controllers:", "; ".join(CONTROLLERS), "\nfaults:", "; ".join(FAULTS))
        return
    names = asked.controllers or list(CONTROLLERS)
    table = Table("fault", *names)
    rows = {fault: [str(ending(name, fault, not asked.bare)) for name in names] for fault in asked.faults}
    for fault, cells in rows.items():
        table.add_row(fault, *cells)
    Console(width=40 + 24 * len(names)).print(table)


if __name__ == "__main__":
    main()
