"""A ball thrown without spin slides, then rolls: after 2 v/(7 mu g), with 5/7 of its speed, whatever the friction."""

from __future__ import annotations

import argparse

import trundle as tr

SPEED = 2.0  # m/s
FRICTION = 0.15
GRAVITY = 9.81  # m/s^2


def main(plot: str | None = None) -> float:
    """Print when and how fast it rolls and return the larger relative error."""
    ball = tr.RigidBody(tr.Sphere(0.1085), mass=7.0)  # m, kg: a bowling ball
    lane = tr.Ground(tr.Plane())
    pair = tr.RollingPair(ball, lane, friction=FRICTION, gravity=[0, 0, -GRAVITY], on_slip="slide")
    start = pair.place(slip=[SPEED, 0, 0])  # m/s, of the ball's material point over the lane
    run = tr.simulate(pair, start, duration=1.0)  # s

    for change in run.transitions:
        print(f"{change['time']:.9f} s: {change['from']} -> {change['to']} ({change['reason']})")
    time, speed = run.transitions[-1]["time"], run["object_velocity"][-1, 0]
    expected = 2 * SPEED / (7 * FRICTION * GRAVITY)
    error = max(abs(time / expected - 1), abs(speed / (5 / 7 * SPEED) - 1))
    print(f"rolls after {time:.9f} s, closed form {expected:.9f} s")
    print(f"at {speed:.9f} m/s, closed form {5 / 7 * SPEED:.9f} m/s; relative error {error:.1e}")
    if plot:
        run.plot("object_velocity").figure.savefig(plot)
    return float(error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
