"""What may be read of a running plant: poses, velocities, contact forces, distances."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, final

import numpy as np

from trundle.checks import FloatArray

if TYPE_CHECKING:
    import mujoco

_NONE = np.zeros(3)


@final
class PlantView:
    """What may be read of a running plant, world axes, SI."""

    def __init__(self, module: ModuleType, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.mujoco, self.model, self.data = module, model, data
        self._wrench = np.zeros(6)
        self._forces: dict[int, FloatArray] = {}
        self._pairs: dict[tuple[int, int], FloatArray] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self.data.time)

    def rotation(self, body: str) -> FloatArray:
        """Return R_world_body (3, 3)."""
        return self.data.xmat[self.body(body)].reshape(3, 3)

    def position(self, body: str) -> FloatArray:
        """Return the origin (3,) of the body's frame, m."""
        return self.data.xpos[self.body(body)]

    def velocity(self, body: str) -> FloatArray:
        """Return the twist (6,) of the body's frame, world axes, angular first."""
        result = np.zeros(6)
        kind = self.mujoco.mjtObj.mjOBJ_XBODY
        self.mujoco.mj_objectVelocity(self.model, self.data, kind, self.body(body), result, 0)
        return result

    def speeds(self) -> dict[str, float]:
        """Return the speed (m/s) of each body: of its centre of mass, plus of its turning at its radius of gyration."""
        model, data, bodies = self.model, self.data, slice(1, None)  # body 0 is the world
        turning = data.cvel[bodies, :3]
        arms = data.xipos[bodies] - data.subtree_com[model.body_rootid[bodies]]
        inertia, mass = model.body_inertia[bodies].max(axis=1, initial=0.0), model.body_mass[bodies]
        gyration = np.sqrt(inertia / np.where(mass > 0.0, mass, 1.0))
        centers = np.linalg.norm(data.cvel[bodies, 3:] + np.cross(turning, arms), axis=1)
        found = centers + gyration * np.linalg.norm(turning, axis=1)
        return {model.body(i + 1).name: speed for i, speed in enumerate(found.tolist())}

    def contact_force(self, geom: int) -> FloatArray:
        """Return the sum (3,) of the contact forces on the geom with this number in the last step, N."""
        return self._forces.get(geom, _NONE)

    def remember_forces(self) -> None:
        """Keep the contact forces of the step just done: the next step's first half overwrites where they belong."""
        data, self._forces, self._pairs = self.data, {}, {}
        for i in range(data.ncon):
            contact = data.contact[i]
            if contact.efc_address < 0:
                continue
            self.mujoco.mj_contactForce(self.model, data, i, self._wrench)
            on_second = contact.frame.reshape(3, 3).T @ self._wrench[:3]  # MuJoCo: of the first geom on the second
            for geom, force in ((int(contact.geom1), -on_second), (int(contact.geom2), on_second)):
                self._forces[geom] = self._forces.get(geom, _NONE) + force
            pair = int(contact.geom1), int(contact.geom2)
            self._pairs[pair] = self._pairs.get(pair, _NONE) + on_second

    def force_between(self, geom: int, other: int) -> FloatArray:
        """Return the force (3,) of the geom `other` on `geom` in the last step, N."""
        return self._pairs.get((other, geom), _NONE) - self._pairs.get((geom, other), _NONE)

    def distance(self, geom: int, other: int, most: float = 5.0) -> float:
        """Return the signed distance of two geoms, at most `most`, m."""
        line = np.zeros(6)
        return float(self.mujoco.mj_geomDistance(self.model, self.data, geom, other, most, line))

    def geom(self, name: str) -> int:
        """Return the number of the geom `name`."""
        return self._number("geom", name)

    def body(self, name: str) -> int:
        """Return the number of the body `name`."""
        return self._number("body", name)

    def _number(self, kind: str, name: str) -> int:
        if (kind, name) not in self._numbers:  # looking a name up takes longer than a step
            self._numbers[kind, name] = int(getattr(self.model, kind)(name).id)
        return self._numbers[kind, name]
