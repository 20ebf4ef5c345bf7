"""Housner's rocking block and a row of dominoes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.integrate import quad

from bench.classics.classic import Answer, Classic, Quantity, timed
from bench.classics.scene import GRAVITY, Body, Geom, Joint, Scene, part, rotation
from bench.classics.spinning import crossing, highest

# Housner's block: 2 B wide, 2 H high, let go at a tilt

B, H, MASS, TILT = 0.05, 0.2, 1.0, 0.1  # m, m, kg, rad
REACH, SLENDER = float(np.hypot(B, H)), float(np.arctan(B / H))
TIMES = np.linspace(0, 1.2, 601)
TIP = 1e-6  # m, radius of the two small circles that are trundle's corners


def fall(tilt: float) -> float:
    """Return the time from rest at a tilt to upright, exact: w'' = -p^2 sin(a - w), p^2 = 3 g / (4 R)."""
    p2 = 0.75 * GRAVITY / REACH

    def slowness(y: float) -> float:  # the tilt is tilt - y^2: cos(a - tilt) - cos(a - tilt + y^2) without cancelling
        lead = SLENDER - tilt
        drop = 2 * np.sin(lead + 0.5 * y * y) * 0.5 * np.sinc(0.5 * y * y / np.pi)
        return float(2 / np.sqrt(2 * p2 * drop))

    return float(quad(slowness, 0, np.sqrt(tilt), epsabs=1e-14, epsrel=1e-13)[0])


def next_tilt(tilt: float) -> float:
    """Return the largest tilt after the impact, which keeps (1 - 3/2 sin^2 a) of the rate."""
    kept = (1 - 1.5 * np.sin(SLENDER) ** 2) ** 2
    height = kept * (np.cos(SLENDER - tilt) - np.cos(SLENDER))
    return float(SLENDER - np.arccos(np.cos(SLENDER) + height))


def block_quantities() -> tuple[Quantity, ...]:
    """Return the times of the first two impacts and the tilt between them."""
    second = next_tilt(TILT)
    return (
        Quantity("first impact", fall(TILT), "s"),
        Quantity("tilt after it", second, "rad"),
        Quantity("second impact", fall(TILT) + 2 * fall(second), "s"),
    )


def block_found(times: np.ndarray, tilt: np.ndarray) -> dict[str, float]:
    """Return the quantities of a tilt over time that begins positive."""
    first = crossing(times, tilt)
    later = (times > first + 0.02) if np.isfinite(first) else np.zeros(len(times), bool)
    back = crossing(times[later], tilt[later]) if np.any(later) else float("nan")
    return {
        "first impact": first,
        "tilt after it": highest(times[later], -tilt[later]),
        "second impact": back,
    }


def block_scene() -> Scene:
    """Return a box that stands on its edge at -x, tilted about y."""
    c, s = np.cos(-TILT), np.sin(-TILT)
    # the corner (-B, -H) of the section is at the origin
    centre = (c * B + s * H, 0.0, -s * B + c * H)
    inertia = MASS / 3 * np.array([B**2 + H**2] * 3)
    q = (float(np.cos(TILT / 2)), 0.0, float(-np.sin(TILT / 2)), 0.0)
    body = Body("block", MASS, tuple(inertia), centre, (Geom("box", (B, 0.1, H)),), quaternion=q)
    return Scene((body,), TIMES, friction=1.0)


def block_measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the quantities of any engine's samples."""
    R = rotation(part(samples, "quaternion"))
    return block_found(scene.times, -np.arctan2(R[:, 0, 2], R[:, 2, 2]))


def _block() -> Answer:
    import trundle as tr

    made = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    block = made.free(MASS, MASS / 3 * (B**2 + H**2), name="block")
    for name, side in (("left", -B), ("right", B)):
        made.attach(block, tr.Circle(TIP), at=(side, -H), name=name)
    made.terrain(tr.Line(), friction=1.0)
    tree = made.finish()
    c, s = np.cos(TILT), np.sin(TILT)
    at = (c * B - s * H, s * B + c * H + TIP, TILT)
    start = tree.place(block=at, contacts=["left"], tolerance=1e-3)
    run = tr.simulate(tree, start, TIMES[-1], output_step=TIMES[1])
    hits = [t["time"] for t in run.transitions if t["to"] == "rolling"]
    tilt = np.asarray(run["body_angle"])[:, 0]
    values = block_found(run.time, tilt)
    if len(hits) > 1:
        values |= {"first impact": float(hits[0]), "second impact": float(hits[1])}
    return Answer(values, timed(run), f"{run.status.label}; corners are circles of {TIP:g} m")


# Dominoes that turn about their lower edges, smooth and without bouncing

COUNT, HIGH, THICK, SPACING, PUSH = 12, 0.05, 0.008, 0.02, 3.0  # -, m, m, m between faces, rad/s of the first
DOMINO, ACROSS = 0.01, 0.025  # kg, m wide
CORNER = 1e-7  # m, radius of the small circles that are trundle's corners
DOMINO_TIMES = np.linspace(0, 0.6, 601)


def _lean(angle: float) -> float:
    """Return the angle of a domino that leans on one at `angle`: h sin(a' - a) = (s + d) cos(a) - d."""
    return float(angle + np.arcsin(((SPACING + THICK) * np.cos(angle) - THICK) / HIGH))


