"""The distance of two convex bodies by their support functions, in C (`separation_core.c`)."""

from __future__ import annotations

import ctypes
from functools import lru_cache

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import CompileError
from trundle.geometry.shape import Shape
from trundle.geometry.support import EllipsoidSupport
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.compiled.compile import check_layout, load_core
from trundle.numerics.compiled.interpreter import interpret_function

_Evaluated = ctypes.CFUNCTYPE(
    ctypes.c_int, *(ctypes.POINTER(ctypes.POINTER(ctypes.c_double)),) * 2, *(ctypes.c_void_p,) * 2, ctypes.c_int
)


class BodyStruct(ctypes.Structure):
    """Mirror of ``Body``."""

    _fields_ = [
        ("eval", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("memory", "n_arg", "n_res", "n_iw", "n_w", "count")),
        ("points", ctypes.c_void_p),
    ]


def ball_radius(shape: Shape) -> float | None:
    """Return the radius (m) of a ball, a circle or a point; None of any other shape."""
    support = shape.representations.support
    if not isinstance(support, EllipsoidSupport) or shape.representations.hull or len(set(support.semi_axes)) > 1:
        return None
    return float(support.semi_axes[0] + support.rounding)


def ring_radii(shape: Shape) -> tuple[float, float] | None:
    """Return the radii (m) of the centre line, about z, and of the tube of a ring; None of any other shape."""
    support = shape.representations.support
    if not isinstance(support, EllipsoidSupport) or not shape.representations.hull:
        return None
    a, *others = (float(one) for one in support.semi_axes)
    return (a, float(support.rounding)) if others == [a, 0.0] else None


class SupportPoints:
    """Numbers of a support function, one direction at a time (final)."""

    def __init__(self, shape: Shape) -> None:
        self._d = shape.d
        self._call = BufferedFunction(_farthest(shape))

    def __call__(self, n: FloatArray) -> FloatArray:
        """Return the point (d,) that is farthest along the unit vector `n` (d,)."""
        x = self._call(n)[0]
        if not np.isfinite(x).all():  # on a kink: a direction beside it has a point of the same height
            x = self._call(n + 1e-12 * np.roll(np.eye(self._d)[0] - n, 1))[0]
        return x


def support_points(shape: Shape) -> SupportPoints:
    """Return the numbers of a shape's support function, made once a shape."""
    return shape.numeric(SupportPoints)


def _farthest(shape: Shape) -> ca.Function:
    """Return (normal) -> the point that is farthest along it."""
    support, n = shape.representations.support, ca.SX.sym("n", shape.d)
    if support is None:
        raise TypeError(f"{type(shape).__name__} has no support function")
    point = ca.densify(support.point_and_radii(n)[0])
    return ca.Function("support_point", [n], [point], {"cse": True})


class ConvexBody:
    """A convex body as C searches it: its core, which is swept with a ball (final).

    The core of a capsule is its axis: cores with corners are searched in a few steps, round bodies in many.

    Attributes
    ----------
    radius : float, m
        Of the ball.
    struct : BodyStruct
    """

    def __init__(self, shape: Shape) -> None:
        pieces = shape.representations.pieces
        radii = [ball_radius(piece.shape) for piece in pieces]  # pyright: ignore[reportArgumentType]
        balls = {radius for radius in radii if radius is not None}
        if len(balls) == 1 and None not in radii:
            self.radius = balls.pop()
            points = np.array([piece.at for piece in pieces], dtype=np.float64)
            self._kept: object = points
            self.struct = BodyStruct(count=len(points), points=points.ctypes.data)
            return
        self.radius, function = 0.0, _farthest(shape)
        found = interpret_function(function)
        if found is None:  # it calls others, as measured shapes do
            self._kept = called = _Called(SupportPoints(shape), shape.d)
            self.struct = BodyStruct(called.address, 0, 1, 1)
            return
        self._kept = found
        self.struct = BodyStruct(found.address, found.memory, *found.work_sizes)


class _Called:
    """The numbers of a support function as C calls them (final)."""

    def __init__(self, points: SupportPoints, d: int) -> None:
        def evaluate(arg: object, res: object, *_: object) -> int:
            normal = np.array(arg[0][:d])  # pyright: ignore[reportIndexIssue]
            for i, value in enumerate(points(normal).tolist()):
                res[0][i] = value  # pyright: ignore[reportIndexIssue]
            return 0

        self._function = _Evaluated(evaluate)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value


class ConvexPair:
    """Two convex bodies, whose distance is searched at any pose of A's in the frame of B's (final)."""

    def __init__(self, A: Shape, B: Shape) -> None:
        self._core = _core()
        self._A = A.numeric(ConvexBody)
        self._B = B.numeric(ConvexBody)
        self._d = A.d
        self._size = A.reference_length + B.reference_length
        self._bodies = ctypes.byref(self._A.struct), ctypes.byref(self._B.struct)

    def apart(
        self, R: FloatArray, p: FloatArray, guess: FloatArray
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the distance (m), its normal out of B, and the nearest points (d,) in the frames of A and B.

        ``guess`` (d,): a normal at which the search begins.
        """
        d, out = self._d, np.empty(1 + 3 * self._d)
        given = [np.ascontiguousarray(value, dtype=np.float64) for value in (R, p, guess)]
        failed = self._core.apart(
            *self._bodies, d, self._size, *(value.ctypes.data for value in given), out.ctypes.data
        )
        if failed == 2:
            raise MemoryError("no room for the distance of two bodies")
        if failed:
            out[:] = np.nan
        normal, x_A, x_B = out[1 : 1 + d], out[1 + d : 1 + 2 * d], out[1 + 2 * d :]
        r_A, r_B = self._A.radius, self._B.radius
        return float(out[0]) - r_A - r_B, normal, x_A - r_A * (given[0].T @ normal), x_B + r_B * normal

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        """Return the distance (m) between the planes across `normal` (d,), in B's axes, that touch both bodies."""
        given = [np.ascontiguousarray(value, dtype=np.float64) for value in (R, p, normal)]
        cores = self._core.along(*self._bodies, self._d, *(value.ctypes.data for value in given))
        return float(cores) - self._A.radius - self._B.radius


class _Core:
    """The loaded core."""

    def __init__(self, library: ctypes.CDLL) -> None:
        check_layout(library, {"separation_body_size": BodyStruct})
        pointer, number, real = ctypes.c_void_p, ctypes.c_longlong, ctypes.c_double
        self.apart, self.along = library["separation_apart"], library["separation_along"]
        self.apart.argtypes = [pointer, pointer, number, real, *(pointer,) * 4]
        self.along.argtypes = [pointer, pointer, number, *(pointer,) * 3]
        self.along.restype = real


def _core() -> _Core:
    library = load_core("trundle.geometry.queries", "separation_core")
    if library is None:
        raise CompileError("distances need the core that comes with the package, or a C compiler")
    return _load_core(library)


@lru_cache(maxsize=2)
def _load_core(library: ctypes.CDLL) -> _Core:
    return _Core(library)
