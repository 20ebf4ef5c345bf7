"""Microseconds per right-hand side and per Jacobian: CasADi's VM, and compiled in a C loop; growth of trees.

``rows(named)`` takes any list of (label, rate function, inputs); the models below are only the ones printed.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import casadi as ca
import numpy as np

RateCase = tuple[str, ca.Function, list[np.ndarray]]
"""Label, rate(x, u) -> x', inputs."""


@dataclass(frozen=True)
class Row:
    """Time of one model's rate and of its Jacobian with respect to (x, u)."""

    label: str
    states: int
    instructions: int
    rate_vm: float  # us
    rate_c: float | None  # us, None without a compiler
    jacobian_instructions: int
    jacobian_vm: float
    jacobian_c: float | None
    note: str = ""

    def as_dict(self) -> dict:
        """Return the fields as a dictionary for JSON."""
        return asdict(self)


def time_vm(function: ca.Function, inputs: list[np.ndarray], seconds: float = 0.1) -> float:
    """Return the microseconds of one call on CasADi's VM, through a preallocated buffer, best of five."""
    buffer, call = function.buffer()
    kept = [np.ascontiguousarray(value, dtype=float) for value in inputs]
    results = [np.zeros(max(function.nnz_out(k), 1)) for k in range(function.n_out())]
    for k, value in enumerate(kept):
        buffer.set_arg(k, memoryview(value))
    for k, value in enumerate(results):
        buffer.set_res(k, memoryview(value))
    call()
    begin = clock.perf_counter()
    call()
    count = max(5, int(seconds / 5 / max(clock.perf_counter() - begin, 1e-7)))
    best = np.inf
    for _ in range(5):
        begin = clock.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (clock.perf_counter() - begin) / count)
    return 1e6 * best


def time_compiled(function: ca.Function, inputs: list[np.ndarray], guess: float, seconds: float = 0.1) -> float:
    """Return the microseconds of one call of the compiled function in a C loop, best of five."""
    from bench.timing import time_function

    count = max(10, int(seconds / 5 / (1e-6 * guess)))
    return 1e6 * min(time_function(function, inputs, count) for _ in range(5))


def _jacobian(rate: ca.Function) -> ca.Function:
    """Return the sparse Jacobian of a rate with respect to its stacked inputs."""
    symbols = [ca.SX.sym(f"i{k}", rate.sparsity_in(k)) for k in range(rate.n_in())]
    out = rate(*symbols)
    return ca.Function("jacobian", symbols, [ca.jacobian(out, ca.vertcat(*symbols))])


def measure(case: RateCase) -> Row:
    """Time one rate function and its Jacobian."""
    label, rate, inputs = case
    jacobian = _jacobian(rate)
    vm, vm_jacobian = time_vm(rate, inputs), time_vm(jacobian, inputs)
    compiled: list[float | None] = []
    note = "" if bool(np.all(np.isfinite(rate(*inputs).full()))) else "not finite at the timed state"
    for function, guess in ((rate, vm), (jacobian, vm_jacobian)):
        try:
            compiled.append(time_compiled(function, inputs, guess))
        except Exception as problem:  # no compiler: the VM's numbers stand alone
            compiled.append(None)
            note = f"{type(problem).__name__}: {problem}".splitlines()[0][:120]
    return Row(
        label,
        rate.numel_in(0),
        rate.n_instructions(),
        vm,
        compiled[0],
        jacobian.n_instructions(),
        vm_jacobian,
        compiled[1],
        note,
    )


def rows(named: Iterable[RateCase]) -> list[Row]:
    """Time every function of a list of (label, rate, inputs)."""
    return [measure(case) for case in named]


# What is timed ----------------------------------------------------------------------------------------


def _rate(label: str, model: Any, x: np.ndarray) -> RateCase:
    """Return the rate of a tree with all its contacts rolling, at the state x."""
    from trundle.contact.laws import law_named

    dynamics = model.dynamics([law_named("rolling")] * len(model.constraints))
    return label, ca.Function("rate", [dynamics.x, dynamics.u], [dynamics.xdot]), [x, np.zeros(model.u.shape[0])]


def _pair(label: str, pair: Any, start: Any) -> RateCase:
    """Return the rate of a pair's single contact; the state is the start's, name by name."""
    whole = pair.system.model(start.atlas)
    model = pair.tree(start.atlas[:1])
    x = np.zeros(model.x.shape[0])
    for name, where in model.layout.items():
        x[where] = np.asarray(start.x)[whole.layout[name]]
    return _rate(label, model, x)


def pairs() -> list[RateCase]:
    """Return the three pairs of the tables: sphere on plane, ellipsoid in dish, ellipse on sinusoid."""
    import trundle as tr

    cases = []
    spinning = {"object_quaternion": [1, 0, 0, 0], "object_angular_velocity": [1.0, 0.5, 0.2]}
    ball = tr.RigidBody(tr.Sphere(radius=0.2), mass=0.1, inertia="solid")
    egg = tr.RigidBody(tr.Ellipsoid(semi_axes=[0.05, 0.04, 0.03]), mass=0.1, inertia="solid")
    plate, dish = (tr.Hand(s, twist=[0, 0, 7, 0, 0, 0]) for s in (tr.Plane(), tr.Dish(semi_axes=[0.4, 0.4, 0.3])))
    for coordinates in ("pose", "rolling"):
        pair = tr.RollingPair(ball, plate, coordinates=coordinates)
        tilted = spinning | {"object_quaternion": [0.8, 0.6, 0, 0]}
        cases.append(_pair(f"sphere on plane, {coordinates}", pair, pair.place(contact_on_hand=[0, 0, 0], **tilted)))
        pair = tr.RollingPair(egg, dish, coordinates=coordinates)
        place = pair.place(contact_on_hand=[0.1, 0.05, -0.28], **tilted)
        cases.append(_pair(f"ellipsoid in dish, {coordinates}", pair, place))
    rock = tr.RigidBody(tr.Ellipse(semi_axes=[0.25, 0.12]), mass=1.0, inertia=0.02)
    pair = tr.RollingPair(rock, tr.Ground(tr.Sinusoid(amplitude=0.06, wavelength=0.8, phase=0.0)), gravity=9.81)
    cases.append(_pair("ellipse on sinusoid, plane", pair, pair.place(contact_x=0.2, angle=0.4, angular_velocity=0.5)))
    return cases


