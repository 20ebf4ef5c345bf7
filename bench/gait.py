"""``python -m bench.gait FILE``: the radius of a foot from measured walking on a treadmill.

FILE is `walking_right_leg.txt` of the Gait Analysis Toolkit (csu-hmc, Apache-2.0): markers of the right leg and the
force plate at 100 Hz. In a complete stance the shank, with a circle for a foot, rolls on the belt: a torque holds its
angle to the measured one, and its ankle and its point of contact follow. Identified from ankle (m), angle and centre of
pressure are the circle's radius, its place in the shank's frame (x forward, z to the knee) and where the ankle starts.

Chosen before fitting: the stance 8.45 to 9.12 s; pressure counts above 150 N; deviations 3 mm, 10 mrad, 10 mm; the
belt's speed is that of the toe's marker in midstance.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.interpolate import UnivariateSpline

import trundle as tr

STANCE, MIDSTANCE = (8.45, 9.12), (8.60, 8.85)  # s
LOADED = 150.0  # N
PERIOD, RATE = 0.01, 60.0  # s, 1/s, of the feedback on the angle
NAMES = ("shank.radius", "shank.shape_at[0]", "shank.shape_at[1]")
GUESS = (0.3, 0.03, 0.2)  # m
CLEAR = 1e-3  # m: a ground that is not at zero has coordinates for the point of contact


def columns(path: Path) -> dict[str, np.ndarray]:
    """Return the file's columns by name; gaps are NaN."""
    head, *rows = path.read_text().splitlines()
    names = head.lstrip("% ").split("\t")
    table = np.array([[float(cell) for cell in row.split("\t")] for row in rows if row.strip()])
    return dict(zip(names, table.T, strict=True))


def measured(data: dict[str, np.ndarray]) -> tuple[tr.RollingTree, tr.Measured]:
    """Return shank and foot with what was measured of a stance, over the belt."""
    clean = ~np.any([np.isnan(data[name]) for name in data if "Pos" in name], axis=0)
    print(f"{int(np.sum(~clean))} rows without all markers are left out")
    seen = data["TimeStamp"]
    middle = clean & (seen >= MIDSTANCE[0]) & (seen <= MIDSTANCE[1])
    belt = -float(np.polyfit(seen[middle], data["RMT5.PosX"][middle], 1)[0])
    use = clean & (seen >= STANCE[0]) & (seen <= STANCE[1])
    t = seen[use] - seen[use][0]
    ankle = np.column_stack([data["RLM.PosX"][use] + belt * t, data["RLM.PosY"][use]])
    shank = np.column_stack([data["RLEK.PosX"][use] - data["RLM.PosX"][use], data["RLEK.PosY"][use] - ankle[:, 1]])
    angle = np.arctan2(-shank[:, 0], shank[:, 1])
    force = data["FP2.ForY"][use]
    pressure = np.where(force > LOADED, data["FP2.MomZ"][use] / np.where(force > LOADED, force, 1.0), np.nan)
    path = UnivariateSpline(t, angle, k=5, s=len(t) * 4e-3**2)
    model, start = shank_on_foot(float(ankle[0, 0]), float(path(0.0)), float(path.derivative()(0.0)))
    values = {"shank.position": ankle, "shank.orientation": angle, "shank.coordinates.1": pressure + belt * t}
    deviations = {"shank.position": 3e-3, "shank.orientation": 1e-2, "shank.coordinates.1": 1e-2}
    print(f"belt {belt:.3f} m/s, {len(t)} samples, {int(np.sum(~np.isnan(pressure)))} with pressure")
    return model, tr.Measured(t, values, start, deviations, following(model, path, float(t[-1])))


def shank_on_foot(x: float, angle: float, rate: float) -> tuple[tr.RollingTree, tr.Start]:
    """Return a shank whose frame is the ankle's, on a round foot, and its start."""
    radius, *place = GUESS
    robot = tr.Robot(on_slip="ignore", on_separation="ignore")
    robot.free(1.0, 1.0, shape=tr.Circle(radius), shape_at=place, actuated=True, name="shank")
    robot.terrain(tr.Line(offset=CLEAR))
    model = robot.finish()
    z = CLEAR + radius - np.sin(angle) * place[0] - np.cos(angle) * place[1]
    return model, model.place(shank=(x, z, angle), rates={"shank": rate})


def following(model: tr.RollingTree, path: UnivariateSpline, duration: float) -> tr.LinearFeedback:
    """Return the torque that holds the shank's angle to a path."""
    begin = np.arange(int(np.ceil(duration / PERIOD)) + 1) * PERIOD
    layout, size = model.model().layout, model.model().x.shape[0]
    angle, rate = layout["shank.orientation"].start, layout["shank.angular_velocity"].start
    states, gains = np.zeros((len(begin), size)), np.zeros((1, size))
    states[:, angle], states[:, rate] = path(begin), path.derivative()(begin)
    gains[0, angle], gains[0, rate] = RATE**2 / 4, RATE  # N m/rad, N m s/rad of 1 kg m2
    return tr.LinearFeedback(PERIOD, path.derivative(2)(begin + PERIOD / 2)[:, None], gains, states)


def main(file: str) -> int:
    """Print what was found."""
    model, data = measured(columns(Path(file)))
    found = tr.identify(model, data, parameters=NAMES, initial=["shank.position.x"], relative_tolerance=1e-8)
    for name, value in found.parameters.items():
        print(f"{name:18} {value:.4f} +- {found.deviations[name]:.4f} m")
    print(f"{found.status.label}, residual {found.residual:.2f} deviations, {found.evaluations} evaluations")
    return 0 if found.status is tr.Status.SUCCESS else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
