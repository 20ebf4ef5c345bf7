"""Runs of the maximal-coordinate body on a hand over time, one mode or a chain of modes (sheet 2 section 9).

The vector integrated by scipy's DOP853 is (object q, p, w, v; hand q, r, body twist V): world from body quaternions,
object twist in
the world, hand twist in hand axes. The hand is driven by `control(t)` = dV/dt (6,), angular first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import solve_ivp

from .implicit import Level, cross
from .spatial import (
    EARTH,
    Body,
    Hand,
    State,
    accelerations,
    contact_speeds,
    find_contact,
    hand_from_body_twist,
    impact,
    quaternion,
    rotation,
    slip_velocity,
    unit,
)

Array = np.ndarray
CREEP = 1e-6  # m/s: below it a slide that starts from rest keeps its slip's rate along its slip


@dataclass(frozen=True)
class System:
    """A body, a hand's shape and what drives them."""

    body: Body
    hand_shape: Level
    control: Callable[[float], Array] = lambda t: np.zeros(6)
    gravity: Array = field(default_factory=EARTH.copy)
    mu: float = np.inf
    law: str = "rolling"
    baumgarte: float = 20.0


def pack(state: State, R_hand: Array, r_hand: Array, twist_hand: Array) -> Array:
    """The vector (26,) of an object's state and a hand's pose and body twist."""
    return np.r_[quaternion(state.R), state.p, state.w, state.v, quaternion(R_hand), r_hand, twist_hand]


def unpack(x: Array, control: Array) -> tuple[State, Hand]:
    """Object and hand of a vector (26,)."""
    state = State(rotation(x[:4]), x[4:7], x[7:10], x[10:13])
    return state, hand_from_body_twist(rotation(x[13:17]), x[17:20], x[20:26], control)


def _quaternion_rate(q: Array, w_world: Array) -> Array:
    return 0.5 * np.r_[-w_world @ q[1:], q[0] * w_world + cross(w_world, q[1:])]


class _Mode:
    """Right-hand side and events of one mode, with the contact search warm-started."""

    def __init__(self, system: System, law: str, seed, direction: Array | None = None) -> None:
        self.system, self.law, self.seed, self.direction = system, law, seed, direction
        self.creep = direction is not None  # a slide from rest: its direction is still algebraic

    def look(self, t: float, x: Array) -> tuple[State, Hand, dict]:
        s = self.system
        state, hand = unpack(x, np.asarray(s.control(t), float))
        direction = None
        if self.law == "sliding":
            direction = onset(s, state, hand, self.seed) if self.creep else self._slide(state, hand)[0]
        out = accelerations(
            s.body, state, s.hand_shape, hand, self.law, s.mu, s.gravity, s.baumgarte, self.seed, direction
        )
        if out["contact"] is not None:
            self.seed = (out["contact"].x_object, out["contact"].x_hand)
        return state, hand, out

    def _slide(self, state: State, hand: Hand) -> tuple[Array, float]:
        """Direction of the slip and its size, both signed so that they go on smoothly through zero slip.

        Positive means along the reference direction of this leg, which is fixed: a leg whose slip turns by 45 degrees
        ends.
        """
        contact = find_contact(self.system.body, state, self.system.hand_shape, hand, self.seed)
        v = slip_velocity(state, hand, contact)
        v = v - contact.normal * (contact.normal @ v)
        if self.direction is None:
            self.direction = unit(v)
        side = 1.0 if v @ self.direction >= 0.0 else -1.0
        e = side * v + 1e-11 * self.direction
        return unit(e - contact.normal * (contact.normal @ e)), side * float(np.linalg.norm(v))

    def rate(self, t: float, x: Array) -> Array:
        state, hand, out = self.look(t, x)
        twist_rate = np.asarray(self.system.control(t), float)
        return np.r_[_quaternion_rate(x[:4], state.w), state.v, out["alpha"], out["a"],
                     _quaternion_rate(x[13:17], hand.w), hand.v, twist_rate]  # fmt: skip

    def gap(self, t: float, x: Array) -> float:
        state, hand = unpack(x, np.zeros(6))
        contact = find_contact(self.system.body, state, self.system.hand_shape, hand, self.seed)
        self.seed = (contact.x_object, contact.x_hand)
        return contact.gap

    def lift(self, t: float, x: Array) -> float:
        return self.look(t, x)[2]["normal_force"]

    def grip(self, t: float, x: Array) -> float:
        out = self.look(t, x)[2]
        return self.system.mu * out["normal_force"] - float(np.linalg.norm(out["tangential_force"]))

    def slide(self, t: float, x: Array) -> float:
        state, hand = unpack(x, np.zeros(6))
        return self._slide(state, hand)[1]

    def wake(self, t: float, x: Array) -> float:
        """How much slip is missing until its direction becomes a differential matter (CREEP)."""
        state, hand = unpack(x, np.zeros(6))
        return CREEP - abs(self._slide(state, hand)[1])

    def veer(self, t: float, x: Array) -> float:
        """Cosine between slip and reference direction, less that of 45 degrees."""
        state, hand = unpack(x, np.zeros(6))
        return float(self._slide(state, hand)[0] @ self.direction) - 0.7


