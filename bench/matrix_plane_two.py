"""Two contacts of a planar body: between two terrains that move and accelerate, and at rest on two that are still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from tests.oracles import double, planar
from tests.oracles.curves import Curve
from tests.oracles.spatial import Touch
from trundle.contact.choice import make_contact
from trundle.contact.laws import LAWS
from trundle.geometry import Shape
from trundle.models import Tree, TreeModel
from trundle.simulate.events.rest import Hold, can_rest

LAW_PAIRS = (("rolling", "rolling"), ("rolling", "sliding"))
GRAVITY = (0.0, -9.81)
JAM = 3e-3  # where friction nearly jams a body, forces grow without bound and nothing is well-conditioned
S = planar.S


def build(shapes: tuple[Shape, Shape], form: str, exact: planar.Rolling, mu: float) -> TreeModel:
    """Return the model of a body between two terrains."""
    tree = Tree(2, GRAVITY)
    bases = [tree.prescribed("terrain"), tree.prescribed("second")]
    body = tree.free(exact.mass, exact.inertia, name="body")
    for base in bases:
        tree.contact(make_contact(*shapes, form, tuple(-c for c in exact.com)), body, base, mu=mu)
    return tree.finish()


def residual(
    shapes: tuple[Shape, Shape], form: str, exact: planar.Rolling, mu: float, samples: list, still: bool = False
) -> float:
    """Return the worst disagreement of accelerations and forces; at rest also of whether friction can hold the body.

    ``samples`` are (phi, p, contact coordinates); two of them make one state. At rest accelerations count by gravity.
    """
    model, worst, counted = build(shapes, form, exact, mu), 0.0, 0
    for laws in LAW_PAIRS[:1] if still else LAW_PAIRS:
        dynamics = model.dynamics([LAWS[law] for law in laws])
        outputs = ca.vertcat(dynamics.nudot, *dynamics.forces)
        function, rng = ca.Function("f", [model.x, model.u], [outputs]), np.random.default_rng(3)
        for pair in zip(samples, samples[1:] + samples[:1], strict=True):
            if (state := _state(model, exact, mu, pair, laws, still, rng)) is None:
                continue
            counted += 1
            x, u, touches, (alpha, a, forces) = state
            ours = np.asarray(function(x, u)).ravel()
            given = [forces, [np.r_[f, 0.0] for f in (ours[3:5], ours[5:7])]]
            if laws == LAW_PAIRS[0]:  # an expression does not tell how two that roll share a force
                given = [double.determined(touches, both) for both in given]
            pushed, push = (np.concatenate(both) for both in given)
            floor = -GRAVITY[1] if still else 1e-2 * float(np.linalg.norm(a))
            for mine, right in ((ours[:1], alpha[2:]), (ours[1:3], a[:2]), (push, pushed)):
                error = float(np.linalg.norm(mine - right)) / max(float(np.linalg.norm(right)), floor)
                worst = max(worst, error) if np.isfinite(error) else np.inf
            if still and not _held_alike(touches, forces, ours, mu):
                return np.inf
    return worst if counted >= len(samples) // 4 else np.inf


def _state(
    model: TreeModel,
    exact: planar.Rolling,
    mu: float,
    pair: Sequence[tuple[float, float, np.ndarray]],
    laws: tuple[str, str],
    still: bool,
    rng: np.random.Generator,
) -> tuple | None:
    """Return x, u, the two touches and the oracle's answer, or None where the state is ill-conditioned."""
    angle, position = rng.uniform(-3, 3), rng.normal(size=2)
    omega, velocity = (0.0, np.zeros(2)) if still else (3 * rng.normal(), rng.normal(size=2))
    x, u, touches = np.zeros(model.x.shape[0]), np.zeros(model.u.shape[0]), []
    x[model.layout["body.position"]], x[model.layout["body.orientation"]] = position, angle
    x[model.layout["body.angular_velocity"]], x[model.layout["body.velocity"]] = omega, velocity
    for i, ((phi, p, coordinates), law, base) in enumerate(zip(pair, laws, ("terrain", "second"), strict=True)):
        base_omega, base_alpha = (0.0, 0.0) if still else rng.normal(size=2)
        accelerating = np.zeros(2) if still else 3 * rng.normal(size=2)
        T_body, T_base = exact.body.tangent(phi)[0], exact.terrain.tangent(p)[0]
        turn = angle + np.arctan2(*T_body[::-1]) - np.arctan2(*T_base[::-1])
        R = planar.turn(turn)
        T, rho = R @ T_base, planar.turn(angle) @ (exact.body.at(phi)[0] - exact.com)
        origin = position + rho - R @ exact.terrain.at(p)[0]
        slip = 0.0 if law == "rolling" else rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 2.0)
        v = velocity + omega * S @ rho - slip * T - base_omega * S @ (position + rho - origin)
        motion = (base_omega, base_alpha, accelerating, origin, v)
        touches.append(_touch((exact.body, exact.terrain), (phi, p), T, rho, position, (omega, velocity), motion, slip))
        if i == 1 and laws == LAW_PAIRS[0]:
            e = double.line(touches)
            shift = e * (e @ (touches[0].target - touches[1].target))
            accelerating = accelerating + shift[:2]
            touches[1] = replace(touches[1], target=touches[1].target + shift)
        x[model.layout[f"{base}.position"]], x[model.layout[f"{base}.orientation"]] = origin, turn
        x[model.layout[f"{base}.twist"]] = np.r_[base_omega, R.T @ v]
        u[model.input_layout[f"{base}.twist_rate"]] = np.r_[base_alpha, R.T @ (accelerating - base_omega * S @ v)]
        name = "contact.coordinates" if i == 0 else "contact2.coordinates"
        x[model.layout[name]] = coordinates
    e = double.line(touches)
    parallel = sum(abs(float(e @ tangent)) for tangent in _tangents(touches))
    if np.linalg.norm(touches[1].rho - touches[0].rho) < 0.05 or parallel < 0.3:
        return None  # close to one contact, or to a pinch between parallel faces
    J = np.diag([1.0, 1.0, exact.inertia])
    if laws != LAW_PAIRS[0] and double.jam(exact.mass, J, touches, laws, mu) < JAM:
        return None
    try:
        w = np.array([0.0, 0.0, omega])
        alpha, a, forces = double.accelerations(exact.mass, J, w, touches, laws, mu, np.r_[GRAVITY, 0.0])
    except RuntimeError:
        return None
    return x, u, touches, (alpha, a, forces)


