"""Local error: how far a pair is from a reference, in numbers that know neither charts nor poles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, choice
from trundle.contact.laws import PURE_ROLLING
from trundle.errors import ControlLostError, InputError
from trundle.models.rigid_body import Hand
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.model import TreeModel
from trundle.models.tree.system import Atlas, Start
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.space import angular_size
from trundle.status import Status
from trundle.threads import cached_property

Rolled = Literal["rotation", "contact"]
Weighting = Mapping[str, ArrayLike] | ArrayLike
"""A weight as a matrix, or as numbers and arrays by the names of blocks."""
_HEAVIEST = 1e12
"""Largest weight of a block, also in scenario files: beside a larger one the Riccati equation loses others."""
_LIGHTEST = 1e-150
"""Least weight of a block but none at all: squares of lighter ones are zero."""
_SAME = 1e-6
"""Mismatch (sizes of the body) from which on a chart is not the one a state was written in."""


def rolling_twin(pair: RollingPair) -> RollingPair:
    """Return `pair` in rolling coordinates, in which references are written and linearised; made once."""
    if pair.coordinates == "rolling":
        return pair
    return pair.system.keep("rolling twin", lambda: replace(pair, coordinates="rolling", contact="auto"))


@dataclass(frozen=True, eq=False)
class LocalError:
    """Error of a pair's state against a reference state, by what bodies do instead of by coordinates (final).

    Features phi of a state: hand pose (R_h, p_h), object rotation relative to the hand R_ho, contact point c on
    the hand (hand axes, m), hand body twist (w_h, v_h) and relative angular velocity w_rel (hand axes). Then

        e = (2 vec(q_h), p_h - p_h_ref, 2 vec(q_ho), T'(c - c_ref), w_h - .., v_h - .., w_rel - ..),

    q the quaternion of R_ref'R with q_w >= 0 (2 vec(q) = sqrt(1 + tr)^-1 vee(R_ref'R - R'R_ref): smooth up to
    half a turn) and T the tangents of the hand at the reference contact, hand axes. In the plane 2 vec(q) is the
    angle from -pi to pi of R_ref'R: references turn as far as they like. Size 20; 19 in pure rolling (two
    components T'(w_rel - ..)); 8 in the plane, where the contact is tied to the rotation and only one is in e.

    Parameters
    ----------
    pair : RollingPair
        On a hand, in the coordinates that states will have.
    atlas : tuple, optional
        Charts of a reference's states, in rolling coordinates.
    rolled : "rotation" or "contact"
        Plane only: which of the two tied numbers is an error. Take ``"contact"`` where equilibria depend on the
        place on the hand (a ball in a trough), ``"rotation"`` where they depend on the angle (an ellipse).

    Raises
    ------
    InputError
        If the pair has no hand or no charts.
    """

    pair: RollingPair
    atlas: Atlas = ((0, 0),)
    rolled: Rolled = "rotation"

    def __post_init__(self) -> None:
        if not isinstance(self.pair, RollingPair):
            raise InputError("pair", self.pair, "a RollingPair")
        if not isinstance(self.pair.base, Hand):
            raise InputError("pair.base", type(self.pair.base).__name__, "a Hand: it is what a controller moves")
        choice("rolled", self.rolled, ("rotation", "contact"))

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.pair.d

    @property
    def pure(self) -> bool:
        """Whether the relative angular velocity has no component along the normal."""
        return self.pair.law == PURE_ROLLING.name and self.d == 3

    @cached_property
    def twin(self) -> RollingPair:
        """The pair in rolling coordinates."""
        return rolling_twin(self.pair)

    @property
    def model(self) -> TreeModel:
        """The model of references, in rolling coordinates on the charts `atlas`."""
        return self.twin.system.model(self.atlas)

    @cached_property
    def blocks(self) -> dict[str, slice]:
        """The names of parts of e, and where they are."""
        d, k = self.d, angular_size(self.d)
        sizes = {"hand_rotation": k, "hand_position": d}
        if d == 3:
            sizes |= {"object_rotation": 3, "contact": 2}
        else:
            sizes["object_rotation" if self.rolled == "rotation" else "contact"] = 1
        sizes |= {"hand_angular_velocity": k, "hand_velocity": d, "relative_velocity": 2 if self.pure else k}
        return _stack_slices(sizes)

    @cached_property
    def input_blocks(self) -> dict[str, slice]:
        """The names of parts of the input, the derivative of the hand's body twist, and where they are."""
        return _stack_slices({"hand_angular_acceleration": angular_size(self.d), "hand_acceleration": self.d})

    @property
    def size(self) -> int:
        """Number of entries of e."""
        return self.blocks["relative_velocity"].stop

    @property
    def inputs(self) -> int:
        """Number of inputs of the pair."""
        return self.input_blocks["hand_acceleration"].stop

    def expression(self, reference: ca.SX, features: ca.SX) -> ca.SX:
        """Return e (size,) of two feature vectors as `features_of` stacks them."""
        d = self.d
        R_h0, p_h0, R_o0, c0, V0, w0, T0 = _unstack_symbols(reference, d)
        R_h, p_h, R_o, c, V, w, _ = _unstack_symbols(features, d)
        turn, contact = _turn(R_o0, R_o), T0.T @ (c - c0)
        spin = T0.T @ (w - w0) if self.pure else w - w0
        rolled = [turn, contact] if d == 3 else [turn if self.rolled == "rotation" else contact]
        return ca.vertcat(_turn(R_h0, R_h), p_h - p_h0, *rolled, V - V0, spin)

    def features_of(self, model: TreeModel) -> tuple[ca.SX, ca.SX]:
        """Return the features of ``model.x`` and how far its contact coordinates are from the touching points (m)."""
        contact_pair = self.pair.system.contact_pairs[0]
        constraint = model.constraints[0]
        A, B = model.motions[contact_pair.body_A], model.motions[contact_pair.body_B]
        tA, tB = constraint.contact.touch(A, B, constraint.s)
        to_hand = B.R.T
        turned = (lambda w: w) if self.d == 2 else (lambda w: to_hand @ w)
        stacked = ca.vertcat(
            ca.vec(B.R),
            B.p,
            ca.vec(to_hand @ A.R),
            to_hand @ tB.r,
            turned(B.w),
            to_hand @ B.v,
            turned(A.w - B.w),
            ca.vec(to_hand @ tB.T),
        )
        length = contact_pair.shape_A.reference_length
        contact_residual = ca.norm_2(A.p + tA.r - B.p - tB.r) + length * ca.norm_2(tA.n + tB.n)
        return stacked, contact_residual

    def of_reference(self, states: FloatArray) -> FloatArray:
        """Return the features (n_phi,) of a reference's state, or (N, n_phi) of its states."""
        function = self._features(self.twin, self.atlas)
        return np.asarray(function(np.asarray(states).T)[0]).T.reshape((*np.shape(states)[:-1], -1))

    def of_state(self, x: FloatArray) -> FloatArray:
        """Return the features (n_phi,) of a state of ``pair`` (the chart it was written in is found out).

        Raises
        ------
        InputError
            If it is no array of finite numbers of the model's size.
        """
        return self._read(x)[1]

    def of_measured(self, state: FloatArray) -> FloatArray:
        """Return `of_state`; a policy gives up where what it measures is not finite."""
        if not np.all(np.isfinite(state)):
            raise ControlLostError("the measurement is not finite", Status.NOT_FINITE)
        return self.of_state(state)

    def start_of(self, x: FloatArray) -> Start:
        """Return a state (n_x,) of ``pair`` with the chart it was written in."""
        return Start(np.array(x), self._read(x)[0])

    def _read(self, x: FloatArray) -> tuple[Atlas, FloatArray]:
        """Return the charts of a state and its features."""
        state = array("state", x, (self._size,))
        if self.pair.coordinates == "rolling":
            return self.atlas, self._quick(self.atlas)(state)[0]
        found = []
        for atlas in self._atlases:
            features, contact_residual = self._quick(atlas)(state)
            found.append((contact_residual[0], atlas, features))
            if contact_residual[0] < _SAME * self._length:
                break
        return min(found, key=lambda one: one[0])[1:]

    def feature_functions(self) -> list[ca.Function]:
        """Return x -> (features, how far the contact is from touching, m): one function a chart x may be written in."""
        if self.pair.coordinates == "rolling":
            return [self._features(self.pair, self.atlas)]
        return [self._features(self.pair, atlas) for atlas in self._atlases]

    def between(self, reference: FloatArray, features: FloatArray) -> FloatArray:
        """Return e (size,) of two feature vectors, or (N, size) of N pairs."""
        if np.ndim(features) == 1:
            return self._quick_error(reference, features)[0]
        return np.asarray(self._error.map(len(features))(np.asarray(reference).T, features.T)).T

    def check_near(self, reference: FloatArray, features: FloatArray, most: float) -> None:
        """Raise where the contact is farther than `most` sizes of the object from the reference's, on the hand."""
        d = self.d
        place = slice(2 * d * d + d, 2 * d * d + 2 * d)
        away = float(np.linalg.norm(features[place] - reference[place]))
        if not away <= most * self._length:
            raise ControlLostError(f"the contact is {away:.3g} m from its reference on the hand", Status.DIVERGED)

    def cost(self, Q: Weighting, R: Weighting, e: FloatArray, u: FloatArray) -> float:
        """Return e'Q e + u'R u."""
        weight = self.weights("Q", Q, self.blocks, definite=False)
        price = self.weights("R", R, self.input_blocks, definite=True)
        return float(e @ weight @ e + u @ price @ u)

    def weights(self, key: str, value: Weighting, blocks: dict[str, slice], definite: bool) -> FloatArray:
        """Return a weight as a matrix: given as one, or as a mapping of block names to numbers or arrays.

        Blocks that are left out weigh nothing, which inputs must not.
        """
        size = max(block.stop for block in blocks.values())
        if not isinstance(value, Mapping):
            return np.array(array(key, value, (size, size)))
        diagonal = np.zeros(size)
        for name, weight in value.items():
            if name not in blocks:
                raise InputError(f"{key}.{name}", weight, "left out: the names are " + ", ".join(blocks))
            block = blocks[name]
            count = block.stop - block.start
            shape = () if np.ndim(weight) == 0 else (count,)
            diagonal[block] = array(f"{key}.{name}", weight, shape, minimum=0.0)
            if np.max(diagonal[block]) > _HEAVIEST:
                allowed = f"at most {_HEAVIEST:g}: beside it rounding loses usual weights"
                raise InputError(f"{key}.{name}", weight, allowed)
            if np.any((diagonal[block] > 0.0) & (diagonal[block] < _LIGHTEST)):
                raise InputError(f"{key}.{name}", weight, f"0 or at least {_LIGHTEST:g}: rounding loses lighter ones")
        missing = [name for name, block in blocks.items() if definite and not np.all(diagonal[block] > 0)]
        if missing:
            raise InputError(f"{key}.{missing[0]}", value.get(missing[0]), "a number > 0")
        return np.diag(diagonal)

    @cached_property
    def _size(self) -> int:
        return self.pair.system.model(self.atlas if self.pair.coordinates == "rolling" else None).x.shape[0]

    @cached_property
    def _length(self) -> float:
        return self.pair.body.shape.reference_length

    @cached_property
    def _atlases(self) -> list[Atlas]:
        """The charts a state in pose coordinates may be written in."""
        if self.pair.system.contact_pairs[0].form not in ("chart", "support-chart"):
            return [self.pair.system.first_atlas]
        charts_A, charts_B = (
            range(max(len(shape.representations.charts), 1)) for shape in (self.pair.body.shape, self.pair.base.shape)
        )
        if self.pair.system.contact_pairs[0].form == "support-chart":
            charts_A = range(1)
        return [((a, b),) * len(self.pair.system.contact_pairs) for a, b in product(charts_A, charts_B)]

    def _quick(self, atlas: Atlas) -> BufferedFunction:
        system = self.pair.system
        return system.keep(("quick features", atlas), lambda: BufferedFunction(self._features(self.pair, atlas)))

    @cached_property
    def _quick_error(self) -> BufferedFunction:
        return BufferedFunction(self._error)

    def _features(self, pair: RollingPair, atlas: Atlas) -> ca.Function:
        def build() -> ca.Function:
            model = pair.system.model(atlas)
            return ca.Function("features", [model.x], list(self.features_of(model)))

        return pair.system.keep(("features", atlas), build)

    @cached_property
    def _error(self) -> ca.Function:
        d, k = self.d, angular_size(self.d)
        size = 2 * d * d + 2 * d + (k + d) + k + d * (d - 1)
        reference, features = ca.SX.sym("reference", size), ca.SX.sym("features", size)
        return ca.Function("error", [reference, features], [self.expression(reference, features)])


