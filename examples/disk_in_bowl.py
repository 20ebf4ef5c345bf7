"""A disk swings in a circular bowl. Its period is that of a pendulum, at any amplitude.

Period 4 K(sin(A/2)^2) sqrt(3/2 (R - r)/g), K the complete elliptic integral, A the amplitude of the line of centres.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import ellipk

import trundle as tr

RADIUS, BOWL = 0.1, 1.0  # m
AMPLITUDE = 1.0  # rad, far from small
GRAVITY = 9.81  # m/s^2


def main(plot: str | None = None) -> float:
    """Print both periods and return the relative error."""
    disk = tr.RigidBody(tr.Circle(RADIUS), mass=0.5)  # kg, solid
    bowl = tr.Ground(tr.Arc(BOWL, center=[0, BOWL], side="inside"))
    pair = tr.RollingPair(disk, bowl, friction=1.0, gravity=GRAVITY)
    start = pair.place(contact_x=BOWL * np.sin(AMPLITUDE))  # m, at rest
    run = tr.simulate(pair, start, duration=6.0, output_step=0.01)  # s

    # It passes the bottom after a quarter and three quarters of a period: where a cubic through the samples is zero.
    contact, speed = run["contact_position"][:, 0, 0], run["body_velocity"][:, 0, 0]  # m, m/s
    before = np.flatnonzero(contact[1:-2] * contact[2:-1] < 0)
    crossings = [zero(run.time[i : i + 4], contact[i : i + 4]) for i in before]
    period = 2 * (crossings[1] - crossings[0])
    expected = 4 * ellipk(np.sin(AMPLITUDE / 2) ** 2) * np.sqrt(1.5 * (BOWL - RADIUS) / GRAVITY)
    error = float(abs(period / expected - 1))
    print(f"largest speed {np.abs(speed).max():.4f} m/s, status {run.status.label}")
    print(f"period {period:.9f} s, closed form {expected:.9f} s, relative error {error:.1e}")
    if plot:
        run.plot("position").figure.savefig(plot)
    return error


def zero(t: np.ndarray, value: np.ndarray) -> float:
    """Return where the cubic through four samples is zero between the two in the middle."""
    middle = t[1:3].mean()
    roots = np.roots(np.polyfit(t - middle, value, 3))
    return float(middle + min(roots[np.isreal(roots)].real, key=abs))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