def integrate(
    system: System, x0: Array, duration: float, times: Array | None = None, law: str | None = None, seed=None,
    rtol: float = 1e-12, atol: float = 1e-13, start: float = 0.0,
) -> dict:  # fmt: skip
    """Run one mode: dict `t` (n,), `x` (n, 26), and per sample lists `outputs` (of `accelerations`), `states`, `hands`.

    No events: normal force and cone are for the caller to judge (bilateral).
    """
    mode = _Mode(system, law or system.law, seed)
    sol = solve_ivp(mode.rate, (start, start + duration), x0, method="DOP853", rtol=rtol, atol=atol, t_eval=times)
    if sol.status != 0:
        raise RuntimeError(sol.message)
    mode.seed = seed
    looks = [mode.look(t, x) for t, x in zip(sol.t, sol.y.T, strict=True)]
    return {"t": sol.t, "x": sol.y.T, "states": [a for a, _, _ in looks], "hands": [b for _, b, _ in looks],
            "outputs": [c for _, _, c in looks]}  # fmt: skip


def chain(
    system: System,
    x0: Array,
    duration: float,
    mode: str = "rolling",
    seed=None,
    rtol: float = 1e-12,
    atol: float = 1e-13,
) -> list[dict]:
    """Run through modes: list of dicts `mode`, `t0`, `t1`, `x0`, `x1`, `end` (event's name), `sol` (dense, callable
    in t).

    Events: rolling -> "separation" (f_n = 0) or "slip" (|f_t| = mu f_n); sliding -> "separation" or "stick" (slip =
    0) or "turn" (slip turned by 45 degrees: sliding goes on); separated ->
    "impact" (gap = 0), plastic. After "stick" or "impact" the rolling force decides between rolling and sliding.
    """
    legs, t, x, direction = [], 0.0, np.array(x0, float), None
    while t < duration - 1e-12 and len(legs) < 200:
        m = _Mode(system, mode, seed, direction)
        names = {"sliding": ["lift", "wake"] if m.creep else ["lift", "slide", "veer"], "separated": ["gap"]}.get(
            mode, ["lift", "grip"]
        )
        events = []
        for name in names:
            if name == "grip" and not np.isfinite(system.mu):
                continue
            event = _event(getattr(m, name))
            events.append(event)
        sol = solve_ivp(
            m.rate, (t, duration), x, method="DOP853", rtol=rtol, atol=atol, events=events, dense_output=True
        )
        if sol.status < 0:
            raise RuntimeError(sol.message)
        x1, t1, seed, end = sol.y[:, -1], sol.t[-1], m.seed, "end"
        if sol.status == 1:
            end = events[next(i for i, e in enumerate(sol.t_events) if e.size)].title
        leg = {"mode": mode, "t0": t, "t1": t1, "x0": x, "x1": x1, "end": end, "sol": sol.sol}
        legs.append(leg)
        if end == "end":
            break
        mode, x, direction = _next(system, end, t1, x1, seed)
        t = t1
    return legs


