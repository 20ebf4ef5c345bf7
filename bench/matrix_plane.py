"""The planar part of ``make matrix``: outlines on terrain against the arc-length derivation of ``tests/oracles``."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np

import trundle.geometry as tg
from bench import matrix_plane_two
from tests.oracles import curves
from tests.oracles.planar import Rolling, S
from trundle.contact.choice import contact_coordinates, contact_form, make_contact
from trundle.contact.laws import LAWS, Friction
from trundle.errors import InputError
from trundle.models import ContactPair, ContactSystem, Rules, Tree, TreeModel
from trundle.simulate.events.transitions import impact_at

MASS, INERTIA, CENTER, MU = 1.3, 0.05, (0.02, -0.03), 0.7
ORIGIN, FRICTION = tuple(-c for c in CENTER), Friction(MU)
COLUMNS = (
    *(f"pose {mode}" for mode in ("rolling", "sliding", "impact", "two contacts", "rest")),
    "joint rolling",
    "joint {c} rolling",
)

OUTLINES = {
    "circle": (tg.Circle(0.2), curves.circle(0.2)),
    "ellipse": (tg.Ellipse([0.25, 0.15]), curves.ellipse(0.25, 0.15)),
    "rock": (tg.FourierRadius(0.3, [0, 0.10, 0.02], [0, 0.02, -0.015]), curves.rock()),
}
TERRAINS = {
    "flat": (tg.Line(0.0, 0.0), curves.line(0.0)),
    "slope": (tg.Line(-0.3, 0.1), curves.line(-0.3, 0.1)),
    "parabola": (tg.Parabola(0.3), curves.parabola(0.3)),
    "sinusoid": (tg.Sinusoid(0.06, 2.0, 0.3), curves.sinusoid(0.06, 2.0, 0.3)),
    "bowl": (tg.Arc(1.5, [0.0, 1.5], "inside"), curves.arc(1.5, (0.0, 1.5), "inside")),
    "hill": (tg.Arc(1.5, [0.0, -1.5], "outside"), curves.arc(1.5, (0.0, -1.5), "outside")),
    "sum": (
        tg.CurveSum(
            [tg.Parabola(0.10), tg.Sinusoid(0.06, 2 * np.pi / 2.3, 0.7), tg.Sinusoid(0.05, 2 * np.pi / 1.3, np.pi / 2)]
        ),
        curves.undulating(),
    ),
}
_RANGE = (-1.0, 1.0)  # of the abscissa, or of the angle of an arc


def forms_of(outline: str, terrain: str) -> list[str]:
    """Return the forms of contact the two curves have representations for."""
    found = []
    for form in ("support", "pair", "level", "level-pair", "chart"):
        try:
            contact_form(OUTLINES[outline][0], TERRAINS[terrain][0], form)
        except InputError:
            continue
        found.append(form)
    return found


def row(outline: str, terrain: str, form: str, count: int) -> dict[str, float | None]:
    """Return the residuals of one pair of curves in one form of contact; None where it does not exist."""
    cells: dict[str, float | None] = dict.fromkeys(COLUMNS)
    exact = exact_of(outline, terrain)
    rng = np.random.default_rng(0)
    samples = [sample_of(exact, outline, terrain, rng) for _ in range(count)]
    pose = model_of(outline, terrain, form)
    cells["pose rolling"] = max(_rolling(pose, exact, outline, terrain, form, s) for s in samples)
    cells["pose sliding"] = max(_sliding(pose, exact, outline, terrain, form, s, rng) for s in samples)
    cells["pose impact"] = max(_impact(pose, exact, outline, terrain, form, s, rng) for s in samples)
    shapes, places = (
        (OUTLINES[outline][0], TERRAINS[terrain][0]),
        [(*s[:2], _coordinates(outline, terrain, form, *s[:2])) for s in samples],
    )
    cells["pose two contacts"] = matrix_plane_two.residual(shapes, form, exact, MU, places)
    cells["pose rest"] = matrix_plane_two.residual(shapes, form, exact, MU, places, still=True)
    if form == "chart":
        for name, resolve in (("joint rolling", "world"), ("joint {c} rolling", "contact")):
            model = model_of(outline, terrain, form, "rolling", resolve)
            cells[name] = max(_rolling(model, exact, outline, terrain, form, s) for s in samples)
    return cells


def exact_of(outline: str, terrain: str) -> Rolling:
    """Return the oracle."""
    return Rolling(OUTLINES[outline][1], TERRAINS[terrain][1], MASS, INERTIA, np.array(CENTER))


def model_of(
    outline: str,
    terrain: str,
    form: str,
    rolling: str | None = None,
    resolve: str = "world",
    friction: Friction = FRICTION,
) -> TreeModel:
    """Return the model of an outline on terrain."""
    tree = Tree(2, (0.0, -9.81), resolve)
    base = tree.ground("terrain")
    body = tree.free(MASS, INERTIA, rolling=rolling, name="body")
    contact = make_contact(OUTLINES[outline][0], TERRAINS[terrain][0], form, ORIGIN)
    tree.contact(contact, body, base, friction=friction)
    return tree.finish()


def sample_of(exact: Rolling, outline: str, terrain: str, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return (phi, p, omega) with a proper contact."""
    low, high = _RANGE
    while True:
        phi, p = rng.uniform(0, 2 * np.pi), rng.uniform(low, high)
        if exact.body.curvature(phi)[0] - exact.terrain.curvature(p)[0] > 0.5:
            return phi, p, float(rng.normal() * 3)


