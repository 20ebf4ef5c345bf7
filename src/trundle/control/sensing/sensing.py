"""What a controller can know: encoders in the hand, a camera on the object, and an estimator between them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from trundle.checks import FloatArray, array, integer, non_negative, positive
from trundle.control.regulators import LocalError
from trundle.control.sensing.estimator import PoseEstimator, Reading, Sigmas, turn_orientation
from trundle.errors import InputError
from trundle.models.rigid_body import Hand
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.conversion import to_matrix
from trundle.models.tree.system import Start
from trundle.numerics.space import angular_size
from trundle.parameters import Checked, NonNegative, Positive, Range, parameter
from trundle.records import Policy
from trundle.records.policy import AroundPolicy, period_of

_ROUND = 1e-6  # of a period: round-off of sums of periods
Seed = Annotated[int, Range("an integer >= 0", minimum=0)]


@dataclass(frozen=True)
class Camera:
    """A camera that sees the object's pose in the world: images at 0, period, 2 period, ..., each `delay` late.

    An image shows the pose of the object's SHAPE, turned by normal noise about each world axis (in the plane: its
    angle) and shifted by normal noise along each. Images are taken and handed over at the first call of the
    policy at or after their time.

    Parameters
    ----------
    period : float, s
    delay : float, s
        From exposure to result.
    position_sigma, angle_sigma : float, m and rad
        Standard deviations of each component.
    seed : int
        Of the noise; a run repeats exactly.

    Examples
    --------
    >>> import numpy as np
    >>> camera = Camera(period=0.01, delay=0.02, position_sigma=1e-3)
    >>> position, turn = camera.image(np.zeros(2), np.zeros(1), np.random.default_rng(0))
    >>> position.shape, float(turn[0])
    ((2,), 0.0)
    """

    period: float = parameter(1.0 / 250.0, "s, between two pictures")
    delay: float = 0.0
    position_sigma: NonNegative = parameter(0.0, "m, of the object's position")
    angle_sigma: NonNegative = parameter(0.0, "rad, of the object's orientation")
    seed: int = 0

    def __post_init__(self) -> None:
        positive("period", self.period, "s")
        for name, unit in (("delay", "s"), ("position_sigma", "m"), ("angle_sigma", "rad")):
            non_negative(name, getattr(self, name), unit)
        integer("seed", self.seed, minimum=0)

    def image(
        self, position: FloatArray, orientation: FloatArray, noise: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return the position (d,) and turn (angle or quaternion) seen of those that are."""
        moved = position + self.position_sigma * noise.standard_normal(len(position))
        return moved, turn_orientation(
            orientation, self.angle_sigma * noise.standard_normal(1 if len(orientation) == 1 else 3)
        )

    def sigmas(self, acceleration: float, drift: float) -> Sigmas:
        """Return the standard deviations of an estimator of whose model `acceleration` and `drift` are missed."""
        return Sigmas(acceleration, drift, self.angle_sigma, self.position_sigma)

    def error_covariance(self, error: LocalError, acceleration_sigma: float, drift_sigma: float) -> FloatArray:
        """Return the covariance (n_e, n_e) of a local error that `Sensed` estimates, once it has settled.

        The hand's part is exact, the contact as uncertain as the object's position.
        """
        turn, place = self.sigmas(acceleration_sigma, drift_sigma).covariance(self.period, self.delay)
        covariance, at = np.zeros((error.size, error.size)), {key: np.r_[part] for key, part in error.blocks.items()}
        turns, rates = at.get("object_rotation", np.zeros(0, int)), at["relative_velocity"]
        covariance[rates, rates] = turn[1, 1]
        covariance[turns, turns] = turn[0, 0]
        both = min(len(turns), len(rates))
        covariance[turns[:both], rates[:both]] = covariance[rates[:both], turns[:both]] = turn[0, 1]
        contact = at.get("contact", np.zeros(0, int))
        covariance[contact, contact] = place
        return covariance


@dataclass(frozen=True)
class Encoders(Checked):
    """What the hand's joints tell: its pose and body twist, exact or with normal noise on each component.

    Parameters
    ----------
    position_sigma, angle_sigma : float, m and rad
    velocity_sigma, rate_sigma : float, m/s and rad/s
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> exact = Encoders().reading(np.ones(2), np.zeros(1), np.zeros(3), np.random.default_rng(0))
    >>> exact.position.tolist()
    [1.0, 1.0]
    """

    position_sigma: NonNegative = parameter(0.0, "m, of the hand's position")
    angle_sigma: NonNegative = parameter(0.0, "rad, of its orientation")
    velocity_sigma: NonNegative = parameter(0.0, "m/s, of its velocity")
    rate_sigma: NonNegative = parameter(0.0, "rad/s, of its angular velocity")
    seed: Seed = parameter(0, "of the noise")

    def reading(
        self, position: FloatArray, orientation: FloatArray, twist: FloatArray, noise: np.random.Generator
    ) -> Reading:
        """Return what is read of the hand's true pose and twist."""
        if not any((self.position_sigma, self.angle_sigma, self.velocity_sigma, self.rate_sigma)):
            return Reading(position, orientation, twist)
        d = len(position)
        k = angular_size(d)
        sigma = np.repeat([self.rate_sigma, self.velocity_sigma], [k, d])
        return Reading(
            position + self.position_sigma * noise.standard_normal(d),
            turn_orientation(orientation, self.angle_sigma * noise.standard_normal(k)),
            twist + sigma * noise.standard_normal(k + d),
        )


