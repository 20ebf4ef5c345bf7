"""Drake on the two cases.

Plate: a 300 kg half space on a revolute joint. Ellipse: an ellipsoid on a planar joint over boxes whose upper
faces are the terrain's chords (point contact); in the plane of motion the ellipsoid's section is the ellipse.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version as package_version
from typing import Any

import numpy as np
from pydrake.geometry import AddContactMaterial, Box, Ellipsoid, HalfSpace, ProximityProperties, Sphere
from pydrake.math import RigidTransform, RollPitchYaw
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import FixedOffsetFrame, PlanarJoint, RevoluteJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator
from pydrake.systems.framework import DiagramBuilder

from bench.measure import Run, Samples, milliseconds, output_grid
from bench.reference import GRAVITY, BallCase, EllipseCase, ellipse_start

NAME = "Drake"
STICTION = 1e-5  # m/s, slip speed at which the regularised friction of a continuous plant is full


STEPS = (5e-3, 2e-3, 1e-3, 0.5e-3, 0.2e-3)  # s
QUICK = (2e-3, 1e-3)


def version() -> str:
    """Return the engine's version."""
    return package_version("drake")


class World:
    """A diagram with one plant; bodies and shapes are added before `finish`."""

    def __init__(self, step: float, solver: str, stiffness: float, accuracy: float | None = None) -> None:
        self.builder = DiagramBuilder()
        self.solver, self.accuracy = solver, accuracy
        config = MultibodyPlantConfig(contact_model="point")
        if accuracy is None:
            config.time_step, config.discrete_contact_approximation = step, solver
        else:  # a continuous plant under an error-controlled integrator
            config.time_step, config.stiction_tolerance = 0.0, STICTION
        self.plant, _ = AddMultibodyPlant(config, self.builder)
        self.plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        self.step, self.stiffness = step, stiffness

    def material(self, friction: float) -> ProximityProperties:
        """Return stiff point-contact properties with Hunt-Crossley or Kelvin-Voigt dissipation."""
        properties = ProximityProperties()
        AddContactMaterial(
            dissipation=0.0,
            point_stiffness=self.stiffness,
            friction=CoulombFriction(friction, friction),
            properties=properties,
        )
        properties.AddProperty("material", "relaxation_time", self.step)
        return properties

    def body(self, name: str, mass: float, inertia: float) -> Any:
        """Return a new body with the same moment of inertia (kg m^2) about every axis."""
        unit = UnitInertia(inertia / mass, inertia / mass, inertia / mass)
        return self.plant.AddRigidBody(name, SpatialInertia(mass, np.zeros(3), unit))

    def finish(self) -> tuple[Simulator, Any]:
        """Return the simulator and the plant's context."""
        self.plant.Finalize()
        diagram = self.builder.Build()
        simulator = Simulator(diagram)
        if self.accuracy is not None:
            integrator = ResetIntegratorFromFlags(simulator, self.solver, self.step)
            integrator.set_target_accuracy(self.accuracy)
        return simulator, self.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())

    def run(self, simulator: Simulator, grid: np.ndarray, read: Callable[[], list[float]]) -> tuple:
        """Return what `read` gave at each output time, the wall time (s) and the number of steps."""
        simulator.Initialize()
        rows = [read()]
        begin = clock.perf_counter()
        for time in grid[1:]:
            simulator.AdvanceTo(time)
            rows.append(read())
        wall = clock.perf_counter() - begin
        if self.accuracy is None:
            return np.array(rows), wall, round(grid[-1] / self.step)
        return np.array(rows), wall, simulator.get_integrator().get_num_steps_taken()


def ball(case: BallCase, step: float, solver: str, stiffness: float, accuracy: float | None = None) -> Samples:
    """Run the ball on the plate with one time step (s)."""
    world = World(step, solver, stiffness, accuracy)
    plant, material = world.plant, world.material(case.friction)
    plate = world.body("plate", 300.0, 600.0)
    hinge = plant.AddJoint(RevoluteJoint("hinge", plant.world_frame(), plate.body_frame(), np.array([0.0, 0.0, 1.0])))
    plant.RegisterCollisionGeometry(plate, RigidTransform(), HalfSpace(), "plate", material)
    sphere = world.body("ball", case.mass, case.inertia)
    plant.RegisterCollisionGeometry(sphere, RigidTransform(), Sphere(case.radius), "ball", material)
    simulator, context = world.finish()
    hinge.set_angular_rate(context, case.plate_rate)
    sink = case.mass * GRAVITY / stiffness
    plant.SetFreeBodyPose(context, sphere, RigidTransform([0, 0, case.radius - sink]))
    plant.SetFreeBodySpatialVelocity(context, sphere, SpatialVelocity(case.ball_rate, case.start_velocity))
    rows, wall, steps = world.run(
        simulator, output_grid(case), lambda: list(plant.EvalBodyPoseInWorld(context, sphere).translation()[:2])
    )
    return Samples(rows, None, wall, steps)


