"""Scenes in Drake: point contact under its discrete solvers."""

from __future__ import annotations

import logging
import time as clock
from typing import TYPE_CHECKING

import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    Capsule,
    CollisionFilterDeclaration,
    Convex,
    Cylinder,
    Ellipsoid,
    GeometryId,
    GeometrySet,
    HalfSpace,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from pydrake.geometry import Shape as DrakeShape
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlant, MultibodyPlantConfig
from pydrake.multibody.tree import (
    FixedOffsetFrame,
    PlanarJoint,
    PrismaticJoint,
    PrismaticSpring,
    RevoluteJoint,
    RevoluteSpring,
    RigidBody,
    SpatialInertia,
    UnitInertia,
    WeldJoint,
)
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator
from pydrake.systems.framework import DiagramBuilder

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.interop.forms import Form, chords
from trundle.interop.peers import Contact, PeerRun, divide_interval
from trundle.interop.scene import PeerBody, PeerGeom, PeerScene

if TYPE_CHECKING:
    from pydrake.multibody.tree import Joint

__all__ = ["run"]

STIFFNESS = 1e7
"""Of a hard contact, N/m."""
_STICTION = 1e-5  # m/s, slip speed at which the regularised friction of a continuous plant is full
_FACETS = 0.2  # length of edges of the facets of surfaces of contact, over the size of a body
_FACED = ("box", "cylinder", "hull")  # forms whose faces lie on others
_UPRIGHT = RigidTransform(RotationMatrix(np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])), np.zeros(3))
"""A frame whose x and y are the world's x and z."""
logging.getLogger("drake").setLevel(logging.ERROR)