@dataclass(eq=False)
class Sensed(AroundPolicy):
    """A controller that sees the world through a camera and encoders: a `Policy` around a policy (final).

    The simulator hands over the true state of the plant, of which only the hand's pose and twist and, in images,
    the object's pose are looked at. The inner policy gets an estimated state of the nominal pair in pose
    coordinates, from `estimator.PoseEstimator`: it predicts with the nominal equations of motion
    and corrects by images where they were taken, then predicts again up to now (delay compensation). The contact
    follows from the estimated poses by the nominal geometry; the plant's own contact is never seen.

    Parameters
    ----------
    policy : Policy
        For states of `pair`.
    pair : RollingPair
        The nominal pair, in pose coordinates.
    camera : Camera
    encoders : Encoders
    plant : RollingPair, optional
        The pair that is simulated, in pose coordinates (default: `pair`).
    initial : Start, optional
        Nominal state at the first call. Default: the first image, at once, and no motion relative to the hand.
    acceleration_sigma : float, rad/s2
        Angular acceleration that the nominal model is expected to miss: larger trusts images more.
    drift_sigma : float, m/s
        The same for the object's velocity.

    Examples
    --------
    >>> import numpy as np
    >>> class Rest:
    ...     period = 0.01
    ...
    ...     def reset(self):
    ...         pass
    ...
    ...     def __call__(self, time, state):
    ...         return np.zeros(3)
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.05), mass=0.1), tr.Hand(tr.Line()))
    >>> policy = tr.control.Sensed(Rest(), pair, tr.control.Camera(period=0.02))
    >>> policy(0.0, pair.place().x).shape, bool(np.allclose(policy.estimate, pair.place().x, atol=1e-9))
    ((3,), True)
    """

    policy: Policy
    pair: RollingPair
    camera: Camera = field(default_factory=Camera)
    encoders: Encoders = field(default_factory=Encoders)
    plant: RollingPair | None = None
    initial: Start | None = None
    acceleration_sigma: Positive = parameter(
        20.0, "rad/s^2, that the estimator expects its model to miss: larger trusts pictures more"
    )
    drift_sigma: Positive = parameter(0.02, "m/s, the same of the object's velocity")

    def __post_init__(self) -> None:
        period = period_of(self.policy)
        for name, kind in (("camera", Camera), ("encoders", Encoders)):
            if not isinstance(getattr(self, name), kind):
                raise InputError(name, getattr(self, name), f"of the class {kind.__name__}")
        for name, pair in (("pair", self.pair), ("plant", self.plant or self.pair)):
            fits = isinstance(pair, RollingPair) and isinstance(pair.base, Hand) and pair.coordinates == "pose"
            if not fits or pair.d != self.pair.d:
                raise InputError(name, pair, "a RollingPair on a Hand, in pose coordinates, of the pair's dimension")
        if self.camera.period < period * (1 - _ROUND):
            raise InputError("camera.period", self.camera.period, f">= the policy's period = {period:g} (s)")
        positive("acceleration_sigma", self.acceleration_sigma, "rad/s2")
        positive("drift_sigma", self.drift_sigma, "m/s")
        sigmas = self.camera.sigmas(self.acceleration_sigma, self.drift_sigma)
        self._estimator = PoseEstimator(self.pair, self.camera.period, sigmas)
        self.reset()

    @property
    def estimate(self) -> FloatArray:
        """The nominal state (n_x,) the inner policy was last given."""
        return self._estimator.state

    def reset(self) -> None:
        """Forget the last run, also that of the inner policy, and start the noise again."""
        self.policy.reset()
        self._estimator.reset()
        # Two streams: with other encoders the images stay what they were.
        self._noise = np.random.default_rng([self.camera.seed, 1]), np.random.default_rng([self.encoders.seed, 2])
        self._images: deque[tuple[float, float, FloatArray, FloatArray]] = deque()
        self._exposures = 0

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the inner policy's input for what is known at `time` (s) when the plant is in `state`."""
        plant = self.plant or self.pair
        contact_pair, layout = plant.system.contact_pairs[0], plant.system.model().layout
        size = max(part.stop for part in layout.values())
        x = array("state", state, (size,))
        position, orientation, twist = (
            x[layout[f"{contact_pair.body_B}.{part}"]] for part in ("position", "orientation", "twist")
        )
        reading = self.encoders.reading(position, orientation, twist, self._noise[1])
        origin, orientation = self._true_pose(x)
        if self._estimator.started:
            self._estimator.predict(time, reading)
        if time >= self._exposures * self.camera.period - _ROUND * self.camera.period:
            image = self.camera.image(origin, orientation, self._noise[0])
            self._exposures = int(np.floor(time / self.camera.period + _ROUND)) + 1
            if not self._estimator.started:
                self._start(time, reading, *image)
            else:
                self._images.append((time, time + self.camera.delay, *image))
        while self._images and self._images[0][1] <= time + _ROUND * self.camera.period:
            taken, _, origin, orientation = self._images.popleft()
            self._estimator.correct(taken, *self._centre(origin, orientation))
        return self.policy(time, self._estimator.state)

    def _true_pose(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the position of the plant's shape's origin, world, and its turn."""
        plant = self.plant or self.pair
        name, layout = plant.system.contact_pairs[0].body_A, plant.system.model().layout
        orientation = x[layout[f"{name}.orientation"]]
        return x[layout[f"{name}.position"]] + to_matrix(orientation) @ np.array(plant.body.shape_origin), orientation

    def _centre(self, origin: FloatArray, orientation: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the position of the nominal centre of mass of a shape seen at (origin, turn), and the turn."""
        return origin - to_matrix(orientation) @ np.array(self.pair.body.shape_origin), orientation

    def _start(self, time: float, reading: Reading, origin: FloatArray, orientation: FloatArray) -> None:
        if self.initial is not None:
            self._estimator.start_from(time, reading, self.initial)
        else:
            self._estimator.start_at(time, reading, *self._centre(origin, orientation))
