"""Evidence: what a run says of itself as arrays: poses, velocities, forces, and what its events did. Always in space.

A run in the plane is lifted: (x, z) becomes (x, 0, z), and what turns counter-clockwise there turns about -y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.threads import cached_property

Flags = NDArray[np.bool_]
Numbers = NDArray[np.intp]
Columns = Numbers | slice


@dataclass(frozen=True, eq=False)
class BodyFrames:
    """Poses and velocities of all bodies (n, bodies, ...), world axes: of the origins of their frames.

    Attributes
    ----------
    position, velocity, angular_velocity : (n, bodies, 3) m, m/s, rad/s
    rotation : (n, bodies, 3, 3)
        Body axes to world axes.
    """

    position: FloatArray
    rotation: FloatArray
    velocity: FloatArray
    angular_velocity: FloatArray

    def __len__(self) -> int:
        return len(self.position)

    def of(self, bodies: Columns) -> BodyFrames:
        """Return the frames of some bodies."""
        return BodyFrames(*(part[:, bodies] for part in self.parts))

    @property
    def motion(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positions, velocities and angular velocities."""
        return self.position, self.velocity, self.angular_velocity

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """The four arrays."""
        return self.position, self.rotation, self.velocity, self.angular_velocity


@dataclass(frozen=True, eq=False)
class Claims:
    """What contacts claim (n, contacts): flags of their laws.

    Attributes
    ----------
    touches, slides, holds_spin, holds_rolling, compliant, own
        Whether the law is one of touching, lets the contact slip, holds the spin about the normal, holds the rolling,
        is compliant, was registered by the user.
    """

    touches: Flags
    slides: Flags
    holds_spin: Flags
    holds_rolling: Flags
    compliant: Flags
    own: Flags


@dataclass(frozen=True, eq=False)
class Samples:
    """A run at n instants.

    Attributes
    ----------
    time : (n,) s
        Not decreasing.
    stretch : (n,)
        Number of the smooth stretch that an instant belongs to: within one no event happened and no input jumped.
        -1: of no stretch (within time steps).
    run : (n,)
        Number of the run, of many.
    frames : BodyFrames
    point, normal, force : (n, contacts, 3) m, -, N
        Of each contact: its point on B, the normal out of B, the force on A; world.
    moment, gap : (n, contacts) N m, m
        On A about the normal; distance of the two points along it.
    claims : Claims
    inputs : (n, n_u)
    joints, rates : (n, joints)
        Positions and rates of the joints with one coordinate.
    recorded_gap : (n, contacts) m, or None
        What the record tells the user: of shapes that do not touch the gap of the whole ones; nan where it has none.
    """

    time: FloatArray
    stretch: Numbers
    run: Numbers
    frames: BodyFrames
    point: FloatArray
    normal: FloatArray
    force: FloatArray
    moment: FloatArray
    gap: FloatArray
    claims: Claims
    inputs: FloatArray
    joints: FloatArray
    rates: FloatArray
    recorded_gap: FloatArray | None = None

    @cached_property
    def on_A(self) -> FloatArray:  # noqa: N802
        """Points (n, contacts, 3) of A at which forces act: of a compliant contact the middle of both points."""
        part = np.where(self.claims.compliant, 0.5, 1.0) * self.gap
        return self.point + part[..., None] * self.normal

    @cached_property
    def on_B(self) -> FloatArray:  # noqa: N802
        """The same of B."""
        part = np.where(self.claims.compliant, 0.5, 0.0) * self.gap
        return self.point + part[..., None] * self.normal

    @cached_property
    def acted(self) -> Flags:
        """Which forces (n,) acted for a while: that of a stretch with one sample ended at once."""
        count = np.bincount(self.stretch + 1)
        found = count[self.stretch + 1] > 1
        found |= self.stretch < 0
        return found

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, eq=False)
class Jumps:
    """What m jumps of the velocities did.

    Attributes
    ----------
    begin, end : (m,) s
        The same but for a time step.
    run : (m,)
        Number of the run, of many.
    before, after : BodyFrames
        Of m rows.
    kick : (m,)
        Whether the user changed the state.
    jump, contact : (k,)
        Of each impulse: the number of its jump and of its contact.
    point, normal, impulse : (k, 3) m, -, N s
        World; of points on B, of impulses on A.
    holds_spin : (k,)
        Whether the contact may hold the spin about its normal from then on.
    inputs : (m, n_u)
    joints, rates : (m, joints)
        Before.
    rates_after : (m, joints)
    moment : (k, 3) N m s, or None
        Impulses of the moments against turning, world, on A; None: there are none.
    share : (m,), or None
        When time steps pushed, in parts of them; None: in their middle.
    gap : (k,) m, or None
        How far the points on A are above those on B, as those of a face are that lands at a tilt; None: nowhere.
    """

    begin: FloatArray
    end: FloatArray
    run: Numbers
    before: BodyFrames
    after: BodyFrames
    kick: Flags
    jump: Numbers
    contact: Numbers
    point: FloatArray
    normal: FloatArray
    impulse: FloatArray
    holds_spin: Flags
    inputs: FloatArray
    joints: FloatArray
    rates: FloatArray
    rates_after: FloatArray
    moment: FloatArray | None = None
    gap: FloatArray | None = None
    share: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def moments(self) -> FloatArray:
        """Impulses of moments (k, 3), N m s."""
        return np.zeros_like(self.impulse) if self.moment is None else self.moment

    @property
    def gaps(self) -> FloatArray:
        """Gaps (k,), m."""
        return np.zeros(len(self.impulse)) if self.gap is None else self.gap

    @property
    def steps(self) -> Flags:
        """Which are time steps (m,)."""
        return self.end > self.begin


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is judged: samples and jumps of a run, and what it declares of itself.

    Attributes
    ----------
    samples, jumps : Samples, Jumps
    accuracy : float
        Relative accuracy that the run declares: the tolerance of its integrator, or of its fixed step.
    stabilized : bool
        Whether gap and slip are held at zero by projection.
    slips_ignored, separations_ignored : bool
        The user's rules.
    beginning : float, m/s
        Slip with which the direction of a slip's beginning is weighted: less has no direction of its own.
    """

    samples: Samples
    jumps: Jumps
    accuracy: float
    stabilized: bool
    slips_ignored: bool
    separations_ignored: bool
    beginning: float


def embed_in_space(vectors: FloatArray) -> FloatArray:
    """Return vectors (..., d) in space."""
    if vectors.shape[-1] == 3:
        return vectors
    found = np.zeros((*vectors.shape[:-1], 3))
    found[..., 0], found[..., 2] = vectors[..., 0], vectors[..., 1]
    return found


def lifted_turning(rates: FloatArray) -> FloatArray:
    """Return angular velocities (..., k) in space."""
    if rates.shape[-1] == 3:
        return rates
    found = np.zeros((*rates.shape[:-1], 3))
    found[..., 1] = -rates[..., 0]
    return found


def lifted_rotation(rotations: FloatArray) -> FloatArray:
    """Return rotations (..., d, d) in space."""
    if rotations.shape[-1] == 3:
        return rotations
    found = np.zeros((*rotations.shape[:-2], 3, 3))
    found[..., 0, 0], found[..., 0, 2] = rotations[..., 0, 0], rotations[..., 0, 1]
    found[..., 2, 0], found[..., 2, 2] = rotations[..., 1, 0], rotations[..., 1, 1]
    found[..., 1, 1] = 1.0
    return found
