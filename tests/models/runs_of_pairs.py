"""Pairs that are run both by the package and by the maximal-coordinate oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import trundle as tr
from tests.contact import pairs, twins
from tests.oracles import implicit, runs, spatial, supports
from trundle.geometry import Representations

INERTIA = [0.008, 0.011, 0.013]
SHAKE = {"amplitude": [0.4, -0.6, 0.5, 1.0, 0.8, 0.9], "frequency": [0.7, 1.1, 0.5, 0.9, 1.3, 0.6],
         "phase": [0.1, 0.5, 1.0, 0.3, -0.4, 2.0]}  # fmt: skip


class PolarSphere(tr.Sphere):
    """A sphere whose only chart is the papers' polar one: orthogonal, singular at the poles."""

    def bundle(self) -> Representations:
        return replace(super().bundle(), charts=(self.polar_chart(),))


class PolarDish(tr.Dish):
    """A dish whose only chart is the papers' polar one: skewed."""

    def bundle(self) -> Representations:
        return replace(super().bundle(), charts=(self.polar_chart(),))


@dataclass(frozen=True)
class Case:
    body: tr.Shape
    hand: tr.Shape
    twins: tuple[Any, implicit.Level]
    at: list[float]
    w: list[float]
    orientation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    law: str = "rolling"
    hand_twist: tuple[float, ...] = (0.0,) * 6
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0)
    center: tuple[float, ...] = (0.0, 0.0, 0.0)
    motion: dict[str, list[float]] | None = None
    duration: float = 5.0

    def pair(self, **options: Any) -> tr.RollingPair:
        body = tr.RigidBody(self.body, mass=0.8, inertia=INERTIA, center_of_mass=self.center)
        motion = tr.SinusoidMotion(**self.motion) if self.motion else tr.Coast()
        hand = tr.Hand(self.hand, position=[0.1, -0.2, 0.3], rpy=self.rpy, twist=self.hand_twist, motion=motion)
        return tr.RollingPair(body, hand, law=self.law, on_slip="ignore", on_separation="ignore", **options)

    def start(self, pair: tr.RollingPair) -> Any:
        w = np.array(self.w)
        if self.law == "pure-rolling":  # no spin relative to the hand
            R = pair.base.R_world_hand
            n = R @ self.twins[1].normal(np.ravel(self.hand.closest([self.at])))
            w = w - n * (n @ (w - R @ np.array(self.hand_twist[:3])))
        return pair.place(contact_on_hand=self.at, object_quaternion=self.orientation, object_angular_velocity=w), w

    def run(self, **options: Any) -> Any:
        pair = self.pair(**options)
        start, _ = self.start(pair)
        return tr.simulate(pair, start, self.duration, output_step=self.duration / 20, relative_tolerance=1e-13)


