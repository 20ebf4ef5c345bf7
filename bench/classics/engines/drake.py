"""Drake on a scene, with its discrete solvers SAP and TAMSI."""

from __future__ import annotations

import logging
import time as clock
from typing import Any

import numpy as np
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import (
    AddContactMaterial,
    Box,
    CollisionFilterDeclaration,
    Ellipsoid,
    GeometrySet,
    HalfSpace,
    ProximityProperties,
)
from pydrake.geometry import Sphere as Ball
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import FixedOffsetFrame, PrismaticJoint, RevoluteJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from bench.classics.engines import Setting
from bench.classics.scene import EDGE, Body, Geom, Scene

NAME = "Drake"
logging.getLogger("drake").setLevel(logging.ERROR)
SETTINGS = (
    Setting("SAP", 1e-3, False, "sap"),
    Setting("SAP, 1e6 N/m", 1e-4, True, "sap"),
    Setting("TAMSI, 1e6 N/m", 1e-4, True, "tamsi"),
)


class World:
    """A diagram with one plant; bodies and shapes are added before `finish`."""

    def __init__(self, step: float, solver: str, stiffness: float) -> None:
        self.builder = DiagramBuilder()
        config = MultibodyPlantConfig(contact_model="point")
        config.time_step, config.discrete_contact_approximation = step, solver
        self.plant, self.graph = AddMultibodyPlant(config, self.builder)
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

    def finish(self) -> tuple[Simulator, Any]:
        """Return the simulator and the plant's context."""
        self.plant.Finalize()
        simulator = Simulator(self.builder.Build())
        return simulator, self.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())


def _pose(at: object, quaternion: object) -> RigidTransform:
    return RigidTransform(Quaternion(np.asarray(quaternion, float)), np.asarray(at, float))


def _shape(geom: Geom) -> object:
    if geom.kind == "plane":
        return HalfSpace()
    if geom.kind == "sphere":
        return Ball(geom.size[0])
    if geom.kind == "disc":
        return Ellipsoid(geom.size[0], geom.size[0], EDGE * geom.size[0])
    if geom.kind == "box":
        return Box(*(2 * s for s in geom.size))
    return Ellipsoid(*geom.size)


def _add(world: World, scene: Scene, body: Body, links: dict, joints: dict) -> None:
    plant, I = world.plant, body.moments / body.mass  # noqa: E741
    unit = UnitInertia(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    link = plant.AddRigidBody(body.name, SpatialInertia(body.mass, np.zeros(3), unit))
    links[body.name] = link
    for i, geom in enumerate(body.geoms):
        where = _pose(geom.at, geom.quaternion)
        name = f"{body.name}{i}"
        plant.RegisterCollisionGeometry(link, where, _shape(geom), name, world.material(scene.friction))
    if body.joint is None:
        return
    joint, anchor = body.joint, np.asarray(body.joint.at)
    if joint.parent is None:
        base, origin = plant.world_frame(), np.zeros(3)
    else:
        base = links[joint.parent].body_frame()
        origin = np.asarray(next(b.position for b in scene.bodies if b.name == joint.parent))
    on_parent = plant.AddFrame(FixedOffsetFrame(f"{body.name}P", base, RigidTransform(anchor - origin)))
    offset = RigidTransform(anchor - np.asarray(body.position))
    on_child = plant.AddFrame(FixedOffsetFrame(f"{body.name}C", link.body_frame(), offset))
    made = (RevoluteJoint if joint.kind == "hinge" else PrismaticJoint)(
        body.name, on_parent, on_child, np.asarray(joint.axis, float)
    )
    joints[body.name] = plant.AddJoint(made)
    if joint.actuated:
        plant.AddJointActuator(body.name, joints[body.name])


def _filtered(world: World, scene: Scene, links: dict) -> None:
    """Let bodies touch the ground alone."""
    if scene.bodies_touch:
        return
    ids = [i for link in links.values() for i in world.plant.GetCollisionGeometriesForBody(link)]
    manager = world.graph.collision_filter_manager()
    manager.Apply(CollisionFilterDeclaration().ExcludeWithin(GeometrySet(ids)))


def _world(scene: Scene, setting: Setting) -> tuple[World, dict, dict]:
    world = World(setting.step, setting.solver, 1e6 if setting.stiff else 1e5)
    world.plant.mutable_gravity_field().set_gravity_vector(list(scene.gravity))
    for i, geom in enumerate(scene.ground):
        where, material = _pose(geom.at, geom.quaternion), world.material(scene.friction)
        world.plant.RegisterCollisionGeometry(world.plant.world_body(), where, _shape(geom), f"ground{i}", material)
    links: dict = {}
    joints: dict = {}
    for body in scene.bodies:
        _add(world, scene, body, links, joints)
    _filtered(world, scene, links)
    return world, links, joints


def run(scene: Scene, setting: Setting) -> tuple[np.ndarray, float]:
    """Return samples (n, bodies, 13) and the seconds of stepping."""
    setting, _ = setting.fitted(scene.spacing)
    world, links, joints = _world(scene, setting)
    simulator, context = world.finish()
    plant = world.plant
    for body in scene.bodies:
        if body.joint is None:
            plant.SetFreeBodyPose(context, links[body.name], _pose(body.position, body.quaternion))
            twist = SpatialVelocity(np.asarray(body.spin, float), np.asarray(body.velocity, float))
            plant.SetFreeBodySpatialVelocity(context, links[body.name], twist)
        else:
            joint = joints[body.name]
            set_rate = joint.set_angular_rate if body.joint.kind == "hinge" else joint.set_translation_rate
            set_rate(context, body.joint.rate)
    driven = [b.name for b in scene.bodies if b.joint is not None and b.joint.actuated]
    rows, wall = [], 0.0
    for i, time in enumerate(scene.times):
        rows.append([_sample(plant, context, links[b.name]) for b in scene.bodies])
        if scene.torques is not None:
            turned = {
                name: (joints[name].get_angle(context), joints[name].get_angular_rate(context)) for name in driven
            }
            told = scene.torques(float(time), turned)
            plant.get_actuation_input_port().FixValue(context, np.array([told[name] for name in driven]))
        if i == 0:
            simulator.Initialize()
        if i + 1 < len(scene.times):
            begin = clock.perf_counter()
            simulator.AdvanceTo(float(scene.times[i + 1]) + 0.01 * setting.step)
            wall += clock.perf_counter() - begin
    return np.array(rows), wall


def _sample(plant: object, context: object, link: object) -> np.ndarray:
    pose = plant.EvalBodyPoseInWorld(context, link)  # pyright: ignore[reportAttributeAccessIssue]
    twist = plant.EvalBodySpatialVelocityInWorld(context, link)  # pyright: ignore[reportAttributeAccessIssue]
    q = pose.rotation().ToQuaternion().wxyz()
    return np.concatenate([pose.translation(), q, twist.rotational(), twist.translational()])
