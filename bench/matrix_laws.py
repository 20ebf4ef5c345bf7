"""The laws' part of ``make matrix``: resisted turning, adhesion, compliant contact and external forces.

Against ``tests/oracles/resisted.py``, with all coefficients at once. ``forces``: a contact that rolls while air, a
spring to a point of the world and a torque act on the body.
"""

from __future__ import annotations

from dataclasses import asdict, replace

import casadi as ca
import numpy as np

from bench import matrix_plane
from tests.contact.pairs import (
    CENTER,
    GRAVITY,
    INERTIA,
    MASS,
    MU,
    Solid,
    States,
    hand_named,
    object_named,
    random_states,
)
from tests.oracles import resisted, spatial
from trundle.checks import FloatArray
from trundle.contact.choice import make_contact
from trundle.contact.compliant import SMOOTH_RATE, HuntCrossley
from trundle.contact.laws import LAWS, Friction, still_rate
from trundle.models import Tree, TreeModel
from trundle.models.tree.conversion import rolling_values
from trundle.models.tree.force import Force, Potential
from trundle.models.tree.force import States as BodyStates

HELD = ("rolling", "pure-rolling", "pivoting", "resting")
COLUMNS = [
    *(f"resisted {law}" for law in (*HELD, "sliding")),
    "hunt-crossley",
    "forces",
    *(f"joint resisted {law}" for law in HELD[:2]),
]
AWAY = 20.0
"""As in `bench.matrix`."""
COEFFICIENTS = resisted.Resistance(0.01, 0.02, 0.03, 0.05, 2.0)
STIFFNESS, DISSIPATION, DEPTH = 2e4, 0.3, 4e-3
AIR, SPRING, HOOK, ANCHOR = 0.7, 30.0, (0.05, 0.02, -0.04), (0.3, -0.2, 0.5)
ORIGIN = tuple(-c for c in CENTER)


def build(A: Solid, B: Solid, form: str, rolling: str | None = None, *, forces: bool = False) -> TreeModel:
    """Return the model of an object on a hand, with all coefficients or, in their place, external forces."""
    tree = Tree(3, np.array(GRAVITY), "world")
    hand = tree.prescribed("hand")
    body = tree.free(MASS, INERTIA, rolling=rolling, name="object")
    contact = make_contact(A.shape, B.shape, form, ORIGIN)
    tree.contact(contact, body, hand, friction=Friction(MU) if forces else _friction())
    if forces:
        tree.force(Force("object", _air, at=HOOK))
        tree.force(Potential(_spring))
    return tree.finish()


def _friction() -> Friction:
    numbers = {name: value for name, value in asdict(COEFFICIENTS).items() if name != "smooth"}
    return Friction(MU, stiffness=STIFFNESS, dissipation=DISSIPATION, **numbers)


def _air(t: ca.SX, states: BodyStates) -> tuple[ca.SX, ca.SX]:
    body = states["object"]
    return -AIR * body.at(HOOK).velocity, -AIR * body.angular_velocity


def _spring(t: ca.SX, states: BodyStates) -> ca.SX:
    return 0.5 * SPRING * ca.sumsqr(states["object"].at(HOOK).position - ca.DM(list(ANCHOR)))


def outer(state: spatial.State) -> tuple[FloatArray, FloatArray]:
    """Return the force at the centre of mass and the moment of the same air and spring."""
    arm = state.R @ np.array(HOOK)
    force = -AIR * (state.v + np.cross(state.w, arm)) - SPRING * (state.p + arm - np.array(ANCHOR))
    return force, np.cross(arm, force) - AIR * state.w


def residual(model: TreeModel, law: str, states: States, x: FloatArray, oracle: dict[int, dict]) -> float:
    """Return the largest relative disagreement of accelerations, force and moment."""
    dynamics = model.dynamics((LAWS[law],))
    W = model.to_world
    parts = [W @ dynamics.nudot[:3], W @ dynamics.nudot[3:], W @ dynamics.forces[0], dynamics.moments[0]]
    function = ca.Function("f", [model.x, model.u], [ca.vertcat(*parts)])
    worst = 0.0
    for i, ours in enumerate(np.asarray(function(x, np.array(states.controls).T)).T):
        exact = oracle[i]
        pairs = ((ours[:3], "alpha"), (ours[3:6], "a"), (ours[6:9], "force"), (ours[9:], "moment"))
        least = 1e-3 * float(np.linalg.norm(exact["a"]))
        for part, name in pairs:
            apart = float(np.linalg.norm(part - exact[name]))
            worst = max(worst, apart / max(float(np.linalg.norm(exact[name])), least))
    return worst


def row(object_name: str, hand_name: str, form: str, count: int) -> dict[str, float | None]:
    """Return the residuals of one pair of shapes in one form of contact; None where it does not exist."""
    A, B = object_named(object_name), hand_named(hand_name)
    cells: dict[str, float | None] = dict.fromkeys(COLUMNS)
    model = build(A, B, form)
    for law in (*HELD, "sliding"):
        states = random_states(A, B, form, law, count, away=AWAY)
        oracle = {i: _resisted(states, i, law, still_rate(0.0)) for i in range(count)}
        cells[f"resisted {law}"] = residual(model, law, states, states.columns(model)[0], oracle)
        if form == "chart" and law in HELD[:2]:
            jointed = build(A, B, form, "pure" if law == "pure-rolling" else "rolling")
            cells[f"joint resisted {law}"] = residual(jointed, law, states, _joint_columns(jointed, states), oracle)
    states = random_states(A, B, form, "rolling", count, away=AWAY)
    bare = {i: _resisted(states, i, "rolling", 0.0, forces=True) for i in range(count)}
    pushed = build(A, B, form, forces=True)
    cells["forces"] = residual(pushed, "rolling", states, states.columns(pushed)[0], bare)
    cells["hunt-crossley"] = _compliant(A, B, form, model, count)
    return cells


