"""``python -m bench.classics.drift [seconds [relative_tolerance]]``: what smooth bodies keep while they roll.

Energy of every smooth body on a plane; of balls whose centre of mass lies off their centre Jellett's and Routh's
integrals, too. Printed: the largest departure over the run from its begin, relative to that; steps, and processor time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial.transform import Rotation

import trundle as tr
from tests.oracles import analytic

LIMIT = 1e-9
LENGTH = 60.0  # s


@dataclass(frozen=True)
class Rolling:
    """A body on level ground and how it begins: roll, pitch and yaw (rad), angular velocity (rad/s), world."""

    body: tr.RigidBody
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def run(self, seconds: float = LENGTH, relative_tolerance: float | None = None) -> tr.Trajectory:
        """Return the run; forces that no friction gives do not end it: the equations are what is tested."""
        flat = isinstance(self.body.shape, tr.Circle | tr.Ellipse | tr.FourierRadius)
        ground = tr.Ground(tr.Line() if flat else tr.Plane())
        pair = tr.RollingPair(self.body, ground, on_slip="ignore", on_separation="ignore")
        if flat:
            start = pair.place(angle=self.rpy[0], angular_velocity=self.spin[0])
        else:
            turned = Rotation.from_euler("xyz", self.rpy).as_quat(scalar_first=True)
            start = pair.place(object_quaternion=turned, object_angular_velocity=self.spin)
        return tr.simulate(pair, start, seconds, output_step=0.05, relative_tolerance=relative_tolerance)

    def kept(self, run: tr.Trajectory) -> Mapping[str, np.ndarray]:
        """Return what the motion keeps, at every sample."""
        body, energy = self.body, {"energy": run["energy"]}
        if not isinstance(body.shape, tr.Sphere) or not np.any(body.shape_origin):
            return energy
        R = Rotation.from_quat(run["object_quaternion"], scalar_first=True).as_matrix()
        rho, w = run["contact_position"] - run["object_position"], run["object_angular_velocity"]
        inertia = np.asarray(body.moments)
        I1, _, I3 = np.diag(inertia)
        numbers = {"I1": I1, "I3": I3, "mass": body.mass, "radius": body.shape.radius}
        numbers["offset"] = float(body.shape_origin[2])
        turning = zip(R, w, rho, strict=True)
        return energy | {
            "Jellett": np.array([analytic.jellett(*one[:2], inertia, one[2]) for one in turning]),
            "Routh": np.array([analytic.routh(*one, **numbers) for one in zip(R, w, strict=True)]),
        }


def drift(values: np.ndarray) -> float:
    """Return the largest departure from the begin, relative to it."""
    return float(np.max(np.abs(values - values[0])) / abs(values[0]))


BODIES: Mapping[str, Rolling] = {
    "ball": Rolling(tr.RigidBody(tr.Sphere(0.2), 1.0), (0.3, 0.2, 0.1), (1.0, 2.0, 3.0)),
    "ball, heavy below": Rolling(
        tr.RigidBody(tr.Sphere(0.3), 2.0, [0.06, 0.06, 0.04], (0, 0, -0.1)), (1.28, 0.0, 0.2), (0.0, 6.9, -3.5)
    ),
    "spheroid": Rolling(tr.RigidBody(tr.Ellipsoid((0.2, 0.2, 0.3)), 1.0), (1.4, 0.0, 1.5), (0.3, 6.8, -0.5)),
    "ellipsoid": Rolling(tr.RigidBody(tr.Ellipsoid((0.2, 0.25, 0.3)), 1.0), (1.4, 0.0, 1.5), (0.3, 6.8, -0.5)),
    "superellipsoid": Rolling(
        tr.RigidBody(tr.Superellipsoid((0.2, 0.25, 0.3), (1.7, 1.8), 0.02), 1.0), (0.3, 0.2, 0.1), (0.5, 1.0, 2.0)
    ),
    "coin": Rolling(tr.RigidBody(tr.Disc(0.2), 1.0), (0.42, 0.0, 2.44), (0.3, -3.7, -3.7)),
    "torus": Rolling(tr.RigidBody(tr.Torus(0.3, 0.1), 1.0), (0.64, 0.0, 0.16), (-0.7, -0.8, 2.4)),
    "circle, heavy below": Rolling(
        tr.RigidBody(tr.Circle(0.2), 1.0, 0.02, (0.0, -0.05)), (2.5, 0.0, 0.0), (6.0, 0.0, 0.0)
    ),
    "ellipse": Rolling(tr.RigidBody(tr.Ellipse((0.3, 0.2)), 1.0), (1.5, 0.0, 0.0), (6.0, 0.0, 0.0)),
    "egg": Rolling(
        tr.RigidBody(tr.FourierRadius(0.2, (0.0, 0.01), (0.0, 0.005)), 1.0), (1.5, 0.0, 0.0), (6.0, 0.0, 0.0)
    ),
}
"""Of coin, torus and ball the hardest of six random starts: most steps, and forces that no floor could give."""


def main() -> None:
    """Print the table; the exit code is 1 where something drifts by more than the limit."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else LENGTH
    tolerance = float(sys.argv[2]) if len(sys.argv) > 2 else None
    table, bad = Table("body", "ended", "energy", "Jellett", "Routh", "steps", "CPU, s"), False
    for name, rolling in BODIES.items():
        rolling.run(0.1)  # compiled
        begin = time.process_time()
        run = rolling.run(seconds, tolerance)
        taken = time.process_time() - begin
        found = {key: drift(values) for key, values in rolling.kept(run).items()}
        cells = [f"{found[key]:.1e}" if key in found else "" for key in ("energy", "Jellett", "Routh")]
        steps = str(run.metadata["statistics"]["steps"])
        table.add_row(name, f"{run.status.label} {run.time[-1]:g} s", *cells, steps, f"{taken:.3f}")
        bad |= max(found.values()) > LIMIT or run.time[-1] < seconds
    Console(width=120).print(table)
    sys.exit(int(bad))


if __name__ == "__main__":
    main()
