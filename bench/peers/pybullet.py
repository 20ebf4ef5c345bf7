"""PyBullet on the two cases.

Plate: a 300 kg box on a free revolute joint. Ellipse: the convex hull of a prism on prismatic x, prismatic z
and revolute joints (massless but for 1e-6 kg links) over a height field or boxes whose upper faces are the
terrain's chords. The hull is drawn in by the margin that the engine adds round it: without that the start
is 1 mm in penetration and the body is thrown up.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version as package_version

import numpy as np
import pybullet as bullet

from bench.measure import Run, Samples, milliseconds, output_grid
from bench.reference import GRAVITY, BallCase, EllipseCase, ellipse_start

NAME = "PyBullet"
MARGIN = 1e-3  # m, what the engine adds round a convex hull
STILL = {"linearDamping": 0.0, "angularDamping": 0.0, "jointDamping": 0.0, "rollingFriction": 0.0}
STILL |= {"spinningFriction": 0.0, "restitution": 0.0}


STEPS = (5e-3, 2e-3, 1e-3, 0.5e-3, 0.2e-3)  # s
QUICK = (2e-3, 1e-3)


def version() -> str:
    """Return the engine's version."""
    return package_version("pybullet")


class World:
    """One physics client: steps over the output grid and is closed at the end."""

    def __init__(self, step: float, stiff: bool) -> None:
        self.client = bullet.connect(bullet.DIRECT)
        bullet.setGravity(0, 0, -GRAVITY, physicsClientId=self.client)
        bullet.setTimeStep(step, physicsClientId=self.client)
        self.step = step
        if stiff:
            bullet.setPhysicsEngineParameter(
                numSolverIterations=200,
                solverResidualThreshold=1e-14,
                erp=0.2,
                contactERP=0.2,
                frictionERP=0.0,
                globalCFM=0.0,
                contactBreakingThreshold=1e-3,
                physicsClientId=self.client,
            )

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        bullet.disconnect(self.client)

    def run(self, grid: np.ndarray, read: Callable[[], list[float]]) -> tuple[np.ndarray, float, int]:
        """Return what `read` gave at each output time, the wall time (s) and the number of steps."""
        every = round((grid[1] - grid[0]) / self.step)
        rows = [read()]
        begin = clock.perf_counter()
        for _ in range(len(grid) - 1):
            for _ in range(every):
                bullet.stepSimulation(physicsClientId=self.client)
            rows.append(read())
        return np.array(rows), clock.perf_counter() - begin, every * (len(grid) - 1)


def ball(case: BallCase, step: float, stiff: bool) -> Samples:
    """Run the ball on the plate with one time step (s)."""
    with World(step, stiff) as world:
        to = {"physicsClientId": world.client}
        box = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[2, 2, 0.1], **to)
        plate = bullet.createMultiBody(
            baseMass=0,
            linkMasses=[300],
            linkCollisionShapeIndices=[box],
            linkVisualShapeIndices=[-1],
            linkPositions=[[0, 0, -0.1]],
            linkOrientations=[[0, 0, 0, 1]],
            linkInertialFramePositions=[[0, 0, 0]],
            linkInertialFrameOrientations=[[0, 0, 0, 1]],
            linkParentIndices=[0],
            linkJointTypes=[bullet.JOINT_REVOLUTE],
            linkJointAxis=[[0, 0, 1]],
            **to,
        )
        bullet.setJointMotorControl2(plate, 0, bullet.VELOCITY_CONTROL, force=0, **to)
        bullet.resetJointState(plate, 0, 0.0, case.plate_rate, **to)
        sphere = bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=case.radius, **to)
        body = bullet.createMultiBody(case.mass, sphere, basePosition=[0, 0, case.radius], **to)
        bullet.resetBaseVelocity(body, list(case.start_velocity), list(case.ball_rate), **to)
        for who, link in ((plate, -1), (plate, 0), (body, -1)):
            bullet.changeDynamics(who, link, lateralFriction=case.friction, **STILL, **to)
        bullet.changeDynamics(body, -1, localInertiaDiagonal=[case.inertia] * 3, **to)
        rows, wall, steps = world.run(
            output_grid(case), lambda: list(bullet.getBasePositionAndOrientation(body, **to)[0][:2])
        )
    return Samples(rows, None, wall, steps)


def _height_field(case: EllipseCase, width: float, low: float, high: float, to: dict) -> None:
    """Add a static body whose surface is the terrain sampled every `width` (m)."""
    columns = round((high - low) / width) + 1
    heights = case.height(np.linspace(low, high, columns))
    rows = 5
    shape = bullet.createCollisionShape(
        bullet.GEOM_HEIGHTFIELD,
        meshScale=[width, case.half_length, 1.0],
        heightfieldData=np.tile(heights, rows).tolist(),
        numHeightfieldRows=columns,
        numHeightfieldColumns=rows,
        **to,
    )
    middle = 0.5 * (heights.min() + heights.max())  # the shape is centred on its own bounding box
    ground = bullet.createMultiBody(0, shape, basePosition=[(low + high) / 2, 0, middle], **to)
    bullet.changeDynamics(ground, -1, lateralFriction=case.friction, **STILL, collisionMargin=0.0, **to)