def _resisted(states: States, i: int, law: str, smooth: float, *, forces: bool = False) -> dict:
    state, c = states.objects[i], resisted.Resistance() if forces else replace(COEFFICIENTS, smooth=smooth)
    more = {"outer": outer(state)} if forces else {}
    where = (states.body, state, states.hand_shape, states.hands[i])
    return resisted.accelerations(*where, law, MU, c, np.array(GRAVITY), states.seeds[i], **more)


def _compliant(A: Solid, B: Solid, form: str, model: TreeModel, count: int) -> float:
    """Sliding states, pushed into the hand along the normal: the nearest points stay the same."""
    states = random_states(A, B, form, "sliding", count, away=AWAY)
    x, _ = states.columns(model)
    depths = np.random.default_rng(2).uniform(0.2, 1.0, count) * DEPTH
    oracle = {}
    for i, (state, hand, depth) in enumerate(zip(states.objects, states.hands, depths, strict=True)):
        n = spatial.find_contact(states.body, state, states.hand_shape, hand, states.seeds[i]).normal
        deep = spatial.State(state.R, state.p - depth * n, state.w, state.v)
        x[model.layout["object.position"], i] = deep.p
        c = replace(COEFFICIENTS, smooth=SMOOTH_RATE, adhesion=0.0)
        numbers = (STIFFNESS, DISSIPATION, HuntCrossley().slip_speed, np.array(GRAVITY), states.seeds[i])
        oracle[i] = resisted.compliant(states.body, deep, states.hand_shape, hand, MU, c, *numbers)
    return residual(model, "hunt-crossley", states, x, oracle)


def _joint_columns(model: TreeModel, states: States) -> FloatArray:
    x = np.zeros((model.x.shape[0], len(states)))
    for i, (hand, state) in enumerate(zip(states.hands, states.objects, strict=True)):
        values = {
            "hand.position": hand.r,
            "hand.orientation": states.turns[i],
            "hand.twist": states.twists[i],
            "contact.coordinates": states.coordinates[i],
        }
        values |= rolling_values(model, values, states.quaternions[i], state.w)
        for name, value in values.items():
            x[model.layout[name], i] = value
    return x


PLANE = [*(f"resisted {law}" for law in ("rolling", "resting", "sliding")), "hunt-crossley", "joint resisted rolling"]


def plane_row(outline: str, terrain: str, form: str, count: int) -> dict[str, float | None]:
    """Return the residuals of one pair of curves in one form of contact; None where it does not exist."""
    cells: dict[str, float | None] = dict.fromkeys(PLANE)
    exact = matrix_plane.exact_of(outline, terrain)
    rng, pose = np.random.default_rng(0), _plane_model(outline, terrain, form)
    jointed = _plane_model(outline, terrain, form, "rolling") if form == "chart" else None
    for phi, p, omega in (matrix_plane.sample_of(exact, outline, terrain, rng) for _ in range(count)):
        now = exact.instant(phi, p, exact.speed(phi, p, omega))
        slid = now["velocity"] + now["T"] * float(rng.normal())
        for law, w, v in (
            ("rolling", omega, now["velocity"]),
            ("resting", 0.0, np.zeros(2)),
            ("sliding", omega, slid),
        ):
            c = replace(COEFFICIENTS, smooth=still_rate(0.0))
            answer = resisted.in_plane(exact, phi, p, v, w, law, MU, c)
            _plane_cell(cells, f"resisted {law}", pose, law, (exact, outline, terrain, form, (phi, p, w), v), answer)
            if jointed is not None and law == "rolling":
                where = (exact, outline, terrain, form, (phi, p, w), v)
                _plane_cell(cells, "joint resisted rolling", jointed, law, where, answer)
        c, depth = replace(COEFFICIENTS, smooth=SMOOTH_RATE), float(rng.uniform(0.2, 1.0)) * DEPTH
        numbers = (depth, STIFFNESS, DISSIPATION, HuntCrossley().slip_speed)
        answer = resisted.compliant_in_plane(exact, phi, p, slid, omega, MU, c, *numbers)
        where = (exact, outline, terrain, form, (phi, p, omega), slid)
        _plane_cell(cells, "hunt-crossley", pose, "hunt-crossley", where, answer, -depth * now["N"])
    return cells


def _plane_model(outline: str, terrain: str, form: str, rolling: str | None = None) -> TreeModel:
    return matrix_plane.model_of(outline, terrain, form, rolling, friction=_friction())


def _plane_cell(
    cells: dict[str, float | None],
    name: str,
    model: TreeModel,
    law: str,
    where: tuple,
    exact: dict,
    moved: FloatArray | None = None,
) -> None:
    x = matrix_plane.state_of(model, *where)
    if moved is not None:
        x[model.layout["body.position"]] += moved
    least = 9.81 if law == "resting" else 0.0
    worst = matrix_plane.worst_of(model, law, x, (exact["alpha"], exact["a"], exact["force"]), least)
    cells[name] = max(cells[name] or 0.0, worst)