def _stack_slices(sizes: dict[str, int]) -> dict[str, slice]:
    at, blocks = 0, {}
    for name, size in sizes.items():
        blocks[name] = slice(at, at + size)
        at += size
    return blocks


def _unstack_symbols(phi: ca.SX, d: int) -> tuple[ca.SX, ...]:
    """Return R_h, p_h, R_ho, c, twist, w_rel, T from one vector."""
    k = angular_size(d)
    sizes = [d * d, d, d * d, d, k + d, k, d * (d - 1)]
    parts = ca.vertsplit(phi, [0, *np.cumsum(sizes).tolist()])
    for i, columns in ((0, d), (2, d), (6, d - 1)):
        parts[i] = ca.reshape(parts[i], d, columns)
    return tuple(parts)


def _turn(R_ref: ca.SX, R: ca.SX) -> ca.SX:
    """Return 2 vec(q), q_w >= 0, of E = R_ref'R; in the plane its angle."""
    E = R_ref.T @ R
    if E.shape == (2, 2):
        return ca.atan2(E[1, 0] - E[0, 1], E[0, 0] + E[1, 1])
    axis = ca.vertcat(E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1])
    # 4 q_w vec(q) = axis, 4 q_w^2 = 1 + tr E; only at half a turn itself is there no such number.
    return axis / ca.sqrt(ca.fmax(1 + ca.trace(E), 1e-12))
