"""Bodies by sweeps: the numbers of the generated expressions, for random models of every kind of joint."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.extension.test_own_joint import BallJoint, Rail, Screw
from tests.simulate.engine.test_data_mode import both, legs, random_laws, random_state
from trundle.contact.contact import Contact
from trundle.contact.stops import JointStop
from trundle.models import SinusoidMotion
from trundle.models.tree.force import Force, Potential
from trundle.models.tree.joint import Connection, Joint
from trundle.models.tree.joints import BodySpec, FixedJoint, Following, FreeJoint, Prescribed, Prismatic, Revolute
from trundle.models.tree.model import TreeModel
from trundle.models.tree.tree import Link, Tree
from trundle.numerics.compiled.compile import find_compiler
from trundle.simulate.engine.bodies import Bodies
from trundle.simulate.engine.generated import body_functions
from trundle.simulate.engine.sweep import KinematicSweep, can_sweep
from trundle.simulate.engine.tables import core
from trundle.simulate.mode import Mode

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="kernels need a C compiler")
WITHIN = 1e-12


@dataclass(frozen=True)
class Anywhere(Contact):
    """A contact of which bodies, rates and poses know the size alone."""

    dimension: int
    count: int

    @property
    def d(self) -> int:
        return self.dimension

    @property
    def size(self) -> int:
        return self.count

    def touch(self, A, B, s):
        raise NotImplementedError

    def restore(self, s):
        raise NotImplementedError

    def limits(self, A, B, s):
        raise NotImplementedError


class Grower:
    """Random trees: bodies on what is there, with everything that a body can have."""

    def __init__(self, d: int, seed: int) -> None:
        self.random = np.random.default_rng([seed, d, 17])
        self.d, self.k = d, 1 if d == 2 else 3
        self.tree = Tree(d, self.random.normal(size=d).tolist())
        self.links: list[Link] = []
        self.moved: list[int] = []
        self.actuated = self.random.random() < 0.7

    def coin(self, chance: float = 0.5) -> bool:
        return bool(self.random.random() < chance)

    def axis(self, size: int) -> tuple[float, ...]:
        if self.coin():
            return tuple((np.eye(size)[self.random.integers(size)] * self.random.choice([-1.0, 1.0])).tolist())
        return tuple(self.random.normal(size=size).tolist())

    def turn(self) -> tuple[tuple[float, ...], ...] | None:
        if self.coin():
            return None
        if self.d == 2:
            angle = self.random.normal()
            R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        else:
            R = Rotation.random(random_state=int(self.random.integers(1 << 30))).as_matrix()
        return tuple(tuple(row) for row in R.tolist())

    def weight(self, chance: float = 1.0) -> dict:
        if not self.coin(chance):
            return {"com": (0.0,) * self.d}
        com = self.random.normal(size=self.d) if self.coin(0.7) else np.zeros(self.d)
        inertia: object = float(self.random.uniform(0.1, 1.0))
        if self.d == 3 and self.coin(0.7):
            A = self.random.normal(size=(3, 3))
            inertia = A @ A.T + np.eye(3)
        return {"mass": float(self.random.uniform(0.5, 2.0)), "inertia": inertia, "com": tuple(com.tolist())}

    def joint(self) -> Joint:
        if self.d == 2:
            return self.pick([Revolute(self.axis(1)), Prismatic(self.axis(2)), Rail(0.4)])
        return self.pick([Revolute(self.axis(3)), Prismatic(self.axis(3)), Screw(0.3), BallJoint()])

    def pick(self, some: Sequence):
        return some[self.random.integers(len(some))]

    def add(self, joint, parent: int = -1, **more) -> None:
        at = () if isinstance(joint, FreeJoint | Prescribed) else tuple(self.random.normal(size=self.d).tolist())
        spec = BodySpec(joint, f"b{len(self.links)}", parent=parent, at=at, **more)
        self.links.append(self.tree.add(spec))

    def root(self) -> None:
        kind = self.pick(["free", "free", "free", "ball", "prescribed", "following"])
        if kind == "free":
            self.add(FreeJoint(self.d), **self.weight(), actuated=self.actuated and self.coin())
        elif kind == "ball":
            self.add(FreeJoint(self.d), mass=1.3, inertia=0.2, com=(0.0,) * self.d)
        elif kind == "prescribed":
            self.add(Prescribed(self.d), **self.weight(0.3))
        else:
            self.follow(-1)

    def follow(self, parent: int) -> None:
        speed, size = float(self.random.uniform(0.5, 2.0)), self.random.normal()
        hinge = Revolute(self.axis(1 if self.d == 2 else 3))
        self.add(Following(hinge, lambda t: size * ca.sin(speed * t)), parent, orientation=self.turn(), **self.weight())

    def child(self) -> None:
        parent = int(self.random.integers(len(self.links)))
        kind = self.pick(["joint", "joint", "joint", "joint", "weld", "following"])
        if kind == "joint":
            joint = self.joint()
            resisting = {"damping": 0.3, "dry_friction": 0.2} if self.coin() else {}
            if self.coin() and not isinstance(joint, BallJoint):
                resisting |= {"stiffness": 1.7, "rest": 0.4}
            more = {"orientation": self.turn(), "actuated": self.actuated and self.coin(), **resisting}
            self.add(joint, parent, **more, **self.weight(0.9))
        elif kind == "weld":
            self.add(FixedJoint(self.d), parent, orientation=self.turn(), **self.weight())
        else:
            self.follow(parent)

    def contacts(self) -> None:
        for number in range(6):
            A, B = self.random.choice(len(self.links), 2, replace=False)
            self.tree.contact(Anywhere(self.d, number % 3), self.links[A], self.links[B], name=f"c{number}")
        for i, spec in enumerate(self.tree.specs):
            if spec.parent >= 0 and spec.joint.size == 1 and self.coin():
                stop = JointStop(self.d, float(self.random.normal()), float(self.random.choice([-1.0, 1.0])))
                self.tree.contact(stop, self.links[i], self.links[0], name=f"stop{i}")

    def forces(self) -> None:
        names = [spec.name for spec in self.tree.specs]
        one, other, d = self.pick(names), self.pick(names), self.d
        timed = self.coin()

        def push(t, states):
            wave = ca.sin(3 * t) if timed else 1.0
            return -0.3 * states[one].velocity * wave, 0.2 * states[other].angular_velocity

        self.tree.force(Force(one, push, at=self.random.normal(size=d)))
        self.tree.force(Potential(lambda t, states: ca.sumsqr(states[one].position - states[other].position)))


def random_model(d: int, seed: int) -> TreeModel:
    """Return a random model with contacts."""
    grower = Grower(d, seed)
    grower.add(FixedJoint(d), orientation=grower.turn())
    for _ in range(grower.random.integers(1, 4)):
        grower.root()
    for _ in range(grower.random.integers(2, 9)):
        grower.child()
    grower.contacts()
    if grower.coin():
        grower.forces()
    return grower.tree.finish()


def inputs_of(model: TreeModel, held: bool) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return symbols of the parameters of inputs, the inputs as expressions of them and of the time, and the time."""
    t = ca.SX.sym("t")
    if held:
        return model.u, model.u, t
    size, u = 3 if model.d == 2 else 6, ca.SX(model.u.shape[0], 1)
    motion = SinusoidMotion((1.0,) * size, (0.5,) * size)
    shift = ca.SX.sym("shift", size)
    for name, where in model.input_layout.items():
        if name.endswith("twist_rate"):
            u[where] = motion.rate(t, ca.SX(0, 1)) + shift
    return shift, u, t


