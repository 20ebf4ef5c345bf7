"""A coin rolls once around a bar as thick as itself. How often does it turn? Twice, not once."""

from __future__ import annotations

import argparse

import numpy as np

import trundle as tr

RADIUS = 0.012  # m, of the coin and of the bar
RIM = 0.001  # m, how round the coin's edge is
RATE = 2.0  # rad/s, of the coin


def main(plot: str | None = None) -> float:
    """Print turns per round and return the error (turns)."""
    coin = tr.RigidBody(tr.Disc(RADIUS - RIM, rounding=RIM), mass=0.006)  # kg
    bar = tr.Hand(tr.Cylinder(RADIUS))  # along z, at rest
    # Weightless, nothing presses the coin onto the bar: the question is one of geometry, so a pull is let pass.
    pair = tr.RollingPair(coin, bar, gravity=[0, 0, 0], on_slip="ignore", on_separation="ignore")
    start = pair.place(contact_on_hand=[RADIUS, 0, 0], object_angular_velocity=[0, 0, RATE])
    run = tr.simulate(pair, start, duration=4 * np.pi / RATE)  # two turns of the coin, s

    x, y, _ = run["contact_on_hand"].T
    rounds = np.ptp(np.unwrap(np.arctan2(y, x))) / (2 * np.pi)
    w, _, _, z = run["object_quaternion"].T
    turns = np.ptp(np.unwrap(2 * np.arctan2(z, w), period=4 * np.pi)) / (2 * np.pi)
    error = float(abs(turns / rounds - 2.0))
    print(f"rounds of the bar {rounds:.9f}, turns of the coin {turns:.9f}: {turns / rounds:.9f} turns a round")
    print(f"rolled length over the coin's rim says 1, the closed form 1 + R/r = 2; error {error:.1e}")
    print(f"status: {run.status.label} (without gravity the contact has to pull)")
    if plot:
        run.plot("object_position").figure.savefig(plot)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
