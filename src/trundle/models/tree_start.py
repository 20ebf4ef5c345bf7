"""Where a tree starts: the state that a user gave, the velocities that follow from rolling, and those that are wild.

A joint's rate q' that follows is wild if what it moves moves faster, relative to its parent, than all that was given
and than the free bodies: each as the root mean square speed of the mass m beyond it, |q'| sqrt(M_qq/m). A wheel that
rolls is slower than what it carries; a fork that has to turn back at once is not. Such a start is hardly meant: a
component was given that would better follow.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space, orth

from trundle.checks import FloatArray, array, choice, number, quaternion
from trundle.contact.laws import SEPARATED, law_named, start_laws
from trundle.errors import InputError, TrundleWarning
from trundle.models.tree.closing import Closure, extent_at, roll, velocities_at
from trundle.models.tree.conversion import to_matrix
from trundle.models.tree.joint import Joint
from trundle.models.tree.joints import BodySpec
from trundle.models.tree.system import Atlas
from trundle.models.tree.touching import inertia_at

if TYPE_CHECKING:
    from trundle.models.rolling_tree import RollingTree

Rate = ArrayLike | Sequence[float | None]
"""Rates of a body; components that are None follow from rolling."""

_WILD = 1.0  # times the fastest rate that was given: faster ones are refused
_BENT = 0.2
"""Part of a given velocity by which it may change where contacts could not roll else."""
_EXACT = 1e-9
"""Change of a velocity, over the largest one, that is round-off."""


def given_state(tree: RollingTree, positions: Mapping[str, ArrayLike], rates: Mapping[str, Rate]) -> FloatArray:
    """Return x (n_x,) with the poses and velocities the user gave; what is missing is zero."""
    model = tree.system.model()
    x = np.zeros(model.x.shape[0])
    for name, value in positions.items():
        if name not in tree.origins:
            known = dict(zip(tree.joints.values(), tree.joints, strict=True))
            raise InputError(name, value, "a position of one of " + ", ".join(known.get(n, n) for n in tree.origins))
    for name in tree.origins:
        joint = _spec(tree, name).joint
        rate, _ = _fill_rates(rates.get(name))
        if joint.size == 0:
            _refuse_given(name, positions, rates)
        elif not isinstance(joint, Joint):
            for key, value in _free(tree, name, positions.get(name), rate).items():
                x[model.layout[f"{name}.{key}"]] = value
        else:
            start = joint.start
            x[model.layout[f"{name}.joint"]] = _entries(name, positions.get(name, start), len(start))
            rate = np.zeros(joint.size) if rate is None else rate
            x[model.layout[f"{name}.rate"]] = _entries(f"rates.{name}", rate, joint.size)
    if tree.moving is not None:
        for key in ("position", "orientation", "twist"):
            x[model.layout[f"{tree.base}.{key}"]] = getattr(tree.moving, key)
    return x


def refuse_beyond_stops(tree: RollingTree, atlas: Atlas, x: FloatArray) -> None:
    """Raise `InputError` if a joint is not between its stops."""
    for spec in tree.tree.specs:
        if np.isfinite(spec.low) or np.isfinite(spec.high):
            q = float(x[tree.system.model().layout[f"{spec.name}.joint"]][0])
            # Closing contacts leaves round-off in a joint that starts at its stop.
            room = _EXACT * (1.0 if tree.system.model().turns(spec.name) else extent_at(tree.system, atlas, x))
            if not spec.low - room <= q <= spec.high + room:
                raise InputError(spec.name, q, f"between the stops of its joint, {spec.low:g} to {spec.high:g}")


def starting_laws(tree: RollingTree, given: Mapping[str, str], closed: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the laws at the start."""
    rubbing = tree.system.rubbing
    laws = [law if law.distant or i in rubbing else SEPARATED for i, law in enumerate(tree.system.start_laws)]
    for i in closed:
        laws[i] = tree.system.start_laws[tree.part_of[i]]
    for name, law in given.items():
        for i in _closed_of(tree, "laws", name, closed):
            laws[i] = law_named(choice(f"laws.{name}", law, start_laws()))
    return tuple(law.name for law in laws)


