"""Shapes of all kinds fly at each other: a touch is found where brute force finds it, however long the look is away."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import trundle as tr
from tests.oracles.whole_shapes import gap, solid
from trundle.geometry.queries.separation import separation
from trundle.simulate.events.advancement import Look, PairPlace, WatchedPair, first_in

KINDS = ("sphere", "box", "capsule", "cylinder", "disc", "coin", "ellipsoid", "rounded", "torus")
GROUNDS = ("plane", "waves", "dish", "bowl", "tube")


def made(rng: np.random.Generator, kind: str, s: float) -> tr.Shape:
    """Return a shape of a random size about `s`, m."""

    def u(low: float, high: float) -> float:
        return float(s * rng.uniform(low, high))

    makers = {
        "sphere": lambda: tr.Sphere(u(0.3, 1)),
        "box": lambda: tr.Box([u(0.3, 1), u(0.3, 1), u(0.3, 1)]),
        "capsule": lambda: tr.Capsule(u(0.2, 0.5), u(0.3, 1.5)),
        "cylinder": lambda: tr.Cylinder(u(0.3, 1), u(0.3, 2)),
        "disc": lambda: tr.Disc(u(0.5, 1)),
        "coin": lambda: tr.Disc(u(0.5, 1), rounding=u(0.05, 0.2)),
        "ellipsoid": lambda: tr.Ellipsoid([u(0.3, 1), u(0.3, 1), u(0.3, 1)]),
        "rounded": lambda: tr.Rounded(tr.Box([u(0.3, 0.8), u(0.3, 0.8), u(0.3, 0.8)]), u(0.05, 0.2)),
        "torus": lambda: tr.Torus(u(0.6, 1), u(0.1, 0.3)),
        "plane": tr.Plane,
        "waves": lambda: tr.Extrusion(tr.Sinusoid(u(0.05, 0.3), u(2, 6))),
        "dish": lambda: tr.Dish([u(4, 6)] * 3),
        "bowl": lambda: tr.Dish([u(4, 6), u(4, 6), u(4, 6)]),
        "tube": lambda: tr.Tube(u(4, 6)),
    }
    return makers[kind]()


class Flight:
    """Two shapes that move without force, and looks at them."""

    def __init__(self, rng: np.random.Generator, kinds: tuple[str, str]) -> None:
        s = float(10 ** rng.uniform(-3, 1))
        ground = kinds[1] in GROUNDS
        self.A, self.B = made(rng, kinds[0], s), made(rng, kinds[1], s if ground else s * 10 ** rng.uniform(-0.5, 0.5))
        self.a, self.b, self.s = solid(self.A), solid(self.B), s
        v = float(10 ** rng.uniform(-1.5, 1.5))
        self.turns = [Rotation.random(random_state=rng).as_matrix() for _ in "ab"]
        self.w = [rng.normal(size=3) * v / s * rng.choice([0.0, 0.1, 1.0]) for _ in "ab"]
        if ground:
            self.turns[1], self.w[1] = np.eye(3), np.zeros(3)
            start = np.array([*rng.uniform(-0.5, 0.5, 2) * s, 0.0 if kinds[1] in ("dish", "bowl", "tube") else 6 * s])
            along = np.array([0.3, 0.2, -1.0]) + 0.4 * rng.normal(size=3)
            self.p, self.v, way = [start, np.zeros(3)], [v * along / np.linalg.norm(along), np.zeros(3)], 14 * s
        else:
            along, size = rng.normal(size=3), self.a.size + self.b.size
            along /= np.linalg.norm(along)
            aside = np.cross(along, rng.normal(size=3))
            far, carried = size * rng.uniform(2.5, 6), rng.normal(size=3) * v * rng.choice([0.0, 0.5])
            aside *= rng.uniform(0, 0.8) * size / np.linalg.norm(aside)
            self.p, self.v, way = [aside - far * along, np.zeros(3)], [v * along + carried, carried], far + 2 * size
        self.end = float(way / v)
        pair = SimpleNamespace(shape_A=self.A, shape_B=self.B)
        measure = separation(self.A, self.B)
        system = SimpleNamespace(contact_pairs=[pair], separation=lambda number: measure, d=3)
        self.pair = WatchedPair(system, 0)  # type: ignore[arg-type]
        self.fastest = v + sum(
            float(np.linalg.norm(w)) * 1.8 * one.size
            for w, one in zip(self.w, (self.a, self.b), strict=True)
            if one.size < np.inf
        )

    def pose(self, side: int, t: float) -> tuple[np.ndarray, np.ndarray]:
        return Rotation.from_rotvec(self.w[side] * t).as_matrix() @ self.turns[side], self.p[side] + self.v[side] * t

    def look(self, t: float, near: Look | None = None) -> Look:
        places = []
        for side in (0, 1):
            R, p = self.pose(side, t)
            arm = R @ self.pair.centers[side]
            places.append(PairPlace(R, p, self.w[side], self.v[side] + np.cross(self.w[side], arm), p + arm))
        return Look(self.pair, t, *places, None if near is None else near.normal)

    def gap(self, t: float, exact: bool = True) -> float:
        """Return the distance by brute force."""
        (R_A, p_A), (R_B, p_B) = self.pose(0, t), self.pose(1, t)
        return gap(self.a, self.b, R_B.T @ R_A, R_B.T @ (p_A - p_B), exact)

    def first(self) -> float | None:
        """Return when brute force sees them nearer than a thousandth of their size."""
        t = 0.0
        while t < self.end:
            here = self.gap(t, exact=False)
            if here < 1e-3 * self.s and (here := self.gap(t)) < 1e-3 * self.s:
                return t
            t += max(here, 1e-3 * self.s) / self.fastest
        return None


def judged(flight: Flight) -> str:
    """Compare the touch that is found with brute force, and say how that went."""
    begin, end = flight.look(0.0), flight.look(flight.end)
    if flight.gap(0.0) < 1e-2 * flight.s:
        return "overlap"
    found = first_in(begin, end, flight.look, False)
    if found is None:
        seen = flight.first()
        times = [] if seen is None else np.linspace(seen, min(seen + 20e-3 * flight.s / flight.fastest, flight.end), 25)
        deepest = min((flight.gap(float(t)) for t in times), default=1.0)
        assert deepest > -1e-4 * flight.s, f"touched at {seen} s without being seen"
        return "passed"
    before, after = found
    t = before.t
    if after.gap < 0:
        t = float(brentq(lambda t: flight.look(t, before).gap, before.t, after.t, xtol=1e-15, rtol=1e-15))
    there, size = flight.gap(t), max(one.size for one in (flight.a, flight.b) if one.size < np.inf)
    assert abs(there) < 2e-5 * size, f"{there / size} sizes apart where a touch was found"
    for earlier in np.linspace(0.0, t, 12)[:-1]:
        assert flight.gap(float(earlier), exact=False) > 0, "touched before"
    return "met"


@pytest.mark.parametrize("seed", range(6))
def test_a_touch_is_found_where_brute_force_finds_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    others = KINDS if seed % 2 else GROUNDS
    judged(Flight(rng, (str(rng.choice(KINDS)), str(rng.choice(others)))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS + GROUNDS)
def test_touches_of_all_pairs_of_shapes(kind: str, other: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind + other)))
    verdicts = [judged(Flight(rng, (kind, other))) for _ in range(3)]
    assert "met" in verdicts or "passed" in verdicts
