"""What preview control knows of the time ahead: contacts that come and go, pushes, masses, privileged axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import (
    ArrayField,
    Converted,
    FloatArray,
    array,
    instance,
    number,
    size,
    vector,
    vector_or_none,
)
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError
from trundle.parameters import Checked
from trundle.systems.multicontact.centroidal.centroidal import Push, projection_frame


@dataclass(frozen=True)
class Held:
    """A contact from `start` to `end`, s.

    Examples
    --------
    >>> import trundle as tr
    >>> from trundle.contact import FlatPatch, PlacedPatch
    >>> sole = PlacedPatch("left_foot", FlatPatch.rectangle(0.2, 0.1, friction=0.6), (0.0, 0.1, 0.0))
    >>> tr.multicontact.Held(sole, end=1.2).end
    1.2
    """

    contact: PlacedPatch
    start: float = -np.inf
    end: float = np.inf

    def __post_init__(self) -> None:
        instance("contact", self.contact, PlacedPatch, "a PlacedPatch")
        _interval(self.start, self.end)


@dataclass(frozen=True)
class Pushed:
    """A push from `start` to `end`, s.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.multicontact.Pushed(tr.multicontact.Push(force=(5.0, 0.0, 0.0)), start=0.5, end=0.6).end
    0.6
    """

    push: Push
    start: float = -np.inf
    end: float = np.inf

    def __post_init__(self) -> None:
        instance("push", self.push, Push, "a Push")
        _interval(self.start, self.end)


@dataclass(frozen=True)
class MassChange(Checked):
    """The mass (kg) of what moves is `mass` from `time` (s) on.

    With a `position` (3,) m, world, of the body that joins or leaves, its `velocity` and its `angular_momentum`
    (kg m2/s, about its own centre of mass), all momenta are kept, as in `Centroidal.with_body`; without, centre of mass
    and velocity are kept (paper 3, section IV, whose lower level smooths the step).

    Examples
    --------
    >>> import trundle as tr
    >>> tr.multicontact.MassChange(time=1.5, mass=35.0).position is None  # centre of mass and velocity are kept
    True
    """

    time: Converted[float, float] = Converted(keep=partial(number, unit="s"))
    mass: Converted[float, float] = size("kg")
    position: Converted[ArrayLike | None, FloatArray | None] = vector_or_none("m")
    velocity: ArrayField = vector("m/s", (0.0, 0.0, 0.0))
    angular_momentum: ArrayField = vector("kg m2/s", (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class AxisChange:
    """The privileged axis is the direction `axis` (3,), world, from `time` (s) on.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.multicontact.AxisChange(time=0.0, axis=(0.0, 0.0, 2.0)).W[2].tolist()  # unit vector
    [0.0, 0.0, 1.0]
    """

    time: float
    axis: ArrayField = ArrayField()
    W: FloatArray = field(init=False, repr=False, compare=False)
    """(3, 3), world -> projection frame."""

    def __post_init__(self) -> None:
        number("time", self.time, unit="s")
        object.__setattr__(self, "axis", array("axis", self.axis, (3,)))
        object.__setattr__(self, "W", projection_frame(self.axis))


@dataclass(frozen=True)
class Forecast:
    """The time ahead (final).

    Parameters
    ----------
    contacts : sequence of Held
    pushes : sequence of Pushed
    masses : sequence of MassChange
        In the order of time.
    axes : sequence of AxisChange
        In the order of time.

    Examples
    --------
    >>> import numpy as np
    >>> import trundle as tr
    >>> sole = tr.FlatPatch.rectangle(0.2, 0.1, friction=0.7)
    >>> left, right = (tr.PlacedPatch(name, sole, (0.0, y, 0.0)) for name, y in (("left", 0.1), ("right", -0.1)))
    >>> held = [tr.multicontact.Held(left), tr.multicontact.Held(right, end=0.5)]  # the right sole leaves first
    >>> ahead = tr.multicontact.Forecast(held)
    >>> ahead.held(np.array([0.2, 0.8])).tolist()
    [[True, True], [True, False]]
    """

    contacts: Converted[Iterable[Held], tuple[Held, ...]] = Converted()
    pushes: Converted[Iterable[Pushed], tuple[Pushed, ...]] = Converted(())
    masses: Converted[Iterable[MassChange], tuple[MassChange, ...]] = Converted(())
    axes: Converted[Iterable[AxisChange], tuple[AxisChange, ...]] = Converted(())
    spans: FloatArray = field(init=False, repr=False, compare=False)
    """(n, 2): start and end of each contact, s."""
    positions: FloatArray = field(init=False, repr=False, compare=False)
    """(n, 3), world, m."""
    rotations: FloatArray = field(init=False, repr=False, compare=False)
    """(n, 3, 3): R_world_patch of each contact."""

    def __post_init__(self) -> None:
        kinds = {"contacts": Held, "pushes": Pushed, "masses": MassChange, "axes": AxisChange}
        for name, kind in kinds.items():
            items = tuple(getattr(self, name))
            for i, item in enumerate(items):
                instance(f"{name}[{i}]", item, kind, f"a {kind.__name__}")
            object.__setattr__(self, name, items)
        for name in ("masses", "axes"):
            times = [item.time for item in getattr(self, name)]
            if np.any(np.diff(times) <= 0):
                raise InputError(name, times, "in the order of time, no two at once")
        held = [item.contact for item in self.contacts]
        n = len(held)
        object.__setattr__(self, "spans", np.array([(c.start, c.end) for c in self.contacts]).reshape(n, 2))
        object.__setattr__(self, "positions", np.array([c.position for c in held]).reshape(n, 3))
        object.__setattr__(self, "rotations", np.array([c.R_world_patch for c in held]).reshape(n, 3, 3))

    @property
    def changes(self) -> FloatArray:
        """All instants (s) at which something changes, in order, each once."""
        spans: list[tuple[float, float]] = [(item.start, item.end) for item in (*self.contacts, *self.pushes)]
        times = np.array([*(t for span in spans for t in span), *(c.time for c in (*self.masses, *self.axes))])
        return np.unique(times[np.isfinite(times)])

    def held(self, times: FloatArray) -> NDArray[np.bool_]:
        """Return which contacts hold at the times (K,): (K, n) of bool."""
        t = times[:, None]
        return (self.spans[:, 0] <= t) & (t < self.spans[:, 1])

    def held_throughout(self, borders: FloatArray, within: float) -> NDArray[np.bool_]:
        """Return which contacts hold in the samples between `borders` (K + 1,), s: (K, n) of bool.

        Those that hold all through one, but for `within` (s) of its ends; those of its middle where none does.
        """
        borders = array("borders", borders, (None,))
        start, end = borders[:-1, None] + within, borders[1:, None] - within
        middle = self.held((borders[:-1] + borders[1:]) / 2)
        held = middle & (self.spans[:, 0] <= start) & (end <= self.spans[:, 1])
        return np.where(held.any(axis=1, keepdims=True), held, middle)

    def known_forces(self, times: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return force, pointed force and moment (K, 3) of `Samples` at the times (K,)."""
        result = np.zeros((3, len(times), 3))
        for item in self.pushes:
            on = (item.start <= times) & (times < item.end)
            push = item.push
            for table, value in zip(result, (push.force, push.pointed, push.moment_at_origin), strict=True):
                table[on] += value
        return result[0], result[1], result[2]

    def mass_at(self, times: FloatArray, first: float) -> FloatArray:
        """Return the mass (K,) at the times, `first` before any change."""
        if not self.masses:
            return np.full(len(times), first)
        return _stepwise([c.time for c in self.masses], np.array([first, *(c.mass for c in self.masses)]), times)

    def frames_at(self, times: FloatArray, first: FloatArray) -> FloatArray:
        """Return the projection frame (K, 3, 3) at the times, `first` before any change."""
        return _stepwise([c.time for c in self.axes], np.array([first, *(c.W for c in self.axes)]), times)


