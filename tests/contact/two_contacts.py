"""Random states of a body between two hands of one shape, each moving and accelerating, in space."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from tests.contact.pairs import CENTER, GRAVITY, INERTIA, MASS, MU, Solid, States
from tests.oracles import double, spatial
from tests.oracles.implicit import cross, norm
from trundle.contact.choice import make_contact
from trundle.contact.laws import LAWS
from trundle.models.tree.tree import Tree, TreeModel

Array = np.ndarray
LAW_PAIRS = (("rolling", "rolling"), ("rolling", "sliding"))
JAM = 3e-3  # where friction nearly jams a body, forces grow without bound and nothing is well-conditioned


@dataclass
class TwoContacts:
    """States with two contacts: columns for the package's model, both touches, and what the oracle says of each."""

    columns: list[tuple[Array, Array]] = field(default_factory=list)
    touches: list[tuple[spatial.Touch, spatial.Touch]] = field(default_factory=list)
    exact: list[tuple[Array, Array, list[Array]]] = field(default_factory=list)

    def residual(self, model: TreeModel, laws: tuple[str, str]) -> float:
        """Largest relative difference of accelerations and forces to the oracle's, but for how two that roll share it.

        Of that an expression has round-off alone to tell; runs take the choice of the engine.
        """
        dynamics = model.dynamics([LAWS[law] for law in laws])
        outputs = [dynamics.nudot, *dynamics.forces]
        function = ca.Function("f", [model.x, model.u], [ca.vertcat(*outputs)])
        x, u = (np.array(part).T for part in zip(*self.columns, strict=True))
        worst = 0.0
        for ours, touches, (alpha, a, forces) in zip(
            np.asarray(function(x, u)).T, self.touches, self.exact, strict=True
        ):
            given = [forces, (ours[6:9], ours[9:])]
            if laws == LAW_PAIRS[0]:
                given = [double.determined(touches, both) for both in given]
            push, pushed = (np.concatenate(both) for both in given)
            floor = 1e-3 * float(norm(a))
            for mine, right in ((ours[:3], alpha), (ours[3:6], a), (pushed, push)):
                error = float(norm(mine - right)) / max(float(norm(right)), floor)
                worst = max(worst, error) if np.isfinite(error) else np.inf
        return worst


def build(A: Solid, B: Solid, form: str) -> TreeModel:
    """The tree of one object between two hands, with the numbers of `random_states`."""
    tree = Tree(3, GRAVITY)
    hands = [tree.prescribed("hand"), tree.prescribed("second")]
    body = tree.free(MASS, INERTIA)
    for hand in hands:
        tree.contact(make_contact(A.shape, B.shape, form, tuple(-c for c in CENTER)), body, hand, mu=MU)
    return tree.finish()


def two_contacts(A: Solid, states: dict[str, States], laws: tuple[str, str], model: TreeModel) -> TwoContacts:
    """As many states under `laws` as `states` of each law has: the second hand comes from another of them, carried
    along with its object.

    Its velocity is the one that keeps the contact and, where both roll, its acceleration leaves the distance of the
    two points as it is: a rigid body has no other choice.
    """
    out, first, other = TwoContacts(), states[laws[0]], states[laws[1]]
    for shift in range(1, min(20, len(other))):
        for i in range(len(first)):
            if len(out.exact) < len(first):
                _add(out, A, first, other, (i, (i + shift) % len(other)), laws, model)
    if len(out.exact) < len(first):
        raise RuntimeError("no well-conditioned states")
    return out


def _add(
    out: TwoContacts,
    A: Solid,
    first: States,
    other: States,
    which: tuple[int, int],
    laws: tuple[str, str],
    model: TreeModel,
) -> None:
    i, j = which
    state, source = first.objects[i], other.objects[j]
    turn = state.R @ source.R.T
    R, r = turn @ other.hands[j].R, state.p + turn @ (other.hands[j].r - source.p)
    x_A, x_B = other.seeds[j]
    point, n = r + R @ x_B, R @ other.hand_shape.normal(x_B)
    twist, control = other.twists[j].copy(), other.controls[j].copy()
    slip = np.zeros(3) if laws[1] == "rolling" else turn @ spatial.slip_velocity(source, other.hands[j], _met(other, j))
    w = R @ twist[:3]
    twist[3:] = R.T @ (state.v + cross(state.w, point - state.p) - cross(w, point - r) - slip)
    contact = spatial.Contact(x_A, x_B, point, point, n, 0.0)
    hand = spatial.hand_from_body_twist(R, r, twist, control)
    one, *_ = spatial.touching(first.body, state, first.hand_shape, first.hands[i], _met(first, i), laws[0])
    two, *speeds = spatial.touching(first.body, state, first.hand_shape, hand, contact, laws[1])
    if not norm(speeds[0]) < 30 * A.size * norm(state.w):
        return  # close to locking
    if norm(two.rho - one.rho) < 0.3 * A.size:
        return  # close to one contact
    e = double.line((one, two))
    if norm(cross(e, one.normal)) + norm(cross(e, two.normal)) < 0.3:
        return  # close to a pinch between parallel faces, where friction does not tell the share of each
    if laws == ("rolling", "rolling"):
        control[3:] += R.T @ e * (e @ (one.target - two.target))
        hand = spatial.hand_from_body_twist(R, r, twist, control)
        two, *_ = spatial.touching(first.body, state, first.hand_shape, hand, contact, laws[1])
    J = state.R @ INERTIA @ state.R.T
    if laws != ("rolling", "rolling") and double.jam(MASS, J, (one, two), laws, MU) < JAM:
        return
    try:
        exact = double.accelerations(MASS, J, state.w, (one, two), laws, MU, np.array(GRAVITY))
    except RuntimeError:
        return
    layout, x = model.layout, np.zeros(model.x.shape[0])
    quaternion = spatial.quaternion(R)
    for name, value in {
        "hand.position": first.hands[i].r, "hand.orientation": first.turns[i], "hand.twist": first.twists[i],
        "second.position": r, "second.orientation": quaternion, "second.twist": twist,
        "object.position": state.p, "object.orientation": first.quaternions[i],
        "object.angular_velocity": state.w, "object.velocity": state.v,
        "contact.coordinates": first.coordinates[i], "contact2.coordinates": other.coordinates[j],
    }.items():  # fmt: skip
        x[layout[name]] = value
    out.columns.append((x, np.r_[first.controls[i], control]))
    out.touches.append((one, two))
    out.exact.append(exact)


def _met(states: States, i: int) -> spatial.Contact:
    x_A, x_B = states.seeds[i]
    hand = states.hands[i]
    point = hand.r + hand.R @ x_B
    return spatial.Contact(x_A, x_B, point, point, hand.R @ states.hand_shape.normal(x_B), 0.0)
