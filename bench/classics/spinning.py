"""Bodies that spin on a level plane: the rattleback rolls, tippe top and egg slide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from bench.classics import oracles
from bench.classics.classic import Answer, Classic, Quantity, pair_samples, timed
from bench.classics.scene import Body, Geom, Scene, part, rotation


@dataclass(frozen=True)
class Spinner:
    """An ellipsoid and how it starts on the plane; with friction `mu` it slides, without one it rolls."""

    body: oracles.Ellipsoid
    quaternion: tuple[float, ...]
    spin: tuple[float, float, float]  # rad/s, world
    duration: float
    mu: float | None = None

    @property
    def times(self) -> np.ndarray:
        """Times (n,) of samples, s."""
        return np.linspace(0, self.duration, 1001)

    @property
    def contact(self) -> np.ndarray:
        """Contact from the centre of mass at the start (3,), world."""
        R = rotation(self.quaternion)
        return R @ self.body.contact_at(R.T @ oracles.Z)

    @property
    def velocity(self) -> np.ndarray:
        """Velocity of the centre of mass at the start: rolling, or none sideways."""
        v = -np.cross(self.spin, self.contact)
        return v if self.mu is None else v * oracles.Z

    @cached_property
    def exact(self) -> np.ndarray:
        """Quaternion and angular velocity (n, 7) at `times`."""
        if self.mu is None:
            return oracles.rolling(self.body, self.quaternion, self.spin, self.times)
        sliding = partial(oracles.sliding, self.body, self.mu, self.quaternion, self.spin, self.velocity)
        return sliding(self.times)[:, :7]

    def scene(self) -> Scene:
        """Return body and plane for other engines."""
        b = self.body
        round_ = len(set(b.semi_axes)) == 1
        shape = Geom("sphere" if round_ else "ellipsoid", b.semi_axes[:1] if round_ else b.semi_axes)
        shape = Geom(shape.kind, shape.size, tuple(-np.asarray(b.center_of_mass)))
        start = {"quaternion": self.quaternion, "spin": self.spin, "velocity": tuple(self.velocity)}
        body = Body("body", b.mass, b.inertia, (0, 0, -self.contact[2]), (shape,), **start)
        return Scene((body,), self.times, friction=1.0 if self.mu is None else self.mu)

    def run(self) -> Any:
        """Return trundle's run."""
        import trundle as tr

        b = self.body
        shape = tr.Sphere(b.semi_axes[0]) if len(set(b.semi_axes)) == 1 else tr.Ellipsoid(b.semi_axes)
        body = tr.RigidBody(shape, b.mass, b.inertia, b.center_of_mass)
        ground, start = tr.Ground(tr.Plane()), {"object_quaternion": self.quaternion}
        start["object_angular_velocity"] = self.spin
        if self.mu is None:
            pair = tr.RollingPair(body, ground)
        else:
            pair = tr.RollingPair(body, ground, friction=self.mu, on_slip="slide")
            slip = np.cross(self.spin, self.contact)
            start["slip"] = slip - slip[2] * oracles.Z
        return tr.simulate(pair, pair.place(**start), self.duration, output_step=self.duration / 1000)


def crossing(times: np.ndarray, values: np.ndarray) -> float:
    """Return the first time at which `values` change sign, cubic between samples; NaN where they do not."""
    from scipy.interpolate import CubicSpline

    change = np.flatnonzero(np.sign(values[1:]) != np.sign(values[0]))
    if len(change) == 0:
        return float("nan")
    roots = CubicSpline(times, values).roots(extrapolate=False)
    return float(roots[np.argmin(abs(roots - times[change[0]]))])


def highest(times: np.ndarray, values: np.ndarray) -> float:
    """Return the largest of `values` between its neighbours, a parabola through three samples; NaN without any."""
    if len(values) < 3:
        return float("nan")
    i = int(np.clip(np.argmax(values), 1, len(values) - 2))
    a, b, c = values[i - 1 : i + 2]
    return float(b + (c - a) ** 2 / (8 * (2 * b - a - c)))


def reversal(spinner: Spinner, q: np.ndarray, w: np.ndarray) -> dict[str, float]:
    """Return when the spin about the vertical turns round, and the spin at the end."""
    return {"time of the reversal": crossing(spinner.times, w[:, 2]), "spin at the end": float(w[-1, 2])}


