"""Planar parametric curves as numbers with three derivatives written by hand (sheet 4 section 0).

`Curve.at(t)` is (4, 2): the point and its first three derivatives. Terrain runs with its free side on the left, a
body's outline
runs counter-clockwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad

Array = np.ndarray


@dataclass(frozen=True)
class Curve:
    """A curve given by `at(t)` -> (4, 2): point, a', a'', a'''; m and the parameter's unit."""

    at: Callable[[float], Array]

    def reversed(self) -> Curve:
        """The same curve run the other way: t -> -t."""
        return Curve(lambda t: self.at(-t) * np.array([1.0, -1.0, 1.0, -1.0])[:, None])

    def tangent(self, t: float) -> tuple[Array, float]:
        """Unit tangent (2,) and |a'|."""
        d = self.at(t)[1]
        return d / np.hypot(*d), float(np.hypot(*d))

    def curvature(self, t: float) -> tuple[float, float]:
        """Signed curvature k = d(tangent angle)/ds and dk/ds."""
        _, d1, d2, d3 = self.at(t)
        size = np.hypot(*d1)
        k = cross(d1, d2) / size**3
        return k, (cross(d1, d3) / size**3 - 3 * cross(d1, d2) * (d1 @ d2) / size**5) / size

    def length(self, t0: float, t1: float) -> float:
        """Arc length from t0 to t1 (m, signed), adaptive quadrature."""
        return float(quad(lambda t: np.hypot(*self.at(t)[1]), t0, t1, epsabs=1e-14, epsrel=1e-13, limit=500)[0])


def cross(a: Array, b: Array) -> float:
    """Planar cross product a x b."""
    return float(a[0] * b[1] - a[1] * b[0])


def graph(derivatives: Callable[[float], tuple[float, float, float, float]]) -> Curve:
    """Terrain z = f(x): `derivatives(x)` -> (f, f', f'', f''')."""

    def at(x: float) -> Array:
        f = derivatives(x)
        return np.array([[x, f[0]], [1.0, f[1]], [0.0, f[2]], [0.0, f[3]]])

    return Curve(at)


def line(slope: float = 0.0, offset: float = 0.0) -> Curve:
    """z = slope x + offset."""
    return graph(lambda x: (slope * x + offset, slope, 0.0, 0.0))


def parabola(curvature: float) -> Curve:
    """z = curvature x^2, as in the scenario file."""
    return graph(lambda x: (curvature * x * x, 2 * curvature * x, 2 * curvature, 0.0))


def sinusoid(amplitude: float, wavelength: float, phase: float = 0.0) -> Curve:
    """z = amplitude sin(2 pi x/wavelength + phase)."""
    return graph(wave(amplitude, 2 * np.pi / wavelength, phase))


def wave(a: float, k: float, phase: float) -> Callable[[float], tuple[float, float, float, float]]:
    """Derivatives of a sin(k x + phase)."""

    def derivatives(x: float) -> tuple[float, float, float, float]:
        s, c = np.sin(k * x + phase), np.cos(k * x + phase)
        return a * s, a * k * c, -a * k * k * s, -a * k**3 * c

    return derivatives


def undulating() -> Curve:
    """Sheet 4's undulating terrain: z = .10 x^2 + .06 sin(2.3 x + .7) + .05 cos 1.3 x."""
    terms = (wave(0.06, 2.3, 0.7), wave(0.05, 1.3, np.pi / 2), lambda x: (0.1 * x * x, 0.2 * x, 0.2, 0.0))
    return graph(lambda x: tuple(float(sum(v)) for v in zip(*(term(x) for term in terms), strict=True)))


def catenary(a: float) -> Curve:
    """z = -a cosh(x/a): the road of a square wheel of side 2 a."""
    return graph(lambda x: (-a * np.cosh(x / a), -np.sinh(x / a), -np.cosh(x / a) / a, -np.sinh(x / a) / a**2))


def ellipse(a: float, b: float) -> Curve:
    """Counter-clockwise ellipse (a cos t, b sin t)."""
    scale = np.array([a, b])

    def at(t: float) -> Array:
        c, s = np.cos(t), np.sin(t)
        return np.array([[c, s], [-s, c], [-c, -s], [s, -c]]) * scale

    return Curve(at)


def circle(radius: float) -> Curve:
    """Counter-clockwise circle."""
    return ellipse(radius, radius)


def arc(radius: float, center: tuple[float, float] = (0.0, 0.0), side: str = "inside") -> Curve:
    """Bowl ("inside", parameter = angle from the bottom, to the right) or hill ("outside", angle from the top, to the
    right)."""
    sign = -1.0 if side == "inside" else 1.0

    def at(t: float) -> Array:
        c, s = np.cos(t), np.sin(t)
        shape = np.array([[s, sign * c], [c, -sign * s], [-s, -sign * c], [-c, sign * s]])
        return radius * shape + np.array([center, (0, 0), (0, 0), (0, 0)])

    return Curve(at)


def fourier(radius: float, cos: list[float] = (), sin: list[float] = ()) -> Curve:
    """Outline r(phi) = radius (1 + sum_k c_k cos k phi + s_k sin k phi), counter-clockwise."""

    def at(t: float) -> Array:
        r = np.array([1.0, 0.0, 0.0, 0.0])
        for k, a in enumerate(cos, 1):
            r += a * np.array([np.cos(k * t), -k * np.sin(k * t), -(k**2) * np.cos(k * t), k**3 * np.sin(k * t)])
        for k, a in enumerate(sin, 1):
            r += a * np.array([np.sin(k * t), k * np.cos(k * t), -(k**2) * np.sin(k * t), -(k**3) * np.cos(k * t)])
        e = [np.array([np.cos(t + j * np.pi / 2), np.sin(t + j * np.pi / 2)]) for j in range(4)]  # e, e', e'', e'''
        r *= radius
        return np.array(
            [
                r[0] * e[0],
                r[1] * e[0] + r[0] * e[1],
                r[2] * e[0] + 2 * r[1] * e[1] + r[0] * e[2],
                r[3] * e[0] + 3 * r[2] * e[1] + 3 * r[1] * e[2] + r[0] * e[3],
            ]
        )

    return Curve(at)


def rock() -> Curve:
    """Sheet 4's rock: r = .3 (1 + .10 cos 2phi + .02 cos 3phi + .02 sin 2phi - .015 sin 3phi)."""
    return fourier(0.3, [0.0, 0.10, 0.02], [0.0, 0.02, -0.015])
