"""ModelStateAdapter: what a controller's model makes of the state of a robot that is not quite its model."""

from __future__ import annotations

from typing import final

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.rolling_tree import RollingTree
from trundle.numerics.rotations import rotation_plane
from trundle.records import Policy, tell_contacts


@final
class ModelStateAdapter:
    """A policy of a model, called with the state of another robot.

    Sensors give the pose and the twist of the bodies' frames as the user says them, and the joints: those are the
    same in both. The model has its own centre of mass for the state of a free body (p_model = p + R (o - o_model)
    with o, o_model the frame's origin in it), and its own contact coordinates, which are zero here: they are for
    the controller to find. A part of the model touches while any contact of that part of the robot does; its second
    contact, while two do.

    Parameters
    ----------
    policy : Policy
    model : RollingTree
        What the policy believes.
    plant : RollingTree
        What is simulated, of the same bodies and parts, see `trundle.systems.planar.plant_error.PlantError`.
    """

    def __init__(self, policy: Policy, model: RollingTree, plant: RollingTree) -> None:
        if model.d != 2:
            raise InputError("model", model.d, "a robot in the plane (d = 2)")
        self.policy = policy
        there, here = plant.system.model().layout, model.system.model().layout
        known = [key for key in here if not key.endswith(".coordinates")]
        self._size = max(place.stop for place in here.values())
        self._to = np.concatenate([np.r_[here[key]] for key in known])
        self._from = np.concatenate([np.r_[there[key]] for key in known])
        self._free = []
        for name, origin in model.origins.items():
            arm = np.subtract(plant.origins[name], origin)
            if np.any(arm):
                keys = ("position", "orientation", "velocity", "angular_velocity")
                self._free.append((arm, *(here[f"{name}.{key}"] for key in keys)))
        parts = {part.name: i for i, part in enumerate(model.parts)}
        self._part_of = [parts[plant.parts[part].name] for part in plant.part_of]
        self._seen = [(part, model.part_of[: i + 1].count(part)) for i, part in enumerate(model.part_of)]

    @property
    def period(self) -> float | None:
        """Time (s) between calls: the policy's."""
        return self.policy.period

    def reset(self) -> None:
        """Reset the policy inside."""
        self.policy.reset()

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        """Tell the policy inside which contacts of its model touch."""
        count = [0] * len(self._part_of)
        for part, touches in zip(self._part_of, touching, strict=True):
            count[part] += touches
        tell_contacts(self.policy, time, tuple(count[part] >= least for part, least in self._seen))

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the policy's answer to what its model makes of the robot's state."""
        x = np.zeros(self._size)
        x[self._to] = state[self._from]
        for arm, position, orientation, velocity, rate in self._free:
            r = rotation_plane(x[orientation][0]) @ arm
            x[position] += r
            x[velocity] += x[rate] * np.array([-r[1], r[0]])
        return self.policy(time, x)
