"""``make matrix``: shape x law x coordinates x mode, each cell the residual against an independent derivation.

A residual is the largest relative disagreement, over random states (hand moving and accelerating, object
spinning, centre of mass off the shape's centre), of accelerations, contact force and torsional moment with the
maximal-coordinate derivation of ``tests/oracles``; for impacts, of the velocities after. ``two contacts``: a body
between two hands, rolling on both or sliding on one. ``rest``: two contacts that lock a body, which only the plane
has. A dot is a combination that does not exist: rolling coordinates know no sliding, and a body with edges of no radius
(`EDGES`) has no surface they could be coordinates of. An empty cell is open work.
The tables of resisted, compliant and adhesive contacts are those of ``bench.matrix_laws``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import casadi as ca
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench import matrix_laws, matrix_plane
from tests.contact import two_contacts
from tests.contact.pairs import (
    CENTER,
    FORMS,
    HANDS,
    INERTIA,
    MASS,
    MU,
    OBJECTS,
    Solid,
    States,
    hand_named,
    object_named,
    random_states,
)
from tests.oracles import spatial
from trundle.contact.choice import contact_form, make_contact
from trundle.contact.laws import LAWS
from trundle.errors import InputError
from trundle.models import ContactPair, ContactSystem, Rules, Tree, TreeModel
from trundle.models.tree.conversion import rolling_values
from trundle.simulate.events.transitions import impact_at

POSE = ("rolling", "pure-rolling", "sliding", "separated", "impact", "pure impact", "two contacts")
JOINT = ("rolling", "pure-rolling")
COLUMNS = [
    *(f"pose {mode}" for mode in POSE),
    *(f"{frame} {mode}" for frame in ("joint", "joint {c}") for mode in JOINT),
]
LIMIT = 1e-11
AWAY = 20.0
"""States nearer to curvature lock (see `random_states`) are left out: a contact is not known to 1e-13 there."""
EDGES = ("disc", "superellipsoid")
ORIGIN = tuple(-c for c in CENTER)


def build(A: Solid, B: Solid, form: str, rolling: str | None = None, resolve: str = "world") -> TreeModel:
    """Return the model of an object on a hand."""
    states = np.array([0.4, -0.3, -9.7])
    tree = Tree(3, states, resolve)
    hand = tree.prescribed("hand")
    body = tree.free(MASS, INERTIA, rolling=rolling, name="object")
    tree.contact(make_contact(A.shape, B.shape, form, ORIGIN), body, hand, mu=MU)
    return tree.finish()


def pose_residual(model: TreeModel, states: States, law: str) -> float:
    """Return the worst residual of a model in pose coordinates."""
    x, u = states.columns(model)
    return _residual(model, law, x, u, states)


def joint_residual(model: TreeModel, states: States, law: str) -> float:
    """Return the worst residual of a model in rolling coordinates, converted from the same states."""
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
    return _residual(model, law, x, np.array(states.controls).T, states)


def _residual(model: TreeModel, law: str, x: np.ndarray, u: np.ndarray, states: States) -> float:
    dynamics = model.dynamics((LAWS[law],))
    W = model.to_world
    outputs = [W @ dynamics.nudot[:3], W @ dynamics.nudot[3:], W @ dynamics.forces[0], dynamics.moments[0]]
    function = ca.Function("f", [model.x, model.u], [ca.vertcat(*outputs)])
    worst = 0.0
    for i, ours in enumerate(np.asarray(function(x, u)).T):
        exact = states.oracle(i, law)
        for ours_part, part in (
            (ours[:3], exact["alpha"]),
            (ours[3:6], exact["a"]),
            (ours[6:9], exact["force"]),
            (ours[9:], [exact["moment"]]),
        ):
            scale = max(float(np.linalg.norm(part)), 1e-3 * float(np.linalg.norm(exact["a"])))
            worst = max(worst, float(np.linalg.norm(ours_part - part)) / scale)
    return worst


def impact_residual(A: Solid, B: Solid, form: str, model: TreeModel, states: States, pure: bool) -> float:
    """Return the worst relative error of the velocities after a plastic impact."""
    law = LAWS["pure-rolling" if pure else "rolling"]
    contact_pair = ContactPair("contact", "object", "hand", A.shape, B.shape, ORIGIN, form)
    system = ContactSystem("pair", lambda atlas: model, (contact_pair,), (law,), Rules(), {}, {})
    rng = np.random.default_rng(1)
    x, _ = states.columns(model)
    worst = 0.0
    for i, state in enumerate(states.objects):
        x_A, x_B = states.seeds[i]
        hand = states.hands[i]
        found = spatial.find_contact(states.body, state, states.hand_shape, hand, (x_A, x_B))
        hit, after = _hit(states, state, hand, found, pure, rng)
        x[model.layout["object.velocity"], i] = hit.v
        jump = impact_at(system, ((0, 0),), x[:, i], 0, []).jump
        exact = np.r_[after.w - hit.w, after.v - hit.v]
        worst = max(worst, float(np.linalg.norm(jump - exact) / np.linalg.norm(exact)))
    return worst


def _hit(
    states: States,
    state: spatial.State,
    hand: spatial.Hand,
    found: spatial.Contact,
    pure: bool,
    rng: np.random.Generator,
) -> tuple[spatial.State, spatial.State]:
    """Return a state that hits the hand and the oracle's state after it; hits it has no answer for are drawn again."""
    while True:
        hit = replace(state, v=state.v + rng.normal(size=3) - 4 * found.normal)
        try:
            after, _, _ = spatial.impact(states.body, hit, hand, found, MU, pure)
        except RuntimeError:
            continue
        return hit, after


