"""Eight threads share one object: every public solver answers each of them what it answers one alone."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from tests.control.cases import Q, R, ball_on_plate
from tests.slowly import slow_but
from trundle.control.inverse_dynamics.contact_finder import ContactFinder
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.ode import Integrator, OdeSystem
from trundle.numerics.qp import QpSolver, solvers
from trundle.threads import PerThread, cached_property, made_once

Call = Callable[[int], Any]
THREADS = 8


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Threads take turns every microsecond, not every 5 ms: what they share is met halfway."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(call: Call, count: int = THREADS) -> list[Any]:
    """Return what `call` answers 0 .. count - 1, asked by eight threads that begin at once."""
    ready = threading.Barrier(THREADS)

    def first(k: int) -> object:
        if k < THREADS:
            ready.wait()
        return call(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(first, range(count)))


def run_of(trajectory: tr.Trajectory) -> list[Any]:
    names = sorted(str(name) for name in trajectory.dataset.variables)
    values = [(name, trajectory[name]) for name in names if trajectory[name].dtype.kind == "f"]
    return [trajectory.status.label, trajectory.feasible, trajectory.transitions, *values]


# What is shared, each made anew by its function. ------------------------------------------------------------------


def pair() -> Call:
    ball = tr.RigidBody(tr.Ellipsoid([0.035, 0.03, 0.025]), mass=0.216, inertia="solid")
    shared = tr.RollingPair(ball, tr.Hand(tr.Plane()), friction=0.5, on_slip="slide", on_separation="fly")

    def call(k: int) -> object:
        spin = (0.3 + 0.1 * k, 0.1, 0.2 * k)
        start = shared.place(contact_on_hand=(0.01 * k, 0, 0), object_angular_velocity=spin)
        return run_of(tr.simulate(shared, start, 2.0))

    return call


def tree() -> Call:
    from tests.control.inverse_dynamics.test_contact_finder import cart

    shared = cart(tr.Sinusoid(0.03, 1.5), tr.Circle(0.12))

    def call(k: int) -> object:
        start = shared.place(base=(0.01 * k, 0.36, 0.0), tolerance=0.2)
        return run_of(tr.simulate(shared, start, 0.2 + 0.01 * k))

    return call


def policy_without_memory() -> Call:
    shared = ball_on_plate()
    policy = tr.BalancingLQR(shared, shared.place(), Q, R, period=0.01)
    return lambda k: policy(0.0, shared.place(contact_on_hand=(0.002 * k, 0.001, 0)).x)


def run_under_one_policy() -> Call:
    shared = ball_on_plate()
    inner = tr.BalancingLQR(shared, shared.place(), Q, R, period=0.01)
    policy = tr.Delayed(tr.Noisy(inner, deviation=1e-5, seed=3), delay=0.01, first=np.zeros(6))
    starts = [shared.place(contact_on_hand=(0.001 * k, 0.001, 0)) for k in range(THREADS)]

    def call(k: int) -> object:
        # Some runs meet the policy inside the others' first.
        return run_of(tr.simulate(shared, starts[k], 0.1, policy=policy if k % 2 else policy.policy))

    return call


def quadratic_program(solver: str) -> Call:
    rng = np.random.default_rng(0)
    root, A = rng.normal(size=(30, 30)), rng.normal(size=(40, 30))
    H, shared = root @ root.T + np.eye(30), QpSolver(solver, tolerance=1e-5)

    def call(k: int) -> object:
        g = np.random.default_rng(k).normal(size=30)
        found = shared.solve(H, g, A, np.full(70, -1.0), np.full(70, 1.0))
        return found.status, np.round(found.x, 5)  # osqp begins where its last program ended

    return call


def preview() -> Call:
    from tests.control.preview.test_preview import MASS, REST, SWAY, walking

    shared, forecast = tr.multicontact.Preview(tr.multicontact.Centroidal(MASS)), walking()

    def call(k: int) -> object:
        plan = shared(0.05 * (k % 4), REST, forecast, SWAY)
        return plan.status, np.round(plan.position, 9), np.round(plan.wrenches, 4)

    return call


def optimiser() -> Call:
    from tests.numerics.ilqr.test_ilqr import PENDULUM, pendulum

    shared = tr.optimal.Optimiser(pendulum())

    def call(k: int) -> object:
        found = shared.solve(
            [0.1 * k, 0.0], PENDULUM, tr.optimal.Guess(np.zeros((40, 1))), tr.optimal.Limits(iterations=60)
        )
        return found.status, found.states, found.inputs, found.iterations

    return call


def nonlinear_program() -> Call:
    from tests.numerics.nlp.test_nlp import everything
    from trundle.numerics.nlp.nlp import solve

    shared = everything()[0]

    def call(k: int) -> object:
        found = solve(shared, np.full(6, 0.1 * k), max_iterations=30)
        return found.status, found.z, found.iterations

    return call


def integrator() -> Call:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p")
    shared = Integrator(OdeSystem(rate=ca.Function("rate", [t, x, p], [ca.vertcat(x[1], -p * ca.sin(x[0]))])))

    def call(k: int) -> object:
        found = shared.integrate(0.0, [0.1 + 0.2 * k, 0.0], 200.0, p=[1.0 + k])
        return found.x_end, found.steps

    return call


def inverse_dynamics() -> Call:
    from tests.control.inverse_dynamics.test_inverse_dynamics import REFERENCE, controller, moving, vehicle

    model, dynamics, _ = vehicle()
    states, shared = [moving(k) for k in range(THREADS)], controller(model, dynamics)

    def call(k: int) -> object:
        commands = [shared(states[k], REFERENCE) for _ in range(20)]
        return [(command.status, command.u, command.lam) for command in commands]

    return call


def contact_finder() -> Call:
    from tests.control.inverse_dynamics.test_contact_finder import cart

    shared = cart(tr.Sinusoid(0.03, 1.5), tr.Ellipse((0.13, 0.11))).system
    x = np.zeros(shared.model().x.shape[0])

    def call(k: int) -> object:  # a finder remembers: one a loop, on one system
        return ContactFinder(shared, shared.first_atlas)(x + 0.01 * k, np.ones(len(shared.contact_pairs)))

    return call


def buffered() -> Call:
    x = ca.SX.sym("x", 50)
    shared = BufferedFunction(ca.Function("f", [x], [ca.cumsum(ca.sin(x)), x * x]))
    return lambda k: [shared(np.full(50, 0.1 * k + 0.01 * j)) for j in range(50)]


def rigid_body_terms() -> Call:
    pytest.importorskip("pinocchio")
    from trundle.models.urdf.articulated import Articulated

    shared = Articulated(tr.load_example_robot("solo12"))

    def call(k: int) -> object:
        q, nu = shared.neutral, np.linspace(0, 0.1 * k, shared.nv)
        q[7:] += 0.1 * k
        found = [shared.terms(q, nu, shared.urdf.links[-3:], momentum=True) for _ in range(10)]
        return [(terms.M, terms.h, terms.motions[0].J) for terms in found if terms.motions]

    return call


def whole_body() -> Call:
    pytest.importorskip("pinocchio")
    from tests.control.whole_body.test_whole_body import aim_at_rest
    from trundle.models.robots.humanoid import load_humanoid
    from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController

    shared = WholeBodyController(load_humanoid("g1"))
    q = shared.humanoid.standing()
    aims = [aim_at_rest(shared, q, com_acceleration=np.array([0.1 * k, 0, 0])) for k in range(THREADS)]
    return lambda k: [shared(q, np.zeros(shared.humanoid.robot.nv), aims[k]).u for _ in range(5)]


def plant() -> Call:
    pytest.importorskip("mujoco")
    from tests.simulate.mujoco.test_plant import SLIDER, Constant
    from trundle.simulate.mujoco.plant import MujocoPlant

    shared, record = MujocoPlant(SLIDER), {"x": lambda view: view.position("cart")[0]}
    return lambda k: shared.run(Constant(1.0 + k), 0.2, record=record).records["x"]


def transfer() -> Call:
    from tests.plan.test_plan import reorient

    shared = reorient()

    def call(k: int) -> object:
        found = tr.juggling.plan(shared, nodes=20 + k, starts=1)
        return found.status, found.states, found.inputs

    return call


def throw() -> Call:
    from tests.plan.throw.test_throw import NARROW, PAIR

    shared = tr.juggling.ThrowCatch(PAIR, PAIR.place(), goal_angle=np.pi / 2, **NARROW)  # type: ignore[arg-type]

    def call(k: int) -> object:
        found = shared.plan(seed=k, samples=2, max_rollouts=6)
        return found.status, found.shot.rollouts, np.array(list(found.shot.parameters.values()))

    return call


SHARED: dict[str, Callable[[], Call]] = {
    make.__name__: make
    for make in (
        pair, tree, policy_without_memory, run_under_one_policy, preview, optimiser, nonlinear_program,
        integrator, inverse_dynamics, contact_finder, buffered, rigid_body_terms, whole_body, plant, transfer, throw,
    )
}  # fmt: skip
SHARED |= {f"quadratic_program {name}": lambda name=name: quadratic_program(name) for name in solvers()}


QUICK = [name for name in SHARED if name not in ("tree", "policy_without_memory", "transfer", "throw")]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else a == b


@pytest.mark.parametrize("name", slow_but(SHARED, *QUICK))
def test_threads_that_share_one_get_what_one_alone_gets(name: str) -> None:
    alone = list(map(SHARED[name](), range(THREADS)))
    for _ in range(3):
        shared = SHARED[name]()
        assert [k for k, answer in enumerate(together(shared)) if not same(answer, alone[k])] == []


def test_values_are_made_once_and_workspaces_once_a_thread() -> None:
    class Owner:
        made = 0

        @cached_property
        def value(self) -> object:
            type(self).made += 1
            return object()

    owner, kept, makes = Owner(), {}, []
    assert len(set(map(id, together(lambda k: owner.value)))) == 1
    assert len(set(map(id, together(lambda k: made_once(kept, "key", lambda: makes.append(1) or object()))))) == 1
    assert Owner.made == len(makes) == 1
    spaces = PerThread(list)
    found = together(lambda k: (spaces(), threading.get_ident()))
    assert len({id(space) for space, _ in found}) == len({thread for _, thread in found})
    assert spaces() is spaces()


def test_shared_objects_pickle_and_copy_without_their_workspaces() -> None:
    x = ca.SX.sym("x", 2)
    one = BufferedFunction(ca.Function("f", [x], [2 * x]))
    one(np.ones(2))
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other(np.ones(2))[0].tolist() == [2.0, 2.0]


def test_a_failed_making_is_tried_again() -> None:
    kept: dict[str, int] = {}

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        made_once(kept, "a", fail)
    assert made_once(kept, "a", lambda: 1) == 1