def _event(method: Callable[[float, Array], float]) -> Callable[[float, Array], float]:
    def event(t: float, x: Array) -> float:
        return method(t, x)

    event.terminal, event.direction = True, -1.0
    event.title = {
        "lift": "separation",
        "grip": "slip",
        "slide": "stick",
        "veer": "turn",
        "wake": "turn",
        "gap": "impact",
    }[method.__name__]
    return event


def _next(system: System, end: str, t: float, x: Array, seed) -> tuple[str, Array, Array | None]:
    """Mode after an event, state there, and the slip direction if a slide starts from rest."""
    if end == "separation":
        return "separated", x, None
    if end == "turn":
        return "sliding", x, None
    state, hand = unpack(x, np.asarray(system.control(t), float))
    contact = find_contact(system.body, state, system.hand_shape, hand, seed)
    pure = system.law == "pure-rolling"
    if end == "impact":
        state, _, name = impact(system.body, state, hand, contact, system.mu, pure)
        x = np.r_[x[:7], state.w, state.v, x[13:]]
        if name == "sliding":
            return "sliding", x, None
    if end == "stick":
        state, _, _ = impact(system.body, state, hand, contact, np.inf, pure)
        x = np.r_[x[:7], state.w, state.v, x[13:]]
    out = accelerations(system.body, state, system.hand_shape, hand, system.law, gravity=system.gravity, seed=seed)
    if out["normal_force"] < 0.0:
        return "separated", x, None
    pull = np.linalg.norm(out["tangential_force"])
    if end != "slip" and pull <= system.mu * out["normal_force"]:
        return system.law, x, None
    return "sliding", x, onset(system, state, hand, seed)


def onset(system: System, state: State, hand: Hand, seed) -> Array:
    """Slip direction e of a slide that starts from rest: the slip's rate under friction along -e is along e (secant
    in one angle)."""
    shared = {"mu": system.mu, "gravity": system.gravity, "seed": seed}
    held = accelerations(system.body, state, system.hand_shape, hand, system.law, **shared)
    n, rho = held["contact"].normal, held["contact"].point_object - state.p
    e0 = -unit(held["tangential_force"])

    def direction(angle: float) -> Array:
        return np.cos(angle) * e0 + np.sin(angle) * cross(n, e0)

    def across(angle: float) -> float:
        e = direction(angle)
        slid = accelerations(system.body, state, system.hand_shape, hand, "sliding", slip_direction=e, **shared)
        rate = slid["a"] - held["a"] + cross(slid["alpha"] - held["alpha"], rho)
        return float(n @ cross(e, rate))

    one, two = 0.0, 1e-3
    f_one, f_two = across(one), across(two)
    for _ in range(30):
        if abs(two - one) < 1e-12 or f_two == f_one:
            break
        one, two, f_one = two, two - f_two * (two - one) / (f_two - f_one), f_two
        f_two = across(two)
    return direction(two)


def recheck(system: System, t: float, x: Array, seed=None) -> dict:
    """Gap, slip, contact speeds of a vector (26,), for tests."""
    state, hand = unpack(x, np.asarray(system.control(t), float))
    c = find_contact(system.body, state, system.hand_shape, hand, seed)
    slip = slip_velocity(state, hand, c)
    s_o, s_h = contact_speeds(system.body, state, system.hand_shape, hand, c, slip)
    return {"gap": c.gap, "slip": slip, "S_object": s_o, "S_hand": s_h, "contact": c}
