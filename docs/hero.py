"""Draw docs/images/plate-spinning.png: the ball on the spinning plate, its traces, the contact force.

``python docs/hero.py`` needs nothing but trundle. The same run as in the README.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial.transform import Rotation

import trundle as tr

RADIUS, PLATE = 0.2, 0.46  # m
BLUE, PALE, GREY, RED = "#0072b2", "#f4f8fb", "#e4e4e2", "#c51b3a"
VIEW = np.radians([24.0, -58.0])  # elevation and azimuth of the camera


def patches(n_phi: int, n_theta: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners (n, 4, 3) of patches of the unit sphere, and which of them are blue."""
    phi, theta = np.linspace(0, 2 * np.pi, n_phi + 1), np.linspace(0, np.pi, n_theta + 1)
    x = np.stack(
        [
            np.sin(theta)[:, None] * np.cos(phi),
            np.sin(theta)[:, None] * np.sin(phi),
            np.cos(theta)[:, None] * np.ones_like(phi),
        ],
        -1,
    )
    quads = np.stack([x[:-1, :-1], x[:-1, 1:], x[1:, 1:], x[1:, :-1]], 2).reshape(-1, 4, 3)
    row, column = np.divmod(np.arange(len(quads)), n_phi)
    return quads, (column * 6 // n_phi + row * 2 // n_theta) % 2 == 0


def draw(run: tr.Trajectory, k: int, file: Path) -> None:
    """Draw sample k of the run."""
    camera = np.array([np.cos(VIEW[0]) * np.cos(VIEW[1]), np.cos(VIEW[0]) * np.sin(VIEW[1]), np.sin(VIEW[0])])
    centre, contact = run["object_position"][k], run["contact_position"]
    turn = Rotation.from_quat(run["object_quaternion"][k].copy(), scalar_first=True)
    spun = Rotation.from_quat(run["hand_quaternion"][k].copy(), scalar_first=True).as_euler("zyx")[0]
    figure = plt.figure(figsize=(8, 4.6), dpi=130)
    ax = figure.add_axes((0, -0.255, 1, 8 / 4.6), projection="3d", computed_zorder=False)
    ax.set_axis_off()
    angles = spun + np.linspace(0, 2 * np.pi, 145)
    for i in range(12):  # the plate's sectors
        arc = angles[12 * i : 12 * i + 13]
        rings = [r * np.stack([np.cos(arc), np.sin(arc), 0 * arc], 1) for r in (0.0, PLATE)]
        ax.add_collection3d(
            Poly3DCollection([np.vstack([rings[0][:1], rings[1]])], color=GREY if i % 2 else "white", zorder=1)
        )
    rim = PLATE * np.stack([np.cos(angles), np.sin(angles), 0 * angles], 1)
    ax.plot(*rim.T, color="#b8b8b4", linewidth=1.2, zorder=2)
    ax.plot(*contact[: k + 1].T, color=RED, linewidth=2.4, zorder=3)
    quads, blue = patches(60, 30)
    quads = turn.apply(quads.reshape(-1, 3)).reshape(-1, 4, 3)
    normals = quads.mean(1)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    light = 0.62 + 0.38 * np.clip(normals @ np.array([0.2, -0.5, 0.84]), 0, 1)
    colours = np.where(blue[:, None], matplotlib.colors.to_rgb(BLUE), matplotlib.colors.to_rgb(PALE)) * light[:, None]
    trace = centre + 1.004 * turn.apply(run["contact_on_object"][: k + 1].copy())
    near = (trace - centre) @ camera > 0
    for front, order in ((False, 4), (True, 7)):
        seen = (normals @ camera > 0) == front
        faces = np.c_[colours[seen], np.full(seen.sum(), 0.34 if front else 0.2)]
        ax.add_collection3d(
            Poly3DCollection(centre + RADIUS * quads[seen], facecolors=faces, linewidths=0, zorder=order)
        )
        line = np.where((near == front)[:, None], trace, np.nan)
        ax.plot(*line.T, color="#00406a", linewidth=1.8, alpha=0.95 if front else 0.45, zorder=order + 1)
    force = 0.32 * run["contact_force"][k] / np.linalg.norm(run["contact_force"][k])
    ax.quiver(*contact[k], *force, color="#222222", linewidth=2.2, arrow_length_ratio=0.12, zorder=6)
    ax.set(xlim=(-0.3, 0.3), ylim=(-0.3, 0.3), zlim=(-0.02, 0.43))
    ax.set_box_aspect((0.6, 0.6, 0.45), zoom=0.8)
    ax.view_init(*np.degrees(VIEW))
    figure.savefig(file, facecolor="white")


def main() -> None:
    """Simulate and draw."""
    ball = tr.RigidBody(tr.Sphere(radius=RADIUS), mass=0.1, inertia="solid")
    plate = tr.Hand(tr.Plane(), twist=[0, 0, 7, 0, 0, 0])  # rad/s, m/s, hand frame
    pair = tr.RollingPair(ball, plate, law="rolling", friction=0.8)
    start = pair.place(contact_on_hand=[0, 0, 0], object_angular_velocity=[1, 0, 0])
    run = tr.simulate(pair, start, duration=2.3)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images" / "plate-spinning.png"
    draw(run, len(run.time) - 1, target)


if __name__ == "__main__":
    main()
