"""A weak cart rolls towards a wall: its arm finds the wall by itself, catches the cart there and pushes it off."""

from __future__ import annotations

import argparse

import casadi as ca
import numpy as np

import trundle as tr

MASS, DRIVE, GOAL = 20.0, 12.0, 2.0  # kg, N (largest), m
SHOULDER, LINK, HAND = 0.6, 0.4, 0.03  # m: height, length of each of two links, radius
RATE, FRICTION, PUSH = 5.0, 0.6, 80.0  # rad/s and N (largest)
STEP, STAGES = 0.04, 50  # s
WALL = tr.Wall([0, 0, 0], [1, 0, 0])
LAWS = [(0.15, 0.1), (0.08, 0.06), (0.04, 0.03), (0.02, 0.02)]  # m, widths and offsets: wide ones lead to the wall


def build() -> tuple[tr.optimal.ControlProblem, ca.Function]:
    """Return the problem with p = (largest force, width, offset), and what happens at a stage."""
    x, u, p = ca.SX.sym("x", 4), ca.SX.sym("u", 4), ca.SX.sym("p", 3)  # (place, speed, angles), (drive, rates, u_t)
    a, b = x[2], x[2] + x[3]
    hand = ca.vertcat(x[0] - LINK * (ca.cos(a) + ca.cos(b)), 0, SHOULDER + LINK * (ca.sin(a) + ca.sin(b)))
    velocity = ca.jtimes(hand, x, ca.vertcat(x[1], 0, u[1:3]))
    touch = tr.SoftTouch.at(hand, velocity, HAND, WALL)
    press = tr.normal_force(touch.distance, *ca.vertsplit(p))
    force = touch.force(press, ca.vertcat(u[3], 0))
    step, jacobian = tr.optimal.midpoint(ca.vertcat(x[1], (u[0] + force[0]) / MASS, u[1:3]), x, u, STEP)
    off, most = ca.vertcat(x[0] - GOAL, x[1], x[2] + 1.0, x[3] - 2.0), [DRIVE, RATE, RATE, FRICTION]
    residual = ca.vertcat(off, u / most, touch.no_slip(press, PUSH), touch.landing())
    limits = ca.vertcat(1 - (u / most) ** 2, x[3] - 0.1, 2.6 - x[3], touch.distance + 0.02)
    along = tr.optimal.Cost(residual, [4, 0.4, 0.05, 0.05, *[0.02] * 4, 20, 20, 6], limits, mu=0.05, delta=0.02)
    problem = tr.optimal.ControlProblem(
        x, u, p, step, along, tr.optimal.Cost(off, [40, 20, 0.5, 0.5]), STAGES, jacobian
    )
    return problem, ca.Function("seen", [x, u, p], [touch.distance, force])


def plan(optimiser: tr.optimal.Optimiser, largest: float) -> tuple[tr.optimal.ControlSolution, np.ndarray]:
    """Return the plan and its parameters, from a guess at rest, arm folded, without any contact."""
    start, p = np.array([1.2, -0.8, -1.0, 2.0]), np.zeros(3)
    guess = tr.optimal.Guess(np.zeros((STAGES, 4)), np.tile(start, (STAGES + 1, 1)))
    for width, offset in LAWS:
        p = np.array([largest, width, offset])
        found = optimiser.solve(start, p, guess, tr.optimal.Limits(200, tolerance=1e-6))
        guess = tr.optimal.Guess(found.inputs, found.states)
    return found, p


def main(plot: str | None = None) -> float:
    """Print both plans and return the largest error of m v = impulse of drive and hand (N s)."""
    (problem, seen), error = build(), 0.0
    optimiser = tr.optimal.Optimiser(problem, damping=0.1)
    for name, largest in (("drive alone", 1e-9), ("with the arm", PUSH)):
        found, p = plan(optimiser, largest)
        x, u = found.states, found.inputs
        distance, force = (np.array(value)[0] for value in seen(x[:-1].T, u.T, p))
        middle = x[:-1] + 0.5 * STEP * np.column_stack([x[:-1, 1], (u[:, 0] + force) / MASS, u[:, 1:3]])
        impulse = STEP * np.cumsum(u[:, 0] + np.array(seen(middle.T, u.T, p)[1])[0])
        error = max(error, float(np.abs(MASS * (x[1:, 1] - x[0, 1]) - impulse).max()))
        most = np.max(force[distance < 0.005], initial=0.0)
        print(f"{name}: nearest {x[:, 0].min():.2f} m, at 2 s {x[-1, 0]:.2f} m, largest push at the wall {most:.0f} N")
        print(f"  {found.status.label}: a step more would take {found.decrease:.0e} off the cost {found.cost:.1f}")
    print(f"largest error of the momentum {error:.1e} N s")
    if plot:
        import matplotlib.pyplot as plt

        figure, (above, below) = plt.subplots(2, 1, sharex=True, layout="constrained")
        above.plot(STEP * np.arange(STAGES + 1), x[:, :2], label=["place, m", "speed, m/s"])
        below.plot(STEP * np.arange(STAGES), np.column_stack([force, u[:, 0]]), label=["push, N", "drive, N"])
        above.legend(), below.legend(), below.set_xlabel("s")
        figure.savefig(plot)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
