"""What runs of other simulators are judged by, without a run of this package: energy, overlap, known answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.classics.blocks import COUNT, HIGH, SPACING, domino_times
from bench.classics.impacts import HIT
from bench.contacts.balls import CASE
from trundle.interop.scene import PeerBody, PeerContact, PeerGeom, PeerScene

ROUND = ("sphere", "ellipsoid")
WINDOW = 0.05  # s, longer than a soft contact stores energy


def rotations(samples: np.ndarray) -> np.ndarray:
    """Return R_world_body (n, 3, 3) of the quaternions in samples (n, 13) of a body."""
    w, x, y, z = samples[:, 3:7].T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def kinetic(body: PeerBody, samples: np.ndarray) -> np.ndarray:
    """Return the kinetic energy (n,), J, of a body's samples (n, 13)."""
    R, spin = rotations(samples), samples[:, 7:10]
    speed = samples[:, 10:] + np.cross(spin, R @ body.com)
    inside = np.einsum("nji,nj->ni", R, spin)
    turning = np.einsum("ni,ij,nj->n", inside, body.inertia, inside)
    return 0.5 * (body.mass * np.sum(speed**2, axis=1) + turning)


def potential(scene: PeerScene, body: PeerBody, samples: np.ndarray) -> np.ndarray:
    """Return the energy (n,), J, of a body's weight."""
    if body.weightless:
        return np.zeros(len(samples))
    return -body.mass * (samples[:, :3] + rotations(samples) @ body.com) @ scene.gravity


def energy_made(scene: PeerScene, times: np.ndarray, samples: np.ndarray) -> float:
    """Return by how much the mechanical energy rises, over the most that is kinetic; 0 is right without a drive.

    What contacts store for a while is none: of each `WINDOW` the highest counts.
    """
    moving = np.array([kinetic(body, samples[:, k]) for k, body in enumerate(scene.bodies)]).sum(axis=0)
    still = np.array([potential(scene, body, samples[:, k]) for k, body in enumerate(scene.bodies)]).sum(axis=0)
    every = max(1, round(WINDOW / float(times[1] - times[0])))
    highest = [np.max((moving + still)[i : i + every]) for i in range(0, len(times) - every + 1, every)]
    rise = np.max(highest - np.minimum.accumulate(highest), initial=0.0)
    return float(rise / np.max(moving))


def momentum_lost(scene: PeerScene, samples: np.ndarray) -> float:
    """Return how far the sum of momenta goes from that of the start, over its size; 0 is right where nothing pulls."""
    masses = np.array([body.mass for body in scene.bodies])
    found = np.einsum("k,nki->ni", masses, samples[:, :, 10:])
    return float(np.linalg.norm(found - found[0], axis=1).max() / np.linalg.norm(found[0]))


def _pose(scene: PeerScene, geom: PeerGeom, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return places (n, 3) and rotations (n, 3, 3) of a geom."""
    if not geom.body:
        return np.tile(geom.position, (len(samples), 1)), np.tile(geom.R, (len(samples), 1, 1))
    own = samples[:, [body.name for body in scene.bodies].index(geom.body)]
    R = rotations(own)
    return own[:, :3] + R @ geom.position, R @ geom.R


def _gaps(scene: PeerScene, samples: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the gaps (n,), m, of contacts of spheres, and of spheres and ellipsoids with planes."""
    geoms = {geom.name: geom for geom in scene.geoms}
    poses = {name: _pose(scene, geom, samples) for name, geom in geoms.items()}

    def gap(one: PeerContact) -> np.ndarray | None:
        A, B = geoms[one.first].form, geoms[one.second].form
        (p, R), (q, Q) = poses[one.first], poses[one.second]
        if (A.kind, B.kind) == ("sphere", "sphere"):
            return np.linalg.norm(p - q, axis=1) - A.size[0] - B.size[0]
        if A.kind not in ROUND or B.kind != "plane":
            return None
        n = Q[:, :, 2]
        reach = np.linalg.norm(np.einsum("nji,nj->ni", R, n) * np.resize(A.size, 3), axis=1)
        return np.einsum("ni,ni->n", p - q, n) - reach

    for one in scene.contacts:
        found = gap(one)
        if found is not None:
            yield found


def overlap(scene: PeerScene, samples: np.ndarray) -> float | None:
    """Return how deep bodies are in each other at most, m; None where it is not known."""
    lowest = [float(gap.min()) for gap in _gaps(scene, samples)]
    return max(0.0, -min(lowest)) if lowest else None


# Known answers, each of times (n,) and samples (n, bodies, 13)


def row(times: np.ndarray, samples: np.ndarray) -> str:
    """Tell the last ball's speed over that of the first at the start: 1 between equal balls that keep all of it."""
    return f"last ball {samples[-1, -1, 10] / HIT:.4f} of the speed"


def plate(times: np.ndarray, samples: np.ndarray) -> str:
    """Tell how far the ball is from its place on the circle that it rolls on, `bench.reference`."""
    centre, turned = CASE.circle_centre, CASE.circle_rate * times[-1]
    c, s = np.cos(turned), np.sin(turned)
    last = centre + np.array([[c, -s], [s, c]]) @ -centre
    return f"{1e3 * np.linalg.norm(samples[-1, -1, :2] - last):.3g} mm from the exact place"


def dominoes(times: np.ndarray, samples: np.ndarray) -> str:
    """Tell how late the last domino is hit that is hit: when the one behind it has turned as far as the gap is wide."""
    touch, known = float(np.arcsin(SPACING / HIGH)), domino_times()
    for number in range(COUNT, 1, -1):
        R = rotations(samples[:, number - 2])
        angle = np.arctan2(R[:, 0, 2], R[:, 2, 2])
        if angle.max() > touch:
            rising = slice(angle.argmax() + 1)
            late = float(np.interp(touch, angle[rising], times[rising])) - known[number - 2]
            return f"number {number} is hit {1e3 * abs(late):.2g} ms {'late' if late > 0 else 'early'}"
    return "no domino is hit"


def fingers(times: np.ndarray, samples: np.ndarray) -> str:
    """Tell how far the ball has moved that is held: it rests."""
    moved = np.linalg.norm(samples[:, 0, :3] - samples[0, 0, :3], axis=1).max()
    return f"the ball that rests moves by {1e3 * moved:.3g} mm"