def evaluated(sweep: KinematicSweep, name: str, given: Sequence[np.ndarray]) -> np.ndarray:
    """Return what the core makes of one of the sweeps, the second time: nothing is left of the first."""
    loaded = core()
    assert loaded is not None
    return sweep.evaluate(loaded.library, name, *given, times=2)


def agree(found: np.ndarray, expected: np.ndarray, size: float) -> None:
    assert found.shape == expected.shape
    assert np.all(np.isfinite(expected))
    assert np.abs(found - expected).max(initial=0.0) <= WITHIN * max(size, 1.0)


def states(model: TreeModel, random: np.random.Generator) -> np.ndarray:
    x = random.normal(size=model.x.shape[0])
    for name, where in model.layout.items():
        if name.endswith(".orientation") or where.stop - where.start == 4:
            x[where] *= random.uniform(0.9, 1.1) / np.linalg.norm(x[where]) if where.stop - where.start == 4 else 1.0
    return x


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(40))
def test_a_sweep_tells_what_the_generated_functions_do(d: int, seed: int) -> None:
    """Frames, Jacobians, M, S u - h, rates, moved poses and changed velocities, each to round-off of its largest."""
    model, random = random_model(d, seed), np.random.default_rng([seed, d])
    held = bool(random.integers(2))
    inputs, u, t = inputs_of(model, held)
    bodies, count = Bodies.of(model, model.constraints), inputs.shape[0] + 3
    assert can_sweep(bodies)
    sweep = KinematicSweep(bodies, inputs, u, t)
    functions = body_functions(bodies, inputs, u, t, count)
    sizes = sum(one.contact.size for one in model.constraints)
    for _ in range(3):
        time, x, p = random.normal(size=1), states(model, random), random.normal(size=count)
        nudot, s_rate, step = (random.normal(size=n) for n in (model.nv, sizes, model.nv))
        given = {"bodies": (time, x, p), "rate": (time, x, p, nudot, s_rate), "moved": (x, step), "nudge": (x, step)}
        for name, values in given.items():
            expected = np.asarray(functions[name](*values)).ravel()
            found = evaluated(sweep, name, values)
            if name != "bodies":
                agree(found, expected, np.abs(expected).max(initial=0.0))
                continue
            at = bodies.tables["tree_M"][0] if model.nv else bodies.top_at
            for part in (slice(0, at), slice(at, bodies.top_at), slice(bodies.top_at, bodies.size)):
                agree(found[part], expected[part], np.abs(expected[part]).max(initial=0.0))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_inertia_couples_a_velocity_with_those_before_it_on_its_branch_alone(d: int, seed: int) -> None:
    """M, as summed over the bodies, is zero wherever neither of two columns is before the other."""
    model, random = random_model(d, seed), np.random.default_rng([seed, d, 3])
    M, _ = model.inertia_terms()
    value = ca.Function("M", [model.x, model.u], [ca.densify(M)])
    trees = Bodies.of(model, model.constraints).trees
    allowed = np.zeros((model.nv, model.nv), dtype=bool)
    for columns, parents in zip(trees.columns, trees.parent, strict=True):
        for i in range(len(columns)):
            j = i
            while j >= 0:
                allowed[columns[i], columns[j]] = allowed[columns[j], columns[i]] = True
                j = parents[j]
    found = np.asarray(value(states(model, random), np.zeros(model.u.shape[0])))
    assert np.abs(found[~allowed]).max(initial=0.0) <= WITHIN * np.abs(found).max(initial=1.0)


