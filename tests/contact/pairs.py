"""Random states of pairs of shapes in contact, and models of them.

Random states come from the
twins' points and normals (for charts: from the chart's points and the twins' normals), so a wrong normal or a
wrong coordinate shows as a disagreement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import casadi as ca
import numpy as np

import trundle.geometry as tg
from tests.contact.twins import HANDS as HANDS
from tests.contact.twins import OBJECTS as OBJECTS
from tests.contact.twins import Solid
from tests.contact.twins import hand_named as hand_named
from tests.contact.twins import object_named as object_named
from tests.oracles import implicit, spatial, supports
from trundle.contact.choice import contact_form, make_contact
from trundle.contact.laws import LAWS
from trundle.errors import InputError
from trundle.models.tree.tree import Tree, TreeModel

Array = np.ndarray
FORMS = ("support", "pair", "level", "level-pair", "chart", "support-chart")
MASS, CENTER = 1.3, (0.03, -0.02, 0.01)
INERTIA = np.array([[0.02, 0.002, 0.001], [0.002, 0.025, -0.003], [0.001, -0.003, 0.03]])
MU, GRAVITY = 0.7, (0.4, -0.3, -9.7)


# Points ---------------------------------------------------------------------------------------------------------------


def onto(level: implicit.Level, x: Array) -> Array:
    for _ in range(80):
        g = level.gradient(x)
        step = g * level.value(x) / (g @ g)
        x = x - step
        if implicit.norm(step) < 1e-16 * (1 + implicit.norm(x)):
            break
    return x


def point_of(solid: Solid, form: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """A random point of the twin's boundary and its outward normal."""
    source = solid.hull if form == "support" and solid.hull is not None else solid.twin
    while True:
        d = rng.normal(size=3)
        d /= implicit.norm(d)
        if isinstance(source, supports.Support):
            x, n = source.point(d), d
        elif isinstance(source, implicit.Plane):
            x, n = np.array([*rng.normal(size=2), 0.0]), np.array([0.0, 0.0, 1.0])
        elif isinstance(source, implicit.Torus):
            ring = source.major * np.array([d[0], d[1], 0.0]) / np.hypot(d[0], d[1])
            x = onto(source, ring + source.minor * rng.normal(size=3) / 3)
            n = source.normal(x)
        elif isinstance(source, implicit.Graph):
            x = np.array([*rng.uniform(-0.9, 0.9, 2), 0.0])
            x[2] = source.height(*x[:2])
            n = source.normal(x)
        else:
            x = onto(source, d * solid.size * rng.uniform(0.5, 1.2))
            n = source.normal(x)
        if not solid.tilt or form == "level-pair" or np.abs(n).min() > solid.tilt:
            return x, n


