"""A ball circles inside a vertical tube: it does not fall, it bobs, at sqrt(2/7) of the rate of its orbit."""

from __future__ import annotations

import argparse

import numpy as np

import trundle as tr

BALL, TUBE = 0.05, 0.3  # m, radii
ORBIT = 20.0  # rad/s, of the ball's centre about the axis
GRAVITY = 9.81  # m/s^2


def main(plot: str | None = None) -> float:
    """Print the frequency ratio and return the largest distance from the closed form (m)."""
    ball = tr.RigidBody(tr.Sphere(BALL), mass=0.5)  # kg, solid
    tube = tr.Hand(tr.Tube(TUBE))  # about z, at rest
    pair = tr.RollingPair(ball, tube, friction=1.0, gravity=[0, 0, -GRAVITY])
    spin = -ORBIT * (TUBE - BALL) / BALL  # rad/s: it rolls on the wall, so it spins against its orbit
    start = pair.place(contact_on_hand=[TUBE, 0, 0], object_angular_velocity=[0, 0, spin])
    run = tr.simulate(pair, start, duration=2.0, output_step=0.001)  # s

    x, y, z = run["object_position"].T  # m
    orbit = abs(np.unwrap(np.arctan2(y, x))[-1]) / run.time[-1]
    bob = np.sqrt(2 / 7) * orbit  # rad/s
    expected = -5 / 7 * GRAVITY / bob**2 * (1 - np.cos(bob * run.time))
    error = float(np.abs(z - expected).max())
    # Curvature of the path over its distance from the middle height is the squared frequency.
    found = np.sqrt(-np.polyfit(z[1:-1], np.diff(z, 2) / 0.001**2, 1)[0])
    print(f"lowest point {z.min():.4f} m, status {run.status.label}")
    print(f"bobbing over orbit {found / orbit:.6f}, closed form {np.sqrt(2 / 7):.6f}")
    print(f"largest distance from the closed form {error:.1e} m")
    if plot:
        run.plot("object_position").figure.savefig(plot)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