class _DrakeWorld:
    """A scene built as a plant."""

    def __init__(
        self,
        scene: PeerScene,
        step: float,
        solver: str,
        stiffness: float | None,
        accuracy: float | None,
        relaxation: float | None,
        modulus: float | None,
    ) -> None:
        self.scene, self.step, self.stiffness = scene, step, stiffness
        self.relaxation, self.modulus = step if relaxation is None else relaxation, modulus
        model = "point" if modulus is None else "hydroelastic_with_fallback"
        builder, config = DiagramBuilder(), MultibodyPlantConfig(contact_model=model)
        if accuracy is None:
            config.time_step, config.discrete_contact_approximation = step, solver
        else:  # a continuous plant under an integrator that controls its error
            config.time_step, config.stiction_tolerance = 0.0, _STICTION
        self.plant: MultibodyPlant
        self.graph: SceneGraph
        self.plant, self.graph = AddMultibodyPlant(config, builder)
        self.plant.mutable_gravity_field().set_gravity_vector(scene.gravity)
        self.bodies: dict[str, RigidBody] = {"": self.plant.world_body()}
        self.joints: dict[str, Joint] = {}
        self.geoms: dict[str, list[GeometryId]] = {}
        for body in scene.bodies:
            self._add(body)
        for geom in scene.geoms:
            self.geoms[geom.name] = self._register(geom)
        self._filter()
        self.plant.Finalize()
        self.names = {int(made.index()): name for name, made in self.bodies.items()}
        self.simulator = Simulator(builder.Build())
        if accuracy is not None:
            ResetIntegratorFromFlags(self.simulator, solver, step).set_target_accuracy(accuracy)
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        for body in scene.bodies:
            self._put(body)
        self.simulator.Initialize()

    def _add(self, body: PeerBody) -> None:
        plant, I = self.plant, body.inertia / body.mass if body.mass else np.eye(3)  # noqa: E741
        unit = UnitInertia(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        about_origin = unit.ShiftFromCenterOfMass(body.com)
        instance = plant.AddModelInstance(body.name)
        made = plant.AddRigidBody(body.name, instance, SpatialInertia(body.mass, body.com, about_origin))
        self.bodies[body.name] = made
        if body.weightless:
            plant.set_gravity_enabled(instance, False)
        if body.joint == "free":
            return
        if body.joint == "in-plane":
            parent = plant.AddFrame(FixedOffsetFrame(f"{body.name}P", plant.world_frame(), _UPRIGHT))
            child = plant.AddFrame(FixedOffsetFrame(f"{body.name}C", made.body_frame(), _UPRIGHT))
            self.joints[body.name] = plant.AddJoint(PlanarJoint(body.name, parent, child, np.zeros(3)))
            return
        parent = self.bodies[body.parent].body_frame()
        frame = plant.AddFrame(FixedOffsetFrame(f"{body.name}P", parent, _pose(body.position, body.R)))
        if body.joint == "weld":
            plant.AddJoint(WeldJoint(body.name, frame, made.body_frame(), RigidTransform()))
            return
        hinge = body.joint == "hinge"
        kind, spring = (RevoluteJoint, RevoluteSpring) if hinge else (PrismaticJoint, PrismaticSpring)
        joint = kind(body.name, frame, made.body_frame(), body.axis, body.low, body.high, body.damping)
        self.joints[body.name] = plant.AddJoint(joint)
        if body.stiffness:
            plant.AddForceElement(spring(self.joints[body.name], body.rest, body.stiffness))

    def _register(self, geom: PeerGeom) -> list[GeometryId]:
        body = self.bodies[geom.body]
        found = []
        for k, (shape, at, R) in enumerate(_shapes(geom.form)):
            pose = _pose(geom.position + geom.R @ at, geom.R @ R)
            name = f"{geom.name}{k or ''}"
            material = self._material(geom)
            found.append(self.plant.RegisterCollisionGeometry(body, pose, shape, name, material))
        return found

    def _friction(self, geom: str) -> float:
        """Return a surface's coefficient: that of two is the harmonic mean 2 a b / (a + b) of theirs."""
        told = [one.friction for one in self.scene.contacts if one.second == geom]
        if told:
            return max(told)
        touching = next((one for one in self.scene.contacts if one.first == geom), None)
        if touching is None or not touching.friction:
            return 0.0
        other = self._friction(touching.second)
        return touching.friction * other / (2 * other - touching.friction)

    def _material(self, geom: PeerGeom) -> ProximityProperties:
        """Return point contact, or surfaces of contact: the world is rigid, bodies give way."""
        friction = self._friction(geom.name)
        properties, coulomb = ProximityProperties(), CoulombFriction(friction, friction)
        faced = geom.form.kind in _FACED
        if self.modulus is not None and geom.body and faced:
            extent = max(geom.form.size) if geom.form.size else float(np.ptp(geom.form.points, axis=0).max())
            AddCompliantHydroelasticProperties(_FACETS * extent, self.modulus, properties)
        elif self.modulus is not None and not geom.body:
            AddRigidHydroelasticProperties(properties)
        if self.stiffness is None:
            AddContactMaterial(friction=coulomb, properties=properties)
            return properties
        AddContactMaterial(dissipation=0.0, point_stiffness=self.stiffness, friction=coulomb, properties=properties)
        properties.AddProperty("material", "relaxation_time", self.relaxation)
        return properties

    def _filter(self) -> None:
        """Let the pairs of the scene touch, and no others."""
        manager, allowed = self.graph.collision_filter_manager(), CollisionFilterDeclaration()
        manager.Apply(
            CollisionFilterDeclaration().ExcludeWithin(GeometrySet([i for ids in self.geoms.values() for i in ids]))
        )
        for one in self.scene.contacts:
            allowed.AllowBetween(GeometrySet(self.geoms[one.first]), GeometrySet(self.geoms[one.second]))
        manager.Apply(allowed)

    def _put(self, body: PeerBody) -> None:
        plant, made = self.plant, self.bodies[body.name]
        if body.joint == "free":
            plant.SetFreeBodyPose(self.context, made, _pose(body.position, body.R))
            plant.SetFreeBodySpatialVelocity(self.context, made, SpatialVelocity(body.twist[:3], body.twist[3:]))
        elif body.joint == "in-plane":
            joint = self.joints[body.name]
            joint.set_translation(self.context, body.position[::2])
            joint.set_rotation(self.context, float(np.arctan2(body.R[2, 0], body.R[0, 0])))
            joint.set_translational_velocity(self.context, body.twist[3::2])
            joint.set_angular_velocity(self.context, -body.twist[1])
        elif body.joint == "hinge":
            self.joints[body.name].set_angle(self.context, body.value)
            self.joints[body.name].set_angular_rate(self.context, body.rate)
        elif body.joint == "slide":
            self.joints[body.name].set_translation(self.context, body.value)
            self.joints[body.name].set_translation_rate(self.context, body.rate)

    def centers(self) -> dict[str, FloatArray]:
        """Return the centres of mass of the bodies, world."""
        context = self.context
        return {
            body.name: self.plant.EvalBodyPoseInWorld(context, self.bodies[body.name]).multiply(body.com)
            for body in self.scene.bodies
        }

    def keep_pushes(self, found: PeerRun, i: int, centers: dict[str, FloatArray]) -> None:
        """Keep what contacts gave in the step that was made, from `centers` of mass before it."""
        results, names = self.plant.get_contact_results_output_port().Eval(self.context), self.names
        for k in range(results.num_point_pair_contacts()):
            one = results.point_pair_contact_info(k)
            bodies = names[int(one.bodyB_index())], names[int(one.bodyA_index())]
            normal = -np.asarray(one.point_pair().nhat_BA_W)  # it points from B into A
            impulse = self.step * np.asarray(one.contact_force())  # on B
            point = np.asarray(one.contact_point())
            found.push(i, bodies, (point, point), normal, impulse, centers)
        inspector = self.graph.model_inspector()
        for k in range(results.num_hydroelastic_contacts()):
            one = results.hydroelastic_contact_info(k)
            surface, force = one.contact_surface(), one.F_Ac_W()  # on the body of M, at the surface's centroid
            first, second = (
                names[int(self.plant.GetBodyFromFrameId(inspector.GetFrameId(side)).index())]
                for side in (surface.id_M(), surface.id_N())
            )
            # Normals of its faces are out of N.
            faces = range(surface.num_faces())
            normal = sum((surface.area(f) * np.asarray(surface.face_normal(f)) for f in faces), np.zeros(3))
            impulse, couple = self.step * np.asarray(force.translational()), self.step * np.asarray(force.rotational())
            point = np.asarray(surface.centroid())
            found.push(i, (first, second), (point, point), normal / np.linalg.norm(normal), impulse, centers, couple)

    def read(self, found: PeerRun, i: int) -> None:
        """Keep the sample `i`."""
        plant, context = self.plant, self.context
        for k, body in enumerate(self.scene.bodies):
            made = self.bodies[body.name]
            pose, twist = plant.EvalBodyPoseInWorld(context, made), plant.EvalBodySpatialVelocityInWorld(context, made)
            turn = pose.rotation().ToQuaternion().wxyz()
            found.bodies[i, k] = [*pose.translation(), *turn, *twist.rotational(), *twist.translational()]
            if body.joint in ("hinge", "slide"):
                joint = self.joints[body.name]
                found.joints[i, k] = joint.GetOnePosition(context), joint.GetOneVelocity(context)


def run(
    scene: PeerScene,
    times: FloatArray,
    step: float,
    limit: float = np.inf,
    *,
    contact: Contact = "hard",
    solver: str = "sap",
    stiffness: float | None = None,
    accuracy: float | None = None,
    relaxation: float | None = None,
    modulus: float | None = None,
    pushes: bool = False,
) -> PeerRun:
    """Return a scene's run, sampled at even `times` (n,) s, with `step` (s) or the next that divides their spacing.

    Parameters
    ----------
    limit : float, s
        It ends early where stepping takes more CPU time.
    solver : str
        "sap", "tamsi", "similar" or "lagged"; with an `accuracy` an integrator, such as "cenic".
    contact : "hard" or "default"
        ``"hard"``: 1e7 N/m and dissipation over one step; ``"default"``: Drake's own.
    stiffness : float, N/m, optional
        Of contacts, in place of the hard one.
    accuracy : float, optional
        Of a continuous plant, whose largest step `step` is.
    relaxation : float, s, optional
        Of hard contacts, in place of one step.
    modulus : float, Pa, optional
        Of boxes, cylinders and hulls: their contacts are surfaces then ("hydroelastic"), as faces need; else points.
    pushes : bool
        Whether to keep what contacts gave in each step, of a discrete plant.

    Raises
    ------
    InputError
        If Drake has no such thing: pins, couplings, dry friction of joints, moments against spin or rolling, terrain
        in space that is neither flat nor convex.
    """
    if scene.pins:
        raise InputError("pins", len(scene.pins), "none, for Drake")
    if scene.couplings:
        raise InputError("couplings", len(scene.couplings), "none, for Drake")
    for body in scene.bodies:
        if body.dry_friction:
            raise InputError(f"dry_friction of {body.name}", body.dry_friction, "0, for Drake")
    for one in scene.contacts:
        if one.resists > 3:
            raise InputError(f"law of {one.first}", "one that resists spin or rolling", "'rolling' alone, for Drake")
    if pushes and accuracy is not None:
        raise InputError("pushes", pushes, "False with an accuracy: a continuous plant has no steps of its own")
    step, every = divide_interval(times, step)
    stiffness = STIFFNESS if stiffness is None and contact == "hard" else stiffness
    world = _DrakeWorld(scene, step, solver, stiffness, accuracy, relaxation, modulus)
    found = PeerRun.of(scene, len(times), limit)
    for i, time in enumerate(times):
        for k in range(every if pushes and i else min(i, 1)):
            centers = world.centers() if pushes else {}
            end = float(time) if not pushes else float(times[i - 1]) + (k + 1) * step
            begin = clock.process_time()
            # A step that begins at an instant is made after it: half a step before the end all due ones are.
            world.simulator.AdvanceTo(end if accuracy is not None else end - 0.5 * step)
            found.seconds += clock.process_time() - begin
            if pushes:
                world.keep_pushes(found, i, centers)
        world.read(found, i)
        if found.late(i, float(time)):
            break
    return found


def _pose(position: FloatArray, R: FloatArray) -> RigidTransform:
    return RigidTransform(RotationMatrix.ProjectToRotationMatrix(R), position)


def _shapes(form: Form) -> list[tuple[DrakeShape, FloatArray, FloatArray]]:
    """Return shapes and their poses: one, or the boxes under the chords of terrain in the plane."""
    here, size = (np.zeros(3), np.eye(3)), form.size
    makers = {"sphere": Sphere, "ellipsoid": Ellipsoid, "capsule": Capsule, "cylinder": Cylinder, "box": Box}
    if form.kind == "plane":
        return [(HalfSpace(), *here)]
    if form.kind == "hull":
        return [(Convex(form.points.T, "hull"), *here)]
    if form.kind != "heights":
        full = [2 * s for s in size] if form.kind == "box" else size
        full = (size[0], 2 * size[1]) if form.kind in ("capsule", "cylinder") else full
        return [(makers[form.kind](*full), *here)]
    boxes = chords(form)
    if boxes is None:
        raise InputError("terrain", "heights", "in the plane, flat or convex, for Drake")
    return [(Box(*(2 * s for s in box.size)), box.at, box.R) for box in boxes]