def kernels_of(tree: Tree) -> set[int]:
    """Return the addresses of the kernels of a tree's bodies."""
    model = tree.finish()
    sweep = KinematicSweep(Bodies.of(model, model.constraints), *inputs_of(model, True))
    return {kernel.native.address for kernel in sweep.kernels}


def test_another_tree_of_the_same_joints_compiles_nothing() -> None:
    """Also where their axes, places, masses and springs are others: those are numbers."""
    small, large = Tree(3, (0, 0, -9.81)), Tree(3, (0, 0.3, -1.6))
    small.revolute(small.free(1.0, 0.1), (0, 0, 1), 1.0, 0.2, axis=(0.3, -0.7, 0.2))
    small.prismatic(small.ground(), (0, 0, 1), 1.0, 0.2, axis=(1.0, 2.0, 2.0), name="slide")
    at = large.free(2.0, (0.1, 0.2, 0.25), name="base")
    for i in range(4):
        at = large.revolute(at, (0.1 * i, 0, 0.3), 0.2, 0.1, (0, 0, 0.2), axis=(1.0, i + 1.0, 0.5), name=f"hinge{i}")
        large.resist(at, damping=0.1 * i, stiffness=0.2)
        large.prismatic(at, (0, 0.1, 0), 0.2, 0.1, axis=(0.0, 1.0, -2.0 - i), name=f"slide{i}")
    assert kernels_of(large) == kernels_of(small)


class Drifting(Connection):
    """A free body that the sweep does not know."""

    def __init__(self, d: int) -> None:
        self._same = FreeJoint(d)
        self.d, self.size = d, self._same.size

    def configuration(self):
        return self._same.configuration()

    def velocity(self):
        return self._same.velocity()

    def motion(self, site, y):
        return self._same.motion(site, y)

    def rates(self, site, y, nudot, contact):
        return self._same.rates(site, y, nudot, contact)

    def displace(self, y, step):
        return self._same.displace(y, step)

    def with_velocity(self, nu):
        return self._same.with_velocity(nu)


def test_a_connection_of_ones_own_is_not_swept() -> None:
    tree = Tree(3, (0.0, 0.0, -9.81))
    tree.add(BodySpec(Drifting(3), "body", mass=2.0, inertia=0.1, com=(0.0,) * 3))
    model = tree.finish()
    assert not can_sweep(Bodies.of(model, model.constraints))


def test_a_mode_is_the_same_with_generated_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a model's joints are not all known its bodies are functions of its own, called in the same places."""
    tree, random = legs(), np.random.default_rng(6)
    system = tree.system
    mode = Mode(random_laws(system, random), system.first_atlas)
    x = random_state(system, random)
    found = []
    for swept in (True, False):
        monkeypatch.setattr(sys.modules["trundle.simulate.engine.tables"], "can_sweep", lambda bodies, s=swept: s)
        data, _ = both(replace(system), mode)
        assert (data.engine.sweep is not None) == swept
        p, core_of = data.parameters(np.zeros(data.input_count)), data.integrator.system
        assert core_of.projection is not None
        found.append((core_of.rate(0.0, x, p), data.margin_array(0.0, x, p), core_of.projection(0.0, x, p)))
    for one, other in zip(*found, strict=True):
        agree(np.asarray(one), np.asarray(other), 1e3 * np.abs(other).max())  # rows far from where they hold