def _touch(
    curves: tuple[Curve, Curve],
    at: tuple[float, float],
    T: np.ndarray,
    rho: np.ndarray,
    position: np.ndarray,
    moving: tuple,
    motion: tuple,
    slip: float,
) -> Touch:
    """Return the rows of one contact in the plane, written in space: the third axis is the plane's normal."""
    (omega, velocity), (base_omega, base_alpha, base_a, origin, v) = moving, motion
    k_b, k_t = (curve.curvature(t)[0] for curve, t in zip(curves, at, strict=True))
    s_body = (k_t * slip - (omega - base_omega)) / (k_b - k_t)  # speed along the outline; the terrain's is s + slip
    s_base = s_body + slip
    point, N = position + rho, S @ T
    p_dot_body = velocity + omega * S @ rho + s_body * T
    p_dot_base = v + base_omega * S @ (point - origin) + s_base * T
    n_dot = base_omega * S @ N - k_t * s_base * T
    bias_body = omega * S @ (p_dot_body - velocity)
    bias_base = base_a + base_alpha * S @ (point - origin) + base_omega * S @ (p_dot_base - v)
    flat = (N, rho, slip * T, n_dot, bias_base - bias_body)
    return Touch(*(np.r_[part, 0.0] for part in flat))


def _tangents(touches: list[Touch]) -> list[np.ndarray]:
    return [np.r_[-S @ t.normal[:2], 0.0] for t in touches]


def _held_alike(touches: list[Touch], forces: list[np.ndarray], ours: np.ndarray, mu: float) -> bool:
    """Return whether both agree that forces inside the cones hold the body, where it is not a matter of round-off."""
    room = double.holds(touches, forces, mu, _tangents(touches))
    size = max(float(np.linalg.norm(f)) for f in forces)
    pushes = (ours[3:5], ours[5:7])
    holds = [Hold(t.rho[:2], t.normal[:2], f, mu) for t, f in zip(touches, pushes, strict=True)]
    return abs(room) < 1e-6 * size or can_rest(holds) == (room > 0)
