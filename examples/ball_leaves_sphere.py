"""A ball let go near the top of a fixed sphere flies off where the cosine of its angle is 10/17 of the first one."""

from __future__ import annotations

import argparse

import numpy as np

import trundle as tr

BALL, SPHERE = 0.05, 0.5  # m, radii
FROM_TOP = 0.1  # rad, where it is let go
GRAVITY = 9.81  # m/s^2


def main(plot: str | None = None) -> float:
    """Print where it leaves and return the error of the cosine."""
    ball = tr.RigidBody(tr.Sphere(BALL), mass=0.5)  # kg, solid
    sphere = tr.Hand(tr.Sphere(SPHERE))  # at rest
    # Shortly before it leaves it would slip at any friction; with "ignore" it is held on until the force is zero.
    pair = tr.RollingPair(ball, sphere, friction=1.0, gravity=[0, 0, -GRAVITY], on_slip="ignore", on_separation="fly")
    contact = [SPHERE * np.sin(FROM_TOP), 0, SPHERE * np.cos(FROM_TOP)]  # m
    run = tr.simulate(pair, pair.place(contact_on_hand=contact), duration=1.5, output_step=0.002)  # s

    (leaving,) = run.transitions
    flying = run.time > leaving["time"]
    t = run.time[flying] - leaving["time"]
    position, velocity = run["object_position"][flying], run["object_velocity"][flying]  # m, m/s
    # A parabola goes through every sample of the flight; followed back, each tells where the ball left.
    origins = position - t[:, None] * velocity - np.outer(t**2, [0, 0, GRAVITY / 2])
    cosines = origins[:, 2] / np.linalg.norm(origins, axis=1)
    expected = 10 / 17 * np.cos(FROM_TOP)
    error = float(np.abs(cosines - expected).max())
    print(f"leaves after {leaving['time']:.6f} s, {np.degrees(np.arccos(cosines[0])):.4f} degrees from the top")
    print(f"cosine {cosines[0]:.9f}, closed form {expected:.9f}, error over the whole flight {error:.1e}")
    print(f"status {run.status.label} (a real contact would have slipped a little earlier)")
    if plot:
        run.plot("object_position").figure.savefig(plot)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
