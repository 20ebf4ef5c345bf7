"""TrackingLQR: follows a reference by the gains of a finite horizon on the local error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, positive
from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.regulators.hand_inputs import InputBound, InputLimit
from trundle.control.regulators.linearization import Linearization, dynamics_of
from trundle.control.regulators.local_error import LocalError, Rolled, Weighting
from trundle.control.regulators.regulation import nearest_equilibrium
from trundle.errors import InputError
from trundle.models.hand_freedoms import hand_freedoms
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.system import Start
from trundle.numerics.riccati import GainSchedule, sampled_time_varying
from trundle.parameters import parameter, parameter_of
from trundle.records.reference import Reference
from trundle.threads import cached_property

_LINEARIZED = 100
"""Smallest number of times at which a long reference is linearised."""
_MOST = 100_000
"""Most gains: with what they follow from, 18 kB each in space."""
_QUARTILE, _LEAST = 0.6745, 1e-6
"""Of the normal distribution: half of it is nearer to zero. Smallest share of the final weight that is tried."""


@dataclass(frozen=True, eq=False)
class TrackingLQR:
    """u = u_ref(t) - K(t) e(x_ref(t), x), held for a period: a `Policy` that brings a pair back to a reference (final).

    The gains minimise e'final e at the end + int e'Q e + (u - u_ref)'R (u - u_ref) dt for the error's linearised
    dynamics and inputs held between calls (`trundle.numerics.riccati.sampled_time_varying`). Between samples the
    reference is the cubic through its states and their rates. After the end a `BalancingLQR` regulates about the
    equilibrium next to the last state; if there is none, the last gains hold. (Woodruff & Lynch 2023, section VIII.)

    Parameters
    ----------
    pair : RollingPair
        In the coordinates its measured states have.
    reference : Reference, or anything with a `reference`, such as a plan
        In rolling coordinates.
    Q, R : (n_e, n_e), (n_u, n_u), or mappings of names to numbers or arrays
        Weights; the names are those of `LocalError.blocks` and `LocalError.input_blocks`, e.g.
        ``{"contact": 1e4, "object_rotation": 10.0}``.
    final : as Q, optional
        Default: Q.
    period : float, s
    freedoms : see `hand_freedoms`
        Components of the input that feedback may use; the reference's own input always acts.
    input_limit : see `InputLimit.of`
    rolled : see `LocalError`
    integral, lost : see `BalancingLQR`
        Integrals are of the regulator after the end.
    noise : (n_e, n_e), optional
        Covariance of the measured error. A linear-quadratic loop bears half its gain; an input that noise drives to its
        limit acts in the share of time that it is within it. So `final` is halved until no input is at its limit
        more than half the time: standard deviation sqrt(diag(K noise K')) <= limit / 0.6745.

    Raises
    ------
    InputError
        If a size, a name or a sign does not fit, or the reference passes a singular state.

    Examples
    --------
    >>> import numpy as np
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.05), mass=0.1), tr.Hand(tr.Line()), coordinates="rolling")
    >>> start = pair.place()
    >>> still = Reference([0.0, 1.0], np.tile(start.x, (2, 1)), np.zeros((2, 3)), start.atlas)
    >>> policy = tr.TrackingLQR(
    ...     pair,
    ...     still,
    ...     {"object_rotation": 10.0, "hand_position": 1.0},
    ...     {"hand_acceleration": 0.1, "hand_angular_acceleration": 0.1},
    ... )
    >>> bool(np.all(np.abs(policy(0.5, start.x)) < 1e-9))
    True
    """

    pair: RollingPair
    reference: Reference
    Q: Weighting
    R: Weighting
    final: Weighting | None = None
    period: float = parameter(1e-3, "s, between two inputs")
    freedoms: str | Sequence[int] = "all"
    input_limit: InputBound = None
    rolled: Rolled = parameter("rotation", "planar: which of the two tied errors is fed back")
    integral: Weighting | None = None
    noise: ArrayLike | None = None
    lost: float = parameter_of(BalancingLQR, "lost")

    def __post_init__(self) -> None:
        given = getattr(self.reference, "reference", self.reference)
        if not isinstance(given, Reference):
            raise InputError("reference", self.reference, "a Reference, or a plan that has one")
        object.__setattr__(self, "reference", given)
        object.__setattr__(self, "period", positive("period", self.period, "s"))
        length = float(given.times[-1] - given.times[0])
        if length > _MOST * self.period:
            allowed = f"at least {length / _MOST:.3g} s: a reference of {length:g} s has at most {_MOST} gains"
            raise InputError("period", self.period, allowed)
        positive("lost", self.lost)
        sizes = (self.error.model.x.shape[0], self.error.inputs)
        for key, values, size in zip(("states", "inputs"), (given.states, given.inputs), sizes, strict=True):
            if values.shape[1] != size:
                raise InputError(f"reference.{key}", values.shape, f"{size} columns, as in rolling coordinates")
        _ = self.schedule, self.limit, self.after  # what is wrong is said now, not in the middle of a run

    @cached_property
    def error(self) -> LocalError:
        """The error that is fed back."""
        return LocalError(self.pair, self.reference.atlas, self.rolled)

    @property
    def schedule(self) -> GainSchedule:
        """Gains K (N + 1, n_used, n_e) of the inputs used, and cost to go S, at the sampling times."""
        return self._designed[0]

    @property
    def final_share(self) -> float:
        """Share of `final` that `noise` leaves."""
        return self._designed[1]

    @cached_property
    def _designed(self) -> tuple[GainSchedule, float]:
        from scipy.interpolate import make_interp_spline

        error, used = self.error, list(self.used)
        Q = error.weights("Q", self.Q, error.blocks, definite=False)
        R = error.weights("R", self.R, error.input_blocks, definite=True)[np.ix_(used, used)]
        final = Q if self.final is None else error.weights("final", self.final, error.blocks, definite=False)
        # A and B change slowly: a few hundred of them, linear in between.
        step = max(1, len(self.times) // _LINEARIZED)
        some = np.unique(np.append(np.arange(0, len(self.times), step), len(self.times) - 1))
        A, B = (
            make_interp_spline(self.times[some], M, k=1)(self.times)
            for M in Linearization(error).along(self.states[some], self.inputs[some])
        )
        noise = np.zeros_like(Q) if self.noise is None else array("noise", self.noise, Q.shape)
        most = np.minimum(self.limit.high, -self.limit.low)[used] / _QUARTILE
        share = 1.0
        while True:
            found = sampled_time_varying(self.times, A, B[:, :, used], Q, R, share * final)
            variance = np.einsum("kij,jl,kil->ki", found.K, noise, found.K)
            if share < _LEAST or np.all(variance <= most**2):
                return found, share
            share /= 2

    @cached_property
    def used(self) -> tuple[int, ...]:
        """Numbers of the inputs that feedback may use."""
        return hand_freedoms(self.pair.d, self.freedoms)

    @cached_property
    def times(self) -> FloatArray:
        """Sampling times (N + 1,) from the reference's start to its end, s."""
        first, last = self.reference.times[0], self.reference.times[-1]
        count = int(np.ceil((last - first) / self.period - 1e-6))
        return np.append(first + self.period * np.arange(count), last)

    @property
    def states(self) -> FloatArray:
        """Reference states (N + 1, n_x) at the sampling times."""
        return self._sampled[0]

    @property
    def inputs(self) -> FloatArray:
        """Reference inputs (N + 1, n_u) at the sampling times."""
        return self._sampled[1]

    @cached_property
    def after(self) -> BalancingLQR | None:
        """The regulator that takes over at the end, about the equilibrium next to the last state; None without one."""
        x = nearest_equilibrium(self.error, self.reference.states[-1])
        if x is None:
            return None
        state = Start(x, self.reference.atlas)
        more = ("period", "freedoms", "input_limit", "rolled", "integral", "lost")
        return BalancingLQR(self.pair, state, self.Q, self.R, **{name: getattr(self, name) for name in more})

    def reset(self) -> None:
        """Forget the integrals of the regulator after the end."""
        if self.after is not None:
            self.after.reset()

    def deviation(self, time: float, state: FloatArray) -> FloatArray:
        """Return e (n_e,) of a measured state at `time` (s)."""
        return self.error.between(self._features[self._index(time)], self.error.of_state(state))

    def running_cost(self, time: float, state: FloatArray, inputs: FloatArray) -> float:
        """Return e'Q e + (u - u_ref)'R (u - u_ref), per second."""
        off = inputs - (0.0 if self._is_over(time) else self._held[self._index(time)])
        return self.error.cost(self.Q, self.R, self.deviation(time, state), off)

    @property
    def input_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The least and largest inputs (n_u,): zero where the hand may not move."""
        return self.limit.of_components(self.used)

    def cost_to_go(self, time: float, state: FloatArray) -> float:
        """Return e'S(t) e, the cost that linear theory expects from a state on."""
        if self.after is not None and self._is_over(time):
            return self.after.cost_to_go(time, state)
        e = self.deviation(time, state)
        return float(e @ self.schedule.S[self._index(time)] @ e)

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the input (n_u,) for the measured `state` at `time` (s)."""
        ended = self._is_over(time)
        if ended and self.after is not None:
            return self.after(time, state)
        i = self._index(time)
        features = self.error.of_measured(state)
        self.error.check_near(self._features[i], features, self.lost)
        e = self.error.between(self._features[i], features)
        u = np.zeros(self.error.inputs) if ended else self._held[i].copy()
        u[list(self.used)] -= self.schedule.K[i] @ e
        return self.limit.apply(u)

    def _is_over(self, time: float) -> bool:
        return time >= self.times[-1] - 1e-9 * self.period

    def _index(self, time: float) -> int:
        i = int(np.floor((time - self.times[0]) / self.period + 1e-6))
        return min(max(i, 0), len(self.times) - 1)

    @cached_property
    def limit(self) -> InputLimit:
        """Bounds of the input."""
        return InputLimit.of(self.input_limit, self.error.inputs)

    @cached_property
    def _features(self) -> FloatArray:
        return self.error.of_reference(self.states)

    @cached_property
    def _held(self) -> FloatArray:
        """Input (N, n_u) of each period: the reference's mean over it."""
        return (self.inputs[:-1] + self.inputs[1:]) / 2

    @cached_property
    def _sampled(self) -> tuple[FloatArray, FloatArray]:
        """States and inputs at the sampling times: cubic through states and rates, inputs linear."""
        from scipy.interpolate import CubicHermiteSpline

        r, model = self.reference, self.error.model
        rate = ca.Function("rate", [model.x, model.u], [dynamics_of(self.error).xdot])
        slopes = np.asarray(rate.map(len(r.times))(r.states.T, r.inputs.T)).T
        states = np.asarray(CubicHermiteSpline(r.times, r.states, slopes, axis=0)(self.times))
        inputs = np.stack([np.interp(self.times, r.times, column) for column in r.inputs.T], axis=1)
        return states, inputs