def balls(counts: Iterable[int] = (1, 2, 4, 8)) -> list[RateCase]:
    """Return n balls on one plate: bodies and contacts grow together, uncoupled."""
    import trundle as tr
    from trundle.contact.choice import make_contact

    cases = []
    shape, plane = tr.Sphere(radius=0.2), tr.Plane()
    for n in counts:
        tree = tr.Tree(3, (0.0, 0.0, -9.81))
        plate = tree.prescribed("plate")
        for k in range(n):
            body = tree.free(0.1, (0.0016,) * 3, name=f"ball{k}")
            tree.contact(make_contact(shape, plane, "support", (0.0, 0.0, 0.0)), body, plate, name=f"contact{k}")
        model = tree.finish()
        x = np.zeros(model.x.shape[0])
        for name, where in model.layout.items():
            if name.endswith(".orientation"):
                x[where] = [1, 0, 0, 0]
            elif name.startswith("ball") and name.endswith(".position"):
                x[where] = [0.5 * int(name[4:].split(".")[0]), 0, 0.2]
        cases.append(_rate(f"{n} balls on a plate: {n} bodies, {n} contacts", model, x))
    return cases


def chains(counts: Iterable[int] = (1, 2, 4, 8)) -> list[RateCase]:
    """Return a foot that rolls on a line with a chain of n - 1 hinged links: bodies grow, one contact."""
    import trundle as tr
    from trundle.contact.choice import contact_coordinates, contact_form, make_contact

    cases = []
    foot, line = tr.Ellipse(semi_axes=[0.2, 0.1]), tr.Line(slope=0.0, offset=0.0)
    form = contact_form(foot, line)
    down = (np.array([0.0, -0.1]), np.array([0.0, 0.0]), np.array([0.0, 1.0]))
    coordinates, charts = contact_coordinates(foot, line, form, *down)
    for n in counts:
        tree = tr.Tree(2, (0.0, -9.81))
        ground, link = tree.ground(), tree.free(1.0, 0.02, name="foot")
        tree.contact(make_contact(foot, line, form, (0.0, 0.0), charts), link, ground)
        for k in range(n - 1):
            link = tree.revolute(link, (0.0, 0.3 if k else 0.0), 1.0, 0.02, com=(0.0, 0.15), name=f"link{k}")
        model = tree.finish()
        x = np.full(model.x.shape[0], 0.1)
        x[model.layout["foot.position"]], x[model.layout["foot.orientation"]] = [0.0, 0.1], 0.0
        if "contact.coordinates" in model.layout:
            x[model.layout["contact.coordinates"]] = coordinates
        cases.append(_rate(f"foot with {n - 1} links: {n} bodies, 1 contact", model, x))
    return cases


def rovers(counts: Iterable[int] = (1, 2, 4)) -> list[RateCase]:
    """Return a trunk on n legs with wheels on a sinusoid: bodies 2 n + 1, contacts n, all coupled."""
    import trundle as tr
    from trundle.contact.choice import make_contact

    cases = []
    wheel, ground_shape = tr.Circle(radius=0.12), tr.Sinusoid(amplitude=0.06, wavelength=0.8, phase=0.0)
    for n in counts:
        tree = tr.Tree(2, (0.0, -9.81))
        ground, base = tree.ground(), tree.free(20.0, 1.2, name="base")
        for k in range(n):
            leg = tree.revolute(base, (0.35 * k, 0.0), 2.0, 0.02, com=(0.0, -0.16), name=f"leg{k}")
            tyre = tree.revolute(leg, (0.0, -0.32), 1.5, 0.01, name=f"wheel{k}")
            contact = make_contact(wheel, ground_shape, "chart", (0.0, 0.0), (0, 0))
            tree.contact(contact, tyre, ground, name=f"contact{k}")
        model = tree.finish()
        x = np.linspace(0.1, 0.7, model.x.shape[0])
        cases.append(_rate(f"rover with {n} legs: {2 * n + 1} bodies, {n} contacts", model, x))
    return cases


def tables(quick: bool = False) -> dict[str, list[Row]]:
    """Return all tables: the pairs, and the growth with bodies and contacts."""
    found: dict[str, list[Row]] = {}
    small = (1, 2) if quick else (1, 2, 4, 8)
    for title, build in (
        ("pairs", pairs),
        ("independent bodies on one plate", lambda: balls(small)),
        ("links on one rolling foot", lambda: chains(small)),
        ("legs with rolling wheels", lambda: rovers((1, 2) if quick else (1, 2, 4))),
    ):
        found[title] = rows(build())
    return found
