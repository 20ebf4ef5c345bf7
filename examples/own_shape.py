"""An egg, a shape of one's own, rolls on a shaking plate. The plate's work is the energy that the egg gains."""

from __future__ import annotations

import argparse

import casadi as ca
import numpy as np
from scipy.integrate import simpson

import trundle as tr

WIDE, LONG, BLUNT = 0.022, 0.029, 0.003  # m
MASS = 0.06  # kg


def egg(ux: ca.SX, uy: ca.SX, uz: ca.SX) -> ca.SX:
    """Return the support function (m): how far the egg reaches in a direction, times the direction's length."""
    across = ux**2 + uy**2
    return ca.sqrt(WIDE**2 * across + LONG**2 * uz**2) + BLUNT * uz**3 / (across + uz**2)


def main(plot: str | None = None) -> float:
    """Print the balance of energy and return its error relative to the work."""
    shape = tr.geometry.ExpressionBody(egg)  # checked: homogeneous and convex, or an error says where it is not
    centroid, _ = shape.mass_properties()
    body = tr.RigidBody(shape, MASS, inertia="solid", center_of_mass=centroid)
    shaking = tr.SinusoidMotion(
        amplitude=[0, 0, 0, 3.0, 1.0, 0],  # rad/s^2, m/s^2: derivative of the plate's twist
        frequency=[0, 0, 0, 2.0, 3.0, 0],  # Hz
        phase=[0, 0, 0, np.pi / 2, np.pi / 2, 0],  # rad: it starts and stays about where it is
    )
    plate = tr.Hand(tr.Plane(), motion=shaking)
    pair = tr.RollingPair(body, plate, friction=0.9, gravity=[0, 0, -9.81])  # m/s^2
    lying = [np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0]  # (w, x, y, z): the long axis along x
    run = tr.simulate(pair, pair.place(object_quaternion=lying), duration=3.0, output_step=0.001)  # s

    power = np.sum(run["contact_force"] * run["hand_velocity"], axis=1)  # W: the plate only shifts
    work = simpson(power, x=run.time)  # J
    gained = run["energy"][-1] - run["energy"][0]  # J
    error = float(abs(gained - work) / np.abs(power).max() / run.time[-1])
    print(f"the egg wanders {np.ptp(run['contact_on_hand'][:, :2], axis=0) * 1e3} mm on the plate")
    print(f"status {run.status.label}, feasible {run.feasible}")
    print(f"work {work:.9f} J, energy gained {gained:.9f} J, error over the largest power {error:.1e}")
    if plot:
        run.plot("contact_on_hand").figure.savefig(plot)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
