"""The record of kind `walking`: the run of a tree in space as that of a robot with a base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray, choice
from trundle.records import ROBOT, Trajectory, make_dataset

if TYPE_CHECKING:
    from trundle.systems.walking.replay.walk_replay import WalkReplay

_KEPT = (
    "joint_position", "joint_velocity", "contact_position", "contact_force", "gap", "slip", "body_position",
    "body_quaternion", "body_velocity", "body_angular_velocity", "contact_normal", "contact_moment", "energy", "mode",
    "body_torque",
)  # fmt: skip


def as_walking(
    run: Trajectory, base: str, phases: Sequence[str] | str, torques: FloatArray | None = None
) -> Trajectory:
    """Return a run of a tree in space as a record of kind `walking`.

    Centre of mass: c = sum m_k c_k / sum m_k, and the same for its velocity. The base's frame has its origin at its
    centre of mass.

    Parameters
    ----------
    run : Trajectory
        Of kind `spatial`.
    base : str
        Name of the body that is the base.
    phases : str, or (n,) of str
        Name of the phase at every sample.
    torques : (n, joints) N m or N, optional
        Of the joints, in place of the run's inputs: those of springs and dampers.

    Raises
    ------
    InputError
        If there is no such body.
    """
    bodies = [str(name) for name in run["body"]]
    k = bodies.index(choice("base", base, bodies))
    masses = np.array([float(run.metadata["physics"]["masses"].get(name, 0.0)) for name in bodies])
    share = masses / np.sum(masses)
    arrays = {
        **{name: run[name] for name in _KEPT if name in run},
        "com_position": np.einsum("j,ijk->ik", share, run["body_position"]),
        "com_velocity": np.einsum("j,ijk->ik", share, run["body_velocity"]),
        "base_position": run["body_position"][:, k],
        "base_quaternion": run["body_quaternion"][:, k],
        "base_velocity": run["body_velocity"][:, k],
        "base_angular_velocity": run["body_angular_velocity"][:, k],
        "joint_torque": run["torque"] if torques is None else torques,
        "phase": np.full(len(run), phases) if isinstance(phases, str) else np.asarray(phases),
    }
    contacts, joints = (tuple(str(n) for n in run[axis]) if axis in run else () for axis in ("contact", "joint"))
    dataset = make_dataset(ROBOT, run.time, arrays, bodies=bodies, contacts=contacts, joints=joints)
    return replace(run, dataset=dataset, metadata=dict(run.metadata))


def label_replay(found: WalkReplay, asked: int) -> Trajectory:
    """Return the run of a replay, with the steps that were walked of those asked for, and the largest deviations."""
    n = len(found.largest) // 2
    told = {
        "steps": found.steps,
        "asked": asked,
        "largest_position": found.largest[:n].tolist(),
        "largest_rate": found.largest[n:].tolist(),
    }
    return replace(found.run, metadata=dict(found.run.metadata) | {"replay": told})