def _boxes(world: World, case: EllipseCase, width: float, low: float, high: float) -> None:
    """Fix boxes to the world whose upper faces are the chords of the terrain every `width` (m)."""
    knots = np.linspace(low, high, round((high - low) / width) + 1)
    heights, deep = case.height(knots), 0.1
    dx, dz = np.diff(knots), np.diff(heights)
    length, slope = np.hypot(dx, dz), np.arctan2(dz, dx)
    material = world.material(case.friction)
    for k in range(len(dx)):
        middle = np.array([(knots[k] + knots[k + 1]) / 2, 0.0, (heights[k] + heights[k + 1]) / 2])
        middle += 0.5 * deep * np.array([np.sin(slope[k]), 0.0, -np.cos(slope[k])])
        pose = RigidTransform(RollPitchYaw(0, -slope[k], 0), middle)
        shape = Box(length[k], 2 * case.half_length, deep)
        world.plant.RegisterCollisionGeometry(world.plant.world_body(), pose, shape, f"box{k}", material)


def ellipse(
    case: EllipseCase, step: float, solver: str, stiffness: float, width: float, accuracy: float | None = None
) -> Samples:
    """Run the ellipse over boxes of `width` (m)."""
    world = World(step, solver, stiffness, accuracy)
    plant = world.plant
    a, b = case.semi_axes
    _boxes(world, case, width, -0.4, 1.6)
    body = world.body("ellipse", case.mass, case.inertia)
    shape = Ellipsoid(a, case.half_length, b)
    plant.RegisterCollisionGeometry(body, RigidTransform(), shape, "ellipse", world.material(case.friction))
    upright = RigidTransform(RollPitchYaw(np.pi / 2, 0, 0), np.zeros(3))  # its x, y are the world's x, z
    parent = plant.AddFrame(FixedOffsetFrame("plane", plant.world_frame(), upright))
    child = plant.AddFrame(FixedOffsetFrame("section", body.body_frame(), upright))
    joint = plant.AddJoint(PlanarJoint("planar", parent, child, np.zeros(3)))
    simulator, context = world.finish()
    _, centre = ellipse_start(case)
    joint.set_translation(context, centre)
    joint.set_rotation(context, case.angle)
    rows, wall, steps = world.run(
        simulator, output_grid(case), lambda: [*joint.get_translation(context), joint.get_rotation(context)]
    )
    return Samples(rows[:, :2], rows[:, 2], wall, steps)


def _ball_runs(case: BallCase) -> Iterator[Run]:
    for name, solver in (("SAP", "sap"), ("Similar", "similar")):
        for step in STEPS[: 5 if solver == "sap" else 4]:
            yield Run(
                NAME,
                "ball",
                f"{name}, 1e6 N/m",
                milliseconds(step),
                partial(ball, case, step, solver, 1e6),
                quick=step in QUICK and solver == "sap",
            )
    for accuracy in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
        yield Run(
            NAME,
            "ball",
            "CENIC, 1e6 N/m, accuracy",
            f"{accuracy:g}",
            partial(ball, case, 1e-2, "cenic", 1e6, accuracy),
            quick=accuracy in (1e-4, 1e-6),
        )


def _ellipse_runs(case: EllipseCase) -> Iterator[Run]:
    settings = (
        ("SAP, 1e8 N/m, boxes 10 mm", "sap", 1e8, 10e-3),
        ("Similar, 1e8 N/m, boxes 10 mm", "similar", 1e8, 10e-3),
        ("Lagged, 1e7 N/m, boxes 5 mm", "lagged", 1e7, 5e-3),
    )
    for name, solver, stiffness, width in settings:
        for step in STEPS:
            yield Run(
                NAME,
                "ellipse",
                name,
                milliseconds(step),
                partial(ellipse, case, step, solver, stiffness, width),
                quick=step in QUICK and solver == "similar",
            )
    for accuracy in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        yield Run(
            NAME,
            "ellipse",
            "CENIC, 1e6 N/m, boxes 10 mm, accuracy",
            f"{accuracy:g}",
            partial(ellipse, case, 1e-2, "cenic", 1e6, 10e-3, accuracy),
            quick=accuracy == 1e-5,
        )


def runs(case: BallCase | EllipseCase) -> Iterator[Run]:
    """Yield the runs of one case: settings times time steps or accuracies."""
    return _ball_runs(case) if isinstance(case, BallCase) else _ellipse_runs(case)
