"""Steady motions: states that move as a whole, along, about the vertical, about a body's axis, joints evenly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray
from trundle.geometry.shape import Shape
from trundle.models.tree.model import TreeModel
from trundle.models.tree.system import ContactSystem
from trundle.numerics.space import cross, orientation_rate, orientation_rate_body

_DIRECTIONS = np.array([[3.0, 0.0, 4.0], [0.0, -4.0, 3.0], [2.0, 3.0, 6.0], [-6.0, 2.0, -3.0]]) / [[5], [5], [7], [7]]
_STILL = 1e-9
"""Rate (SI) that counts as zero."""
_STEADY = 1e-8
"""What may be missing of a steady motion, over its rates."""


@dataclass(frozen=True, eq=False)
class Steady:
    """A steady motion: x' = sum of `rates` times the fields of the same names."""

    rates: dict[str, float]
    slope: FloatArray
    """d x'/dx (n_x, n_x) of these fields: what an observer does not see who moves along."""


class Fields:
    """The fields of motions that a model may not notice, as rates of x (poses and velocities alone)."""

    def __init__(self, system: ContactSystem, model: TreeModel) -> None:
        named = list(_fields(system, model))
        self._names, fields = [name for name, _ in named], [field for _, field in named]
        c = ca.SX.sym("c", len(self._names))
        whole = ca.mtimes(ca.horzcat(*fields), c) if fields else ca.SX(model.x.shape[0], 1)
        self._columns = ca.Function("columns", [model.x], [ca.densify(ca.jacobian(whole, c))])
        self._slope = ca.Function("slope", [model.x, c], [ca.densify(ca.jacobian(whole, model.x))])

    def steady(self, P: FloatArray, X: FloatArray, x: FloatArray, rate: FloatArray, slope: FloatArray) -> Steady | None:
        """Return what moves the state `x` on as a whole at the `rate` (n_x,) it has, or None.

        `slope` is d(x')/dx; P and X are as `independent` returns them. Of several ways the one without a body that
        spins about an axis of its own. That the model does not notice is checked: [f, field] = 0 at x.
        """
        z_rate = P @ rate
        size = float(np.linalg.norm(z_rate))
        if size <= _STILL:
            return None
        columns = P @ np.asarray(self._columns(x))
        plain = [i for i, name in enumerate(self._names) if " about its " not in name]
        for some in (plain, range(len(self._names))):
            chosen = list(some)
            c = np.zeros(len(self._names))
            c[chosen] = np.linalg.lstsq(columns[:, chosen], z_rate, rcond=1e-10)[0]
            if float(np.linalg.norm(columns @ c - z_rate)) > _STEADY * size:
                continue
            moving = np.asarray(self._slope(x, c))
            unnoticed = P @ (slope - moving) @ X @ z_rate
            if float(np.linalg.norm(unnoticed)) <= _STEADY * size * max(1.0, float(np.linalg.norm(P @ slope @ X))):
                rates = zip(self._names, c.tolist(), strict=True)
                return Steady({name: rate for name, rate in rates if abs(rate) > _STEADY * size}, moving)
        return None

    def beyond(self, P: FloatArray, x: FloatArray, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the projector (n, n) onto what no field moves, and the slope of the fields nearest to the rate."""
        columns = P @ np.asarray(self._columns(x))
        inverse = np.linalg.pinv(columns, rcond=1e-10)
        return np.eye(len(P)) - columns @ inverse, np.asarray(self._slope(x, inverse @ (P @ rate)))


def _fields(system: ContactSystem, model: TreeModel) -> Iterator[tuple[str, ca.SX]]:
    layout, d, n = model.layout, model.d, model.x.shape[0]
    bodies = [key.removesuffix(".position") for key in layout if key.endswith(".position")]

    def own(name: str, key: str) -> ca.SX:
        return model.x[layout[f"{name}.{key}"]]

    for i in range(d):
        along = ca.SX(n, 1)
        for name in bodies:
            along[layout[f"{name}.position"].start + i] = 1.0
        yield f"along {'xyz'[i] if d == 3 else 'xz'[i]}", along
    for name in model.joints:
        where, rate = layout[f"{name}.joint"], layout[f"{name}.rate"]
        if where.stop - where.start == rate.stop - rate.start:
            for i in range(where.start, where.stop):
                field = ca.SX(n, 1)
                field[i] = 1.0
                yield f"{name}[{i - where.start}]", field
    if d == 2:
        return
    g = np.array(ca.DM(ca.substitute(model.gravity, model.x, ca.DM.zeros(n)))).ravel()
    up = -g / np.linalg.norm(g) if np.any(g) else np.array([0.0, 0.0, 1.0])
    turn = ca.SX(n, 1)
    for name in bodies:
        turn[layout[f"{name}.position"]] = cross(ca.SX(up), own(name, "position"))
        turn[layout[f"{name}.orientation"]] = orientation_rate(own(name, "orientation"), ca.SX(up))
        for key in ("angular_velocity", "velocity"):
            if f"{name}.{key}" in layout:
                turn[layout[f"{name}.{key}"]] = cross(ca.SX(up), own(name, key))
    yield "about the vertical", turn
    for name in bodies:
        for i in _axes_of_revolution(system, model, name) if f"{name}.angular_velocity" in layout else ():
            axis, spin = np.eye(3)[i], ca.SX(n, 1)
            spin[layout[f"{name}.orientation"]] = orientation_rate_body(own(name, "orientation"), ca.SX(axis))
            yield f"{name} about its {'xyz'[i]}", spin


def _axes_of_revolution(system: ContactSystem, model: TreeModel, name: str) -> Iterator[int]:
    """Yield which axes of a body it may be turned about without anything being different."""
    if name in model.parents.values():
        return
    shapes = [(m.shape_A, m.center_A) for m in system.shape_pairs.values() if m.body_A == name]
    shapes += [(m.shape_B, (0.0,) * 3) for m in system.shape_pairs.values() if m.body_B == name]
    inertias = [(body.inertia, body.com or (0.0,) * 3) for body in model.bodies if body.name == name]
    for i in range(3):
        R = Rotation.from_rotvec(np.eye(3)[i]).as_matrix()
        turned = all(np.allclose(R @ np.asarray(at), at) for _, at in (*shapes, *inertias)) and all(
            isinstance(inertia, float) or np.allclose(R @ inertia @ R.T, inertia) for inertia, _ in inertias
        )
        if turned and all(_of_revolution(shape, R) for shape, _ in shapes):
            yield i


def _of_revolution(shape: Shape, R: FloatArray) -> bool:
    """Whether a shape reaches as far along some directions as along those turned by `R`."""

    def reach(n: FloatArray) -> float:
        return float(np.max(shape.points_with_normal(n) @ n, initial=-np.inf))

    return all(np.isclose(reach(R @ n), reach(n)) for n in _DIRECTIONS)