def turning_joints(tree: RollingTree, x: FloatArray) -> frozenset[int]:
    """Return the contacts that are the dry friction of joints that turn at the state `x`."""
    layout = tree.system.model().layout
    found = set()
    for i in tree.system.rubbing:
        pair = tree.system.contact_pairs[i]
        coordinate = 0 if pair.joint is None else pair.joint.coordinate
        if float(x[layout[f"{pair.body_A}.rate"]][coordinate]) != 0.0:
            found.add(i)
    return frozenset(found)


def _closed_of(tree: RollingTree, key: str, name: str, closed: Sequence[int]) -> list[int]:
    """Return the contacts of a shape that are closed at the start."""
    part = tree.closed(key, [name])[0]
    found = [i for i in closed if tree.part_of[i] == part]
    if not found:
        raise InputError(key, name, "a contact that is closed at the start")
    return found


def given_slips(
    tree: RollingTree, given: Mapping[str, float | Sequence[float]], closed: Sequence[int]
) -> dict[int, FloatArray]:
    """Return the slips of the contacts that are closed, as given, m/s."""
    slips = {i: np.zeros(tree.d) for i in closed}
    for name, slip in given.items():
        closed_ones = _closed_of(tree, "slips", name, closed)
        key, along = f"slips.{name}", tree.d == 2 and np.ndim(slip) == 0
        value = np.array([number(key, slip, unit="m/s")]) if along else array(key, slip, (tree.d,), unit="m/s")
        pairs = tree.system.contact_pairs
        slips |= {i: -value if pairs[i].swapped and not along else value for i in closed_ones}
    return slips


def columns(tree: RollingTree, name: str) -> range:
    """Return the entries of nu that are of a body's joint."""
    size = _spec(tree, name).joint.size
    at = tree.system.model().columns[name] if size else 0
    return range(at, at + size)


def _spec(tree: RollingTree, name: str) -> BodySpec:
    return next(spec for spec in tree.tree.specs if spec.name == name)


def with_rolling_rates(
    tree: RollingTree, x: FloatArray, atlas: Atlas, slips: Mapping[int, FloatArray], rates: Mapping[str, Rate]
) -> FloatArray:
    """Return the state `x` with velocities that slip as said at the contacts `slips`, and the given `rates`.

    Warns of wild rates.

    Raises
    ------
    InputError
        If no velocities roll, or only ones that differ by more than a fifth from a vector or number that was given.
    """
    held = {name: _rows_of_given_rates(tree, x, name, rate) for name, rate in rates.items()}
    after = _roll_velocities(tree, x, atlas, slips, held)
    _refuse_bent(tree, atlas, x, after, tuple(slips), rates)
    fast = _fastest(tree, atlas, after, held)
    if fast is None:
        return after
    ratio, name, rate = fast

    def without(given: str) -> float:
        """Return how wild the wildest rate is where a body's rates are not given."""
        others = {other: rows for other, rows in held.items() if other != given}
        found = _fastest(tree, atlas, _roll_velocities(tree, x, atlas, slips, others), others)
        return 0.0 if found is None else found[0]

    blamed = min((given for given in held if len(held[given])), key=without)
    text = (
        f"the start gives {name} a rate of {rate:.4g}, {ratio:.3g} times as fast as all that was given: "
        f"rates.{blamed} = {rates[blamed]} forces it; leave a component out (None) to let it follow"
    )
    logging.getLogger("trundle").info(text)
    warnings.warn(text, TrundleWarning, stacklevel=4)
    return after


def _roll_velocities(
    tree: RollingTree,
    x: FloatArray,
    atlas: Atlas,
    slips: Mapping[int, FloatArray],
    held: Mapping[str, FloatArray],
) -> FloatArray:
    """Return the state whose velocities obey the rows `held` as `x` does, and slip as said."""
    nv = tree.system.model().nv
    rows = np.vstack([np.zeros((0, nv)), *held.values()])
    whole = np.flatnonzero(np.any(rows != 0, axis=0))
    if len(whole) == len(rows):  # entries of nu
        kept, free = np.eye(nv)[:, whole], np.delete(np.eye(nv), whole, axis=1)
    else:
        kept, free = orth(rows.T), null_space(rows)
    return roll(tree.system, x, atlas, slips, kept, free)


