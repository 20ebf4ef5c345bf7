"""Phase: one contact mode of a system on given charts, ready to integrate, whatever evaluates it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.contact.law import Ending
from trundle.contact.laws import ARMED, LAWS, SLIP_END, Law, Sliding, Sticking
from trundle.geometry.queries.cloud import data_ranges
from trundle.models.scales import slip_unit
from trundle.models.tree.model import TreeModel
from trundle.models.tree.system import ContactPair, ContactSystem, least_curvature
from trundle.numerics.ode.ode import Integrator
from trundle.simulate.instant import Instant
from trundle.simulate.mode import Method, Mode
from trundle.simulate.quantities import Quantities
from trundle.status import Status
from trundle.threads import cached_property

if TYPE_CHECKING:
    from trundle.simulate.compiled_mode import CompiledMode

INSIDE = 1e-9
"""How far inside the ends of measured data (in the units of its coordinates) a run stops: outside, nothing is known."""

_STOPS = (Ending.STICKS, Ending.STOPS_SPINNING, Ending.STOPS_ROLLING)
POINT = 1e-9
"""Roundness at which a run stops: at zero, the contact point is one of many."""

BEYOND = 1e-7
"""Margin of a feature beside one that touches, from which it is across a hollow and not next to its point."""

_SIZES = 10.0
"""1/m: what arms a gap of a shape that is 0.1 m large arms any other margin."""

IGNORED = {"on_slip": ("friction", "torsion"), "on_separation": ("normal_force",)}


class MotionPhase(ABC):
    """Equations of one mode.

    Contract for a subclass:

    1. Attributes: ``system``, ``mode``, ``held``, ``method``, ``model``, ``input_count``.
    2. ``margins`` names what may end the mode, ``margin_array`` evaluates it, ``integrator`` integrates the mode and
       ``outputs`` returns what records keep.
    3. ``fused`` is the same mode as one expression.

    Parameters p of its functions: inputs (parameters of the motions, or the held input under a policy), free numbers
    of the system, then for each contact the directions (d + k,) of the slip and the turning while they are zero, then
    for each contact the sign of its roundness.

    Attributes
    ----------
    held : bool
        Whether the inputs are held between the calls of a policy.
    """

    system: ContactSystem
    mode: Mode
    held: bool
    method: Method
    model: TreeModel
    input_count: int
    near: frozenset[int] = frozenset()
    """Contacts with coordinates of their own whose gap is a margin in flight, that of the nearest points."""
    takes_numbers: bool = False
    """Whether the values of free numbers are those among its parameters; else those of its system."""

    def nearest(self, contact: int, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return the coordinates of one of the contacts `near` where the two bodies are nearest."""
        raise KeyError(contact)

    @property
    @abstractmethod
    def margins(self) -> tuple[str, ...]:
        """Names ``<contact>.<margin>``, in the order of the integrator's margins."""

    @property
    @abstractmethod
    def integrator(self) -> Integrator:
        """What integrates the mode."""

    @property
    @abstractmethod
    def fused(self) -> CompiledMode:
        """The mode as one expression: what sensitivities and time stepping are made of."""

    @abstractmethod
    def margin_array(self, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return all margins (m,) at one state."""

    def margin_rows(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return all margins (N, m) at the states (N, n_x), at the time zero."""
        return np.stack([self.margin_array(0.0, *one) for one in zip(x, p, strict=True)])

    @abstractmethod
    def outputs(self, t: FloatArray, x: FloatArray, p: FloatArray, forces: bool = True) -> Quantities:
        """Return the quantities of `output_expressions` at N samples: t (N,), x (N, n_x), p (N, n_p).

        Without `forces`, which take long to make, forces and moments of contacts are zero.
        """

    def law(self, contact: int, onset: ca.SX) -> Law:
        """Return the law of a contact with what its mode knows of it; `onset` (d + k,)."""
        law, d = LAWS[self.mode.laws[contact]], self.model.d
        length = self.system.contact_pairs[contact].shape_A.reference_length
        slip, turning = self.model.to_world.T @ onset[:d], onset[d:]
        if d == 3:
            turning = self.model.to_world.T @ turning
        if isinstance(law, Sticking):
            return replace(law, onset=turning, length=length)
        if not isinstance(law, Sliding):
            return law
        # In the plane a slip crosses zero, and is seen to; in space one passed near zero stalls a run, policy or not.
        end = 0.0 if self.held and self.system.d == 2 else self.method.end_speed
        stick = law.stick_speed * slip_unit(self.system, contact)
        return replace(law, stick_speed=stick, onset=slip, turning_onset=turning, end_speed=end, length=length)

    @abstractmethod
    def instant(self, t: float, x: FloatArray, p: FloatArray, contacts: Sequence[int]) -> Instant:
        """Return the equations of motion at a state with all rows of these contacts; what the others do goes on."""

    @cached_property
    def far(self) -> frozenset[int]:
        """The contacts of corners, edges and faces of bodies that touch nowhere: looks at whole shapes see these."""
        found: set[int] = set()
        for numbers in self.system.pairs:
            if numbers[0] in self.system.beside and not self.touches(numbers):
                found.update(numbers)
        return frozenset(found)

    @cached_property
    def unseen(self) -> frozenset[int]:
        """Pieces that do not touch while another one of their shape does: records show that one.

        Of those that are far records show where the whole shapes are nearest, in the place of the first.
        """
        on = [LAWS[law].touching for law in self.mode.laws]
        groups = [numbers for numbers in self.system.patches if any(on[i] for i in numbers)]
        pairs = self.system.contact_pairs
        beside = {i for numbers in groups for i in numbers[1:] if not on[i] and pairs[i].piece is not None}
        return frozenset(beside | {i for i in self.far if i != self.system.pair_of(i)[0]})

    @cached_property
    def watched(self) -> NDArray[np.bool_]:
        """Which of the margins (m,) end the mode."""
        return np.array([self._watches(name) for name in self.margins], dtype=bool)

    @cached_property
    def seams(self) -> NDArray[np.bool_]:
        """Which of the margins (m,) end a chart, data or a feature beyond which another one goes on."""
        return np.array([self._is_seam(name) for name in self.margins], dtype=bool)

    def _is_seam(self, name: str) -> bool:
        pair, margin = self.system.contact_pairs[self.system.number(name)], name.split(".", 1)[1]
        return margin.startswith(("chart", "data", "feature", "within")) and pair.goes_on_beyond(margin)

    @cached_property
    def sizes(self) -> FloatArray:
        """Sizes (m,), m, of the shapes of the contacts whose margins these are."""
        pairs = self.system.contact_pairs
        return np.array([pairs[self.system.number(name)].shape_A.reference_length for name in self.margins])

    @cached_property
    def arming(self) -> FloatArray:
        """From which values on margins (m,) that wait end the mode: gaps by sizes, others by one."""
        gaps = np.array([name.endswith(".gap") for name in self.margins], dtype=bool)
        return ARMED * np.where(gaps, _SIZES * self.sizes, 1.0)

    @cached_property
    def loads(self) -> NDArray[np.bool_]:
        """Which of the margins (m,) are bounds of a contact's force."""
        return np.array([name.endswith((".normal_force", ".friction")) for name in self.margins], dtype=bool)

    @cached_property
    def stops(self) -> NDArray[np.bool_]:
        """Which of the margins (m,) end a slip or a turning."""
        return np.array([self._ending(name) in _STOPS for name in self.margins], dtype=bool)

    def _ending(self, name: str) -> Ending | Status:
        return LAWS[self.mode.laws[self.system.number(name)]].ending(name.split(".", 1)[1])

    @cached_property
    def approaches(self) -> NDArray[np.bool_]:
        """Which of the margins (m,) are gaps of the contacts `near`."""
        gaps = {f"{self.system.contact_pairs[i].contact}.gap" for i in self.near}
        return np.array([name in gaps for name in self.margins], dtype=bool)

    def free_features(self, contact: int) -> list[int]:
        """Return the contacts of the same shape that may close, watched as the first: on waves also across a hollow."""
        free = [i for i in self.system.pair_of(contact) if not LAWS[self.mode.laws[i]].touching]
        return [i for i in free if not self.touches(self.system.in_place_of(i))]

    def least_inside(self, contact: int) -> float:
        """Return the margin from which a feature may close: more where the contact is about to pass onto it."""
        return BEYOND if self.touches(self.system.beside.get(contact, ())) else 0.0

    def touches(self, contacts: Sequence[int]) -> bool:
        """Return whether one of these contacts touches."""
        return any(LAWS[self.mode.laws[k]].touching for k in contacts)

    def arm_margins(self, unarmed: frozenset[str]) -> np.ndarray:
        """Return which margins (m,) may end the mode at once: not those of the names that are `unarmed`."""
        zero = unarmed | {self.watches(name) for name in unarmed if name.endswith(".gap")}
        return np.array([name not in zero and not name.endswith(SLIP_END) for name in self.margins], dtype=bool)

    def watches(self, gap: str) -> str:
        """Return the margin that watches a gap ``<contact>.gap``."""
        number = self.system.number(gap)
        free = self.free_features(number) if number in self.system.beside else []
        return f"{self.system.contact_pairs[free[0]].contact}.gap" if free else gap

    def least(self, contact: str, margin: str) -> float:
        """Value at which a margin ends the mode, where that is not zero."""
        number = self.system.number(contact)
        if margin.startswith("data"):
            return 0.0 if self.system.contact_pairs[number].goes_on_beyond(margin) else INSIDE
        if margin == "roundness":
            return POINT
        if margin != "curvature":
            return 0.0
        length = self.system.contact_pairs[number].shape_A.reference_length
        return least_curvature(self.model.constraints[number].contact, length)

    def _watches(self, name: str) -> bool:
        contact, margin, rules = self.system.number(name), name.split(".", 1)[1], self.system.rules
        if self.mode.rest:
            return False
        if (
            margin == "normal_force"
        ):  # even where pulling is ignored, a body lets go as long as another contact holds it
            holding = sum(LAWS[self.mode.laws[i]].touching for i in self.system.pair_of(contact))
            if holding > 1 or self.system.on_separation(contact) == "fly":
                return True
        if contact in self.system.rubbing:
            return True
        return not any(getattr(rules, rule) == "ignore" and margin in margins for rule, margins in IGNORED.items())

    def parameters(
        self, inputs: FloatArray, onsets: FloatArray | None = None, signs: Sequence[float] | FloatArray | None = None
    ) -> FloatArray:
        """Return p from the inputs, the onset directions (n, d + k) (default zero) and signs (n,) (default 1)."""
        n = len(self.mode.laws)
        directions = np.zeros((n, self.model.d + self.model.k)) if onsets is None else onsets
        numbers = np.zeros(0) if self.system.free is None else self.system.free.values
        return np.concatenate([inputs, numbers, directions.ravel(), np.ones(n) if signs is None else np.asarray(signs)])

    def margin_values(self, t: float, x: FloatArray, p: FloatArray) -> dict[str, float]:
        """Return all margins at one state."""
        return dict(zip(self.margins, self.margin_array(t, x, p).tolist(), strict=True))

    def gap_values(self, t: float, x: FloatArray, p: FloatArray) -> dict[int, float]:
        """Return the gaps (m) of the contacts in flight, by number, where a margin knows them."""
        values = self.margin_values(t, x, p)
        names = {f"{pair.contact}.gap": i for i, pair in enumerate(self.system.contact_pairs)}
        return {names[name]: value for name, value in values.items() if name in names}


def input_expressions(system: ContactSystem, model: TreeModel, held: bool, t: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the input parameters and the model's u as an expression of them and of the time `t`."""
    if held:
        return model.u, model.u
    u, parameters = ca.SX(model.u.shape[0], 1), []
    for name, motion in system.motions.items():
        symbol = ca.SX.sym(f"{name}.motion", motion.size)
        parameters.append(symbol)
        u[model.input_layout[f"{name}.twist_rate"]] = motion.rate(t, symbol)
    return ca.vertcat(*parameters), u


def touch_margins(pair: ContactPair, on_B: ca.SX) -> dict[str, ca.SX]:
    """Return the margins of a touch that its contact does not know, at the point `on_B` (d,), m, of B's frame.

    How far it is inside B's width, and the distances (m) to the ends of the data of a measured graph; charts know their
    own.
    """
    margins: dict[str, ca.SX] = {}
    for i, (axis, width) in enumerate(zip("xy", pair.extent or (), strict=False)):
        margins[f"extent_{axis}"] = width / 2 - ca.fabs(on_B[i])
    if pair.form != "chart":
        for i, r in enumerate(data_ranges(pair.shape_B)):
            margins |= {f"data_B{i}_low": on_B[i] - r.low - INSIDE, f"data_B{i}_high": r.high - on_B[i] - INSIDE}
    return margins
