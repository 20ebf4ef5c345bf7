"""A cart with a bogie and three wheels rolls over waves without a motor: its energy stays what it is."""

from __future__ import annotations

import argparse

import numpy as np

import trundle as tr


def main(plot: str | None = None) -> float:
    """Print the largest change of the energy and return it, in parts of the kinetic energy."""
    robot = tr.Robot(gravity=9.81, on_separation="stop")  # m/s2
    base = robot.free(20.0, 1.2, name="base")  # kg, kg m2
    bogie = robot.revolute(base, at=(0.4, -0.1), mass=2.0, inertia=0.05, name="bogie")  # m
    wheel = tr.Circle(0.12)  # m
    robot.revolute(bogie, at=(0.2, -0.1), mass=1.0, shape=wheel, name="front")
    robot.revolute(bogie, at=(-0.2, -0.1), mass=1.0, shape=wheel, name="middle")
    robot.revolute(base, at=(-0.4, -0.2), mass=1.0, shape=wheel, name="rear")
    robot.terrain(tr.Sinusoid(0.03, 2.0), friction=0.8)
    cart = robot.finish()

    start = cart.place(base=(0.0, 0.33, 0.0), rates={"rear": -8.0}, tolerance=0.1)  # m, rad; rad/s
    run = tr.simulate(cart, start, duration=2.0)  # s
    moving = 12.5 * float(np.max(np.sum(run["body_velocity"][:, 0] ** 2, axis=1)))  # J
    error = float(np.ptp(run["energy"])) / moving
    print(f"{run['body_position'][-1, 0, 0]:.3f} m rolled, {run.status.label}: energy changed by {error:.1e}")
    if plot:
        run.plot("motion").figure.savefig(plot)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