def _row(angle: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the angles of the last `count` dominoes to the front one, and their rates over its rate."""
    angles, rates = [angle], [1.0]
    for _ in range(count - 1):
        a = angles[-1]
        inside = ((SPACING + THICK) * np.cos(a) - THICK) / HIGH
        angles.append(_lean(a))
        rates.append(rates[-1] * (1 - (SPACING + THICK) / HIGH * np.sin(a) / np.sqrt(1 - inside**2)))
    return np.array(angles), np.array(rates)


def domino_times() -> list[float]:
    """Return when the second domino, the third, ... is hit, s.

    All that have been hit lean on the next one: one freedom, energy kept between hits. At a hit the new front starts
    with the rate sum(w_i v_i) / sum(w_i^2), w the rates over its own: smooth contacts do no work on that motion.
    """
    inertia = DOMINO / 3 * (HIGH**2 + THICK**2)
    touch = float(np.arcsin(SPACING / HIGH))  # where a front one reaches the next

    def potential(angle: float, count: int) -> float:
        angles, _ = _row(angle, count)
        return float(0.5 * DOMINO * GRAVITY * np.sum(HIGH * np.cos(angles) + THICK * np.sin(angles)))

    time, rate, times = 0.0, PUSH, []
    for count in range(1, COUNT):
        _, w = _row(0.0, count)
        energy = 0.5 * inertia * rate**2 * float(w @ w) + potential(0.0, count)

        def speed(angle: float, count: int = count, energy: float = energy) -> float:
            _, w = _row(angle, count)
            return float(np.sqrt(2 * (energy - potential(angle, count)) / (inertia * (w @ w))))

        time += quad(lambda a: 1 / speed(a), 0, touch, epsabs=1e-12, epsrel=1e-10, limit=200)[0]
        times.append(float(time))
        before = speed(touch) * _row(touch, count)[1]
        _, after = _row(0.0, count + 1)
        rate = float(after[1:] @ before / (after @ after))
    return times


def domino_quantities() -> tuple[Quantity, ...]:
    """Return when dominoes are hit."""
    times = domino_times()
    return (
        Quantity("second is hit", times[0], "s"),
        Quantity(f"number {COUNT} is hit", times[-1], "s"),
    )


def domino_scene() -> Scene:
    """Return the row; each turns about its lower edge ahead."""
    inertia = DOMINO / 12 * np.array([ACROSS**2 + HIGH**2, THICK**2 + HIGH**2, ACROSS**2 + THICK**2])
    bodies = []
    for i in range(COUNT):
        edge = i * (SPACING + THICK)
        joint = Joint(None, "hinge", (0, 1, 0), (edge, 0, 0), PUSH if i == 0 else 0.0)
        box = (Geom("box", (THICK / 2, ACROSS / 2, HIGH / 2)),)
        bodies.append(Body(f"domino{i}", DOMINO, tuple(inertia), (edge - THICK / 2, 0, HIGH / 2), box, joint))
    return Scene(tuple(bodies), DOMINO_TIMES, friction=0.0, bodies_touch=True)


def domino_measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return when dominoes begin to turn the right way."""

    def hit(i: int) -> float:
        turning = np.flatnonzero(part(samples, "spin", i)[:, 1] > 0.5)
        return float(scene.times[turning[0]]) if len(turning) else float("nan")

    return {"second is hit": hit(1), f"number {COUNT} is hit": hit(COUNT - 1)}


def _dominoes() -> Answer:
    import trundle as tr

    made = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    inertia, middle = DOMINO / 12 * (THICK**2 + HIGH**2), (-THICK / 2, HIGH / 2)
    for i in range(COUNT):
        edge = (i * (SPACING + THICK), 0.0)
        one = made.revolute(None, edge, DOMINO, inertia, center_of_mass=middle, actuated=False, name=f"domino{i}")
        made.attach(one, tr.Circle(CORNER), at=(-CORNER, HIGH), name=f"corner{i}")
        if i:
            made.attach(one, tr.Line(), at=(-THICK, 0.0), rpy=np.pi / 2, name=f"face{i}")
            made.resist(one, high=0.0)  # the floor under the edge behind
            made.contact(f"corner{i - 1}", f"face{i}", friction=0.0)
    tree = made.finish()
    start = tree.place(rates={"domino0": -PUSH})
    run = tr.simulate(tree, start, domino_times()[-1] + 1e-3, output_step=DOMINO_TIMES[1])
    hits = [t["time"] for t in run.transitions if t["contact"].startswith("corner") and "closed" in t["reason"]]
    first = dict(zip(("second is hit", f"number {COUNT} is hit"), (hits[0], hits[COUNT - 2]), strict=True))
    return Answer(first, timed(run), f"{run.status.label}; corners are circles of {CORNER:g} m")


CLASSICS = (
    Classic(
        "rocking-block",
        "Rocking block",
        "A block of 0.1 by 0.4 m, let go at 0.1 rad, rocks from edge to edge; an impact keeps 1 - 3/2 sin^2(a) of the "
        "rate.",
        "Housner, Bull. Seismol. Soc. Am. 53 (1963) 403; times by quadrature of the exact equation",
        block_quantities,
        _block,
        block_scene,
        block_measure,
    ),
    Classic(
        "dominoes",
        "Domino toppling",
        f"{COUNT} dominoes on hinges along their lower edges, smooth and without bouncing; those that were hit lean on "
        "the next one.",
        "van Leeuwen, Am. J. Phys. 78 (2010) 721, without friction",
        domino_quantities,
        _dominoes,
        domino_scene,
        domino_measure,
    ),
)
