"""The scenes in Exudyn: spheres and planes, free or on hinges and slides of the world; contacts are springs.

Impacts last as many steps as `trundle.interop.mujoco` lets them last in MuJoCo. A contact that does not bounce is
damped critically, one that does has Exudyn's impact model 2, its most accurate one; friction is regularised below
1 mm/s, as it comes. Free bodies are stepped by its velocity Verlet, jointed ones by its generalised alpha.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from bench.contacts.statement import Statement, UnstatedError
from trundle.interop.peers import PeerRun
from trundle.interop.scene import PeerBody, PeerContact, PeerGeom, PeerScene

STEP = 2e-4
"""s, that of its own test of spheres which run into each other on a plane, `createSphereTriangleContact`."""
PHASE = 0.2
"""rad, that a contact's spring swings through in a step: an impact lasts some 16 steps."""
SMALLEST = 1e-3
"""m, least radius of a sphere: it is let through a plane where it goes in deeper than its centre."""
WIDE = 10.0
"""m, half the size of a triangle that stands for a plane."""
MANY = 1000
"""Contacts from which on they are looked for in a grid."""
CELLS = 12
"""Of that grid, along each side."""
WALL = 1e3
"""Stiffness of planes in the grid, over that of the stiffest sphere: springs of two that touch act in series."""


def run(statement: Statement, times: np.ndarray, step: float, every: int) -> PeerRun:
    """Run a scene; it is not stopped where it takes long."""
    built = _Built(statement.scene, step)
    built.add_contacts()
    sensors = built.add_sensors()
    built.mbs.Assemble()
    settings = built.settings(times, step, every)
    kind = built.exu.DynamicSolverType
    if statement.drive is not None:
        built.mbs.SetPreStepUserFunction(built.driver(statement, step, every * (len(times) - 1)))
    begin = time.process_time()
    done = built.mbs.SolveDynamic(settings, solverType=kind.GeneralizedAlpha if built.jointed else kind.VelocityVerlet)
    found = PeerRun.of(statement.scene, len(times), np.inf)
    found.seconds = time.process_time() - begin
    for k, of_body in enumerate(sensors):
        columns = [built.mbs.GetSensorStoredData(sensor)[:, 1:] for sensor in of_body]
        position, R, spin, velocity = (column[: len(times)] for column in columns)
        found.bodies = found.bodies[: len(position)]
        quaternion = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat(scalar_first=True)
        found.bodies[:, k] = np.hstack([position, quaternion, spin, velocity])
    if not done:
        found.note = "its solver did not converge"
    return found


def is_stopped(body: PeerBody) -> bool:
    """Return whether a body's joint has a stop."""
    return bool(np.isfinite(body.low) or np.isfinite(body.high))


