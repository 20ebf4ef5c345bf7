"""The walking problem of paper 1: iterations, times, sizes, grids, starts (``python -m bench.walking``).

``python -m bench.walking [PART...] [SLOPE...]``: parts slopes, warm, soles, peaks, replays, impacts, sizes, speed,
grid, stretched, shares, starts, dofs, shots, all of them unless named; slopes in degrees, 0, 10 and -10 unless given.
Times of the CPU: the machine is shared.
The paper: "each scenario was computed in less than 20 min on a modern computer" (section 4.2, 2016).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from math import radians
from typing import Any

import casadi as ca
import numpy as np

from trundle.optimal.transcription.transcription import MIDPOINT, Transcription
from trundle.systems.walking.gait.gait import RANGES, Gait
from trundle.systems.walking.gait.walking import Walking, bare
from trundle.systems.walking.plan.plan import WalkPlan
from trundle.systems.walking.plan.shooting import shoot
from trundle.systems.walking.plan.walking import meshes, plan_walk
from trundle.systems.walking.robots.avatar import build_avatar

SLOPES = [0.0, 10.0, -10.0]


def planned(gait: Gait, **further: Any) -> tuple[WalkPlan, float]:
    """Return a plan and the CPU time it took, s."""
    began = time.process_time()
    plan = plan_walk(gait, **further)
    return plan, time.process_time() - began


def told(name: str, plan: WalkPlan, seconds: float) -> None:
    """Print one line."""
    s = plan.statistics
    print(
        f"{name:28s} {plan.status.label:16s} {s['iterations']:4d} its  cost {s['cost']:.6f}  "
        f"wall {s['build']:.1f} + {s['solve']:.1f} s  CPU {seconds:.1f} s  {s['variables']} x {s['rows']}",
        flush=True,
    )


def slopes() -> None:
    """Cold plans on three slopes, rolling and flat soles."""
    for sole in ("rolling", "flat"):
        for slope in SLOPES:
            told(f"{sole}, {slope:+.0f} deg, cold", *planned(Gait(slope=radians(slope), sole=sole)))


def warm() -> None:
    """Plans that start from a neighbouring slope."""
    flat, _ = planned(Gait())
    for slope in (1.0, 2.0, 5.0, 10.0, -5.0, -10.0):
        told(f"0 to {slope:+.0f} deg, warm", *planned(Gait(slope=radians(slope)), guess=flat))


def soles() -> None:
    """Iterations and cost of the rolling sole over those of the flat one, in each way the latter may stand."""
    ways: dict[str, dict[str, Any]] = {
        "flat": {},
        "toe": {"trailing": "toe"},
        "toe-point, heel": {"trailing": "toe-point", "leading": "heel"},
    }
    rolling = {slope: planned(Gait(slope=radians(slope)))[0].statistics for slope in SLOPES}
    for name, way in ways.items():
        for slope in SLOPES:
            plan, seconds = planned(Gait(slope=radians(slope), sole="flat", **way))
            told(f"flat ({name}), {slope:+.0f} deg", plan, seconds)
            one, other = rolling[slope], plan.statistics
            print(
                f"  rolling over this: iterations {one['iterations'] / other['iterations']:.2f}, "
                f"cost {one['cost'] / other['cost']:.2f}"
            )


def peaks() -> None:
    """Largest torques, and heel strike from lift-off; people: ankle 1.5-1.6 N m/kg on the flat.

    The paper prints 40, 55 and 55 % of a cycle whose origin it does not say.
    """
    mass = build_avatar().robot.mass
    for slope in SLOPES:
        plan, _ = planned(Gait(slope=radians(slope)))
        largest = {
            name: float(np.max(np.abs(plan.torque[:, [j.endswith(name) for j in plan.joints]])))
            for name in ("hip_pitch", "knee", "ankle_pitch")
        }
        parts = ", ".join(f"{name} {value:.0f} N m ({value / mass:.2f} N m/kg)" for name, value in largest.items())
        single = float(np.sum(np.diff(plan.times)[plan.standing.sum(axis=1) == 1]))
        strike = 50.0 * single / plan.duration
        print(f"{slope:+.0f} deg: {parts}; heel strike at {strike:.1f} %")


def replays() -> None:
    """Steps of twelve that the simulator walks on each slope."""
    for slope in SLOPES:
        replayed(f"{slope:+.0f} deg", planned(Gait(slope=radians(slope)))[0])


def replayed(name: str, plan: WalkPlan) -> None:
    """Print how many of twelve steps of a plan the simulator walks."""
    from trundle.systems.walking.replay.walk_replay import replay_walk, walking_robot

    began = time.process_time()
    avatar = build_avatar()
    found = replay_walk(walking_robot(avatar, plan.gravity, 0.8), plan, 12)
    print(f"{name}: {found.steps} of 12 steps, {found.run.status.label}, largest of the base", end=" ")
    print(np.round(found.largest[1:6], 3), f"m, rad; CPU {time.process_time() - began:.0f} s")
    limits = {joint.name: joint for joint in avatar.robot.joints}
    driven = [i for i, name in enumerate(found.run["joint"]) if str(name) in limits]
    joints = [limits[str(found.run["joint"][i])] for i in driven]
    used = np.abs(found.run["torque"][:, driven]) / [joint.torque for joint in joints]
    angles = found.run["joint_position"][:, driven]
    beyond = np.maximum(angles - [joint.upper for joint in joints], [joint.lower for joint in joints] - angles)
    worst = joints[int(np.argmax(np.max(beyond, axis=0)))].name
    print(
        f"  torques up to {np.max(used):.0%} of their limits, joints up to {np.max(beyond):.3f} rad out of range",
        end="",
    )
    print(f" ({worst}); {len(found.run.transitions)} events", flush=True)


def impacts() -> None:
    """Plans whose feet land by a plastic impact: what it takes, and twelve steps of the simulator."""
    for slope in SLOPES:
        plan, seconds = planned(Gait(slope=radians(slope), impacts=True))
        told(f"impacts, {slope:+.0f} deg, cold", plan, seconds)
        (one,) = plan.statistics["impacts"]
        pushes = {side: np.round(np.sum(points, axis=0), 2).tolist() for side, points in one["impulses"].items()}
        print(f"  impulses {pushes} N s, {one['energy']:.2f} J a step")
        replayed(f"{slope:+.0f} deg", plan)


def sizes() -> None:
    """Operations of the elements and nonzeros of the program."""
    walking = Walking(build_avatar(), Gait())
    program = Transcription(walking.problem, meshes(walking), MIDPOINT).program
    for group in program.groups:
        if group.function.name() == "interval":
            print("operations of an interval:", group.kernel.instructions())
            break
    z = np.random.default_rng(0).normal(scale=0.1, size=program.size)
    J, H = program.jacobian(z), program.hessian(z, 1.0, np.ones(program.rows))
    print(f"{program.size} unknowns, {program.rows} rows, nonzeros: Jacobian {J.nnz}, Hessian {H.nnz}")


def speed() -> None:
    """Inverse dynamics by Pinocchio and by CasADi's virtual machine, and the derivatives of the latter."""
    import pinocchio as pin

    walking = Walking(build_avatar(), Gait())
    w = ca.vertcat(walking.q, walking.nu, *walking.inputs.values())
    f = ca.Function("id", [w], [walking.residual], {"cse": True})
    J = ca.Function("J", [w], [ca.jacobian(walking.residual, w)], {"cse": True})
    nu = ca.SX.sym("nu", walking.residual.numel())
    H = ca.Function("H", [w, nu], [ca.triu(ca.hessian(ca.dot(nu, walking.residual), w)[0])], {"cse": True})
    at, lam = np.random.default_rng(0).normal(scale=0.3, size=w.numel()), np.ones(nu.numel())
    model = pin.buildModelFromXML(walking.avatar.robot.urdf(), pin.JointModelFreeFlyer())
    data = model.createData()
    q, v = pin.neutral(model), np.ones(model.nv)
    cases: dict[str, Callable[[], Any]] = {
        "Pinocchio rnea": lambda: pin.rnea(model, data, q, v, v),
        "Pinocchio rnea derivatives": lambda: pin.computeRNEADerivatives(model, data, q, v, v),
        f"CasADi value ({f.n_instructions()} operations)": lambda: f(at),
        f"CasADi Jacobian ({J.n_instructions()})": lambda: J(at),
        f"CasADi Hessian ({H.n_instructions()})": lambda: H(at, lam),
    }
    for name, call in cases.items():
        call()
        began = time.process_time()
        for _ in range(50):
            call()
        print(f"{name:44s} {(time.process_time() - began) / 50 * 1e6:8.0f} us")