DISH, ELLIPSOID = [2.0, 1.5, 1.2], [0.3, 0.2, 0.15]
TURNED = (0.9, 0.3, -0.1, (1 - 0.81 - 0.09 - 0.01) ** 0.5)
CASES: dict[str, Callable[[], Case]] = {
    "sphere on a moving plate": lambda: Case(
        tr.Sphere(0.2), tr.Plane(), (implicit.sphere(0.2), implicit.Plane()), [0.1, 0.2, 0], [1.0, -0.5, 3.0],
        hand_twist=(0, 0, 2.0, 0.1, 0.2, 0.0), center=(0.01, 0.005, -0.02), motion=SHAKE,
    ),
    "ellipsoid in a dish": lambda: Case(
        tr.Ellipsoid(ELLIPSOID), tr.Dish(DISH), (implicit.ellipsoid(ELLIPSOID), implicit.dish(DISH)),
        [0.3, 0.2, -1.1], [0.5, 0.4, 1.0], TURNED, hand_twist=(0.1, -0.1, 0.5, 0, 0, 0), motion=None,
    ),
    "ellipsoid in a dish, pure": lambda: replace(case("ellipsoid in a dish"), law="pure-rolling"),
    "ellipsoid below an ellipsoid": lambda: Case(
        tr.Ellipsoid([0.2, 0.15, 0.18]), tr.Ellipsoid([0.4, 0.5, 0.6]),
        (implicit.ellipsoid([0.2, 0.15, 0.18]), implicit.ellipsoid([0.4, 0.5, 0.6])),
        [0.1, 0.1, -0.55], [0.3, -0.4, 0.5], TURNED, motion={**SHAKE, "amplitude": [0.2] * 6},
    ),
    "superellipsoid on a shaking plate": lambda: Case(
        tr.Superellipsoid([0.1, 0.09, 0.12], 1.7, rounding=0.05), tr.Plane(),
        (supports.rounded(supports.superellipsoid([0.1, 0.09, 0.12], 1.7), 0.05), implicit.Plane()),
        [0.1, 0.2, 0], [0.4, -0.3, 1.0], motion={**SHAKE, "amplitude": [0.1, 0.1, 0.2, 0.5, 0.4, 0.3]},
    ),
    "blunt body on a saddle": lambda: Case(  # from the middle: it stays on the data for the five seconds
        tr.Superellipsoid([0.1, 0.08, 0.06], 2.5, rounding=0.04), pairs.hand_named("saddle").shape,
        (twins.blunt([0.1, 0.08, 0.06], 2.5, 0.04), pairs.hand_named("saddle").twin), [0.0, 0.0, 0.0],
        [0.5, -0.4, 0.3], TURNED, hand_twist=(0.05, -0.03, 0.3, 0, 0, 0),
    ),
    "sphere on skewed charts": lambda: Case(
        PolarSphere(0.2), PolarDish(DISH), (implicit.sphere(0.2), implicit.dish(DISH)), [1.06, 0.45, -0.95],
        [0.3, -0.2, 0.4], (0.7, 0.5, -0.3, 0.17**0.5), hand_twist=(0.1, 0.2, 0.3, 0, 0, 0),
    ),
}  # fmt: skip


@cache
def case(name: str) -> Case:
    return CASES[name]()


@cache
def oracle(name: str) -> dict[str, Any]:
    """Positions and rotations of the oracle's run at the same times."""
    c = case(name)
    pair = c.pair()
    _, w = c.start(pair)
    body = spatial.Body(c.twins[0], 0.8, np.diag(INERTIA), np.array(c.center))
    R, r, V = pair.base.R_world_hand, np.array(pair.base.position), np.array(c.hand_twist)
    shake = c.motion or {"amplitude": [0.0] * 6, "frequency": [0.0] * 6, "phase": [0.0] * 6}
    a, f, phi = (np.array(shake[k]) for k in ("amplitude", "frequency", "phase"))
    hand = spatial.hand_from_body_twist(R, r, V, np.zeros(6))
    x_h = np.ravel(c.hand.closest([c.at]))
    R_o = spatial.rotation(np.array(c.orientation))
    n_o = -R_o.T @ R @ c.twins[1].normal(x_h)
    x_o = c.twins[0].point(n_o) if isinstance(c.twins[0], supports.Support) else None
    seed_o = implicit.point_with_normal(c.twins[0], n_o) if x_o is None else x_o
    state = spatial.place(body, c.twins[1], hand, x_h, R_o, w, seed_o)
    system = runs.System(body, c.twins[1], lambda t: a * np.sin(2 * np.pi * f * t + phi), law=c.law, baumgarte=5.0)
    times = np.linspace(0, c.duration, 401)  # close enough for each search to start from the last contact
    done = runs.integrate(
        system, runs.pack(state, R, r, V), c.duration, times, seed=(seed_o, x_h), rtol=1e-11, atol=1e-12
    )
    return {"p": np.array([s.p for s in done["states"]])[::20], "R": np.array([s.R for s in done["states"]])[::20],
            "force": np.array([o["force"] for o in done["outputs"]])[::20]}  # fmt: skip
