"""What running a scene in another simulator leaves, and the simulators there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import optional
from trundle.interop.scene import PeerScene

Contact = Literal["hard", "default"]
"""As hard as the step allows, or as the simulator comes."""
PEERS = ("mujoco", "pybullet", "drake")
"""Names of the simulators: their modules here."""


@dataclass(frozen=True, eq=False)
class PeerPush:
    """What one point of a contact gave in one step, world axes.

    Attributes
    ----------
    sample : int
        The first one after the step.
    first, second : str
        Bodies; empty: the world, which is the second one then.
    normal : (3,)
        Out of the second.
    impulse : (3,) N s
        On the first.
    first_arm, second_arm : (3,) m
        Of the points where it acts, from the bodies' centres of mass before the step; from the origin of the world.
    couple : (3,) N m s
        On the first, beside the impulse: of a surface.
    """

    sample: int
    first: str
    second: str
    normal: FloatArray
    impulse: FloatArray
    first_arm: FloatArray
    second_arm: FloatArray
    couple: FloatArray = field(default_factory=lambda: np.zeros(3))


@dataclass(eq=False)
class PeerRun:
    """Samples of a run in another simulator.

    Attributes
    ----------
    bodies : (n, bodies, 13)
        Of each body's frame, world: position (3) m, quaternion (4) (w, x, y, z), angular velocity (3) rad/s, velocity
        (3) m/s.
    joints : (n, bodies, 2)
        Of hinges and slides: value and rate.
    seconds : float
        CPU time of the steps.
    limit : float, s
        Of it.
    note : str
    pushes : list of PeerPush
        Of every step, where they were asked for.
    """

    bodies: FloatArray
    joints: FloatArray
    seconds: float = 0.0
    limit: float = np.inf
    note: str = ""
    pushes: list[PeerPush] = field(default_factory=list)

    @classmethod
    def of(cls, scene: PeerScene, samples: int, limit: float) -> PeerRun:
        """Return room for the samples of a scene's bodies."""
        count = len(scene.bodies)
        return cls(np.zeros((samples, count, 13)), np.zeros((samples, count, 2)), limit=limit)

    def push(
        self,
        sample: int,
        bodies: tuple[str, str],
        points: tuple[FloatArray, FloatArray],
        normal: FloatArray,
        impulse: FloatArray,
        centers: Mapping[str, FloatArray],
        couple: FloatArray | None = None,
    ) -> None:
        """Keep what was given at points of two bodies: a normal out of the second, impulse and couple on the first."""
        (first, second), (at, at_second) = bodies, points
        couple = np.zeros(3) if couple is None else couple
        if not first:
            first, second, at, at_second = second, first, at_second, at
            normal, impulse, couple = -normal, -impulse, -couple
        arm = at - centers[first]
        arm_second = at_second - centers[second] if second else at_second
        self.pushes.append(PeerPush(sample, first, second, normal, impulse, arm, arm_second, couple))

    def late(self, i: int, time: float) -> bool:
        """Return whether the CPU time is used up at the sample `i`, which is the last one then."""
        if self.seconds <= self.limit or i + 1 == len(self.bodies):
            return False
        self.bodies, self.joints = self.bodies[: i + 1], self.joints[: i + 1]
        self.note = f"stopped at {time:.3g} s, after {self.seconds:.3g} s of CPU"
        return True


class Peer(Protocol):
    """A simulator: a module with this function."""

    def run(
        self,
        scene: PeerScene,
        times: FloatArray,
        step: float,
        limit: float = np.inf,
        *,
        contact: Contact = "hard",
        pushes: bool = False,
    ) -> PeerRun:
        """Return a scene's run, sampled at even `times` (n,) s, with steps of about `step` (s).

        It ends early where stepping takes more than `limit` (s) of CPU. With `pushes` it keeps what contacts gave.
        """
        ...


def peer(name: str) -> Peer:
    """Return the simulator `name`.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    return optional(f"trundle.interop.{name}", name, "peers")  # pyright: ignore[reportReturnType]


def divide_interval(times: FloatArray, step: float) -> tuple[float, int]:
    """Return the step (s) nearest to `step` that divides the time between samples, and how many steps that takes."""
    spacing = float(times[1] - times[0])
    count = max(1, round(spacing / step))
    return spacing / count, count