class _Built:
    """A scene as it is made in Exudyn."""

    def __init__(self, scene: PeerScene, step: float) -> None:
        import exudyn
        from exudyn import itemInterface

        exudyn.config.printToConsole = False
        self.exu: ModuleType = exudyn
        self.item: ModuleType = itemInterface
        self.scene, self.step = scene, step
        self.mbs: Any = exudyn.SystemContainer().AddSystem()
        self.geoms = {geom.name: geom for geom in scene.geoms}
        self.jointed = any(body.joint != "free" for body in scene.bodies)
        self.ground = self.mbs.CreateGround()
        self.bodies: dict[str, Any] = {}
        self.loads: list[tuple[Any, np.ndarray]] = []
        for geom in scene.geoms:
            if geom.form.kind not in ("sphere", "plane"):
                raise UnstatedError(f"not stated: contacts of {geom.form.kind}s")
        for body in scene.bodies:
            self.bodies[body.name] = self._add_body(body)

    @cached_property
    def masses(self) -> dict[str, float]:
        """Return masses, kg, by the bodies' names."""
        return {body.name: body.mass for body in self.scene.bodies}

    def _add_body(self, body: PeerBody) -> Any:
        if body.parent or body.joint not in ("free", "hinge", "slide") or body.value:
            raise UnstatedError("not stated: joints between bodies")
        axis = body.R @ body.axis
        velocity, spin = body.twist[3:], body.twist[:3]
        if body.joint == "slide":
            velocity = body.rate * axis
        elif body.joint == "hinge":
            spin = body.rate * axis
        made = self.mbs.CreateRigidBody(
            referencePosition=body.position.tolist(),
            referenceRotationMatrix=body.R,
            initialVelocity=velocity.tolist(),
            initialAngularVelocity=spin.tolist(),
            inertia=self._inertia(body),
            gravity=[0.0, 0.0, 0.0] if body.weightless else self.scene.gravity.tolist(),
            nodeType=self._node_type(body),
        )
        if body.joint != "free":
            add = self.mbs.CreateRevoluteJoint if body.joint == "hinge" else self.mbs.CreatePrismaticJoint
            add(itemNumbers=[self.ground, made], position=body.position.tolist(), axis=axis.tolist())
        if is_stopped(body):
            self._add_stop(body, made)
        if body.actuated:
            self._add_load(body, made, axis)
        return made

    def _node_type(self, body: PeerBody) -> Any:
        """Return its kind of rotation: what the solvers take, and angles where one of them has a stop."""
        kinds = self.exu.NodeType
        if not self.jointed:
            return kinds.RotationRotationVector
        return kinds.RotationRxyz if is_stopped(body) else kinds.RotationEulerParameters

    def _inertia(self, body: PeerBody) -> Any:
        from exudyn.rigidBodyUtilities import RigidBodyInertia

        return RigidBodyInertia(body.mass, body.inertia, body.com.tolist(), inertiaTensorAtCOM=True)

    def _add_stop(self, body: PeerBody, made: Any) -> None:
        """Add the upper stop of a hinge about -y, where its angle about y is least; it has no damper, that would pull.

        The body's third angle of rotation turns about y where the other two are zero.
        """
        if body.joint != "hinge" or np.isfinite(body.low) or not np.allclose(body.R @ body.axis, (0, -1, 0)):
            raise UnstatedError("not stated: such a stop of a joint")
        arm = body.com - (body.com @ body.axis) * body.axis
        inertia = float(body.axis @ body.inertia @ body.axis + body.mass * arm @ arm)
        item, mbs = self.item, self.mbs
        fixed = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(item.NodePointGround()), coordinate=0))
        node = mbs.GetObject(made)["nodeNumber"]
        turned = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=4))
        data = mbs.AddNode(item.NodeGenericData(initialCoordinates=[0.0], numberOfDataCoordinates=1))
        stiffness = inertia * (PHASE / self.step) ** 2
        mbs.AddObject(
            item.ObjectContactCoordinate(
                markerNumbers=[fixed, turned], nodeNumber=data, contactStiffness=stiffness, offset=-body.high
            )
        )

    def _add_load(self, body: PeerBody, made: Any, axis: np.ndarray) -> None:
        if body.joint != "slide":
            raise UnstatedError("not stated: such a drive")
        marker = self.mbs.AddMarker(self.item.MarkerBodyRigid(bodyNumber=made))
        load = self.mbs.AddLoad(self.item.LoadForceVector(markerNumber=marker, loadVector=[0.0, 0.0, 0.0]))
        self.loads.append((load, axis))

    def add_contacts(self) -> None:
        """Add the contacts: each of its own, or many alike in a grid."""
        contacts = self.scene.contacts
        laws = {(one.friction, one.restitution) for one in contacts}
        if len(contacts) < MANY:
            for one in contacts:
                self._add_contact(one)
        elif len(laws) == 1 and not contacts[0].restitution:
            self._add_grid(contacts[0].friction)
        else:
            raise UnstatedError("not stated: so many contacts of several laws")

    def _add_contact(self, one: PeerContact) -> None:
        A, B = self.geoms[one.first], self.geoms[one.second]
        if A.form.kind != "sphere":
            raise UnstatedError("not stated: planes that touch planes")
        m = self.masses[A.body]
        if B.body:
            m *= self.masses[B.body] / (m + self.masses[B.body])
        stiffness = m * (PHASE / self.step) ** 2
        law = {"dynamicFriction": one.friction, "contactStiffness": stiffness}
        if one.restitution:
            law |= {"impactModel": 2, "restitutionCoefficient": one.restitution}
        else:
            law |= {"contactDamping": 2 * np.sqrt(stiffness * m)}
        data = self.item.NodeGenericData(initialCoordinates=[0.1, 0.0, 0.0, 0.0], numberOfDataCoordinates=4)
        law |= {"nodeNumber": self.mbs.AddNode(data)}
        if B.form.kind == "sphere":
            markers = [self._marker(A, A.position), self._marker(B, B.position)]
            radii = [A.form.size[0], B.form.size[0]]
            self.mbs.AddObject(self.item.ObjectContactSphereSphere(markerNumbers=markers, spheresRadii=radii, **law))
            return
        radius = max(A.form.size[0], SMALLEST)
        inwards = (radius - A.form.size[0]) * (self._turn(A.body).T @ self._turn(B.body) @ B.R[:, 2])
        corners = ((-1, -1), (1, -1), (0, 2))
        self.mbs.AddObject(
            self.item.ObjectContactSphereTriangle(
                markerNumbers=[self._marker(A, A.position + inwards), self._marker(B, B.position)],
                sphereRadius=radius,
                trianglePoints=self.exu.Vector3DList([(WIDE * B.R @ (x, y, 0)).tolist() for x, y in corners]),
                includeEdges=0,
                **law,
            )
        )

    def _turn(self, body: str) -> np.ndarray:
        """Return the rotation of a body, or of the world, at the start."""
        return self.scene.body(body).R if body else np.eye(3)

    def _marker(self, geom: PeerGeom, place: np.ndarray) -> Any:
        number = self.bodies[geom.body] if geom.body else self.ground
        return self.mbs.AddMarker(self.item.MarkerBodyRigid(bodyNumber=number, localPosition=place.tolist()))

    def _add_grid(self, friction: float) -> None:
        """Add contact of everything with everything.

        Springs m w^2 in series are (m m' / (m + m')) w^2; dampers of two add up.
        """
        grid, rate, points, triangles = self.mbs.AddGeneralContact(), PHASE / self.step, [], []
        heaviest, mean = max(self.masses.values()), float(np.mean(list(self.masses.values())))
        margin = 2 * max(geom.form.size[0] for geom in self.scene.geoms if geom.form.kind == "sphere")
        planes = [geom.position for geom in self.scene.geoms if geom.form.kind == "plane"]
        places = np.array([*planes, *(body.position for body in self.scene.bodies)])
        low, high = places.min(axis=0) - margin, places.max(axis=0) + margin  # triangles outside would be lost
        wide = float(np.max(high - low))
        for geom in self.scene.geoms:
            if geom.form.kind == "plane":
                first = len(points)
                sides = ((-1, -1), (1, -1), (1, 1), (-1, 1))
                points += [(geom.position + wide * geom.R @ (x, y, 0)).tolist() for x, y in sides]
                triangles += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
        fixed = self.mbs.AddMarker(self.item.MarkerBodyRigid(bodyNumber=self.ground))
        grid.AddTrianglesRigidBodyBased(
            fixed, WALL * heaviest * rate**2, 1.5 * mean * rate, 0, points, triangles, staticTriangles=True
        )
        for geom in self.scene.geoms:
            if geom.form.kind == "sphere":
                m = self.masses[geom.body]
                marker = self._marker(geom, geom.position)
                grid.AddSphereWithMarker(marker, geom.form.size[0], m * rate**2, 0.5 * m * rate, 0)
        grid.SetFrictionPairings([[friction]])
        grid.SetSearchTreeCellSize([CELLS] * 3)
        grid.SetSearchTreeBox(low.tolist(), high.tolist())

    def add_sensors(self) -> list[list[Any]]:
        """Return sensors of each body: position, rotation, angular velocity, velocity of its frame."""
        kinds = self.exu.OutputVariableType
        asked = (kinds.Position, kinds.RotationMatrix, kinds.AngularVelocity, kinds.Velocity)

        def sensor(body: Any, kind: Any) -> Any:
            return self.mbs.AddSensor(
                self.item.SensorBody(bodyNumber=body, storeInternal=True, outputVariableType=kind)
            )

        return [[sensor(body, kind) for kind in asked] for body in self.bodies.values()]

    def settings(self, times: np.ndarray, step: float, every: int) -> Any:
        """Return what its solver is told."""
        made = self.exu.SimulationSettings()
        made.solution.file.write = False
        made.solution.sensors.writePeriod = step * every
        made.timeIntegration.numberOfSteps = every * (len(times) - 1)
        made.timeIntegration.endTime = float(times[-1])
        made.timeIntegration.verboseMode = 0
        made.timeIntegration.stepInformation = 0
        made.timeIntegration.newton.useModifiedNewton = True
        made.linearSolver.solverType = self.exu.LinearSolverType.EigenSparse
        return made

    def driver(self, statement: Statement, step: float, count: int) -> Callable[[Any, float], bool]:
        """Return what sets the forces of a step before it; it is told the step's end."""
        table = statement.forces(step, count)

        def push(mbs: Any, t: float) -> bool:
            now = table[min(round(t / step), count) - 1]
            for (load, axis), force in zip(self.loads, now, strict=True):
                mbs.SetLoadParameter(load, "loadVector", (force * axis).tolist())
            return True

        return push
