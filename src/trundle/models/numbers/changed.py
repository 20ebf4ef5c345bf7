"""The same model with other numbers, and models whose numbers are free: compiled once for all their values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array, choice, non_negative, number, positive
from trundle.contact.choice import make_contact
from trundle.contact.laws import SLIDING
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.numbers.places import NumberPlace, places, with_number
from trundle.models.rolling_pair import RollingPair
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.model import ContactSpec, TreeModel
from trundle.models.tree.system import Atlas, ContactPair, ContactSystem, FreeNumbers
from trundle.numerics.symbol import Symbol

Model = RollingPair | RollingTree | ContactSystem
Numbers = Mapping[str, float | Symbol]


def system_of(model: Model) -> ContactSystem:
    """Return what a simulation needs to know of a model."""
    return model if isinstance(model, ContactSystem) else model.system


def parameters_of(model: Model) -> dict[str, float]:
    """Return the numbers of a model by name, SI units: what derivatives are taken by and data may tell.

    ``<body>.mass``, ``.inertia`` (of a body that differs about its axes ``[0]``, ``[1]``, ``[2]``), of a jointed one
    ``.center_of_mass[i]``, ``.damping``, ``.dry_friction``, ``.stiffness`` and ``.rest``; ``<contact>.friction``,
    ``.restitution`` and the other coefficients of `Friction`; ``friction``, of all contacts where they have one;
    sizes of shapes by their fields, ``object.radius``, ``terrain.amplitude``, and where a shape's origin is from its
    body's centre of mass, ``.shape_at[i]``, m; ``gravity[i]``, m/s2.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line()))
    >>> numbers = tr.parameters_of(pair)
    >>> numbers["body.mass"], numbers["body.radius"], numbers["contact.friction"]
    (0.5, 0.1, 1.0)
    """
    return {name: place.value for name, place in places(system_of(model)).items()}


def with_parameters(model: Model, values: Mapping[str, float]) -> ContactSystem:
    """Return the same model with other numbers, and these alone: the inertia stays where a mass or a size changes.

    Parameters
    ----------
    model : RollingPair, RollingTree or ContactSystem
    values : mapping
        By the names of `parameters_of`.

    Raises
    ------
    InputError
        If there is no such number, or it is out of range.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line(slope=-0.1)))
    >>> heavy = tr.with_parameters(pair, {"body.mass": 1.0})  # kg; of the same moment of inertia: it rolls faster
    >>> runs = [tr.simulate(one, pair.place(), duration=1.0) for one in (pair, heavy)]
    >>> [round(float(run["body_position"][-1, 0, 0]), 3) for run in runs]
    [0.334, 0.398]
    """
    return change_numbers(system_of(model), {name: number(name, value) for name, value in values.items()})


def change_numbers(
    system: ContactSystem, values: Mapping[str, float], free: FreeNumbers | None = None
) -> ContactSystem:
    """Return the system with other numbers, of which some may be `free`."""
    known = places(system)
    found = {name: (known[choice("parameters", name, known)], value) for name, value in values.items()}
    for name, (place, value) in found.items():
        _check(name, place, value)
    try:
        pairs = _contact_pairs(system, found.values())
        model = _build_model(system, found, pairs, system.first_atlas)
    except InputError as error:
        name = next((name for name, (place, _) in found.items() if error.key in place.path), error.key)
        raise InputError(name, error.value, error.allowed) from error
    physics = dict(system.physics)
    physics["mass"] = float(sum(body.mass for body in model.bodies))
    physics["gravity"] = tuple(float(g) for g in model.given[0])
    build = partial(_build_model, system, found, pairs)
    other = dataclasses.replace(
        system, build=build, contact_pairs=pairs, physics=physics, free=free, made_of=system.model_key
    )
    other.keep_model(system.first_atlas, model)
    return other


def _check(name: str, place: NumberPlace, value: float) -> None:
    """Check a number of a body; those of contacts and shapes are checked where these are made."""
    if place.kind == "body" and place.path[0] in ("mass", "inertia"):
        positive(name, value)
    elif place.kind == "body" and place.path[0] in ("damping", "stiffness"):
        non_negative(name, value)
    elif place.kind == "joint":
        positive(name, value)  # a joint without friction has no such number


def free_numbers(system: ContactSystem, names: Sequence[str]) -> ContactSystem:
    """Return the system with the numbers of these names as parameters of what is compiled."""
    if isinstance(names, str):
        raise InputError("parameters", names, "a list of names")
    known = places(system)
    chosen = [choice("parameters", name, known) for name in names]
    if len(set(chosen)) < len(chosen):
        raise InputError("parameters", list(names), "names, each once")

    def build() -> ContactSystem:
        """Return the system with symbols in place of the numbers, compared with one made of other numbers."""
        symbols = {name: Symbol(name, known[name].value) for name in chosen}
        found = {name: (known[name], symbol) for name, symbol in symbols.items()}
        values = np.array([known[name].value for name in chosen])
        try:
            pairs = _contact_pairs(system, found.values())
            model = _build_model(system, found, pairs, system.first_atlas)
            held = _hold(system, model, ca.vertcat(*symbols.values()), chosen, values)
        except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            more = f" ({error})" if isinstance(error, InputError) else ""
            raise InputError("parameters", chosen, f"numbers that expressions can hold{more}") from error
        if not held:
            raise InputError("parameters", chosen, "numbers that expressions can hold: sizes of closed forms")
        symbol = ca.vertcat(*symbols.values())
        free = FreeNumbers(tuple(chosen), symbol, values, partial(_build_model, system, found, pairs))
        return dataclasses.replace(system, free=free)

    return system.keep(("freed", *chosen), build) if chosen else system


def _hold(system: ContactSystem, model: TreeModel, symbols: ca.SX, names: Sequence[str], values: FloatArray) -> bool:
    """Return whether a model with symbols is, at other values than its own, the model with those numbers."""
    moved = np.where(values == 0.0, 0.01, 0.99 * values)
    other = change_numbers(system, dict(zip(names, moved.tolist(), strict=True))).model()
    x, u = (np.random.default_rng(0).uniform(0.2, 0.9, size) for size in (model.x.shape[0], model.u.shape[0]))
    found = []
    for one, more in ((model, (moved,)), (other, ())):
        given = [symbols] if more else []
        terms = [one.terms(laws) for laws in (system.start_laws, [SLIDING] * len(one.constraints))]
        parts = [ca.vec(M) for t in terms for M in (t.M, t.h, t.J, t.b, t.position, *([] if t.G is None else [t.G]))]
        whole = ca.Function("terms", [one.x, one.u, *given], [ca.densify(ca.vertcat(*parts, one.energy()))])
        found.append(np.asarray(whole(x, u, *more)).ravel())
    return bool(np.allclose(*found, rtol=1e-9, atol=1e-12, equal_nan=True) and np.any(np.isfinite(found[0])))


def at_values(system: ContactSystem, values: FloatArray) -> ContactSystem:
    """Return the system at other values of its free numbers; what is compiled is shared."""
    if (free := system.free) is None:
        return system
    numbers = array("values", values, (len(free.names),))
    return change_numbers(
        system, dict(zip(free.names, numbers.tolist(), strict=True)), dataclasses.replace(free, values=numbers)
    )


Found = Mapping[str, tuple[NumberPlace, float | Symbol]]


def _contact_pairs(system: ContactSystem, found: object) -> tuple[ContactPair, ...]:
    """Return the contacts with other shapes and restitution; a shape of several contacts stays one."""
    shapes: dict[int, Shape] = {}
    pairs = list(system.contact_pairs)
    for place, value in found:  # type: ignore[attr-defined]
        if place.kind == "shape":
            shape = next(s for m in pairs for s in (m.shape_A, m.shape_B) if id(s) == place.which[0])
            shapes[id(shape)] = with_number(shapes.get(id(shape), shape), place.path, value)
        for i in place.which if place.kind == "center" else ():
            center = with_number(pairs[i].center_A or (0.0,) * pairs[i].shape_A.d, place.path, value)
            pairs[i] = dataclasses.replace(pairs[i], center_A=center)
        for i in place.which if place.kind == "restitution" else ():
            pairs[i] = dataclasses.replace(pairs[i], restitution=with_number(pairs[i].restitution, place.path, value))
    return tuple(
        dataclasses.replace(
            m, shape_A=shapes.get(id(m.shape_A), m.shape_A), shape_B=shapes.get(id(m.shape_B), m.shape_B)
        )
        for m in pairs
    )


def _build_model(system: ContactSystem, found: Found, pairs: Sequence[ContactPair], atlas: Atlas) -> TreeModel:
    """Return the equations of motion with other numbers on the charts `atlas`."""
    gravity, resolve, bodies, contacts, forces, origins, loops = system.model(atlas).given
    specs, joined = list(bodies), list(contacts)
    for place, value in found.values():
        for i in place.which if place.kind == "body" else ():
            specs[i] = with_number(specs[i], place.path, value)
        for i in place.which if place.kind in ("contact", "joint") else ():
            joined[i] = dataclasses.replace(joined[i], friction=with_number(joined[i].friction, place.path, value))
        if place.kind == "gravity":
            gravity = with_number(tuple(gravity), place.path, value)
    for i, pair in enumerate(pairs):
        before = system.contact_pairs[i]
        if pair.shape_A is not before.shape_A or pair.shape_B is not before.shape_B or pair.center_A != before.center_A:
            joined[i] = _with_shapes(joined[i], pair, atlas[i])
    return TreeModel(system.d, gravity, resolve, specs, joined, forces, origins, loops)


def _with_shapes(spec: ContactSpec, pair: ContactPair, charts: tuple[int, int]) -> ContactSpec:
    contact = make_contact(pair.shape_A, pair.shape_B, pair.form, pair.center_A, charts, pair.piece)
    return dataclasses.replace(spec, contact=contact)
