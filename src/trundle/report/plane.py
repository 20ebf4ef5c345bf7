"""What every run in the x-z plane looks like, recorded in the plane, or of a pair with planar shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trundle.numerics.rotations import rotation_plane
from trundle.records import SceneBody, Trajectory
from trundle.report.trees import body_index, is_tree, of_contact

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PlanePose:
    """Motion of a frame in the plane over n samples: position (n, 2) m, angle (n,) rad, and their rates."""

    position: Array
    angle: Array
    velocity: Array
    angular_velocity: Array

    @property
    def R(self) -> Array:  # noqa: N802
        """Rotations (n, 2, 2), world from frame."""
        return rotation_plane(self.angle)


@dataclass(frozen=True)
class PlanarView:
    """One body and its base in the plane.

    Attributes
    ----------
    body, base : SceneBody or None
        Object and hand, or body and terrain.
    of_body : PlanePose
        Of the centre of mass.
    of_base : PlanePose
        Of the base's frame; terrain is still.
    contact, force : (n, 2)
        World, m and N; the force acts on the body.
    gap : (n,) m
    normal : (n, 2) or None
        Unit normal out of the base, where it is recorded.
    """

    body: SceneBody | None
    base: SceneBody | None
    of_body: PlanePose
    of_base: PlanePose
    contact: Array
    force: Array
    gap: Array
    normal: Array | None


def lies_in_plane(run: Trajectory) -> bool:
    """Return whether a run is planar: recorded in the plane, or its object is an outline."""
    return run.dimension == 2


def planar_view(run: Trajectory, slot: int = 0) -> PlanarView:
    """Return the view of a run for which `lies_in_plane` holds, of the contact in `slot`."""
    if run.layout == "pair":
        return PlanarView(
            run.body("object"),
            run.body("hand"),
            _pose(run, "object"),
            _pose(run, "hand"),
            flat(run["contact_position"]),
            flat(run["contact_force"]),
            run["gap"],
            flat(run["contact_normal"]),
        )
    shown = of_contact(run, slot) if is_tree(run) else run.body("body")
    k = body_index(run, shown) if is_tree(run) and shown is not None else 0
    body = PlanePose(
        run["body_position"][:, k],
        run["body_angle"][:, k],
        run["body_velocity"][:, k],
        run["body_angular_velocity"][:, k],
    )
    still = PlanePose(
        *(np.zeros_like(value) for value in (body.position, body.angle, body.velocity, body.angular_velocity))
    )
    contact = (run["contact_position"][:, slot], run["contact_force"][:, slot], run["gap"][:, slot])
    normal = run["contact_normal"][:, slot] if "contact_normal" in run else np.full((len(run), 2), np.nan)
    known = bool(np.all(np.isfinite(normal)))  # older records have none
    return PlanarView(shown, run.body("terrain"), body, still, *contact, normal if known else None)


def flat(vectors: Array) -> Array:
    """Return x and z (n, 2) of vectors (n, 3)."""
    return vectors[:, [0, 2]]


def lift(vectors: Array) -> Array:
    """Return vectors (n, 2) of the plane as (n, 3), with y = 0."""
    return np.stack([vectors[:, 0], np.zeros(len(vectors)), vectors[:, 1]], axis=1)


def _pose(run: Trajectory, who: str) -> PlanePose:
    q = run[f"{who}_quaternion"]
    angle = np.unwrap(2 * np.arctan2(-q[:, 2], q[:, 0]))
    return PlanePose(
        flat(run[f"{who}_position"]), angle, flat(run[f"{who}_velocity"]), -run[f"{who}_angular_velocity"][:, 1]
    )
