"""What a state says of where two bodies touch: Jacobian, normal, velocity and points of one contact."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from scipy.linalg import null_space

from trundle.checks import FloatArray
from trundle.contact.choice import balls_around_parts
from trundle.contact.motion import still
from trundle.contact.touch import OfKind
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import ContactConstraint
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.numerics.compiled.buffered import BufferedFunction, MatrixFunction
from trundle.numerics.space import dot, lever

_POINT = 2e-9
"""Roundness up to which a rim lies flat: where its margin ends a mode, and round-off."""
_LEVEL = 1e-6
"""Difference in height, in sizes of the shape, of points that lie on the same line or face."""
_SOON = 0.05
"""How near, in sizes, parts of a shape are that may touch a little later."""
_RANK = 1e-10  # of the largest singular value: loops that depend on each other


def touch_function(system: ContactSystem, atlas: Atlas, contact: int) -> Callable[[FloatArray], list[FloatArray]]:
    """X -> (J, vrel, n, spin row, spin rate, M, x_A, x_B, n in B) of one contact, world axes; M at one state only."""
    free, kind = system.free, _kind(system, atlas, contact)

    def build() -> MatrixFunction:
        """Build the function of one atlas and one kind of contact."""
        model = system.expressions(atlas)
        joined = model.constraints[contact]
        tA, tB = kind.contact.touch(joined.A, joined.B, joined.s)
        on_both = joined.A.R.T @ tA.r, joined.B.R.T @ tB.r, joined.B.R.T @ tB.n
        outputs = [*_motion_between(model, joined, tA.r, tB.r, tB.n), *on_both]
        numbers = [] if free is None else [free.symbols]
        return MatrixFunction(ca.Function("touch", [model.x, kind.symbols, *numbers], outputs))

    place = contact if kind.key is None else (system.pair_of(contact)[0], kind.key)
    key, center = ("touch", atlas, place), np.array(system.contact_pairs[contact].center_A)[:, None]
    function = system.share(key, build)

    def touch(x: FloatArray) -> list[FloatArray]:
        numbers = kind.numbers if np.ndim(x) == 1 else np.repeat(kind.numbers[:, None], np.shape(x)[1], axis=1)
        found = function(x, numbers) if free is None else function(x, numbers, free.values)
        found.insert(5, _inertia(system, atlas, x) if np.ndim(x) == 1 else np.zeros((0, 0)))
        found[6] = found[6] - center
        return found

    return touch


def _kind(system: ContactSystem, atlas: Atlas, contact: int) -> OfKind:
    """Return a contact with its numbers as symbols, unless numbers are symbols already."""
    joined = system.expressions(atlas).constraints[contact].contact
    if system.free is None:
        return system.keep(("kind", atlas, contact), lambda: joined.of_kind)
    return OfKind(joined, ca.SX(0, 1), np.zeros(0), None)


def _motion_between(
    model: TreeModel, joined: ContactConstraint, r_A: ca.SX, r_B: ca.SX, n: ca.SX
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return J, vrel and n, world axes, the spin row and the spin rate of points r_A, r_B of two bodies."""
    A, B, W = joined.A, joined.B, model.to_world
    J = A.Jv + lever(r_A) @ A.Jw - B.Jv - lever(r_B) @ B.Jw
    velocity = A.v + lever(r_A) @ A.w - B.v - lever(r_B) @ B.w
    spin_row = n.T @ (A.Jw - B.Jw) if model.d == 3 else ca.SX(1, model.nv)
    spin_rate = dot(n, A.w - B.w) if model.d == 3 else ca.SX(1, 1)
    return W @ J, W @ velocity, W @ n, spin_row, spin_rate


def _inertia(system: ContactSystem, atlas: Atlas, x: FloatArray) -> FloatArray:
    """Return M (nv, nv) at a state, which the contacts that are looked at one after the other share."""
    free = system.free

    def build() -> MatrixFunction:
        model = system.expressions(atlas)
        numbers = [] if free is None else [free.symbols]
        return MatrixFunction(ca.Function("inertia", [model.x, *numbers], [model.inertia_terms()[0]]))

    function = system.share(("inertia", atlas), build)
    last: list[tuple[bytes, FloatArray]] = system.keep(("inertia at", atlas), list)
    state = np.asarray(x).tobytes()
    for known, M in last:
        if known == state:
            return M
    M = function(x)[0] if free is None else function(x, free.values)[0]
    M.setflags(write=False)
    last[:] = [(state, M)]
    return M