def state_of(
    model: TreeModel, exact: Rolling, outline: str, terrain: str, form: str, sample: tuple, velocity: np.ndarray
) -> np.ndarray:
    """Return x of the package's model for the oracle's state."""
    phi, p, omega = sample
    now = exact.instant(phi, p, 0.0)
    x = np.zeros(model.x.shape[0])
    x[model.layout["contact.coordinates"]] = _coordinates(outline, terrain, form, phi, p)
    if "body.relative_velocity" in model.layout:
        x[model.layout["body.relative_velocity"]] = omega
        return x
    x[model.layout["body.position"]], x[model.layout["body.orientation"]] = now["position"], now["angle"]
    x[model.layout["body.angular_velocity"]], x[model.layout["body.velocity"]] = omega, velocity
    return x


@lru_cache(maxsize=1000)
def _coordinates(outline: str, terrain: str, form: str, phi: float, p: float) -> np.ndarray:
    shapes, (body, ground) = (OUTLINES[outline][0], TERRAINS[terrain][0]), (OUTLINES[outline][1], TERRAINS[terrain][1])
    normal = S @ ground.tangent(p)[0]
    return contact_coordinates(*shapes, form, body.at(phi)[0], ground.at(p)[0], normal)[0]


@lru_cache(maxsize=8)
def _answer(model: TreeModel, law: str) -> ca.Function:
    """Return x -> (alpha, a, force) of the package."""
    dynamics = model.dynamics((LAWS[law],))
    W = model.to_world
    outputs = [dynamics.nudot[0], W @ dynamics.nudot[1:], W @ dynamics.forces[0]]
    return ca.Function("f", [model.x, model.u], [ca.vertcat(*outputs)])


def worst_of(
    model: TreeModel, law: str, x: np.ndarray, exact: tuple[float, np.ndarray, np.ndarray], least: float = 0.0
) -> float:
    """Return the largest relative disagreement of accelerations and force; ``least``: of a body at rest, m/s^2."""
    ours = np.asarray(_answer(model, law)(x, [])).ravel()
    alpha, a, force = exact
    pairs = ((ours[:1], [alpha]), (ours[1:3], a), (ours[3:], force))
    scale = max(float(np.linalg.norm(a)), least)
    return max(float(np.linalg.norm(o - e)) / max(float(np.linalg.norm(e)), 1e-2 * scale) for o, e in pairs)


def _rolling(model: TreeModel, exact: Rolling, outline: str, terrain: str, form: str, sample: tuple) -> float:
    phi, p, omega = sample
    now = exact.instant(phi, p, exact.speed(phi, p, omega))
    x = state_of(model, exact, outline, terrain, form, sample, now["velocity"])
    return worst_of(model, "rolling", x, (now["alpha"], now["acceleration"], now["force"]))


def _sliding(
    model: TreeModel, exact: Rolling, outline: str, terrain: str, form: str, sample: tuple, rng: np.random.Generator
) -> float:
    phi, p, omega = sample
    now = exact.instant(phi, p, exact.speed(phi, p, omega))
    velocity = now["velocity"] + now["T"] * float(rng.normal())
    slide = exact.sliding(phi, p, velocity, omega, MU)
    force = now["N"] * slide["f_N"] + now["T"] * slide["f_T"]
    x = state_of(model, exact, outline, terrain, form, sample, velocity)
    return worst_of(model, "sliding", x, (slide["alpha"], slide["a"], force))


def _impact(
    model: TreeModel, exact: Rolling, outline: str, terrain: str, form: str, sample: tuple, rng: np.random.Generator
) -> float:
    phi, p, omega = sample
    now = exact.instant(phi, p, exact.speed(phi, p, omega))
    velocity = now["velocity"] + rng.normal(size=2) - 4 * now["N"]
    x = state_of(model, exact, outline, terrain, form, sample, velocity)
    after = exact.impact(phi, p, velocity, omega, now["angle"], MU)
    jump = impact_at(_system(model, outline, terrain, form), ((0, 0),), x, 0, []).jump
    truth = np.r_[after["omega"] - omega, after["velocity"] - velocity]
    return float(np.linalg.norm(jump - truth) / np.linalg.norm(truth))


@lru_cache(maxsize=2)
def _system(model: TreeModel, outline: str, terrain: str, form: str) -> ContactSystem:
    contact_pair = ContactPair("contact", "body", "terrain", OUTLINES[outline][0], TERRAINS[terrain][0], ORIGIN, form)
    return ContactSystem("tree", lambda atlas: model, (contact_pair,), (LAWS["rolling"],), Rules(), {}, {})
