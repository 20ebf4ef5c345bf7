"""BalancingLQR: keeps a pair at an equilibrium by the gains of an infinite horizon on the local error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.control.regulators.hand_inputs import InputBound, InputLimit
from trundle.control.regulators.local_error import LocalError, Rolled, Weighting
from trundle.control.regulators.regulation import Regulator, at_rest, regulator_at
from trundle.control.regulators.rolling_state import in_rolling_coordinates
from trundle.errors import InputError
from trundle.models.hand_freedoms import hand_freedoms
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.system import Start
from trundle.parameters import Positive, parameter
from trundle.threads import cached_property


@dataclass(frozen=True, eq=False)
class BalancingLQR:
    """u = -K (e(x_0, x), z), held for a period: a `Policy` that keeps a pair at an equilibrium x_0 (final).

    Infinite horizon, for the linearised dynamics of the local error (`LocalError`): it knows no chart, so it works
    across the pole of one. Directions that no input can move are left alone (`Regulator`).

    z are integrals of the parts of e that `integral` names. With them these parts come back to zero although the
    hand's acceleration has a constant error or the object balances elsewhere than its model; without, they end where
    -K e makes up for it. z starts where the cost to go is least, so that nothing overshoots on its account, and stays
    while an input is at its limit.

    Parameters
    ----------
    pair : RollingPair
        In the coordinates its measured states have.
    state : Start
        The equilibrium, from ``place(...)`` of the pair (in any coordinates).
    Q, R, period, freedoms, input_limit, rolled : see `TrackingLQR`
    integral : as Q, optional
        Weights of the integrals, e.g. ``{"hand_rotation": 50.0, "hand_position": 50.0}`` (1/(unit^2 s^2)). What inputs
        cannot hold is left out. Default: no integrals.

    Raises
    ------
    InputError
        If `state` is no equilibrium, or what runs away is out of the inputs' reach.

    Examples
    --------
    >>> ellipse = tr.RigidBody(tr.Ellipse((0.03, 0.05)), mass=0.1)
    >>> pair = tr.RollingPair(ellipse, tr.Hand(tr.Line()))
    >>> Q = {"hand_position": 1.0, "hand_rotation": 1.0, "object_rotation": 50.0, "hand_velocity": 0.1}
    >>> R = {"hand_angular_acceleration": 0.01, "hand_acceleration": 0.1}
    >>> policy = tr.BalancingLQR(pair, pair.place(), Q, R)  # on its tip
    >>> tilted = pair.place(object_angle=0.05)  # rad
    >>> policy.cost_to_go(0.0, tilted.x) > policy.cost_to_go(0.0, pair.place().x)
    True
    >>> policy(0.0, tilted.x).shape  # rad/s2, m/s2: the hand's acceleration
    (3,)
    """

    pair: RollingPair
    state: Start
    Q: Weighting
    R: Weighting
    period: float = parameter(1e-3, "s, between two inputs")
    freedoms: str | Sequence[int] = "all"
    input_limit: InputBound = None
    rolled: Rolled = parameter("rotation", "planar: which of the two tied errors is fed back")
    integral: Weighting | None = None
    lost: Positive = parameter(20.0, "sizes of the object: farther from its reference on the hand it is lost")
    _z: FloatArray | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.state, Start):
            raise InputError("state", self.state, "a Start, what pair.place(...) returns")
        object.__setattr__(self, "period", positive("period", self.period, "s"))
        positive("lost", self.lost)
        if not at_rest(self.error, self.target.x):
            raise InputError("state", self.target.x.tolist(), "an equilibrium: at rest, and balanced")
        _ = self.regulator, self.limit, self._features
        self.reset()

    @cached_property
    def target(self) -> Start:
        """The equilibrium in rolling coordinates."""
        return in_rolling_coordinates(self.pair, self.state)

    @cached_property
    def error(self) -> LocalError:
        """The error that is fed back."""
        return LocalError(self.pair, self.target.atlas, self.rolled)

    @cached_property
    def used(self) -> tuple[int, ...]:
        """Numbers of the inputs that feedback may use."""
        return hand_freedoms(self.pair.d, self.freedoms)

    @cached_property
    def regulator(self) -> Regulator:
        """Gains and cost."""
        error = self.error
        Q = error.weights("Q", self.Q, error.blocks, definite=False)
        R = error.weights("R", self.R, error.input_blocks, definite=True)
        given = {} if self.integral is None else self.integral
        integral = error.weights("integral", given, error.blocks, definite=False)
        return regulator_at(error, self.target.x, Q, R, self.used, self.period, integral)

    def reset(self) -> None:
        """Forget the integrals."""
        object.__setattr__(self, "_z", None)

    def deviation(self, time: float, state: FloatArray) -> FloatArray:
        """Return e (n_e,) of a measured state."""
        return self.error.between(self._features, self.error.of_state(state))

    def cost_to_go(self, time: float, state: FloatArray) -> float:
        """Return e'S e, the cost that linear theory expects from a state on if the integrals start there."""
        e = self.deviation(time, state)
        return float(e @ self.regulator.least @ e)

    def running_cost(self, time: float, state: FloatArray, inputs: FloatArray) -> float:
        """Return e'Q e + u'R u, per second."""
        return self.error.cost(self.Q, self.R, self.deviation(time, state), inputs)

    @property
    def input_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The least and largest inputs (n_u,): zero where feedback may not act."""
        return self.limit.of_components(self.used)

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the input (n_u,) for the measured `state`."""
        features, gains = self.error.of_measured(state), self.regulator
        self.error.check_near(self._features, features, self.lost)
        e = self.error.between(self._features, features)
        z: FloatArray = gains.begin @ e if self._z is None else self._z
        u = np.zeros(self.error.inputs)
        u[list(self.used)] = -gains.K @ np.append(e, z)
        limited = self.limit.apply(u)
        wound_up = not np.array_equal(limited, u)
        object.__setattr__(self, "_z", z if wound_up else z + self.period * (gains.C @ e))
        return limited

    @cached_property
    def limit(self) -> InputLimit:
        """Bounds of the input."""
        return InputLimit.of(self.input_limit, self.error.inputs)

    @cached_property
    def _features(self) -> FloatArray:
        return self.error.of_reference(self.target.x)
