"""Sensitivities beside central differences, and what they cost, for scenes with at least three changes of mode.

    python -m bench.sensitivities [SCENE ...]

For each scene: changes of mode, columns (coordinates of the start, parameters, inputs), the largest difference from
fourth-order central differences of whole simulations, of a column in parts of its size, and the CPU time of a call, as
a multiple of that of one simulation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import trundle as tr
from trundle.checks import FloatArray
from trundle.models.linear.equilibrium import displace_start
from trundle.models.numbers.changed import Model, at_values, free_numbers, system_of
from trundle.models.tree.system import ContactSystem, Start
from trundle.simulate.compiled_mode import project_state
from trundle.simulate.mode import Method
from trundle.simulate.phases import phase_of
from trundle.simulate.run import first_of

TOLERANCE = 1e-12
STEP = 1e-4
LIMIT = 1e-6
REPEATS = 3


@dataclass(frozen=True)
class Scene:
    """A motion: what builds model and start, how long it lasts (s), and the parameters of its derivatives."""

    build: Callable[[], tuple[Model, Start]]
    duration: float
    parameters: Sequence[str]
    policy: tr.LinearFeedback | None = None


def waves() -> tuple[Model, Start]:
    """Return a disc that leaves a wave, lands on the next, slips and leaves again."""
    body = tr.RigidBody(tr.Circle(0.1), mass=0.5, inertia=0.0025)
    ground = tr.Ground(tr.Sinusoid(0.05, 0.8))
    pair = tr.RollingPair(body, ground, on_slip="slide", on_separation="fly", friction=0.3)
    return pair, pair.place(contact_x=0.1, angular_velocity=-30.0)


def egg() -> tuple[Model, Start]:
    """Return an ellipse that is thrown onto a slope, slides, rolls and hops."""
    body = tr.RigidBody(tr.Ellipse([0.12, 0.08]), mass=0.8, inertia=0.004)
    pair = tr.RollingPair(body, tr.Ground(tr.Line(slope=-0.1)), on_slip="slide", on_separation="fly", friction=0.12)
    return pair, pair.place(position=(0.0, 0.2), velocity=(3.0, 0.0), angle=0.4, angular_velocity=2.0)


def bounces() -> tuple[Model, Start]:
    """Return a ball in space with spin that bounces four times."""
    ball = tr.RigidBody(tr.Sphere(0.1), mass=0.5, inertia=0.002)
    pair = tr.RollingPair(
        ball, tr.Hand(tr.Plane()), on_slip="slide", on_separation="fly", friction=0.2, restitution=0.7
    )
    start = pair.place(
        object_position=(0.0, 0.0, 0.4), object_velocity=(1.0, 0.3, 0.0), object_angular_velocity=(3.0, -8.0, 5.0)
    )
    return pair, start


def backspin() -> tuple[Model, Start]:
    """Return a ball thrown with backspin onto a tilted plate: it bounces, slides, and rolls."""
    ball = tr.RigidBody(tr.Sphere(0.1), mass=0.5, inertia=0.002)
    hand = tr.Hand(tr.Plane(), rpy=(0.05, 0.1, 0.0), twist=(0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
    pair = tr.RollingPair(
        ball, hand, on_slip="slide", on_separation="fly", friction=0.1, restitution=0.4, bounce_speed=0.5
    )
    start = pair.place(
        object_position=(0.0, 0.0, 0.15), object_velocity=(0.3, 0.1, 0.0), object_angular_velocity=(1.0, -8.0, 2.0)
    )
    return pair, start


def dish() -> tuple[Model, Start]:
    """Return an ellipsoid that falls into a dish."""
    body = tr.RigidBody(tr.Ellipsoid([0.05, 0.06, 0.04]), mass=0.3, inertia=(3e-4, 2.5e-4, 3.6e-4))
    pair = tr.RollingPair(
        body, tr.Hand(tr.Dish([0.5, 0.6, 0.4])), on_slip="slide", on_separation="fly", friction=0.3, restitution=0.4
    )
    start = pair.place(
        object_position=(0.15, 0.05, -0.2), object_velocity=(0.3, 0.1, 0.0), object_angular_velocity=(1.0, -2.0, 2.0)
    )
    return pair, start


def stops() -> tuple[Model, Start]:
    """Return a double pendulum whose elbow has stops."""
    robot = tr.Robot()
    upper = robot.revolute(None, (0, 0), 1.0, 0.02, center_of_mass=(0.2, 0.0), name="upper")
    lower = robot.revolute(upper, (0.4, 0), 0.6, 0.01, center_of_mass=(0.15, 0.0), name="lower")
    robot.resist(lower, low=-0.3, high=0.8, damping=0.02)
    tree = robot.finish()
    return tree, tree.place(upper=0.3, lower=0.2, rates={"upper": 0.5, "lower": 4.0})


def balls() -> tuple[Model, Start]:
    """Return two discs that fall, meet and bounce on the ground."""
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    robot.free(0.5, 0.002, shape=tr.Circle(0.1), name="one")
    robot.free(0.8, 0.003, shape=tr.Circle(0.12), name="two")
    robot.terrain(tr.Line(), friction=0.4, restitution=0.6)
    robot.contact("one", "two")
    tree = robot.finish()
    start = tree.place(
        one=(0.0, 0.5, 0.0),
        two=(0.4, 0.4, 0.2),
        contacts=[],
        rates={"one": (2.0, 0.8, 0.0), "two": (-3.0, -0.6, 0.1)},
    )
    return tree, start


def hopper() -> tuple[Model, Start]:
    """Return a body on a springy leg with a round foot that lands, slides and hops."""
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    body = robot.free(3.0, 0.05, name="body")
    leg = robot.prismatic(body, (0.0, -0.2), 0.4, 0.002, axis=(0.0, 1.0), shape=tr.Circle(0.05), name="leg")
    robot.resist(leg, stiffness=800.0, damping=4.0, rest=-0.1)
    robot.terrain(tr.Parabola(0.05), friction=0.5)
    tree = robot.finish()
    start = tree.place(body=(0.1, 0.6, 0.05), leg=-0.1, contacts=[], rates={"body": (0.3, 0.6, 0.0), "leg": 0.0})
    return tree, start


def cart() -> tuple[Model, Start]:
    """Return a cart on two wheels that drives off, spins its wheels, and brakes."""
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    body = robot.free(2.0, 0.02, name="body")
    robot.revolute(body, at=(-0.1, -0.05), mass=0.2, inertia=3e-4, shape=tr.Circle(0.05), name="rear")
    robot.revolute(body, at=(0.1, -0.05), mass=0.2, inertia=3e-4, shape=tr.Circle(0.05), name="front", actuated=False)
    robot.terrain(tr.Line(), friction=0.4)
    tree = robot.finish()
    return tree, tree.place(body=(0.0, 0.1, 0.0))


def tumbling() -> tuple[Model, Start]:
    """Return a box in the plane that bounces from corner to corner."""
    body = tr.RigidBody(tr.Box([0.1, 0.06]), mass=0.6, inertia=0.003)
    pair = tr.RollingPair(
        body, tr.Ground(tr.Line()), on_slip="slide", on_separation="fly", friction=0.35, restitution=0.5
    )
    return pair, pair.place(position=(0.0, 0.3), velocity=(0.8, 0.0), angle=0.9, angular_velocity=-6.0)


def bowl() -> tuple[Model, Start]:
    """Return a box in the plane that falls into a bowl: its corners and edges land there."""
    body = tr.RigidBody(tr.Box([0.1, 0.06]), mass=0.6, inertia=0.003)
    ground = tr.Ground(tr.Parabola(1.0))
    pair = tr.RollingPair(body, ground, on_slip="slide", on_separation="fly", friction=0.35, restitution=0.5)
    return pair, pair.place(position=(0.1, 0.3), velocity=(0.8, 0.0), angle=0.9, angular_velocity=-6.0)


def coin() -> tuple[Model, Start]:
    """Return a disc that falls onto a plate, bounces on its rim, slides and rolls on."""
    body = tr.RigidBody(tr.Disc(0.1, 0.01), mass=0.4, inertia=(1.1e-3, 1.1e-3, 2e-3))
    pair = tr.RollingPair(
        body, tr.Hand(tr.Plane()), on_slip="slide", on_separation="fly", friction=0.3, restitution=0.5
    )
    start = pair.place(
        object_position=(0.0, 0.0, 0.14), object_quaternion=(0.8, 0.6, 0.0, 0.0), object_velocity=(0.5, 0.0, 0.0),
        object_angular_velocity=(0.0, 12.0, -9.0),
    )  # fmt: skip
    return pair, start


def falling(body: tr.RigidBody, height: float, quaternion: tuple[float, ...]) -> tuple[Model, Start]:
    """Return a body that falls onto a plate from a height (m) and bounces from one end, rim or corner to the next."""
    pair = tr.RollingPair(
        body, tr.Hand(tr.Plane()), on_slip="slide", on_separation="fly", friction=0.2, restitution=0.5
    )
    start = pair.place(
        object_position=(0.0, 0.0, height), object_quaternion=quaternion, object_velocity=(0.5, 0.2, 0.0),
        object_angular_velocity=(1.0, 2.0, 0.5),
    )  # fmt: skip
    return pair, start


def peg() -> tuple[Model, Start]:
    """Return a capsule that falls onto a plate: one end lands, then the other."""
    body = tr.RigidBody(tr.Capsule(0.04, 0.2), mass=0.5, inertia=(2.5e-3, 2.5e-3, 4e-4))
    return falling(body, 0.2, (0.8, 0.6, 0.0, 0.0))


def can() -> tuple[Model, Start]:
    """Return a cylinder that falls onto a plate and bounces from rim to rim."""
    body = tr.RigidBody(tr.Cylinder(0.06, 0.2), mass=0.5, inertia=(2.2e-3, 2.2e-3, 9e-4))
    return falling(body, 0.22, (0.8, 0.6, 0.0, 0.0))


def crate() -> tuple[Model, Start]:
    """Return a box that falls onto a plate and bounces from corner to corner."""
    body = tr.RigidBody(tr.Box([0.1, 0.08, 0.06]), mass=0.5, inertia=(1.7e-3, 2.3e-3, 2.8e-3))
    return falling(body, 0.22, (0.8, 0.5, 0.3, np.sqrt(0.02)))


DRIVE = tr.LinearFeedback(0.1, [[-0.6], [-0.1], [0.5], [0.0]])
_BALL = ("object.mass", "object.inertia", "object.radius", "friction")
SCENES = {
    "waves": Scene(waves, 0.45, ("body.mass", "body.radius", "friction", "terrain.amplitude", "gravity[1]")),
    "egg": Scene(egg, 1.4, ("body.mass", "body.inertia", "body.semi_axes[0]", "friction", "terrain.slope")),
    "bounces": Scene(bounces, 1.05, (*_BALL, "contact.restitution")),
    "backspin": Scene(backspin, 0.6, (*_BALL, "gravity[2]")),
    "dish": Scene(dish, 0.32, ("object.mass", "object.inertia[1]", "object.semi_axes[1]", "hand.semi_axes[0]")),
    "stops": Scene(stops, 0.8, ("upper.mass", "lower.inertia", "lower.center_of_mass[0]", "lower.damping")),
    "balls": Scene(balls, 0.8, ("one.mass", "two.inertia", "one.radius", "one-two.friction", "two.restitution")),
    "hopper": Scene(hopper, 0.8, ("body.mass", "leg.stiffness", "leg.radius", "friction", "terrain.curvature")),
    "cart": Scene(cart, 0.6, ("body.mass", "rear.inertia", "friction"), DRIVE),
    "tumbling": Scene(tumbling, 0.5, ("body.mass", "body.half_extents[0]", "friction", "gravity[1]")),
    "bowl": Scene(bowl, 0.47, ("body.half_extents[0]", "body.half_extents[1]", "friction")),
    "coin": Scene(coin, 0.16, ("object.radius", "object.rounding", "friction")),
    "peg": Scene(peg, 0.23, ("object.radius", "object.length", "object.inertia[0]")),
    "can": Scene(can, 0.23, ("object.radius", "object.length", "friction")),
    "crate": Scene(crate, 0.33, ("object.half_extents[0]", "object.half_extents[2]", "friction")),
}


def found(scene: Scene, model: Model, start: Start) -> tr.Sensitivities:
    """Return the derivatives of a scene."""
    return tr.sensitivities(
        model,
        start,
        scene.duration,
        parameters=scene.parameters,
        inputs=scene.policy is not None,
        policy=scene.policy,
    )


def differences(scene: Scene, model: Model, start: Start, names: Sequence[str]) -> FloatArray:
    """Return the derivatives (n_x, m) of the last state by fourth-order central differences of simulations."""
    system = free_numbers(system_of(model), scene.parameters)
    values = np.zeros(0) if system.free is None else system.free.values
    table = np.zeros((0, 0)) if scene.policy is None else np.asarray(scene.policy.inputs)
    initial = len(names) - len(values) - table.size
    sizes = np.concatenate([np.ones(initial), np.where(values, np.abs(values), 1.0), np.ones(table.size)])

    def end(j: int, h: float) -> FloatArray:
        change = np.zeros(len(names))
        change[j] = h * sizes[j]
        z, numbers, inputs = np.split(change, [initial, initial + len(values)])
        begin = displace_start(model, start, lambda n: z) if initial else start
        other = at_values(system, values + numbers)
        policy = scene.policy and tr.LinearFeedback(scene.policy.period, table + inputs.reshape(table.shape))
        run = tr.simulate(
            other,
            on_constraints(other, begin),
            scene.duration,
            policy=policy,
            output_step=scene.duration,
            relative_tolerance=TOLERANCE,
        )
        return run.samples[-1].states[-1]

    h, columns = STEP, []
    for j in range(len(names)):
        difference = 8 * (end(j, h) - end(j, -h)) - (end(j, 2 * h) - end(j, -2 * h))
        columns.append(difference / (12 * h * sizes[j]))
    return np.array(columns).T


def on_constraints(system: ContactSystem, start: Start) -> Start:
    """Return a start on the constraints of a system whose numbers have moved them."""
    first = first_of(system, start)
    phase, x = phase_of(system, first.mode, False, Method()), first.x
    inputs = np.zeros(phase.input_count)
    for _ in range(3):
        x = project_state(phase, 0.0, x, phase.parameters(inputs))
    return Start(x, start.atlas, start.laws)


def error(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """Return the largest difference (m,) of each column in parts of its largest entry; of a column of zeros itself."""
    sizes = np.abs(theirs).max(axis=0)
    return np.abs(ours - theirs).max(axis=0) / np.where(sizes > 1e-8, sizes, 1.0)


def changes(run: tr.Trajectory) -> int:
    """Return how often the mode changes."""
    return len(run.metadata["transitions"])


def _cpu(call: Callable[[], object]) -> float:
    call()
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def main(names: Sequence[str]) -> int:
    """Print the table; 1 where a scene has fewer than three changes or a derivative is off by more than `LIMIT`."""
    print("scene      changes columns    off by  simulation derivatives  times")
    good = True
    for name in names or SCENES:
        scene = SCENES[name]
        model, start = scene.build()
        derived = found(scene, model, start)
        off = float(error(derived.derivatives[-1], differences(scene, model, start, derived.names)).max())
        alone = _cpu(partial(simulated, scene, model, start))
        both = _cpu(partial(found, scene, model, start))
        count = changes(derived.run)
        good &= count >= 3 and off <= LIMIT
        row = f"{name:<10} {count:>7} {len(derived.names):>7} {off:>9.1e} {alone:>9.3f} s {both:>9.3f} s"
        print(f"{row} {both / alone:>6.1f}", flush=True)
    return 0 if good else 1


def simulated(scene: Scene, model: Model, start: Start) -> tr.Trajectory:
    """Return the motion of a scene alone."""
    T = scene.duration
    return tr.simulate(model, start, T, policy=scene.policy, output_step=T)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