def _boxes(case: EllipseCase, width: float, low: float, high: float, to: dict) -> None:
    """Add static boxes whose upper faces are the chords of the terrain every `width` (m)."""
    knots = np.linspace(low, high, round((high - low) / width) + 1)
    heights, deep = case.height(knots), 0.05
    dx, dz = np.diff(knots), np.diff(heights)
    length, angle = np.hypot(dx, dz), np.arctan2(dz, dx)
    middle = np.stack([(knots[1:] + knots[:-1]) / 2, 0 * dx, (heights[1:] + heights[:-1]) / 2], axis=1)
    middle += deep * np.stack([np.sin(angle), 0 * dx, -np.cos(angle)], axis=1)
    for where, size, turn in zip(middle, length, angle, strict=True):
        box = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[size / 2, 2 * case.half_length, deep], **to)
        tilt = [0, -float(np.sin(turn / 2)), 0, float(np.cos(turn / 2))]
        ground = bullet.createMultiBody(0, box, -1, where.tolist(), tilt, **to)
        bullet.changeDynamics(ground, -1, lateralFriction=case.friction, **STILL, **to)


def ellipse(
    case: EllipseCase, step: float, stiff: bool, width: float, corners: int = 720, boxes: bool = False
) -> Samples:
    """Run the ellipse, a hull with `corners` corners, on boxes or height field cells of `width` (m)."""
    a, b = case.semi_axes
    phi = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    outline = np.stack([a * np.cos(phi), b * np.sin(phi)], axis=1)
    normal = np.stack([b * np.cos(phi), a * np.sin(phi)], axis=1)
    outline -= MARGIN * normal / np.linalg.norm(normal, axis=1, keepdims=True)
    hull = [[x, y, z] for y in (-case.half_length, case.half_length) for x, z in outline]
    _, centre = ellipse_start(case)
    with World(step, stiff) as world:
        to = {"physicsClientId": world.client}
        (_boxes if boxes else _height_field)(case, width, -0.4, 1.6, to)
        prism = bullet.createCollisionShape(bullet.GEOM_MESH, vertices=hull, **to)
        zero, one = [[0, 0, 0]] * 3, [[0, 0, 0, 1]] * 3
        body = bullet.createMultiBody(
            baseMass=0,
            linkMasses=[1e-6, 1e-6, case.mass],
            linkCollisionShapeIndices=[-1, -1, prism],
            linkVisualShapeIndices=[-1] * 3,
            linkPositions=zero,
            linkOrientations=one,
            linkInertialFramePositions=zero,
            linkInertialFrameOrientations=one,
            linkParentIndices=[0, 1, 2],
            linkJointTypes=[bullet.JOINT_PRISMATIC, bullet.JOINT_PRISMATIC, bullet.JOINT_REVOLUTE],
            linkJointAxis=[[1, 0, 0], [0, 0, 1], [0, -1, 0]],
            **to,
        )
        for joint, value in enumerate((centre[0], centre[1], case.angle)):
            bullet.setJointMotorControl2(body, joint, bullet.VELOCITY_CONTROL, force=0, **to)
            bullet.resetJointState(body, joint, value, 0.0, **to)
            bullet.changeDynamics(body, joint, lateralFriction=case.friction, **STILL, **to)
        bullet.changeDynamics(body, 2, mass=case.mass, localInertiaDiagonal=[case.inertia] * 3, **to)
        rows, wall, steps = world.run(
            output_grid(case), lambda: [state[0] for state in bullet.getJointStates(body, [0, 1, 2], **to)]
        )
    return Samples(rows[:, :2], rows[:, 2], wall, steps)


def _ball_runs(case: BallCase) -> Iterator[Run]:
    for name, stiff in (("defaults", False), ("200 iterations", True)):
        for step in STEPS:
            yield Run(
                NAME,
                "ball",
                name,
                milliseconds(step),
                partial(ball, case, step, stiff),
                quick=step in QUICK,
            )


def _ellipse_runs(case: EllipseCase) -> Iterator[Run]:
    settings = (
        ("defaults, boxes 20 mm, 360 corners", False, 20e-3, 360, True, STEPS[:3]),
        ("200 iterations, height field 20 mm, 180 corners", True, 20e-3, 180, False, STEPS[:3]),
        ("200 iterations, boxes 20 mm, 360 corners", True, 20e-3, 360, True, STEPS),
        ("200 iterations, boxes 5 mm, 720 corners", True, 5e-3, 720, True, STEPS[1:]),
    )
    for name, stiff, width, corners, boxes, steps in settings:
        for step in steps:
            yield Run(
                NAME,
                "ellipse",
                name,
                milliseconds(step),
                partial(ellipse, case, step, stiff, width, corners, boxes),
                quick=step in QUICK and stiff and corners == 360,
            )


def runs(case: BallCase | EllipseCase) -> Iterator[Run]:
    """Yield the runs of one case: settings times time steps."""
    return _ball_runs(case) if isinstance(case, BallCase) else _ellipse_runs(case)