def _refuse_bent(
    tree: RollingTree,
    atlas: Atlas,
    x: FloatArray,
    after: FloatArray,
    closed: tuple[int, ...],
    rates: Mapping[str, Rate],
) -> None:
    """Raise `InputError` if given rates of `x` changed too much in `after`: an angular or a linear velocity, or a rate.

    Each is judged by itself: a light wheel can change its rate many times for next to no energy. Only an angular
    velocity that is given with a velocity v may change by what makes up for a fifth of v at the contacts.
    """
    Js, _, _ = Closure(tree.system, closed, x, atlas).rows()
    velocities = velocities_at(tree.system, atlas)
    before, now = np.asarray(velocities(x)).ravel(), np.asarray(velocities(after)).ravel()
    least = _EXACT * float(np.max(np.abs(now), initial=0.0))
    wanted: dict[str, Rate] = {}
    nearest: list[str] = []
    for name, rate in rates.items():
        rows = _rows_of_user(tree, x, name)
        _, given = _fill_rates(rate)
        k, turns = _angular(tree, name), list(columns(tree, name))
        angular, linear = [i for i in given if i < k], [i for i in given if i >= k]
        wish, values = rows @ before, rows @ now
        lever = max((float(np.linalg.norm(J[:, turns[:k]], 2)) for J in Js), default=0.0) if linear else 0.0
        beside = float(np.linalg.norm(wish[linear])) / lever if lever > 0 else 0.0
        if _changes_much(wish[angular], values[angular], least, beside) or _changes_much(
            wish[linear], values[linear], least
        ):
            follow = [f"{values[i]:.6g}" if i in given else "None" for i in range(len(rows))]
            wanted[name] = rate
            nearest.append(f"{name}: ({', '.join(follow)})")
    if wanted:
        allowed = f"ones with which every closed contact can roll, such as {'; '.join(nearest)} (None: to follow)"
        raise InputError("rates", wanted, allowed)


def _changes_much(before: FloatArray, now: FloatArray, least: float, beside: float = 0.0) -> bool:
    """Whether a velocity changed by more than a fifth of itself and of `beside`, and by more than `least`."""
    size = max(float(np.linalg.norm(before)), beside)
    return float(np.linalg.norm(now - before)) > max(_BENT * size, least)


def _fastest(
    tree: RollingTree, atlas: Atlas, x: FloatArray, held: Mapping[str, FloatArray]
) -> tuple[float, str, float] | None:
    """Return how many times as fast as what was given the wildest rate is, its body, and its value, or None."""
    model, M = tree.system.model(atlas), inertia_at(tree.system, atlas, x)
    speeds, values, given, joints = np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nv, dtype=bool), {}
    beyond = _mass_beyond(tree)
    for name, at in model.columns.items():
        joint, layout = _spec(tree, name).joint, model.layout
        moving = [layout[f"{name}.{key}"] for key in joint.velocity()]
        own = slice(at, at + joint.size)
        values[own] = np.concatenate([x[where] for where in moving])
        speeds[own] = np.abs(values[own]) * np.sqrt(np.diag(M)[own] / beyond[name])
        free = not isinstance(joint, Joint)
        given[own] = free
        joints |= {} if free else dict.fromkeys(range(at, at + joint.size), name)
    for rows in held.values():
        given |= np.any(rows != 0, axis=0)
    follows = np.where(given, 0.0, speeds)
    wildest, most = int(np.argmax(follows)), float(np.max(speeds[given], initial=0.0))
    if not held or wildest not in joints or not follows[wildest] > _WILD * most > 0.0:
        return None
    return float(follows[wildest]) / most, joints[wildest], float(values[wildest])


def _mass_beyond(tree: RollingTree) -> dict[str, float]:
    """Return the mass (kg) that each body carries, its own with it."""
    specs = tree.tree.specs
    masses = [spec.mass for spec in specs]
    for i in reversed(range(len(specs))):
        if specs[i].parent >= 0:
            masses[specs[i].parent] += masses[i]
    return {spec.name: mass for spec, mass in zip(specs, masses, strict=True)}