def two_contacts_residual(A: Solid, B: Solid, form: str, states: dict[str, States]) -> float:
    """Return the worst residual of an object between two hands, rolling on both or sliding on one."""
    model, pairs = two_contacts.build(A, B, form), two_contacts.LAW_PAIRS
    return max(two_contacts.two_contacts(A, states, laws, model).residual(model, laws) for laws in pairs)


def row(object_name: str, hand_name: str, form: str, count: int) -> dict[str, float | None]:
    """Return the residuals of one pair of shapes in one form of contact; None where it does not exist."""
    A, B = object_named(object_name), hand_named(hand_name)
    cells: dict[str, float | None] = dict.fromkeys(COLUMNS)
    states = {law: random_states(A, B, form, law, count, away=AWAY) for law in ("rolling", "pure-rolling", "sliding")}
    model = build(A, B, form)
    for law in states:
        cells[f"pose {law}"] = pose_residual(model, states[law], law)
    cells["pose separated"] = pose_residual(model, states["rolling"], "separated")
    cells["pose impact"] = impact_residual(A, B, form, model, states["rolling"], pure=False)
    cells["pose pure impact"] = impact_residual(A, B, form, model, states["rolling"], pure=True)
    cells["pose two contacts"] = two_contacts_residual(A, B, form, states)
    if form == "chart":
        for frame, resolve in (("joint", "world"), ("joint {c}", "contact")):
            for law, rolling in (("rolling", "rolling"), ("pure-rolling", "pure")):
                cells[f"{frame} {law}"] = joint_residual(build(A, B, form, rolling, resolve), states[law], law)
    return cells


def forms_of(object_name: str, hand_name: str) -> list[str]:
    """Return the forms of contact the two shapes have representations for."""
    A, B = object_named(object_name).shape, hand_named(hand_name).shape
    found = []
    for form in FORMS:
        try:
            contact_form(A, B, form)
        except InputError:
            continue
        found.append(form)
    return found


def main() -> int:
    """Print the matrix; return 1 if a residual is above the limit."""
    parser = argparse.ArgumentParser(prog="python -m bench.matrix", description=__doc__)
    parser.add_argument("--states", type=int, default=4, help="random states a cell (default 4)")
    parser.add_argument("--objects", nargs="+", choices=sorted(OBJECTS), default=list(OBJECTS))
    parser.add_argument("--hands", nargs="+", choices=sorted(HANDS), default=list(HANDS))
    options = parser.parse_args()
    begin = time.perf_counter()
    console, worst = Console(width=200), Findings()
    pairs = [(a, b) for a in options.objects for b in options.hands]
    space = partial(row, count=options.states)
    console.print(fill("in space", COLUMNS, pairs, forms_of, space, worst))
    flat = [(a, b) for a in matrix_plane.OUTLINES for b in matrix_plane.TERRAINS]
    plane = partial(matrix_plane.row, count=options.states)
    console.print(fill("in the plane", matrix_plane.COLUMNS, flat, matrix_plane.forms_of, plane, worst))
    laws, planar_laws = (partial(one, count=options.states) for one in (matrix_laws.row, matrix_laws.plane_row))
    console.print(fill("of laws in space", matrix_laws.COLUMNS, pairs, forms_of, laws, worst))
    console.print(fill("of laws in the plane", matrix_laws.PLANE, flat, matrix_plane.forms_of, planar_laws, worst))
    worst.say(console)
    console.print(f"{worst.rows} rows, {options.states} states a cell, {time.perf_counter() - begin:.0f} s")
    return 1 if worst.above else 0


@dataclass
class Findings:
    """What the tables show."""

    rows: int = 0
    above: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def say(self, console: Console) -> None:
        """Print what is above the limit and what is open work."""
        for title, lines in ((f"above {LIMIT:g}", self.above), ("empty (open work)", self.empty)):
            console.print(f"{title}: {len(lines)}")
            for line in lines:
                console.print(f"  {line}")


def fill(
    title: str,
    columns: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    forms: Callable[[str, str], list[str]],
    residuals: Callable[..., dict[str, float | None]],
    worst: Findings,
) -> Table:
    """Return the table of all pairs in all forms of contact."""
    table = Table("object", "on", "contact", *columns, title=f"largest relative disagreement, {title}")
    for a, b in track(pairs, description=title, console=Console(stderr=True), transient=True):
        found = forms(a, b)
        if not found:
            worst.empty.append(f"{a} on {b}: no contact form")
        if "chart" not in found and a not in EDGES:
            worst.empty.append(f"{a} on {b}: no charts of both, so no rolling coordinates")
        for form in found:
            cells = residuals(a, b, form)
            worst.above += [
                f"{a} on {b}, {form}, {n}: {v:.1e}" for n, v in cells.items() if v is not None and not v <= LIMIT
            ]
            table.add_row(a, b, form, *("." if v is None else f"{v:.0e}" for v in cells.values()))
            worst.rows += 1
    return table


if __name__ == "__main__":
    sys.exit(main())
