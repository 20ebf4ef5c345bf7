"""A point on the rim of a rolling wheel draws a cycloid: x = r (a - sin a), z = r (1 - cos a)."""

from __future__ import annotations

import argparse

import numpy as np

import trundle as tr

RADIUS = 0.3  # m
RATE = 2.0  # rad/s, rolling to +x: clockwise


def main(plot: str | None = None) -> float:
    """Print the largest distance from the cycloid and return it (m)."""
    wheel = tr.RigidBody(tr.Circle(RADIUS), mass=1.0)  # kg
    pair = tr.RollingPair(wheel, tr.Ground(tr.Line()))
    start = pair.place(contact_x=0.0, angular_velocity=-RATE)  # rad/s, counter-clockwise
    run = tr.simulate(pair, start, duration=4 * np.pi / RATE)  # two turns, s

    turned = -run["body_angle"][:, 0]  # rad, clockwise
    rim = run["body_position"][:, 0] - RADIUS * np.column_stack([np.sin(turned), np.cos(turned)])  # m
    cycloid = RADIUS * np.column_stack([turned - np.sin(turned), 1 - np.cos(turned)])  # m
    error = float(np.abs(rim - cycloid).max())
    print(f"{turned[-1] / (2 * np.pi):.6f} turns, {rim[-1, 0]:.6f} m: largest distance from the cycloid {error:.1e} m")
    if plot:
        axes = run.plot("position")
        axes.clear()
        axes.plot(*rim.T)
        axes.set(xlabel="x (m)", ylabel="z (m)", title="path of a point on the rim", aspect="equal")
        axes.figure.savefig(plot)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
