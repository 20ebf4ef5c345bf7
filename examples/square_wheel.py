"""A rounded square rolls on the road made for it, and its centre stays level: the bumps fill what its corners miss."""

from __future__ import annotations

import argparse

import numpy as np
from scipy.integrate import cumulative_simpson

import trundle as tr

SIZE, CORNER = 0.3, -0.055  # r = SIZE (1 + CORNER cos 4 phi): m, and how square
LEVEL = 0.5  # m, height of the centre
MASS, INERTIA = 5.0, 0.25  # kg, kg m^2


def road(bumps: int) -> np.ndarray:
    """Return points (n, 2), m, of the road: x' = r, z = LEVEL - r over the angle from straight down.

    Rolling, the centre lies straight above the contact, which is the instantaneous pole: it can only move level.
    """
    phi = np.linspace(0.0, bumps * np.pi / 2, 60 * bumps + 1)
    r = SIZE * (1 + CORNER * np.cos(4 * phi))
    return np.column_stack([cumulative_simpson(r, x=phi, initial=0.0), LEVEL - r])


def main(plot: str | None = None) -> float:
    """Print how level the centre stays and return how much it moves up and down (m)."""
    wheel = tr.RigidBody(tr.FourierRadius(SIZE, [0, 0, 0, CORNER]), MASS, INERTIA)
    points = road(bumps=14)
    ground = tr.Ground(tr.geometry.SampledCurve(points))
    pair = tr.RollingPair(wheel, ground, friction=2.0, on_slip="slide", on_separation="fly")
    # On top of the second bump the middle of a side is below; the wheel rolls to the right.
    start = pair.place(contact_x=points[120, 0], angle=0.0, angular_velocity=-2.0)  # m, rad, rad/s
    run = tr.simulate(pair, start, duration=6.0, output_step=0.01)  # s

    x, z = run["body_position"][:, 0].T
    rise = float(np.ptp(z))
    rate = run["body_angular_velocity"][:, 0]
    print(f"{x[-1] - x[0]:.3f} m forward in {run.time[-1]:.2f} s, status {run.status.label}")
    print(f"rate {-rate.max():.2f} to {-rate.min():.2f} rad/s; the road goes up and down {np.ptp(points[:, 1]):.3f} m")
    print(f"the centre stays {z.mean():.6f} m high, up and down {rise:.1e} m")
    if plot:
        run.plot("motion").figure.savefig(plot)
    return rise


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)