@dataclass(frozen=True)
class Strike:
    """One point in which two shapes meet: on A and on B (d,), m, and the normal out of B, each in its shape's frame."""

    x_A: FloatArray
    x_B: FloatArray
    n_B: FloatArray


def strike_function(
    system: ContactSystem, atlas: Atlas, contact: int
) -> Callable[[FloatArray, Strike], list[FloatArray]]:
    """(x, strike) -> (J, vrel, n, spin row, spin rate, M) as of `touch_function`, of shapes that meet in any point."""
    free, center = system.free, np.array(system.contact_pairs[contact].center_A)

    def build() -> MatrixFunction:
        """Build the function of one atlas."""
        model = system.expressions(atlas)
        joined = model.constraints[contact]
        x_A, x_B, n_B = (ca.SX.sym(name, model.d) for name in ("x_A", "x_B", "n_B"))
        points = joined.A.R @ x_A, joined.B.R @ x_B, joined.B.R @ n_B
        outputs = [*_motion_between(model, joined, *points), model.inertia_terms()[0]]
        symbols = [model.x, x_A, x_B, n_B, *([] if free is None else [free.symbols])]
        return MatrixFunction(ca.Function("strike", symbols, outputs))

    function = system.share(("strike", atlas, contact), build)

    def touch(x: FloatArray, strike: Strike) -> list[FloatArray]:
        arguments = [x, strike.x_A + center, strike.x_B, strike.n_B, *([] if free is None else [free.values])]
        return function(*arguments)

    return touch