def grid() -> None:
    """Costs on finer grids: a clearance that ends steeply, one left out near the ends, a smooth one, and impacts."""
    ways: dict[str, dict[str, Any]] = {
        "as in the scenarios": {},
        "bound to the ends": {"clearance_ends": 0.0},
        "bound to the ends, p = 2": {"clearance_ends": 0.0, "clearance_power": 2},
        "impacts": {"impacts": True},
    }
    for name, way in ways.items():
        costs = {}
        for N in ((16, 6), (32, 6), (32, 12)):
            plan, seconds = planned(Gait(intervals=N, **way), max_iterations=250)
            told(f"{N[0]} + {N[1]} intervals, {name}", plan, seconds)
            costs[N] = plan.statistics["cost"] if plan.status.label == "success" else np.nan
            swing = np.abs(plan.torque[plan.phase == 0][:, plan.joints.index("right_hip_pitch")])
            print(f"  hip of the swing leg: {swing[-1]:.0f} N m before it lands, {np.max(swing[:-1]):.0f} N m else")
        for N in ((32, 6), (32, 12)):
            change = 100 * abs(costs[N] / costs[16, 6] - 1)
            found = f"{change:.2f} %" if np.isfinite(change) else "an unknown amount: no optimum was found"
            print(f"  cost changes by {found} from 16 + 6 to {N[0]} + {N[1]} (aim 1 %)", flush=True)


PURE: dict[str, Any] = {"acceleration": 0.0, "force": 0.0, "arm_swing": (0.6, 0.0)}
"""Torques alone."""


