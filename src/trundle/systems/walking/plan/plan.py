"""WalkPlan: one cycle of an optimal walk, its continuation over many steps, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trundle.checks import FloatArray, array, integer
from trundle.errors import InputError
from trundle.records.sealed import load_arrays, read_typed, reading, save_arrays
from trundle.status import Status

_FORMAT = 1  # number of the layout, raised when it changes
_ARRAYS = ("times", "q", "nu", "acceleration", "torque", "force", "moment", "point", "standing", "phase", "mirror")
_FURTHER = ("gravity", "z", "dual")


@dataclass(frozen=True, eq=False)
class WalkPlan:
    """A planned walk: nodes, and what acts in the N intervals between them.

    Within an interval accelerations are constant: nu is linear and q quadratic in time up to O(h^2). At an impact there
    is an interval of no length between the rates before and after it; what acts in it is that of the next one.

    Attributes
    ----------
    times : (N + 1,) s
    q, nu : (N + 1, n)
        Base (x, y, z m, yaw, pitch, roll rad; R = Rz Ry Rx) and joints in the order of `joints`, world; their rates.
    acceleration : (N, n)
        d nu/dt.
    torque : (N, n - 6) N m
        Of the joints' motors; `springs` come on top.
    force, moment, point : (N, C, 3) N, N m, m
        On the left and the right foot (C = 2; of feet with toes C = 4, those between them; of a robot, as
        ``settings["contacts"]`` names them), world, at the middle of
        the interval: the force at ``point`` and the moment about it (zero of a rolling sole).
    standing : (N, C) bool
        Whether the left, the right foot stands.
    phase : (N,) int
        Number of the name in `phases`.
    phases, joints : tuple of str
    mirror : (n, n)
        The next step, where the plan is one step of a mirrored walk: q -> mirror q. None of a full cycle.
    gravity : (3,) m/s2
        In the world, whose ground is z = 0: tilted on a slope.
    status : Status
    statistics : mapping
        ``iterations``, ``cost``, ``kkt_residual``, ``constraint_violation``, wall times ``build`` and ``solve``, ...
    settings : mapping
        What was asked, JSON-able.
    z, dual : (size,), (rows + size,)
        Unknowns of the program and multipliers of its rows and bounds, for warm starts.
    """

    times: FloatArray
    q: FloatArray
    nu: FloatArray
    acceleration: FloatArray
    torque: FloatArray
    force: FloatArray
    moment: FloatArray
    point: FloatArray
    standing: FloatArray
    phase: FloatArray
    phases: tuple[str, ...]
    joints: tuple[str, ...]
    mirror: FloatArray | None
    gravity: FloatArray
    status: Status = Status.SUCCESS
    statistics: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    z: FloatArray = field(default_factory=lambda: np.zeros(0))
    dual: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def stretch(self) -> list[float]:
        """Factors (3,) of the rolling sole's semi-axes, which `Gait.stretch` left to the plan."""
        return self.statistics.get("stretch", [1.0] * 3)

    @property
    def springs(self) -> FloatArray:
        """Torques (N, n - 6) of springs and dampers at the joints, N m, at the middles of the intervals."""
        stiffness, damping = np.array(self.settings.get("springs", np.zeros((2, len(self.joints)))))
        q, nu = ((nodes[1:, 6:] + nodes[:-1, 6:]) / 2 for nodes in (self.q, self.nu))
        return -stiffness * q - damping * nu

    @property
    def images(self) -> dict[str, str]:
        """Names of feet that the mirror image swaps."""
        return self.settings.get("image", {"left": "right", "right": "left"})

    @property
    def order(self) -> list[int]:
        """Number of the contact whose mirror image each one is."""
        names: list[str] = self.settings.get("contacts", [])
        reversed_order = list(range(self.standing.shape[1]))[::-1]
        return [names.index(self.images[name]) for name in names] or reversed_order

    @property
    def feet(self) -> list[list[int]]:
        """Numbers of the contacts of each foot, the one that lands first in front."""
        count = self.standing.shape[1]
        left = list(range(count // 2))
        return self.settings.get("feet", [left, [count - 1 - i for i in left]])

    @property
    def once(self) -> bool:
        """Whether it goes from standing to standing, not on and on."""
        return bool(self.settings.get("once", False))

    @property
    def duration(self) -> float:
        """Time from the first to the last node, s."""
        return float(self.times[-1] - self.times[0])

    @property
    def length(self) -> float:
        """Way of the base along x, m."""
        return float(self.q[-1, 0] - self.q[0, 0])

    @property
    def middles(self) -> FloatArray:
        """Times of the middles of the intervals (N,), s."""
        return (self.times[1:] + self.times[:-1]) / 2

    def at(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray, int]:
        """Return (q, nu, acceleration) at `time`, held outside, and the number of its interval.

        q is the cubic through positions and rates of both nodes.
        """
        t = float(np.clip(time, self.times[0], self.times[-1]))
        k = int(np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 2))
        h = self.times[k + 1] - self.times[k]
        s = (t - self.times[k]) / h
        q0, q1, v0, v1 = self.q[k], self.q[k + 1], self.nu[k], self.nu[k + 1]
        q = (
            (1 + 2 * s) * (1 - s) ** 2 * q0
            + s * (1 - s) ** 2 * h * v0
            + s**2 * (3 - 2 * s) * q1
            - s**2 * (1 - s) * h * v1
        )
        return q, (1 - s) * v0 + s * v1, self.acceleration[k], k

    def save(self, path: str | Path) -> Path:
        """Write the plan (.npz, without pickle); a reader never sees half a file.

        Raises
        ------
        InputError
            If the folder does not exist or cannot be written to.
        """
        content = {
            "format": _FORMAT,
            "phases": self.phases,
            "joints": self.joints,
            "status": self.status.label,
            "statistics": dict(self.statistics),
            "settings": dict(self.settings),
        }
        arrays = {name: getattr(self, name) for name in (*_ARRAYS, *_FURTHER) if getattr(self, name) is not None}
        return save_arrays(path, content, arrays)


def load_walk(path: str | Path) -> WalkPlan:
    """Read what `WalkPlan.save` wrote.

    Raises
    ------
    InputError
        If the file is missing or no plan of a walk.
    """
    source = Path(path)
    with reading(source, "the plan of a walk"):
        content, data = load_arrays(source, _FORMAT)
        labels: dict[str, Any] = {key: tuple(read_typed(content, key, list)) for key in ("phases", "joints")}
        labels |= {key: read_typed(content, key, dict) for key in ("statistics", "settings")}
        arrays = _check_arrays({name: np.zeros(0) for name in _FURTHER[1:]} | data, labels["phases"], labels["joints"])
        return WalkPlan(**arrays, **labels, status=Status.from_label(content["status"]))


def _check_arrays(data: Mapping[str, FloatArray], phases: tuple[str, ...], joints: tuple[str, ...]) -> dict[str, Any]:
    """Return the arrays of a plan, of the shapes that belong together."""
    for key, names in (("phases", phases), ("joints", joints)):
        if not all(isinstance(name, str) for name in names):
            raise InputError(key, names, "texts")
    N, n, C = len(data["times"]) - 1, len(joints) + 6, np.shape(data["standing"])[-1]
    shapes: dict[str, tuple[int | None, ...]] = dict.fromkeys(("force", "moment", "point"), (N, C, 3))
    shapes |= {"times": (N + 1,), "q": (N + 1, n), "nu": (N + 1, n), "acceleration": (N, n), "torque": (N, n - 6)}
    shapes |= {"standing": (N, C), "phase": (N,), "mirror": (n, n), "gravity": (3,), "z": (None,), "dual": (None,)}
    given = {name: data[name] for name in shapes if name != "mirror" or name in data}
    floats = {name: array(name, v.view(np.uint8) if v.dtype == bool else v, shapes[name]) for name, v in given.items()}
    for key, most in (("standing", 1), ("phase", len(phases) - 1)):
        if not np.isin(floats[key], np.arange(most + 1)).all():
            raise InputError(key, floats[key], f"whole numbers from 0 to {most}")
    if N < 1 or np.any(np.diff(floats["times"]) < 0) or floats["times"][-1] == floats["times"][-2]:
        raise InputError("times", floats["times"], "at least two times, not decreasing, the last after all others (s)")
    return {"mirror": None} | floats | {key: given[key] for key in ("standing", "phase")}


def repeat(plan: WalkPlan, steps: int) -> WalkPlan:
    """Return the plan gone through `steps` times one after the other, mirrored each time if it is one step.

    Raises
    ------
    InputError
        If `steps` is not a positive integer.
    """
    count = integer("steps", steps, minimum=1)
    parts, base, M = [], plan.q[0, 0], plan.mirror
    for i in range(count):
        odd = M is not None and i % 2 == 1
        one = plan if not odd else _mirror_plan(plan, array("mirror", M, (None, None)))
        q = one.q.copy()
        q[:, 0] += i * plan.length + (base - one.q[0, 0])
        point = one.point.copy()
        point[..., 0] += i * plan.length + (base - one.q[0, 0])
        parts.append(replace(one, q=q, point=point, times=one.times + i * plan.duration))
    names = tuple(dict.fromkeys(name for part in parts for name in part.phases))
    phase = np.concatenate([[names.index(part.phases[int(k)]) for k in part.phase] for part in parts])
    inner = ("acceleration", "torque", "force", "moment", "point", "standing")
    nodes = ("times", "q", "nu")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in inner}
    for name in nodes:
        ends = [getattr(part, name)[:-1] for part in parts[:-1]]
        joined[name] = np.concatenate([*ends, getattr(parts[-1], name)])
    return replace(plan, **joined, phase=phase, phases=names, mirror=None if count % 2 == 0 else plan.mirror)


def _mirror_plan(plan: WalkPlan, M: FloatArray) -> WalkPlan:
    n = len(M)
    flip = np.array([1.0, -1.0, 1.0])
    swap, order = plan.images, plan.order
    return replace(
        plan,
        q=plan.q @ M.T,
        nu=plan.nu @ M.T,
        acceleration=plan.acceleration @ M.T,
        torque=plan.torque @ M[6:n, 6:n].T,
        force=plan.force[:, order] * flip,
        moment=plan.moment[:, order] * -flip,
        point=plan.point[:, order] * flip,
        standing=plan.standing[:, order],
        phases=tuple(" ".join(swap.get(word, word) for word in name.split()) for name in plan.phases),
    )
