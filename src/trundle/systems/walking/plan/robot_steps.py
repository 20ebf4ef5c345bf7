"""The optimal steps of a robot from a URDF: plan and record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trundle.bars import reporting
from trundle.checks import integer
from trundle.geometry.shape import Shape
from trundle.models.feet import Foot
from trundle.models.rigid_body import Hand
from trundle.models.rolling_tree import RollingTree
from trundle.models.urdf.checks import CheckedUrdf
from trundle.numerics.nlp.nlp import Iterate
from trundle.records import Trajectory
from trundle.simulate.record.scene import tree_scene
from trundle.simulate.record.tree import recorded_bodies
from trundle.status import Status
from trundle.systems.walking.gait.ground import SmoothGround
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.gait.robot_steps import LIMITS, RobotSteps
from trundle.systems.walking.plan.plan import WalkPlan
from trundle.systems.walking.plan.record import record_steps
from trundle.systems.walking.plan.walking import optimal_steps
from trundle.systems.walking.plan.waypoints import FootPoses, Stand, stand, waypoints
from trundle.systems.walking.robots.legged import LeggedRobot
from trundle.systems.walking.robots.soles import suggest_feet
from trundle.threads import cached_property


@dataclass(frozen=True, eq=False)
class RobotWalk:
    """The steps that a robot takes (final).

    Attributes
    ----------
    steps : RobotSteps
    standing : Stand
        From which the guess is made.
    plan : WalkPlan
    """

    steps: RobotSteps
    standing: Stand
    plan: WalkPlan

    @cached_property
    def robot(self) -> RollingTree:
        """The robot on the ground, as `simulate` takes it."""
        steps = self.steps
        ground = None if steps.ground is None else steps.ground.hand
        return steps.robot.on_ground(steps.gravity, steps.gait.friction, ground)


def plan_steps(
    robot: LeggedRobot,
    gait: RobotGait | None = None,
    *,
    ground: Hand | None = None,
    max_iterations: int = 400,
    perturbation: float = 0.0,
    seed: int = 0,
    progress: Callable[[Iterate], bool | None] | None = None,
) -> RobotWalk:
    """Return the steps of least torque of a robot, from a guess made of nothing but the robot.

    It stands with each foot below its hip and its knees bent, by inverse kinematics; then the base glides, feet stand
    where the base passes in the middle of their stance, and swing between these places.

    Parameters
    ----------
    robot : LeggedRobot
    gait : RobotGait, optional
    ground : Hand, optional
        What it walks on, at rest, facing upwards near z = 0: ``gait.steps`` steps from standing to standing; the plane
        z = 0 and a cycle of steps unless given.
    max_iterations, perturbation, seed, progress : as of `trundle.systems.walking.plan.walking.plan_walk`

    Raises
    ------
    InputError
        If the feet do not reach the ground, swings are not those of these feet, or the robot lacks the mirror image.
    """
    began = time.perf_counter()
    standing = stand(robot, FootPoses(robot))
    surface = None if ground is None else SmoothGround(ground)
    steps = RobotSteps(robot, gait or RobotGait(), standing.length, ground=surface)
    plan = optimal_steps(
        steps,
        waypoints(steps, FootPoses(robot, surface), standing),
        max_iterations=max_iterations,
        perturbation=perturbation,
        seed=seed,
        progress=progress,
        began=began,
    )
    return RobotWalk(steps, standing, plan)


def plan_walk(
    urdf: CheckedUrdf,
    feet: Mapping[str, Foot] | Sequence[str],
    gait: RobotGait | None = None,
    *,
    ground: Shape | Hand | None = None,
    posture: Mapping[str, float] | None = None,
    free: Sequence[str] = (),
    heading: float | None = None,
    periods: int = 4,
    max_iterations: int = 400,
    progress: Callable[[Iterate], bool | None] | None = None,
    verbose: bool = False,
) -> Trajectory:
    """Return the steps of least torque of a robot of one's own, from a guess made of the robot alone.

    Its joints keep their ranges, torques and rates, feet stand without slip within their friction cones. A walk that
    fails says in ``metadata["message"]`` which joint is asked for what, and its limit.

    Parameters
    ----------
    urdf : CheckedUrdf
        From `load_urdf` or `load_example_robot`.
    feet : mapping of str to Foot, or sequence of str
        Two or more by name, or the links whose collision geometry suggests their shapes. Flat ones lie in the plane
        z = 0 of their axes, x ahead.
    gait : RobotGait, optional
    ground : Shape or Hand, optional
        What it walks on, at rest, facing upwards near z = 0, such as ``tr.Extrusion(tr.Sinusoid(0.02, 1.0))``: then
        ``gait.steps`` steps from standing to standing. The plane z = 0 and a cycle of steps unless given.
    posture : mapping of str to float, optional
        rad or m, of joints by name or pattern, near which it stands.
    free, heading : as of `trundle.systems.walking.robots.legged.LeggedRobot`
    periods, max_iterations : int
        Of the cycle in the result; of the solver.
    progress, verbose : callable of the solver's `Iterate`, returning False stops; bool, whether to show a bar

    Returns
    -------
    Trajectory
        Of kind ``walking``, at the nodes of the plan; its contacts are the feet. A robot that cannot stand on them or
        lacks its mirror image, or ground without a level set, raises `InputError`.

    Examples
    --------
    >>> bolt = tr.load_example_robot("bolt")
    >>> gait = tr.walking.RobotGait(speed=0.25, intervals=(8, 3))
    >>> run = tr.walking.plan_walk(bolt, ["FL_FOOT", "FR_FOOT"], gait, periods=2)
    >>> run.status.label, [str(name) for name in run["contact"]]
    ('success', ['FL_FOOT', 'FR_FOOT'])
    >>> bool(run["gap"].min() > -1e-6)  # m
    True
    """
    shaped = suggest_feet(urdf, feet) if isinstance(feet, Sequence) else feet
    hand = Hand(ground) if isinstance(ground, Shape) else ground
    robot = LeggedRobot(urdf, shaped, posture or {}, free, heading)
    count, most = integer("periods", periods, minimum=1), integer("max_iterations", max_iterations, minimum=1)
    with reporting(verbose, progress, lambda where: (str(where), where.share)) as told:
        walk = plan_steps(robot, gait, ground=hand, max_iterations=most, progress=told)
    return record_robot(walk, 1 if walk.plan.once else count)


def binding_limit(walk: RobotWalk, max_iterations: int = 400) -> str:
    """Return which limit of a joint stands in a walk's way: joint, demand and limit in one line; empty: none.

    It is the limit that a walk breaks most that is planned without limits of torques and rates, and, if there is none
    such, without ranges of joints.
    """
    steps = walk.steps
    for without in (LIMITS, (*LIMITS, "position")):
        free = RobotSteps(steps.robot, steps.gait, steps.length, without, steps.ground)
        guess = waypoints(free, FootPoses(steps.robot, steps.ground), walk.standing)
        plan = optimal_steps(free, guess, max_iterations=max_iterations)
        if plan.status is Status.SUCCESS:
            return _name_broken_limit(steps, plan)
    return ""


def _name_broken_limit(steps: RobotSteps, plan: WalkPlan) -> str:
    """Return the limit that a plan breaks most, in one line."""
    worst, said = 1.0, ""
    for i, (name, limit) in enumerate(zip(plan.joints, steps.limits, strict=True)):
        q = plan.q[:, 6 + i]
        asked = [
            ("torque", float(np.abs(plan.torque[:, i]).max()), limit.effort or np.inf, "N m"),
            ("rate", float(np.abs(plan.nu[:, 6 + i]).max()), limit.rate or np.inf, "rad/s"),
        ]
        uses = [(demand / most, what, demand, most, unit) for what, demand, most, unit in asked]
        uses.append((1.0 + float(q.max()) - limit.upper, "position", float(q.max()), limit.upper, "rad"))
        uses.append((1.0 + limit.lower - float(q.min()), "position", float(q.min()), limit.lower, "rad"))
        for use, what, demand, most, unit in uses:
            if use > worst:
                worst, said = use, f"joint {name}: {what} {demand:.4g} {unit} is asked, the limit is {most:.4g} {unit}"
    return said


def record_robot(walk: RobotWalk, count: int) -> Trajectory:
    """Return the trajectory of `count` periods of the planned steps, at their nodes; contacts are the feet."""
    steps, plan, robot = walk.steps, walk.plan, walk.steps.robot
    system = walk.robot.system
    coms = {name: com for name, com in recorded_bodies(system).items() if name in steps.model.motions}
    way = plan.q[0, 0] + np.array([0.0, count * plan.length])
    path = np.column_stack([way, np.zeros((2, 2))])
    message = "" if plan.status is Status.SUCCESS else binding_limit(walk) or str(plan.statistics.get("worst", ""))
    metadata = {
        "message": message,
        "physics": {"gravity": plan.gravity.tolist(), "friction": steps.gait.friction, "mass": robot.mass},
        "wall_time": {key: float(plan.statistics[key]) for key in ("build", "solve")},
        "parents": system.model().parents,
        "contacts": {foot: robot.tree.bodies[robot.place(foot)[0]].name.replace(".", "_") for foot in robot.feet},
        "steps": {
            **plan.settings,
            "statistics": dict(plan.statistics),
            "count": count,
            "mirror": None if plan.mirror is None else plan.mirror.tolist(),
            "standing": {support.name: list(support.stances) for support in steps.supports},
            "duration": plan.duration,
            "length": plan.length,
            "leg": walk.standing.length,
            "locked": list(robot.locked),
            "efforts": [float(limit) if np.isfinite(limit) else None for limit in steps.efforts],
        },
    }
    base = robot.tree.bodies[0].name.replace(".", "_")
    return record_steps(steps, plan, count, coms, base, tree_scene(system, coms, path), metadata)


def on_contacts(walk: RobotWalk) -> WalkPlan:
    """Return the plan with a column for every contact of the simulated robot: a flat foot touches with four corners."""
    robot, plan = walk.steps.robot, walk.plan
    feet, owner, images = list(robot.feet), [], {}
    for foot in feet:
        corners = [name for name, _ in robot.feet[foot].contacts(foot)]
        others = [name for name, _ in robot.feet[robot.partners[foot]].contacts(robot.partners[foot])]
        images |= dict(zip(corners, others[::-1], strict=True))
        owner += [feet.index(foot)] * len(corners)
    spread = {name: getattr(plan, name)[:, owner] for name in ("force", "moment", "point", "standing")}
    groups = [[k for k, of in enumerate(owner) if of == i] for i in range(len(feet))]
    settings = {**plan.settings, "contacts": list(images), "image": images, "feet": groups}
    return replace(plan, **spread, settings=settings)