def chart_point_of(solid: Solid, chart: tg.Chart, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Random chart coordinates, the chart's point and the TWIN's normal there."""
    for _ in range(300):
        if np.isfinite(chart.reach):
            u = chart.reach * np.sqrt(rng.uniform(0, 0.9)) * np.array([np.cos(a := rng.uniform(0, 7)), np.sin(a)])
        else:
            low = np.array([max(r.low, -1.0) if not r.bounded else r.low for r in chart.ranges])
            high = np.array([min(r.high, 1.0) if not r.bounded else r.high for r in chart.ranges])
            u = low + (high - low) * rng.uniform(0.05, 0.95, 2)
        x, n = _points(chart)(u)
        if isinstance(solid.twin, supports.Support):
            if solid.tilt and np.abs(n).min() <= solid.tilt:
                continue
            np.testing.assert_allclose(solid.twin.point(n), x, atol=1e-14)
            return u, x, n
        n = solid.twin.normal(x)
        if (
            not isinstance(solid.twin, implicit.Capsule)
            or min(abs(x[2]), abs(abs(x[2]) - solid.twin.length / 2)) > 1e-3
        ):
            return u, x, n
    raise LookupError("a chart of a flat face: no point contact lies there")


def _faces(solid: Solid, chart: tg.Chart) -> bool:
    try:
        chart_point_of(solid, chart, np.random.default_rng(0))
    except LookupError:
        return True
    return False


@cache
def _points(chart: tg.Chart) -> Callable[[Array], tuple[Array, Array]]:
    u = ca.SX.sym("u", 2)
    function = ca.Function("point", [u], [chart.point(u), chart.patch(u).n])
    return lambda value: tuple(np.array(part).ravel() for part in function(value))


# States ---------------------------------------------------------------------------------------------------------------


@dataclass
class States:
    """Random states of a pair: oracle objects, and columns for the package's models."""

    body: spatial.Body
    hand_shape: implicit.Level
    hands: list[spatial.Hand] = field(default_factory=list)
    twists: list[Array] = field(default_factory=list)
    controls: list[Array] = field(default_factory=list)
    turns: list[Array] = field(default_factory=list)
    objects: list[spatial.State] = field(default_factory=list)
    quaternions: list[Array] = field(default_factory=list)
    seeds: list[tuple[Array, Array]] = field(default_factory=list)
    coordinates: list[Array] = field(default_factory=list)
    known: dict[tuple[int, str], dict] = field(default_factory=dict)  # what the oracle said already

    def __len__(self) -> int:
        return len(self.objects)

    def oracle(self, i: int, law: str) -> dict:
        if (i, law) not in self.known:
            self.known[i, law] = spatial.accelerations(
                self.body,
                self.objects[i],
                self.hand_shape,
                self.hands[i],
                law,
                MU,
                np.array(GRAVITY),
                0.0,
                self.seeds[i],
            )
        return self.known[i, law]

    def columns(self, model: object) -> tuple[Array, Array]:
        """x (n_x, N) and u (6, N) of a pose-form model."""
        layout = model.layout
        x = np.zeros((model.x.shape[0], len(self)))
        for i, (hand, state) in enumerate(zip(self.hands, self.objects, strict=True)):
            x[layout["hand.position"], i] = hand.r
            x[layout["hand.orientation"], i] = self.turns[i]
            x[layout["hand.twist"], i] = self.twists[i]
            x[layout["object.position"], i] = state.p
            x[layout["object.orientation"], i] = self.quaternions[i]
            x[layout["object.angular_velocity"], i] = state.w
            x[layout["object.velocity"], i] = state.v
            x[layout["contact.coordinates"], i] = self.coordinates[i]
        return x, np.array(self.controls).T


def frame(n: Array) -> Array:
    t = implicit.cross(n, [1.0, 0, 0] if abs(n[0]) < 0.7 else [0, 1.0, 0])
    t /= implicit.norm(t)
    return np.column_stack([t, implicit.cross(n, t), n])


def _jam(body: spatial.Body, R: Array, n: Array, rho: Array, slip: Array) -> float:
    """How near a sliding contact is to jamming: n'A(n - mu e) over n'A n, A the inverse mass at the contact."""
    inverse = R @ np.linalg.inv(body.inertia) @ R.T
    e = slip - n * (n @ slip)
    push = n - MU * e / implicit.norm(e)

    def moved(f: Array) -> float:
        return float(n @ (f / body.mass + np.cross(inverse @ np.cross(rho, f), rho)))

    return abs(moved(push) / moved(n))


def unit_x(n: Array) -> Array:
    """A unit vector normal to `n`."""
    return frame(n)[:, 0]


def random_states(
    A: Solid,
    B: Solid,
    form: str,
    law: str,
    count: int,
    atlas: tuple[int, int] = (0, 0),
    seed: int = 0,
    away: float = np.inf,
) -> States:
    """`count` states in contact under `law`, hand moving and accelerating, object spinning; well away from locking.

    ``away``: largest way of the contact, in sizes of the object, per turn of the object about any tangent.
    """
    rng = np.random.default_rng(seed)
    # A hull stands for the body where that touches a plane; elsewhere the level does.
    twin = A.hull if form == "support" and A.hull is not None else A.twin
    out = States(spatial.Body(twin, MASS, INERTIA, np.array(CENTER)), B.twin)
    tries = 0
    while len(out) < count:
        tries += 1
        if tries > 50 * count:
            raise RuntimeError("no well-conditioned states")
        if form == "chart":
            charts = (A.shape.representations.charts[atlas[0]], B.shape.representations.charts[atlas[1]])
            u_A, x_A, n_A = chart_point_of(A, charts[0], rng)
            u_B, x_B, n_B = chart_point_of(B, charts[1], rng)
            coordinates = np.r_[u_A, u_B]
        elif form == "support-chart":
            x_A, n_A = point_of(A, form, rng)
            coordinates, x_B, n_B = chart_point_of(B, B.shape.representations.charts[atlas[1]], rng)
        else:
            (x_A, n_A), (x_B, n_B) = point_of(A, form, rng), point_of(B, "", rng)
            if form == "pair" and isinstance(B.twin, implicit.Capsule) and abs(x_B[2]) < B.twin.length / 2:
                continue  # the side of a capsule: its support function knows one point of each line only
            coordinates = {"support": np.zeros(0), "pair": n_B, "level": x_B, "level-pair": np.r_[x_A, x_B]}[form]
        q_h = rng.normal(size=4)
        twist, control = rng.normal(size=6), 3 * rng.normal(size=6)
        hand = spatial.hand_from_body_twist(spatial.rotation(q_h), rng.normal(size=3), twist, control)
        n = hand.R @ n_B
        psi = rng.uniform(0, 2 * np.pi)
        turn = np.array([[np.cos(psi), np.sin(psi), 0], [np.sin(psi), -np.cos(psi), 0], [0, 0, -1.0]])
        R = frame(n) @ turn @ frame(n_A).T
        w = 3 * rng.normal(size=3)
        if law in ("pure-rolling", "resting"):
            w -= n * (n @ (w - hand.w))
        if law in ("pivoting", "resting"):
            w = hand.w + n * (n @ (w - hand.w))
        point = hand.r + hand.R @ x_B
        p = point - R @ (x_A - out.body.center_of_mass)
        v = hand.v + implicit.cross(hand.w, point - hand.r) - implicit.cross(w, point - p)
        if law == "sliding":
            slip = rng.normal(size=3)
            v += slip - n * (n @ slip)
        state = spatial.State(R, p, w, v)
        found = spatial.Contact(x_A, x_B, point, point, n, 0.0)
        turning = [w, hand.w + R @ unit_x(n_A), hand.w + np.cross(n, R @ unit_x(n_A))]
        slips = [slip if law == "sliding" else None, None, None]
        try:
            slides = [
                implicit.norm(spatial.contact_speeds(out.body, replace(state, w=w), B.twin, hand, found, slip)[0])
                for w, slip in zip(turning, slips, strict=True)
            ]
        except np.linalg.LinAlgError:
            continue  # a line of contact
        fast = [30 * A.size * implicit.norm(w), away * A.size, away * A.size]
        if not all(slide < limit for slide, limit in zip(slides, fast, strict=True)):
            continue  # close to locking, in the direction of motion or any other: the contact itself is not known there
        if law == "sliding" and np.isfinite(away) and _jam(out.body, R, n, point - p, slip) < 3e-3:
            continue  # close to jamming: round-off grows by the inverse of this
        out.hands.append(hand)
        out.twists.append(twist)
        out.controls.append(control)
        out.turns.append(q_h)
        out.objects.append(state)
        out.quaternions.append(spatial.quaternion(R) * rng.uniform(0.8, 1.2))
        out.seeds.append((x_A, x_B))
        out.coordinates.append(coordinates)
    return out


# Models ---------------------------------------------------------------------------------------------------------------


def possible(A: Solid, B: Solid) -> list[tuple[str, tuple[int, int]]]:
    """All forms of contact of two shapes, charts one by one; a capsule's side on a plane is no point."""
    out = []
    a, b = A.shape.representations, B.shape.representations
    for form in FORMS:
        try:
            contact_form(A.shape, B.shape, form)
        except InputError:
            continue
        if form != "chart":
            out += [(form, (0, j)) for j in range(len(b.charts) if form == "support-chart" else 1)]
            continue
        for i, chart_A in enumerate(a.charts):
            for j in range(len(b.charts)):
                line = isinstance(A.twin, implicit.Capsule) and b.flat and not np.isfinite(chart_A.reach)
                if not line and not _faces(A, chart_A):
                    out.append((form, (i, j)))
    return out


def pose_model(
    A: Solid, B: Solid, form: str, atlas: tuple[int, int] = (0, 0), rolling: str | None = None, resolve: str = "world"
) -> TreeModel:
    """The tree of one object on a hand, with the numbers of `random_states`."""
    tree = Tree(3, GRAVITY, resolve=resolve)
    hand = tree.prescribed()
    body = tree.free(MASS, INERTIA, rolling=rolling)
    contact = make_contact(A.shape, B.shape, form, tuple(-c for c in CENTER), atlas)
    tree.contact(contact, body, hand, mu=MU)
    return tree.finish()


def disagreement(model: TreeModel, law: str, states: States) -> float:
    """Largest relative difference of accelerations, force, moment and contact speeds to the oracle's."""
    d = model.dynamics([LAWS[law]])
    k = d.kin[0]
    outputs = [d.nudot[:3], d.nudot[3:], d.forces[0], d.moments[0], k.sA, k.sB]
    values = [np.array(v) for v in ca.Function("f", [model.x, model.u], outputs)(*states.columns(model))]
    worst = 0.0
    for i in range(len(states)):
        o = states.oracle(i, law)
        scale = max(np.abs(o["alpha"]).max(), np.abs(o["a"]).max(), 1.0)
        expected = (o["alpha"], o["a"], o["force"], np.array([o["moment"]]), o["S_object"], o["S_hand"])
        force = max(np.abs(o["force"]).max(), 1.0)
        speed = max(np.abs(o["S_object"]).max(), 1.0)
        for value, right, size in zip(values, expected, (scale, scale, force, force, speed, speed), strict=True):
            error = float(np.abs(value[:, i] - right).max()) / size
            worst = max(worst, error) if np.isfinite(error) else np.inf
    return worst
