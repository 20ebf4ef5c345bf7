"""``python siconos_steps.py ASKED.json FOUND.npz``: step a scene of `bench.contacts.in_siconos`, with Siconos alone.

Spheres on fixed planes have Siconos's own exact distances; where there are boxes Bullet finds the contacts. It is
tuned as in Siconos's own "spheres in a box": a world a thousand times as large, as Bullet's tolerances are absolute,
no points beside the nearest ones, thin margins.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import siconos.kernel as kernel
import siconos.numerics as numerics
from siconos.mechanics import joints
from siconos.mechanics.collision import RigidBodyDS, SiconosBox, SiconosContactor, SiconosContactorSet, SiconosSphere
from siconos.mechanics.collision.bodies import SphereNEDS, SphereNEDSPlanR, SphereNEDSSphereNEDSR
from siconos.mechanics.collision.bullet import SiconosBulletCollisionManager, SiconosBulletOptions
from siconos.mechanics.collision.native import SpaceFilter

THETA, NEWTON, TOLERANCE = 0.50001, 20, 1e-10
"""Of Moreau and Jean's scheme, its most Newton steps and their tolerance: defaults of `MechanicsHdf5Runner.run`."""
SCALE, THRESHOLD, MARGIN = 1000.0, 2e-3, 1e-5
"""Of Bullet's world; m, that a contact lasts beyond its gap; of a margin over the shape's least half side."""
MANY = 1000
"""Contacts from which on they are looked for, where all of them are alike."""
STANDING = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