def shares() -> None:
    """Shares of the cost and double support, as in the scenarios and with torques alone."""
    free: dict[str, Any] = {"single": (0.05, 0.8), "double": (0.01, 1.0), "intervals": (16, 24)}
    for name, way in {"as in the scenarios": {}, "torques alone": PURE | free}.items():
        for slope in SLOPES:
            gait = Gait(slope=radians(slope), **way)
            plan, seconds = planned(gait)
            told(f"{name}, {slope:+.0f} deg", plan, seconds)
            h, both, cost = np.diff(plan.times), plan.standing.all(axis=1), plan.statistics["cost"]
            references = [gait.torques[bare(joint)] for joint in plan.joints]
            means = [np.sum((plan.torque / references) ** 2, axis=1), np.sum(plan.acceleration**2, axis=1)]
            torques, accelerations = (float(h @ values) / plan.duration for values in means)
            accelerations *= gait.acceleration
            print(
                f"  torques {torques / cost:.0%}, accelerations {accelerations / cost:.0%} of the cost; double support "
                f"{h[both].sum():.3f} s (bounds {gait.double}), {h[both].sum() / h.sum():.0%} of the step"
            )


def starts() -> None:
    """Ten random starts of each foot on each slope (joint angles 0.2 rad off, times 20 % off): mean and spread."""
    feet: dict[str, dict[str, Any]] = {"rolling": {}, "flat": {"sole": "flat", "trailing": "toe", "leading": "heel"}}
    for name, way in feet.items():
        for slope in SLOPES:
            gait = Gait(slope=radians(slope), **way)
            plans = [plan_walk(gait, perturbation=0.2, seed=seed, max_iterations=200) for seed in range(10)]
            kept = [plan.statistics for plan in plans if plan.status.label == "success"]
            counts, costs = [one["iterations"] for one in kept], np.sort([one["cost"] for one in kept])
            optima = costs[np.diff(costs, prepend=0.0) > 1e-3 * costs]
            print(
                f"{name}, {slope:+.0f} deg: {np.mean(counts):.0f} +- {np.std(counts, ddof=1):.0f} iterations, "
                f"{min(counts)} to {max(counts)}; {len(kept)} of 10 converged (aim 8); optima: {np.round(optima, 4)}",
                flush=True,
            )


def dofs() -> None:
    """Growth with the degrees of freedom that may move: arms and trunk held by their ranges."""
    held = dict.fromkeys(("shoulder_roll", "shoulder_yaw", "trunk_yaw", "trunk_roll"), (0.0, 1e-06))
    for name, ranges in (("all joints", dict(RANGES)), ("8 joints held", {**RANGES, **held})):
        told(name, *planned(replace(Gait(), ranges=ranges)))


def stretched() -> None:
    """The sole's semi-axes as unknowns: factors and gain against the shipped foot, within growing bounds."""
    for slope in SLOPES:
        own, seconds = planned(Gait(slope=radians(slope)))
        told(f"shipped foot, {slope:+.0f} deg", own, seconds)
        for bounds in ((0.9, 1.1), (0.8, 1.25), (0.5, 2.0)):
            plan, seconds = planned(Gait(slope=radians(slope), stretch=bounds), guess=own)
            told(f"  factors {bounds}", plan, seconds)
            gain = 1 - plan.statistics["cost"] / own.statistics["cost"]
            print(f"    semi-axes times {np.round(plan.stretch, 3)}, gain {gain:.1%}", flush=True)


def shots() -> None:
    """Multiple shooting with constrained dynamics, started from the plan by midpoints, beside it."""
    for slope in SLOPES:
        walking = Walking(build_avatar(), Gait(slope=radians(slope), intervals=(24, 10)))
        plan, seconds = planned(walking.gait, walking=walking)
        told(f"24 + 10 intervals, {slope:+.0f} deg", plan, seconds)
        began = time.process_time()
        found, arcs = shoot(walking, plan)
        step = sum(float(arc.times[-1]) for arc in arcs)
        print(
            f"  by shooting {found.status.label}, {found.iterations} its, cost {found.objective:.6f} "
            f"({found.objective / plan.statistics['cost'] - 1:+.2%}), CPU {time.process_time() - began:.1f} s, "
            f"{found.z.size} unknowns; step {step:.4f} s, by midpoints {plan.duration:.4f} s",
            flush=True,
        )


PARTS: dict[str, Callable[[], None]] = {
    "slopes": slopes, "warm": warm, "soles": soles, "peaks": peaks, "replays": replays, "impacts": impacts,
    "sizes": sizes, "speed": speed, "grid": grid, "stretched": stretched, "shares": shares,
    "starts": starts, "dofs": dofs, "shots": shots,
}  # fmt: skip


def main(names: list[str]) -> None:
    """Run the parts named, or all, on the slopes named, or all."""
    slopes = [float(name) for name in names if name not in PARTS]
    SLOPES[:] = slopes or SLOPES
    for name in [name for name in names if name in PARTS] or list(PARTS):
        print(f"# {name}: {PARTS[name].__doc__}")
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
