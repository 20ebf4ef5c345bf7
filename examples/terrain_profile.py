"""A wheel coasts over a measured profile. It turns by the length rolled over its radius, less the change of slope."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import trundle as tr

PROFILE = Path(__file__).parent / "data" / "profile.csv"  # x, z in m
RADIUS = 0.25  # m
MASS, INERTIA = 4.0, 0.2  # kg, kg m^2


def main(plot: str | None = None) -> float:
    """Print how far the wheel turned and return the error (rad)."""
    points = np.loadtxt(PROFILE, delimiter=",", skiprows=2)
    wheel = tr.RigidBody(tr.Circle(RADIUS), MASS, INERTIA)
    path = tr.Ground(tr.geometry.SampledCurve(points))
    pair = tr.RollingPair(wheel, path, friction=0.8, on_slip="slide", on_separation="fly")
    start = pair.place(contact_x=0.5, angular_velocity=-6.0)  # m, rad/s counter-clockwise
    run = tr.simulate(pair, start, duration=5.0, output_step=0.001)  # s

    contact = run["contact_position"][:, 0]  # m
    normal = (run["body_position"][:, 0] - contact) / RADIUS
    rolled = np.linalg.norm(np.diff(contact, axis=0), axis=1).sum()  # m
    slope = np.unwrap(np.arctan2(-normal[:, 0], normal[:, 1]))  # rad
    turned = -(run["body_angle"][-1, 0] - run["body_angle"][0, 0])  # rad, clockwise
    expected = rolled / RADIUS - (slope[-1] - slope[0])
    error = float(abs(turned - expected))
    force = np.sum(run["contact_force"][:, 0] * normal, axis=1)  # N
    print(f"{contact[-1, 0] - contact[0, 0]:.4f} m forward in {run.time[-1]:.2f} s, status {run.status.label}")
    print(f"normal force from {force.min():.2f} N to {force.max():.2f} N, weight {MASS * 9.81:.2f} N")
    print(f"rolled {rolled:.6f} m; turned {turned:.6f} rad, closed form {expected:.6f} rad, error {error:.1e} rad")
    if plot:
        run.plot("motion").figure.savefig(plot)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