def _rows_of_given_rates(tree: RollingTree, x: FloatArray, name: str, rate: Rate) -> FloatArray:
    """Return the rows (r, nv) on nu of the rates of a body that were given."""
    numbers, given = _fill_rates(rate)
    own = np.eye(tree.system.model().nv)[list(columns(tree, name))]
    if numbers is None:
        return own[:0]
    k = _angular(tree, name)
    in_part = 0 < sum(i >= k for i in given) < len(own) - k
    # With the whole velocity of the user's origin that of the tree's is given, too.
    return (_rows_of_user(tree, x, name) if in_part else own)[given]


def _rows_of_user(tree: RollingTree, x: FloatArray, name: str) -> FloatArray:
    """Return the rows (size, nv) on nu that give the rates of a body as the user says them: of his origin."""
    model = tree.system.model()
    rows = np.eye(model.nv)[list(columns(tree, name))]
    k = _angular(tree, name)
    if k < len(rows):
        # The velocity of the user's origin is that of the tree's, less w x arm.
        arm = -to_matrix(x[model.layout[f"{name}.orientation"]]) @ np.asarray(tree.origins[name])
        around = np.array([[-arm[1]], [arm[0]]]) if tree.d == 2 else np.cross(np.eye(3), arm).T
        rows[k:] -= around @ rows[:k]
    return rows


def _angular(tree: RollingTree, name: str) -> int:
    """Return how many of the rates of a body come before its velocity: of a jointed one, all."""
    joint = _spec(tree, name).joint
    return joint.size if isinstance(joint, Joint) else 1 if tree.d == 2 else 3


def _fill_rates(rate: Rate | None) -> tuple[FloatArray | ArrayLike | None, list[int]]:
    """Return the rates with zeros for those that follow, None if all do, and the numbers of those that were given."""
    if rate is None:
        return None, []
    flat = np.ravel(np.asarray(rate, dtype=object)).tolist()
    given = [i for i, value in enumerate(flat) if value is not None]
    if len(given) == len(flat):
        return rate, given  # type: ignore[return-value]
    return ([0.0 if value is None else value for value in flat] if given else None), given


def _refuse_given(name: str, positions: Mapping[str, ArrayLike], rates: Mapping[str, Rate]) -> None:
    """Raise `InputError` if a body that cannot move has a position or a rate."""
    for key, given in ((name, positions), (f"rates.{name}", rates)):
        if name in given:
            raise InputError(key, given[name], "left out: its joint does not move, or as it is told")


def _free(tree: RollingTree, name: str, position: ArrayLike | None, rate: ArrayLike | None) -> dict[str, FloatArray]:
    """Return pose and velocities of the tree's frame of a free body."""
    d, k = tree.d, 1 if tree.d == 2 else 3
    point, orientation = _pose(name, position, d)
    twist = np.zeros(k + d)
    if rate is not None:
        size = k if np.size(rate) == k else k + d
        twist[:size] = array(f"rates.{name}", np.ravel(rate), (size,))
    R = to_matrix(orientation)
    arm = -R @ np.asarray(tree.origins[name])
    w, v = twist[:k], twist[k:]
    around = w * np.array([-arm[1], arm[0]]) if d == 2 else np.cross(w, arm)
    return {"position": point + arm, "orientation": orientation, "angular_velocity": w, "velocity": v + around}


def _entries(key: str, value: ArrayLike, size: int) -> float | FloatArray:
    """Return the numbers (size,) of a joint: one alone may be a number."""
    if size > 1:
        return array(key, value, (size,))
    return number(key, np.ravel(value)[0] if np.size(value) == 1 else value)


def _pose(name: str, position: ArrayLike | None, d: int) -> tuple[FloatArray, FloatArray]:
    """Return the place (d,) and the angle (1,) or quaternion (4,) of a free body."""
    level = np.zeros(1) if d == 2 else np.array([1.0, 0.0, 0.0, 0.0])
    if position is None:
        return np.zeros(d), level
    if np.size(position) == d:
        return array(name, position, (d,), unit="m"), level
    numbers = array(name, position, (d + len(level),))
    return numbers[:d], numbers[d:] if d == 2 else quaternion(name, numbers[d:])