def rising(spinner: Spinner, q: np.ndarray, w: np.ndarray, level: float) -> dict[str, float]:
    """Return when the body's axis z passes `level` (a cosine), its last, and of a ball Jellett's drift."""
    R, body = rotation(q), spinner.body
    found = {"time half way": crossing(spinner.times, R[:, 2, 2] - level), "axis at the end": float(R[-1, 2, 2])}
    if len(set(body.semi_axes)) > 1:
        return found
    momentum = np.einsum("nij,jk,nlk,nl->ni", R, body.inertia, R, w)
    contact = np.array([turn @ body.contact_at(turn.T @ oracles.Z) for turn in R[::20]])
    jellett = np.einsum("ni,ni->n", momentum[::20], contact)
    return found | {"drift of Jellett's integral": float(np.ptp(jellett) / abs(jellett[0]))}


RATTLEBACK = Spinner(
    oracles.Ellipsoid(
        (0.2, 0.03, 0.02),
        1.0,
        np.array([[0.0002, -0.00002, 0], [-0.00002, 0.0016, 0], [0, 0, 0.0017]]),
        (0.0, 0.0, -0.01),
    ),
    quaternion=(float(np.cos(0.005)), 0.0, float(np.sin(0.005)), 0.0),
    spin=(0.0, 0.0, -5.0),
    duration=4.0,
)
"""Of Kane and Levinson (1982), turned about its middle axis by 0.01 rad and spun against its own way."""

TOP = Spinner(
    oracles.Ellipsoid((0.02,) * 3, 0.02, 0.02 * 0.02**2 * np.diag([0.44, 0.44, 0.40]), (0.0, 0.0, -0.006)),
    quaternion=(float(np.cos(0.05)), float(np.sin(0.05)), 0.0, 0.0),
    spin=(0.0, 0.0, 150.0),
    duration=2.8,
    mu=0.1,
)

EGG = Spinner(
    oracles.Ellipsoid((0.02, 0.02, 0.03), 0.06, 0.06 * np.diag([2.6e-4, 2.6e-4, 1.6e-4])),
    quaternion=(float(np.cos(0.75)), float(np.sin(0.75)), 0.0, 0.0),
    spin=(0.0, 0.0, 130.0),
    duration=1.7,
    mu=0.1,
)


def _classic(
    name: str,
    title: str,
    text: str,
    source: str,
    spinner: Spinner,
    read: Callable[[Spinner, np.ndarray, np.ndarray], dict[str, float]],
    units: tuple[str, ...],
    scales: Mapping[str, float],
) -> Classic:
    def quantities() -> tuple[Quantity, ...]:
        exact = read(spinner, spinner.exact[:, :4], spinner.exact[:, 4:7])
        exact |= {key: 0.0 for key in exact if key.startswith("drift")}
        return tuple(
            Quantity(key, value, unit, scales.get(key)) for (key, value), unit in zip(exact.items(), units, strict=True)
        )

    def measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
        return read(spinner, part(samples, "quaternion"), part(samples, "spin"))

    def trundle() -> Answer:
        run = spinner.run()
        if run.time[-1] < spinner.duration:
            raise ArithmeticError(f"{run.status.label} at {run.time[-1]:.4f} s")
        samples = pair_samples(run)[np.searchsorted(run.time, spinner.times * (1 - 1e-12))]
        return Answer(measure(spinner.scene(), samples), timed(run), run.status.label)

    return Classic(name, title, text, source, quantities, trundle, spinner.scene, measure)


_RISING = {"units": ("s", "", ""), "scales": {"axis at the end": 1.0, "drift of Jellett's integral": 1.0}}

CLASSICS = (
    _classic(
        "rattleback",
        "Rattleback",
        "An ellipsoid whose principal axes are turned against its shape: spun at 5 rad/s the wrong way, it rattles and "
        "turns round. The motion is unstable, which costs every engine digits.",
        "Kane and Levinson, Int. J. Non-Linear Mech. 17 (1982) 175 (parameters); rolling integrated at 1e-13",
        RATTLEBACK,
        reversal,
        ("s", "rad/s"),
        {"spin at the end": 5.0},
    ),
    _classic(
        "tippe-top",
        "Tippe top",
        "A ball of 20 mm with its centre of mass 6 mm low, spun at 150 rad/s, friction 0.1: it turns upside down. "
        "Jellett's integral, angular momentum times the way to the contact, is constant.",
        "Cohen, Am. J. Phys. 45 (1977) 12; Jellett (1872); Coulomb sliding integrated at 1e-13",
        TOP,
        partial(rising, level=0.0),
        **_RISING,
    ),
    _classic(
        "egg",
        "Spinning egg",
        "A spheroid of 40 by 60 mm that lies and spins at 130 rad/s, friction 0.1, rises onto its end.",
        "Moffatt and Shimomura, Nature 416 (2002) 385; Coulomb sliding integrated at 1e-13",
        EGG,
        partial(rising, level=float(np.sqrt(0.5))),
        units=("s", ""),
        scales={"axis at the end": 1.0},
    ),
)