def contact_points(
    system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (x_A, x_B, n_B): the contact's points in the frames of both shapes and B's normal in B's frame."""
    values = touch_function(system, atlas, contact)(x)
    return tuple(np.asarray(v).ravel() for v in values[6:9])  # type: ignore[return-value]


def points_on_both(
    system: ContactSystem, atlas: Atlas, states: FloatArray, contact: int
) -> tuple[FloatArray, FloatArray]:
    """Return the contact's points (N, d), m, in the frames of A's and of B's shape at the states (N, n_x)."""
    values = touch_function(system, atlas, contact)(states.T)
    return np.asarray(values[6]).T, np.asarray(values[7]).T


def lies_flat(system: ContactSystem, x: FloatArray, contact: int) -> bool:
    """Return whether a rim, or that of a face's point, is so level at the state `x` that its face touches."""
    rim = system.rims.get(contact, contact)
    if rim not in system.faces:
        return False

    def build() -> ca.Function:
        model = system.model()
        constraint = model.constraints[rim]
        limits = constraint.contact.limits(constraint.A, constraint.B, constraint.s)
        return ca.Function("roundness", [model.x], [limits["roundness"]])

    return float(system.keep(("roundness", rim), build)(x)) <= _POINT


def may_touch(system: ContactSystem, x: FloatArray, contact: int, soon: bool = False) -> bool:
    """Return whether a contact may close at the state `x`: of a rim and its face, and of parts of a body, one does.

    ``soon``: of parts of a body that are near it, also those that may do so a little later.
    """
    if contact in system.beside:
        near = abs(gap_of(system, x, contact)) < _SOON * system.contact_pairs[contact].shape_A.reference_length
        return feature_margin(system, x, contact) > (-_SOON if soon and near else -_LEVEL)
    return contact not in (system.faces if lies_flat(system, x, contact) else system.rims)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Contacts of one kind of the parts of a shape: (R, p, numbers) of A's frame in B's -> gap (m), margin (sizes)."""

    contacts: tuple[int, ...]
    function: MatrixFunction
    numbers: FloatArray


def parts_at(system: ContactSystem, x: FloatArray, contact: int) -> Mapping[int, tuple[float, float]]:
    """Return gaps (m) and margins (sizes) of the contacts of all parts of the shape of one, at the state `x`."""
    first, pair = system.pair_of(contact)[0], system.contact_pairs[contact]
    kinds: list[_Parts] = system.keep(("parts", first), lambda: _kinds_of_parts(system, system.pair_of(contact)))
    last: list[tuple[bytes, Mapping[int, tuple[float, float]]]] = system.keep(("parts at", first), list)
    state = np.asarray(x).tobytes()
    for known, found in last:
        if known == state:
            return found
    R, p = system.relative_pose(x, contact)
    pose = R.ravel(order="F"), p - R @ np.array(pair.center_A)
    found = {}
    for kind in kinds:
        count = kind.numbers.shape[1]
        poses = (np.repeat(part[:, None], count, axis=1) for part in pose)
        gaps, margins = (np.ravel(value).tolist() for value in kind.function(*poses, kind.numbers))
        found |= dict(zip(kind.contacts, zip(gaps, margins, strict=True), strict=True))
    last[:] = [(state, found)]
    return found


def _kinds_of_parts(system: ContactSystem, contacts: Sequence[int]) -> list[_Parts]:
    """Return the contacts of the parts of a shape by their kinds."""
    groups: dict[Hashable, list[tuple[int, OfKind]]] = {}
    for i in contacts:
        kind = _kind(system, system.first_atlas, i)
        groups.setdefault(i if kind.key is None else kind.key, []).append((i, kind))
    made, d = [], system.d
    for group in groups.values():
        kind, B = group[0][1], still(d, 0)
        R, p = ca.SX.sym("R", d * d), ca.SX.sym("p", d)
        A, none = replace(B, R=ca.reshape(R, d, d), p=p), ca.SX(0, 1)
        tA, tB = kind.contact.touch(A, B, none)
        gap, margin = dot(tB.n, p + tA.r - tB.r), kind.contact.limits(A, B, none)["feature"]
        function = MatrixFunction(ca.Function("part", [R, p, kind.symbols], [gap, margin]))
        numbers = np.stack([one.numbers for _, one in group], axis=1)
        made.append(_Parts(tuple(i for i, _ in group), function, numbers))
    return made


def feature_margin(system: ContactSystem, x: FloatArray, contact: int) -> float:
    """Return how far inside its feature (sizes), and the normal inside its cone, the point of a contact is."""
    if system.free is None:
        return parts_at(system, x, contact)[contact][1]
    kind = _kind(system, system.first_atlas, contact)

    def build() -> MatrixFunction:
        model = system.expressions(system.first_atlas)
        constraint = model.constraints[contact]
        limits = kind.contact.limits(constraint.A, constraint.B, constraint.s)
        numbers = [] if system.free is None else [system.free.symbols]
        return MatrixFunction(ca.Function("margin", [model.x, kind.symbols, *numbers], [limits["feature"]]))

    place = contact if kind.key is None else (system.pair_of(contact)[0], kind.key)
    function = system.share(("feature", place), build)
    free = [] if system.free is None else [system.free.values]
    return float(function(x, kind.numbers, *free)[0].item())


def near_features(system: ContactSystem, x: FloatArray, numbers: Sequence[int], reach: float) -> list[int]:
    """Return those of the features of one shape, by their contacts, that may be nearer than `reach`, m, to the other.

    By balls around them: of most features of a body that touches that is all that needs to be known. Of facets the
    other's are meant, too.
    """
    pair = system.contact_pairs[numbers[0]]
    key = ("balls around features", system.pair_of(numbers[0])[0])
    (middles, radii), *others = system.keep(key, lambda: balls_around_parts(pair.shape_A, pair.shape_B, pair.form))
    pieces = [system.contact_pairs[i].piece or 0 for i in numbers]
    R, p = system.relative_pose(x, numbers[0])
    at, gaps = middles[pieces] @ R.T + p, -radii[pieces]
    if others:
        ((middles_B, radii_B),) = others
        gaps = gaps + np.linalg.norm(at - middles_B[pieces], axis=1) - radii_B[pieces]
    else:
        gaps = gaps + pair.shape_B.distance(at)[0]
    return [numbers[k] for k in np.flatnonzero(gaps < reach).tolist()]


def face_below(system: ContactSystem, x: FloatArray, rim: int) -> list[int]:
    """Return the contacts of the points of the face that a rim turns to the flat at the state `x`."""
    pair = system.contact_pairs[rim]
    pieces = pair.shape_A.representations.pieces
    R, _ = system.relative_pose(x, rim)
    down = -(R.T @ contact_points(system, system.first_atlas, x, rim)[2])
    axis = int(np.argmax(np.abs(down)))
    levels = {i: np.sign(down[axis]) * pieces[system.contact_pairs[i].piece or 0].at[axis] for i in system.faces[rim]}
    highest = max(levels.values()) - _LEVEL * pair.shape_A.reference_length
    return [i for i, level in levels.items() if level >= highest]


def gap_of(system: ContactSystem, x: FloatArray, contact: int) -> float:
    """Return the gap of a contact without coordinates, m."""
    if contact in system.beside and system.free is None:
        return parts_at(system, x, contact)[contact][0]
    R, p = system.relative_pose(x, contact)
    on_A, on_B, normal = contact_points(system, system.first_atlas, x, contact)
    return float(normal @ (p + R @ on_A - on_B))


def open_gap(system: ContactSystem, x: FloatArray, contact: int, least: float = 0.0) -> float:
    """Return the gap of a contact without coordinates, m; where others touch in its place, how far it is from that.

    It touches from the margin `least` of its feature on.
    """
    gap = gap_of(system, x, contact)
    if contact not in system.beside:
        return gap
    size = system.contact_pairs[contact].shape_A.reference_length
    return max(gap, (least - feature_margin(system, x, contact)) * size)


def lowest(system: ContactSystem, x: FloatArray, contacts: Sequence[int] | None = None) -> list[int]:
    """Return those of the `contacts` (default: all) of one shape that are the next ones to touch, at the state `x`."""
    numbers = list(range(len(system.contact_pairs)) if contacts is None else contacts)
    if len(numbers) == 1:
        return numbers
    numbers = [i for i in numbers if may_touch(system, x, i)]
    gaps = [gap_of(system, x, i) for i in numbers]
    reach = _LEVEL * system.contact_pairs[numbers[0]].shape_A.reference_length
    return [i for i, gap in zip(numbers, gaps, strict=True) if gap <= min(gaps) + reach]


def velocities_changed(system: ContactSystem, atlas: Atlas, x: FloatArray, jump: FloatArray) -> FloatArray:
    """Return x with nu + `jump` (nv,) in place of nu."""

    def build() -> BufferedFunction:
        model = system.model(atlas)
        step = ca.SX.sym("jump", model.nv)
        s = ca.vertcat(*(joined.s for joined in model.constraints))
        return BufferedFunction(ca.Function("changed", [model.x, step], [model.replace_contacts(s, model.nu + step)]))

    return system.keep(("changed", atlas), build)(x, jump)[0]


def inertia_at(system: ContactSystem, atlas: Atlas, x: FloatArray) -> FloatArray:
    """Return M (nv, nv)."""
    return _inertia(system, atlas, x)


def speeds_at(system: ContactSystem, atlas: Atlas, x: FloatArray) -> dict[str, float]:
    """Return the speed (m/s) of each body: of its centre of mass, plus of its turning at its radius of gyration."""

    def build() -> BufferedFunction:
        model, speeds = system.model(atlas), {}
        for spec in model.specs:
            motion = model.motions[spec.name]
            gyration = np.sqrt(np.max(spec.inertia) / spec.mass) if spec.mass else 0.0
            center = motion.at(ca.SX(ca.DM(spec.com or (0.0,) * model.d)))
            speeds[spec.name] = ca.norm_2(center.v) + gyration * ca.norm_2(motion.w)
        return BufferedFunction(ca.Function("speeds", [model.x], [ca.vertcat(*speeds.values())]))

    speeds = system.keep(("speeds", atlas), build)(x)[0].tolist()
    return dict(zip((spec.name for spec in system.model(atlas).specs), speeds, strict=True))


def loops_at(system: ContactSystem, atlas: Atlas, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return J (m, nv) and the distances (m,), m, of all pins; m = 0: there are none."""

    def build() -> ca.Function:
        model = system.model(atlas)
        J, apart = ca.SX(0, model.nv), ca.SX(0, 1)
        for loop in model.loops:
            rows, _, _, position = loop.rows
            J, apart = ca.vertcat(J, rows), ca.vertcat(apart, position)
        return ca.Function("pins", [model.x], [J, apart])

    J, apart = system.keep(("pins", atlas), build)(x)
    return np.asarray(J), np.asarray(apart).ravel()


def loop_speeds(system: ContactSystem, atlas: Atlas, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return J (m, nv) of all pins and the velocities (m,), m/s, with which their two points part."""

    def build() -> ca.Function:
        model = system.model(atlas)
        J, speeds = ca.SX(0, model.nv), ca.SX(0, 1)
        for loop in model.loops:
            rows, _, velocity, _ = loop.rows
            J, speeds = ca.vertcat(J, rows), ca.vertcat(speeds, velocity)
        return ca.Function("pin_speeds", [model.x], [J, speeds])

    J, speeds = system.keep(("pin_speeds", atlas), build)(x)
    return np.asarray(J), np.asarray(speeds).ravel()


def free_directions(system: ContactSystem, atlas: Atlas, x: FloatArray) -> FloatArray | None:
    """Return an orthonormal basis (nv, k) of the velocities that the pins allow, or None where there are no pins."""
    if not system.model(atlas).loops:
        return None
    return np.asarray(null_space(loops_at(system, atlas, x)[0], rcond=_RANK), dtype=np.float64)