def align_grid(grid: FloatArray, changes: FloatArray, least: float) -> FloatArray:
    """Return the borders `grid` (K + 1,) with the nearest of them moved onto `changes`, in order.

    Then no sample mixes two stances. Borders beside a moved one make room where samples would be shorter than a third
    of theirs. A change less than `least` (s) from an end or from the one before moves nothing, nor do those at the end
    that are more than there are borders.
    """
    count = len(grid) - 1
    kept: list[float] = []
    first, last = changes.searchsorted(grid[0] + least), changes.searchsorted(grid[-1] - least, "right")
    for change in changes[first:last].tolist():
        if len(kept) < count - 1 and (not kept or change - kept[-1] >= least):
            kept.append(change)
    if not kept:
        return np.array(grid)
    order = np.arange(len(kept))
    nearest = np.abs(grid[:, None] - np.array(kept)).argmin(axis=0)
    at = np.maximum.accumulate(np.maximum(nearest, 1) - order) + order  # each a border of its own
    at = np.minimum(at, count - len(kept) + order)
    borders = np.array(grid)
    borders[at] = kept
    short = (3 * (borders[1:] - borders[:-1]) < grid[1:] - grid[:-1]).nonzero()[0]
    fixed = [0, *at.tolist(), count]
    for j in set(at.searchsorted(short, "right").tolist()):
        run, own = (line[fixed[j] : fixed[j + 1] + 1] for line in (borders, grid))
        run[1:-1] = run[0] + (run[-1] - run[0]) * (own[1:-1] - own[0]) / (own[-1] - own[0])
    return borders


def _interval(start: float, end: float) -> None:
    if not start < end:
        raise InputError("start", start, f"before the end, {end} (s)")


def _stepwise(times: Sequence[float], values: FloatArray, at: FloatArray) -> FloatArray:
    return values[np.searchsorted(np.array(times, dtype=float), at, side="right")]
