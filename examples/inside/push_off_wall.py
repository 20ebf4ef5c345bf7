"""A weak cart rolls towards a wall: its arm finds the wall by itself, catches the cart there and pushes it off."""

from __future__ import annotations

import argparse

import casadi as ca
import numpy as np

from trundle.contact.soft import SoftTouch, Wall, normal_force
from trundle.numerics.ilqr import ControlProblem, Cost, Guess, Limits, Optimiser, midpoint

MASS, DRIVE, GOAL = 20.0, 12.0, 2.0  # kg, N (largest), m
SHOULDER, LINK, HAND = 0.6, 0.4, 0.03  # m: height, length of each of two links, radius
RATE, FRICTION, PUSH = 5.0, 0.6, 80.0  # rad/s and N (largest)
STEP, STAGES = 0.04, 50  # s
WALL = Wall([0, 0, 0], [1, 0, 0])
LAWS = [(0.15, 0.1), (0.08, 0.06), (0.04, 0.03), (0.02, 0.02)]  # m, widths and offsets: wide ones lead to the wall


def build() -> tuple[ControlProblem, ca.Function]:
    """Return the problem with p = (largest force, width, offset), and what happens at a stage."""
    x, u, p = ca.SX.sym("x", 4), ca.SX.sym("u", 4), ca.SX.sym("p", 3)  # (place, speed, angles), (drive, rates, u_t)
    a, b = x[2], x[2] + x[3]
    hand = ca.vertcat(x[0] - LINK * (ca.cos(a) + ca.cos(b)), 0, SHOULDER + LINK * (ca.sin(a) + ca.sin(b)))
    velocity = ca.jtimes(hand, x, ca.vertcat(x[1], 0, u[1:3]))
    touch = SoftTouch(hand, velocity, HAND, ca.DM(WALL.numbers))
    press = normal_force(touch.distance, *ca.vertsplit(p))
    force = touch.force(press, ca.vertcat(u[3], 0))
    step, jacobian = midpoint(ca.vertcat(x[1], (u[0] + force[0]) / MASS, u[1:3]), x, u, STEP)
    off = ca.vertcat(x[0] - GOAL, x[1], x[2] + 1.0, x[3] - 2.0)
    residual = ca.vertcat(off, u / [DRIVE, RATE, RATE, FRICTION], touch.no_slip(press, PUSH), touch.landing())
    limits = [1 - (u / [DRIVE, RATE, RATE, FRICTION]) ** 2, x[3] - 0.1, 2.6 - x[3], touch.distance + 0.02]
    along = Cost(residual, [4, 0.4, 0.05, 0.05, *[0.02] * 4, 20, 20, 6], ca.vertcat(*limits), mu=0.05, delta=0.02)
    problem = ControlProblem(x, u, p, step, along, Cost(off, [40, 20, 0.5, 0.5]), STAGES, jacobian)
    return problem, ca.Function("seen", [x, u, p], [touch.distance, force, hand])


def plan(optimiser: Optimiser, largest: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return states, inputs and parameters of the plan from a guess at rest, arm folded, without any contact."""
    start, p = np.array([1.2, -0.8, -1.0, 2.0]), np.zeros(3)
    guess = Guess(np.zeros((STAGES, 4)), np.tile(start, (STAGES + 1, 1)))
    for width, offset in LAWS:
        p = np.array([largest, width, offset])
        found = optimiser.solve(start, p, guess, Limits(60, tolerance=1e-6))
        guess = Guess(found.inputs, found.states)
    return found.states, found.inputs, p


def main(plot: str | None = None) -> float:
    """Print both plans and return the largest error of m v = impulse of drive and hand (N s)."""
    (problem, seen), error = build(), 0.0
    optimiser = Optimiser(problem, damping=0.1)
    for name, largest in (("drive alone", 1e-9), ("with the arm", PUSH)):
        x, u, p = plan(optimiser, largest)
        distance, force, hand = (np.array(value) for value in seen(x[:-1].T, u.T, p))
        middle = x[:-1] + 0.5 * STEP * np.column_stack([x[:-1, 1], (u[:, 0] + force[0]) / MASS, u[:, 1:3]])
        impulse = STEP * np.cumsum(u[:, 0] + np.array(seen(middle.T, u.T, p)[1])[0])
        error = max(error, float(np.abs(MASS * (x[1:, 1] - x[0, 1]) - impulse).max()))
        most = np.max(force[0][distance[0] < 0.005], initial=0.0)
        print(f"{name}: nearest {x[:, 0].min():.2f} m, at 2 s {x[-1, 0]:.2f} m, largest push at the wall {most:.0f} N")
    print(f"largest error of the momentum {error:.1e} N s")
    if plot:
        draw(plot, x, force[0], hand)
    return error


def draw(file: str, x: np.ndarray, force: np.ndarray, hand: np.ndarray) -> None:
    """Write a picture: the cart, its arm and the wall's force on the hand at six instants."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 2, figsize=(8, 7), sharex=True, sharey=True, layout="constrained")
    for k, axis in zip((0, 10, 16, 20, 25, 45), axes.flat, strict=True):
        place, elbow = x[k, 0], SHOULDER + LINK * np.sin(x[k, 2])
        axis.plot([place, place - LINK * np.cos(x[k, 2]), hand[0, k]], [SHOULDER, elbow, hand[2, k]], "o-", color="C0")
        axis.plot(
            place + np.array([0, 0, -0.15, -0.15, 0.15, 0.15, 0]), [0.6, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2], color="C1"
        )
        axis.plot(place + np.array([-0.1, 0.1]), [0.05, 0.05], "o", color="C1", markersize=9)
        axis.plot(hand[0, k] + np.array([0, force[k] / 150]), [hand[2, k] + 0.08] * 2, color="C3", linewidth=3)
        axis.axvspan(-0.2, 0, color="0.8")
        axis.set(xlim=(-0.2, 1.9), ylim=(0, 1), aspect="equal", ylabel="m" if k in (0, 16, 25) else None)
        axis.set_title(f"{k * STEP:.1f} s: speed {x[k, 1]:+.2f} m/s, push {force[k]:.0f} N", fontsize=9)
    figure.savefig(file)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
