"""The record of a plan: nodes, the accurate replay, a reference to follow, and residuals that were recomputed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np

from trundle.checks import FloatArray, array
from trundle.errors import InputError
from trundle.records.reference import Reference
from trundle.records.sealed import load_arrays, read_typed, reading, save_arrays
from trundle.records.trajectory import Trajectory
from trundle.status import Status

_FORMAT = 1  # number of the layout, raised when it changes
_OF_REFERENCE = ("times", "states", "inputs")
_WALL_TIMES = {"build", "solve", "replay"}


@final
@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A planned motion, or the best attempt at one.

    Parameters
    ----------
    status : Status
        SUCCESS only if the accurate replay meets the goal and keeps the friction cone, whatever a solver said.
    times : (N + 1,) s
        Of the nodes.
    states, inputs : (N + 1, n_x), (N + 1, n_u)
        In rolling coordinates on the charts `atlas`; inputs (derivative of the hand's body twist, angular first) are
        linear between nodes.
    atlas : tuple
    residuals : mapping of str to float
        ``kkt_residual`` (scaled), ``constraint_violation``, ``cost``, ``friction_use``, ``torsional_use``,
        ``normal_force_min``, ``release_force`` (N); ``goal_position_error`` (m, contact on the hand),
        ``goal_rotation_error`` (rad, object), ``goal_hand_position_error`` (m), ``goal_hand_rotation_error`` (rad),
        ``goal_velocity_error`` (m/s, object), ``goal_angular_velocity_error`` (rad/s, object, relative to the hand
        unless the goal is one in the world), ``goal_hand_velocity_error``, ``goal_hand_angular_velocity_error``; and
        ``replay_position_difference`` (m, contact on the hand, between the two replays). NaN where something was
        never computed.
    history : sequence of mapping
        One a solved mesh: ``nodes``, ``status``, ``iterations``, ``cost``, residuals, goal errors and the wall times
        ``build``, ``solve``, ``replay`` (s).
    trajectory : Trajectory, optional
        The replay of the inputs by `trundle.simulate` in the user's own coordinates.
    reference : Reference, optional
        Dense states and inputs (at most 2 ms apart) of the replay in rolling coordinates, for tracking.
    message : str
        What is violated most, where the plan failed.

    Examples
    --------
    >>> from trundle import Status
    >>> states, residuals = [[0.0], [0.1]], {"goal_position_error": 1e-6}
    >>> plan = tr.Plan(Status.SUCCESS, [0.0, 1.0], states, [[0.0], [0.2]], ((0, 0),), residuals)
    >>> plan.success, plan.duration, plan.states.shape
    (True, 1.0, (2, 1))
    """

    status: Status
    times: FloatArray
    states: FloatArray
    inputs: FloatArray
    atlas: tuple[tuple[int, int], ...]
    residuals: Mapping[str, float]
    history: Sequence[Mapping[str, Any]] = field(default=())
    trajectory: Trajectory | None = None
    reference: Reference | None = None
    message: str = ""

    def __post_init__(self) -> None:
        times = array("times", self.times, (None,), unit="s")
        if times.size == 0 or np.any(np.diff(times) < 0):
            raise InputError("times", self.times, "at least one time, not decreasing (s)")
        object.__setattr__(self, "times", times)
        for name in ("states", "inputs"):
            object.__setattr__(self, name, array(name, getattr(self, name), (times.size, None)))
        object.__setattr__(self, "atlas", tuple((int(a), int(b)) for a, b in self.atlas))
        object.__setattr__(self, "residuals", dict(self.residuals))
        object.__setattr__(self, "history", tuple(dict(entry) for entry in self.history))

    @property
    def success(self) -> bool:
        """Whether the plan holds."""
        return self.status is Status.SUCCESS

    @property
    def duration(self) -> float:
        """Length of the motion, s."""
        return float(self.times[-1] - self.times[0])

    @property
    def wall_time(self) -> float:
        """Time all of it took, s."""
        return float(sum(entry.get(part, 0.0) for entry in self.history for part in _WALL_TIMES))

    @property
    def tracked(self) -> Reference:
        """The reference, for tracking.

        Raises
        ------
        InputError
            If there is none: the replay diverged, or the file is one of an older version.
        """
        if self.reference is None:
            raise InputError("reference", None, "a plan that has a reference to track")
        return self.reference

    def __repr__(self) -> str:
        """Return outcome, size and goal errors in one line."""
        r = self.residuals
        errors = f"{r.get('goal_position_error', np.nan):.2g} m, {r.get('goal_rotation_error', np.nan):.2g} rad"
        return f"<Plan: {self.status.label}, {len(self.times)} nodes over {self.duration:g} s, goal error {errors}>"

    def save(self, path: str | Path) -> Path:
        """Write nodes, residuals, history and reference (.npz, without pickle); a reader never sees half a file.

        The replay is not in it: ``plan.trajectory.save`` writes that.

        Raises
        ------
        InputError
            If the folder does not exist or cannot be written to.
        """
        content = {
            "format": _FORMAT,
            "status": self.status.label,
            "atlas": self.atlas,
            "residuals": self.residuals,
            "history": self.history,
            "message": self.message,
        }
        arrays = {"times": self.times, "states": self.states, "inputs": self.inputs}
        if self.reference is not None:
            content["reference_atlas"] = self.reference.atlas
            arrays |= {f"reference_{name}": getattr(self.reference, name) for name in _OF_REFERENCE}
        return save_arrays(path, content, arrays)


def load_plan(path: str | Path) -> Plan:
    """Read a file that `Plan.save` wrote, for going on from it or tracking it; it has no trajectory.

    Its reference is the one that was saved, bit by bit: a `TrackingLQR` of the loaded plan is that of the plan itself.

    Raises
    ------
    InputError
        If the file is missing or no plan.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> plan = tr.Plan(tr.Status.SUCCESS, [0.0, 1.0], [[0.0], [0.1]], [[0.0], [0.2]], ((0, 0),), {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = tr.load_plan(plan.save(pathlib.Path(folder) / "plan.npz"))
    >>> again.inputs.tolist()
    [[0.0], [0.2]]
    """
    source = Path(path)
    if not source.is_file():
        raise InputError("path", str(source), "an existing file")
    with reading(source, "a plan written by trundle"):
        content, data = load_arrays(source, _FORMAT)
        history: list[dict[str, Any]] = []
        for entry in content["history"]:
            history.append(entry | {key: float(entry[key]) for key in _WALL_TIMES & entry.keys()})
        return Plan(
            status=Status.from_label(content["status"]),
            times=data["times"],
            states=data["states"],
            inputs=data["inputs"],
            atlas=tuple((a, b) for a, b in content["atlas"]),
            residuals={key: float(value) for key, value in content["residuals"].items()},
            history=history,
            reference=_reference(content, data),
            message=read_typed(content, "message", str),
        )


def _reference(content: Mapping[str, Any], data: Mapping[str, FloatArray]) -> Reference | None:
    """Return the reference of a file, or None: attempts without a replay have none, nor do files of older versions."""
    if "reference_atlas" not in content:
        return None
    arrays = {name: data[f"reference_{name}"] for name in _OF_REFERENCE}
    return Reference(**arrays, atlas=tuple((a, b) for a, b in content["reference_atlas"]))