class Built:
    """A scene as it is made in Siconos; it keeps alive what Siconos holds by pointers."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked, self.kept, self.bodies, self.forces = asked, [], {}, {}
        self.geoms = {geom["name"]: geom for geom in asked["geoms"]}
        self.groups = {name: number for number, name in enumerate(self.geoms)}
        self.jointed = any(body["joint"] != "free" for body in asked["bodies"])
        self.system = kernel.NonSmoothDynamicalSystem(0.0, asked["step"] * (asked["count"] + 1))
        for body in asked["bodies"]:
            self.add_body(body)
        self.manager, self.problem = None, None
        if asked["boxed"]:
            self.manager = self.add_bullet()
        elif len(asked["contacts"]) > MANY:
            self.manager = self.add_everywhere()
        else:
            self.add_pairs()

    def add_body(self, body: dict[str, Any]) -> None:
        """Add a body with its weight, its shapes and its joint."""
        inertia = np.array(body["inertia"])
        if self.asked["boxed"]:
            made = RigidBodyDS(body["place"], body["twist"], body["mass"], inertia)
            made.setUseContactorInertia(False)
            shapes = SiconosContactorSet()
            for geom in self.geoms.values():
                if geom["body"] == body["name"]:
                    shapes.append(SiconosContactor(self.shape(geom), geom["place"], self.groups[geom["name"]]))
            made.setContactors(shapes)
        else:
            radius = next(geom["size"][0] for geom in self.geoms.values() if geom["body"] == body["name"])
            made = SphereNEDS(radius, body["mass"], inertia, body["place"], body["twist"])
        force = kernel.SiconosVector([body["weight"] * g for g in self.asked["gravity"]])
        made.setFExtPtr(force)
        self.forces[body["name"]] = force
        self.system.insertDynamicalSystem(made)
        self.bodies[body["name"]] = made
        if body["joint"] != "free":
            self.add_joint(body, made)

    def add_joint(self, body: dict[str, Any], made: Any) -> None:
        """Add a hinge or a slide of the world, and the upper stop of a hinge, which does not bounce."""
        hinge = body["joint"] == "hinge"
        joint = joints.PivotJointR() if hinge else joints.PrismaticJointR()
        joint.setAbsolute(True)
        if hinge:
            joint.setPoint(0, body["hinge"])
        joint.setAxis(0, body["axis"])
        joint.setBasePositions(made.q(), None)
        law = kernel.EqualityConditionNSL(joint.numberOfConstraints())
        self.system.link(kernel.Interaction(law, joint), made, None)
        self.kept.append(joint)
        if body["high"] is not None:
            stop = joints.JointStopR(joint, body["high"], False, 0)
            self.system.link(kernel.Interaction(kernel.NewtonImpactNSL(0.0), stop), made, None)
            self.kept.append(stop)

    def shape(self, geom: dict[str, Any]) -> Any:
        """Return a shape for Bullet."""
        if geom["kind"] == "sphere":
            made, least = SiconosSphere(geom["size"][0]), geom["size"][0]
        else:
            made, least = SiconosBox(*(2 * side for side in geom["size"])), min(geom["size"])
        made.setInsideMargin(MARGIN * least)
        made.setOutsideMargin(MARGIN * least)
        self.kept.append(made)
        return made

    def law(self, friction: float, restitution: float) -> Any:
        """Return the law of a contact."""
        return kernel.NewtonImpactFrictionNSL(restitution, 0.0, friction, 3)

    def add_bullet(self) -> Any:
        """Return what finds contacts of boxes and spheres: those that were asked for."""
        options = SiconosBulletOptions()
        options.worldScale = SCALE
        options.contactBreakingThreshold = SCALE * THRESHOLD
        options.perturbationIterations = 0
        options.minimumPointsPerturbationThreshold = 0
        manager = SiconosBulletCollisionManager(options)
        manager.useEqualityConstraints(self.jointed)
        for first, second, friction, restitution in self.asked["contacts"]:
            manager.insertNonSmoothLaw(self.law(friction, restitution), self.groups[first], self.groups[second])
        return manager

    def add_everywhere(self) -> Any:
        """Return what finds contacts of all spheres and planes, which are alike."""
        planes = [geom for geom in self.geoms.values() if geom["kind"] == "plane"]
        rows = np.zeros((len(planes), 6))
        for row, geom in zip(rows, planes, strict=True):
            row[:4] = self.plane(geom)
        manager = SpaceFilter(1, 1, rows)
        (friction, restitution), *other = {tuple(one[2:]) for one in self.asked["contacts"]}
        if other:
            raise ValueError("so many contacts of several laws")
        manager.insertNonSmoothLaw(self.law(friction, restitution), 0, 0)
        return manager

    @staticmethod
    def plane(geom: dict[str, Any]) -> list[float]:
        """Return A, B, C, D of a plane A x + B y + C z + D = 0."""
        return [*geom["normal"], -float(np.dot(geom["normal"], geom["place"][:3]))]

    def add_pairs(self) -> None:
        """Link each contact for good."""
        laws = {}
        for first, second, friction, restitution in self.asked["contacts"]:
            if (friction, restitution) not in laws:
                laws[friction, restitution] = self.law(friction, restitution)
            A, B = self.geoms[first], self.geoms[second]
            if B["kind"] == "plane":
                relation, linked = SphereNEDSPlanR(A["size"][0], *self.plane(B)), [self.bodies[A["body"]]]
            else:
                relation = SphereNEDSSphereNEDSR(A["size"][0], B["size"][0])
                linked = [self.bodies[A["body"]], self.bodies[B["body"]]]
            self.system.link(kernel.Interaction(laws[friction, restitution], relation), *linked)

    def simulation(self) -> Any:
        """Return what steps it."""
        problem = kernel.GenericMechanical() if self.jointed else kernel.FrictionContact(3)
        if not self.jointed:
            problem.setMStorageType(numerics.NM_SPARSE_BLOCK)
        problem.setKeepLambdaAndYState(True)
        self.problem = problem
        made = kernel.TimeStepping(self.system, kernel.TimeDiscretisation(0.0, self.asked["step"]))
        made.insertIntegrator(kernel.MoreauJeanOSI(THETA))
        made.insertNonSmoothProblem(problem)
        if self.manager is not None:
            made.insertInteractionManager(self.manager)
        made.setNewtonOptions(kernel.SICONOS_TS_NONLINEAR)
        made.setNewtonMaxIteration(NEWTON)
        made.setNewtonTolerance(TOLERANCE)
        made.setWarnOnNonConvergence(False)
        return made

    def push(self, forces: list[float]) -> None:
        """Set the forces of driven slides."""
        driven = [body for body in self.asked["bodies"] if body["actuated"]]
        for body, force in zip(driven, forces, strict=True):
            whole = np.multiply(body["weight"], self.asked["gravity"]) + np.multiply(force, body["axis"])
            for k in range(3):
                self.forces[body["name"]].setValue(k, float(whole[k]))

    def is_unsolved(self) -> bool:
        """Return whether the last contact problem has a larger residual than its solver allows."""
        parameters = self.problem.numericsSolverOptions().dparam
        return bool(parameters[numerics.SICONOS_DPARAM_RESIDU] > parameters[numerics.SICONOS_DPARAM_TOL])

    def sample(self) -> list[list[float]]:
        """Return place, quaternion, velocity and spin (in the body's axes) of all centres of mass."""
        return [[*made.q(), *made.velocity()] for made in self.bodies.values()]


def main() -> None:
    """Step what was asked for and keep samples, processor time, and how many steps were not solved."""
    with open(sys.argv[1]) as file:
        asked = json.load(file)
    built = Built(asked)
    simulation, forces = built.simulation(), asked["forces"]
    samples, seconds, failed = [built.sample()], 0.0, 0
    for number in range(asked["count"]):
        if forces and forces[0]:
            built.push(forces[number])
        begin = time.process_time()
        simulation.computeOneStep()
        simulation.nextStep()
        seconds += time.process_time() - begin
        failed += built.is_unsolved()
        if (number + 1) % asked["every"] == 0:
            samples.append(built.sample())
            if seconds > asked["limit"]:
                break
    np.savez(sys.argv[2], samples=np.array(samples), seconds=seconds, failed=failed)


if __name__ == "__main__":
    main()
