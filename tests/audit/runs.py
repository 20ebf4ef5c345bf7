"""Runs that keep the laws: evidence of bodies that roll, slide, bounce, hit each other, swing and are driven."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import trundle as tr
from trundle.audit import Evidence
from trundle.models.tree.system import ContactSystem, Start
from trundle.records import Policy
from trundle.simulate.record.evidence import evidence_of
from trundle.simulate.record.recorder import merge_segments
from trundle.simulate.run import Runner, chosen_method, first_of, sample_times

FLYING = {"on_slip": "slide", "on_separation": "fly"}
Run = tuple[tr.RollingPair | tr.RollingTree, Start, float, Policy | None]


def evidence(run: Run, step: float | None = None, **method: float) -> tuple[ContactSystem, Evidence]:
    """Return what a run says of itself."""
    model, start, duration, policy = run
    system = model.system
    chosen = chosen_method(duration, method.get("relative_tolerance"), method.get("step"), None, "projection")
    runner = Runner(system, chosen, policy, sample_times(duration, step), None)
    runner.run(first_of(system, start), duration)
    return system, evidence_of(system, merge_segments(runner.log.segments), runner.log)


def rolls() -> Run:
    """A ball on a spinning plate."""
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.2), mass=0.1), tr.Hand(tr.Plane(), twist=(0, 0, 7, 0, 0, 0)))
    return pair, pair.place(object_angular_velocity=(1.0, 0, 0)), 2.0, None


def slides() -> Run:
    """An ellipsoid slides in a dish until it rolls."""
    body, dish = tr.RigidBody(tr.Ellipsoid([0.2, 0.15, 0.1]), mass=0.1), tr.Hand(tr.Dish([1, 1, 0.8]))
    pair = tr.RollingPair(body, dish, friction=0.3, **FLYING)
    return pair, pair.place(contact_on_hand=[0.3, 0, -0.75], object_angular_velocity=(1.0, 2, 0)), 1.0, None


def bounces() -> Run:
    """A ball that spins bounces on a floor with friction."""
    pair = tr.RollingPair(
        tr.RigidBody(tr.Sphere(0.1), 1.0), tr.Hand(tr.Plane()), friction=0.3, restitution=0.7, **FLYING
    )
    start = pair.place(object_position=(0, 0, 0.5), object_velocity=(0.3, 0, 0), object_angular_velocity=(0, 9, 2))
    return pair, start, 1.2, None


def collides() -> Run:
    """Three balls in flight hit each other."""
    robot = tr.Robot(gravity=(0, 0, -9.81), **FLYING)
    for name in "abc":
        robot.free(1.0, shape=tr.Sphere(0.1), name=name)
    for one, other in ("ab", "bc", "ac"):
        robot.contact(one, other, friction=0.2, restitution=0.6)
    tree = robot.finish()
    rates = {"a": (0, 5, 0, 3.0, 0, 0), "c": (0, 0, 1, -2.0, 0.1, 0)}
    pose = {"a": (-0.5, 0, 0, 1, 0, 0, 0), "b": (0, 0.05, 0, 1, 0, 0, 0), "c": (0.6, 0, 0.02, 1, 0, 0, 0)}
    return tree, tree.place(**pose, rates=rates, contacts=[]), 0.5, None


def drives() -> Run:
    """A cart in the plane with a driven wheel and a pole on a spring."""
    robot = tr.Robot(gravity=9.81, **FLYING)
    body = robot.free(2.0, 0.02, name="body")
    for name, x in (("rear", -0.1), ("front", 0.1)):
        robot.revolute(body, (x, -0.05), 0.2, shape=tr.Circle(0.05), name=name)
    pole = robot.revolute(body, (0, 0.05), 0.3, 0.01, center_of_mass=(0, 0.2), name="pole", actuated=False)
    robot.resist(pole, stiffness=8.0, damping=0.05)
    robot.terrain(tr.Line(), friction=0.8)
    tree = robot.finish()
    inputs = np.zeros((1, 2))
    inputs[0, 0] = -0.05
    return tree, tree.place(body=(0, 0.1, 0), pole=0.3), 1.0, tr.LinearFeedback(0.05, inputs)


def stops() -> Run:
    """A trunk in the plane with a chain of two wheels, the outer one at the end of its range, lands."""
    robot = tr.Robot(gravity=9.81, **FLYING)
    trunk = robot.free(2.57, 0.00963, shape=tr.Box([0.0489, 0.0562]), name="trunk")
    near = robot.revolute(trunk, (0.0866, -0.05), 0.709, 0.000685, shape=tr.Circle(0.0546), name="near")
    outer = {"center_of_mass": (0.0, -0.0316), "shape": tr.Circle(0.0246), "shape_at": (0.0, -0.0632)}
    far = robot.revolute(near, (-0.0866, -0.05), 0.683, 0.000561, name="far", **outer)
    robot.resist(far, low=-0.452, high=0.483)
    robot.revolute(trunk, (0, -0.05), 0.584, 0.000202, actuated=False, shape=tr.Circle(0.0339), name="rear")
    robot.terrain(tr.Line(), friction=1.94, restitution=0.102)
    tree = robot.finish()
    start = tree.place(trunk=(0, 0.366, -0.467), contacts=[], rates={"trunk": (0, -0.591, 0.375)})
    u = np.zeros(tree.model().u.shape[0])
    for name, torque in (("near", -0.342), ("far", 0.217)):
        u[tree.model().input_layout[f"{name}.torque"]] = torque
    return tree, start, 0.5, tr.FunctionPolicy(0.5, lambda t, x: u)


def rattles() -> Run:
    """A box that drifts falls on a floor with little friction and rattles, in time steps at the end of it."""
    box = tr.RigidBody(tr.Box([0.1, 0.06, 0.04]), 1.0, "solid")
    pair = tr.RollingPair(box, tr.Hand(tr.Plane()), friction=0.05, **FLYING)
    q = [np.cos(0.15), np.sin(0.15), 0, 0]
    return pair, pair.place(object_position=[0, 0, 0.2], object_quaternion=q, object_velocity=[1, 0.5, 0]), 0.5, None


def carried() -> Run:
    """An ellipse slides and rolls on a line that turns and moves away, against a moment of rolling resistance."""
    body = tr.RigidBody(tr.Ellipse([2.27, 2.12]), 82800.0, 288000.0)
    hand = tr.Hand(tr.Line(), twist=[0.501, -0.463, 0.0])
    laws = {"friction": 0.21, "restitution": 0.361, "rolling_friction": 0.153}
    pair = tr.RollingPair(body, hand, gravity=[0.0, -9.81], **laws, **FLYING)
    start = pair.place(object_position=(3.43, 2.90229), object_angle=0.772, object_velocity=(0.242, 0.354))
    return pair, start, 4.4, None


def shaken() -> Run:
    """A box falls on a hand that shakes and turns, and slips from its four corners at once, in time steps."""
    box = tr.RigidBody(tr.Box([0.1, 0.06, 0.04]), 1.0, "solid")
    hand = tr.Hand(tr.Plane(), motion=tr.SinusoidMotion([30.0, 10.0, 0, 0, 0, 15.0], [1.0] * 6))
    pair = tr.RollingPair(box, hand, friction=0.2, **FLYING)
    return pair, pair.place(object_position=(0, 0, 0.0401)), 0.3, None


RUNS: dict[str, Callable[[], Run]] = {
    "rolls": rolls,
    "slides": slides,
    "bounces": bounces,
    "collides": collides,
    "drives": drives,
}
STEPPED: dict[str, Callable[[], Run]] = {"stops": stops, "rattles": rattles, "shaken": shaken, "carried": carried}
"""Runs with many events and time steps, or moments that are not recorded: many of their forces cannot be judged."""
