"""PlantError: how a robot differs from the model that its controller has of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trundle.checks import FloatArray, array, positive
from trundle.errors import InputError
from trundle.geometry.sampled.sampled import SampledCurve
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.curves import Circle, Ellipse, FourierRadius
from trundle.models.part_contacts import ContactPart
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.joints import BodySpec
from trundle.parameters import Checked, NonNegative, parameter


@dataclass(frozen=True)
class PlantError(Checked):
    """What a simulated robot has that the model does not know.

    Attributes
    ----------
    mass, inertia, friction : float
        Factors of every mass, inertia and coefficient of friction.
    center_of_mass : mapping of body name -> (d,) m
        By how much centres of mass lie elsewhere, in the bodies' frames.
    size : mapping of body name -> float
        Factors of outlines (in the plane).
    terrain : Shape, optional
        The ground there is.
    damping : float, N m s/rad (N s/m)
        Of every joint, besides its own: a torque -damping rate.
    dry_friction : float, N m (N)
        Of every joint, besides its own: a torque -dry_friction tanh(rate / (0.02 rad/s)).
    """

    mass: float = parameter(1.0, "factor of every mass")
    inertia: float = parameter(1.0, "factor of every inertia")
    friction: float = parameter(1.0, "factor of every coefficient of friction")
    center_of_mass: Mapping[str, Sequence[float]] = parameter(
        {}, "m, by the bodies' names, added to their center_of_mass"
    )
    size: Mapping[str, float] = parameter({}, "by the bodies' names, factors of their curves")
    terrain: Shape | None = parameter(None, "the ground there is; left out: that of [terrain]")
    damping: NonNegative = parameter(0.0, "N m s/rad (N s/m), of every joint")
    dry_friction: NonNegative = parameter(0.0, "N m (N), dry friction of every joint")

    @property
    def geometric(self) -> bool:
        """Whether a start of the model is none of the robot: its shapes, its ground or its frames are others."""
        return bool(self.center_of_mass or self.size) or self.terrain is not None

    def of(self, tree: RollingTree) -> RollingTree:
        """Return the robot that the model `tree` stands for.

        Raises
        ------
        InputError
            If a factor is out of range, a name is no body's, or an outline cannot be resized.
        """
        scaled = tree.scaled(mass=self.mass, inertia=self.inertia, friction=self.friction)
        d, specs = tree.d, scaled.tree.specs
        offsets = {name: array("center_of_mass", v, (d,), unit="m") for name, v in self.center_of_mass.items()}
        masses = [spec.name for spec in specs if spec.mass > 0]
        _check_names("center_of_mass", offsets, masses)
        _check_names("size", self.size, [part.body for part in tree.parts])
        # The frame of a free body is at its centre of mass: what is fixed to the body moves in it.
        shifts = {spec.name: offsets[spec.name] for spec in specs if spec.floating and spec.name in offsets}
        changed = [self._spec(spec, specs, offsets, shifts) for spec in specs]
        origins = {name: _less(at, shifts.get(name)) for name, at in tree.origins.items()}
        parts = tuple(self._part(part, shifts) for part in scaled.parts)
        ground = tree.terrain if self.terrain is None else self.terrain
        return replace(scaled, tree=scaled.tree.with_specs(changed), parts=parts, origins=origins, terrain=ground)

    def _spec(
        self,
        spec: BodySpec,
        specs: Sequence[BodySpec],
        offsets: Mapping[str, FloatArray],
        shifts: Mapping[str, FloatArray],
    ) -> BodySpec:
        if spec.parent < 0:
            return spec
        offset = offsets.get(spec.name)
        com = spec.com if offset is None else tuple(float(c + o) for c, o in zip(spec.com, offset, strict=True))
        at = _less(spec.at, shifts.get(specs[spec.parent].name))
        moved = replace(spec, com=com, at=at)
        if not spec.jointed:
            return moved
        smooth = spec.smooth_friction + self.dry_friction
        return replace(moved, damping=spec.damping + self.damping, smooth_friction=smooth)

    def _part(self, part: ContactPart, shifts: Mapping[str, FloatArray]) -> ContactPart:
        factor = self.size.get(part.body)
        shape = part.shape if factor is None else resize_outline(part.shape, factor)
        return replace(part, shape=shape, center=_less(part.center, shifts.get(part.body)))


def resize_outline(shape: Shape, factor: float) -> Shape:
    """Return an outline `factor` times as large about its origin."""
    times = positive("size", factor)
    if isinstance(shape, Circle | FourierRadius):
        return replace(shape, radius=shape.radius * times)
    if isinstance(shape, Ellipse):
        return replace(shape, semi_axes=tuple(a * times for a in shape.semi_axes))
    if isinstance(shape, SampledCurve) and shape.closed:
        return replace(shape, points=(np.array(shape.points) * times).tolist())
    raise InputError("size", type(shape).__name__, "of a Circle, Ellipse, FourierRadius or closed SampledCurve")


def _less(point: tuple[float, ...], shift: FloatArray | None) -> tuple[float, ...]:
    return point if shift is None else tuple(float(p - s) for p, s in zip(point, shift, strict=True))


def _check_names(key: str, given: Mapping[str, FloatArray | float], names: Sequence[str]) -> None:
    for name in given:
        if name not in names:
            raise InputError(f"{key}.{name}", given[name], "of one of " + ", ".join(names))
