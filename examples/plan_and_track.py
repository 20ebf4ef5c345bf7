"""A ball on a plate is moved and turned by rotations of the plate: a plan, and feedback that keeps to it.

The start is 4 mm off; a camera with noise sees the ball every 4 ms, and late. The planned inputs alone end elsewhere.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import trundle as tr

RADIUS = 0.035  # m
GOAL = np.array([0.0, -0.033, 0.0])  # m, on the plate


def pair(motion: Any = None) -> tr.RollingPair:
    """Return a billiard ball on a plate that moves as it is told."""
    ball = tr.RigidBody(tr.Sphere(RADIUS), mass=0.216, inertia="solid")  # kg
    return tr.RollingPair(ball, tr.Hand(tr.Plane(), motion=motion or tr.Coast()), friction=0.5)


def main(plot: str | None = None) -> float:
    """Print how far plan, planned inputs and feedback end from the goal; return the plan's error, m."""
    plate = pair()
    task = tr.juggling.Transfer(
        plate,
        plate.place(),
        tr.juggling.Goal(
            contact_on_hand=GOAL, object_quaternion=[np.sqrt(0.5), np.sqrt(0.5), 0, 0]
        ),  # +90 degrees about x
        duration=2.0,  # s
        hand_limits=tr.juggling.HandLimits(freedoms="rotations", angular_acceleration=50.0),  # rad/s^2
    )
    plan = tr.juggling.plan(task)
    Q = {"hand_rotation": 10, "object_rotation": 10, "contact": 1e4, "hand_angular_velocity": 0.1}
    Q |= {"hand_position": 1, "hand_velocity": 1, "relative_velocity": 0.1}
    R = {"hand_angular_acceleration": 1e-3, "hand_acceleration": 1e-3}
    track = tr.TrackingLQR(plate, plan, Q, R, {k: 1e3 * v for k, v in Q.items()}, freedoms="rotations")
    eyes = tr.control.Camera(position_sigma=2e-4, angle_sigma=1e-3)  # m, rad
    off = plate.place(contact_on_hand=[0.0032, 0.0024, 0.0])  # m
    run = tr.simulate(plate, off, policy=tr.control.Sensed(track, plate, eyes), duration=2.0)  # s
    planned = tr.SampledMotion(plan.times, plan.inputs)
    alone = tr.simulate(pair(planned), off, duration=2.0)

    error = plan.residuals["goal_position_error"]
    print(f"plan: {plan.status.label or 'success'}, replayed it ends {error:.1e} m from its goal")
    for name, motion in (("planned inputs alone", alone), ("feedback", run)):
        print(f"{name}: {1e3 * np.linalg.norm(motion['contact_on_hand'][-1] - GOAL):.2f} mm from the goal")
    if plot:
        run.plot("contact_on_hand").figure.savefig(plot)
    return float(error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
