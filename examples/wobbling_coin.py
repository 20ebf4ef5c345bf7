"""A coin rolls on its rim with its centre at rest; the contact circles at sqrt(4 g/(r sin(tilt))).

The flatter the coin lies, the faster it goes: that is the rattle of a coin that comes to rest.
"""

from __future__ import annotations

import argparse

import numpy as np

import trundle as tr

RADIUS = 0.012  # m
TILT = 0.3  # rad, between the coin and the table
GRAVITY = 9.81  # m/s^2


def main(plot: str | None = None) -> float:
    """Print the rate of the contact and return its relative error."""
    mass = 0.006  # kg
    flat = mass * RADIUS**2 / 4  # kg m^2, about a diameter of a thin disc
    coin = tr.RigidBody(tr.Disc(RADIUS), mass=mass, inertia=[flat, flat, 2 * flat])
    pair = tr.RollingPair(coin, tr.Ground(tr.Plane()), friction=1.0, gravity=[0, 0, -GRAVITY])

    expected = np.sqrt(4 * GRAVITY / (RADIUS * np.sin(TILT)))  # rad/s
    # Tilted about x; the angular velocity lies along the radius to the lowest point, so that the centre rests.
    quaternion = [np.cos(TILT / 2), np.sin(TILT / 2), 0, 0]
    along = np.array([0, np.cos(TILT), np.sin(TILT)])
    start = pair.place(
        object_quaternion=quaternion,
        object_angular_velocity=expected * np.sin(TILT) * along,  # rad/s
    )
    run = tr.simulate(pair, start, duration=0.5, output_step=0.002)  # s

    offset = run["contact_position"] - run["object_position"]
    azimuth = np.unwrap(np.arctan2(offset[:, 1], offset[:, 0]))
    rate = abs(azimuth[-1] - azimuth[0]) / run.time[-1]
    error = float(abs(rate / expected - 1))
    wander = np.ptp(run["object_position"], axis=0).max()
    print(f"the centre wanders by {wander:.1e} m, status {run.status.label}")
    print(f"contact circles at {rate:.6f} rad/s, closed form {expected:.6f} rad/s, relative error {error:.1e}")
    if plot:
        run.plot("object_angular_velocity").figure.savefig(plot)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
