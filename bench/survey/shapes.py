"""Shapes and grounds of the survey: as code of the public API, and as the judge's own geometry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracles.laws import grounds as judged_grounds
from tests.oracles.laws import shapes as judged
from tests.oracles.laws.grounds import Ground
from tests.oracles.laws.shapes import Body


@dataclass(frozen=True)
class Kind:
    """How a kind of shape is written, what the judge makes of it, and the powers of the length in its numbers."""

    code: str
    body: Callable[..., Body] | None
    ground: Callable[..., Ground] | None
    powers: Mapping[str, int]


def _height_map(x: list[float], y: list[float], z: list[list[float]]) -> Ground:
    return judged_grounds.height_map(np.array(x), np.array(y), np.array(z))


KINDS: dict[str, Kind] = {
    # Bodies in space
    "Sphere": Kind("tr.Sphere({radius})", judged.ball, lambda radius: judged_grounds.solid(judged.ball(radius)),
                   {"radius": 1}),
    "Ellipsoid": Kind("tr.Ellipsoid({axes})", judged.ellipsoid,
                      lambda axes: judged_grounds.solid(judged.ellipsoid(axes)), {"axes": 1}),
    "Superellipsoid": Kind("tr.Superellipsoid({axes}, {exponents}, {rounding})", judged.superellipsoid, None,
                           {"axes": 1, "exponents": 0, "rounding": 1}),
    "Box": Kind("tr.Box({half})", judged.box, lambda half: judged_grounds.solid(judged.box(half)), {"half": 1}),
    "RoundedBox": Kind("tr.Rounded(tr.Box({half}), {radius})", judged.box,
                       lambda half, radius: judged_grounds.solid(judged.box(half, radius)), {"half": 1, "radius": 1}),
    "Capsule": Kind("tr.Capsule({radius}, {length})", judged.capsule, None, {"radius": 1, "length": 1}),
    "Cylinder": Kind("tr.Cylinder({radius}, {length})", judged.cylinder, None, {"radius": 1, "length": 1}),
    "Disc": Kind("tr.Disc({radius}, {rounding})", lambda radius, rounding: judged.cylinder(radius, 0.0, rounding), None,
                 {"radius": 1, "rounding": 1}),
    "Polytope": Kind("tr.Polytope({vertices})", judged.polytope, None, {"vertices": 1}),
    "RoundedPolytope": Kind("tr.Rounded(tr.Polytope({vertices}), {radius})", judged.polytope, None,
                            {"vertices": 1, "radius": 1}),
    "Torus": Kind("tr.Torus({major}, {minor})", judged.torus, None, {"major": 1, "minor": 1}),
    "Sole": Kind("tr.FlatPatch([[-{x}, -{y}], [{x}, -{y}], [{x}, {y}], [-{x}, {y}]])", judged.sole, None,
                 {"x": 1, "y": 1}),
    # Bodies in the plane
    "Circle": Kind("tr.Circle({radius})", lambda radius: judged.ball(radius, 2), None, {"radius": 1}),
    "Ellipse": Kind("tr.Ellipse({axes})", judged.ellipsoid, None, {"axes": 1}),
    "FourierRadius": Kind("tr.FourierRadius({radius}, {cos}, {sin})", judged.outline, None,
                          {"radius": 1, "cos": 0, "sin": 0}),
    # Grounds
    "Plane": Kind("tr.Plane()", None, lambda: judged_grounds.flat(np.array([0.0, 0.0, 1.0])), {}),
    "Line": Kind("tr.Line()", None, lambda: judged_grounds.flat(np.array([0.0, 1.0])), {}),
    "Dish": Kind("tr.Dish({axes})", None, judged_grounds.hollow, {"axes": 1}),
    "Tube": Kind("tr.Tube({radius})", None, lambda radius: judged_grounds.hollow([radius, radius, np.inf]),
                 {"radius": 1}),
    "Waves": Kind("tr.Extrusion(tr.Sinusoid({amplitude}, {wavelength}, {phase}))", None, judged_grounds.waves,
                  {"amplitude": 1, "wavelength": 1, "phase": 0}),
    "Spheroid": Kind("tr.Revolution(tr.Ellipse([{across}, {up}]))", None,
                     lambda across, up: judged_grounds.solid(judged.ellipsoid([across, across, up])),
                     {"across": 1, "up": 1}),
    "Quadric": Kind("tr.geometry.ExpressionLevelSurface("
                    "lambda x, y, z: z - {a} * x**2 - {b} * y**2, size={size})", None,
                    lambda a, b, size: judged_grounds.quadric(a, b), {"a": -1, "b": -1, "size": 1}),
    "HeightMap": Kind("tr.HeightMap({x}, {y}, {z})", None, _height_map, {"x": 1, "y": 1, "z": 1}),
    "Sinusoid": Kind("tr.Sinusoid({amplitude}, {wavelength}, {phase})", None,
                     lambda amplitude, wavelength, phase: judged_grounds.waves(amplitude, wavelength, phase, 2),
                     {"amplitude": 1, "wavelength": 1, "phase": 0}),
    "Parabola": Kind("tr.Parabola({curvature})", None, judged_grounds.parabola, {"curvature": -1}),
}  # fmt: skip

LEVEL = ("Plane", "Line")
"""Grounds that are the same everywhere."""

ROUND_ABOUT_Z = ("Plane", "Sphere", "Tube", "Spheroid")
"""Grounds that a turn about the vertical leaves as they are; a dish and an ellipsoid with two equal axes, too."""


@dataclass(frozen=True)
class ShapeSpec:
    """A shape by its kind and numbers."""

    kind: str
    numbers: tuple[tuple[str, Any], ...] = ()

    @property
    def code(self) -> str:
        """The shape in the public API."""
        return KINDS[self.kind].code.format(**{name: number_code(value) for name, value in self.numbers})

    def body(self) -> Body:
        """The judge's body."""
        made = KINDS[self.kind].body
        if made is None:
            raise ValueError(f"{self.kind} is no body")
        return made(*(value for _, value in self.numbers))

    def ground(self) -> Ground:
        """The judge's ground."""
        made = KINDS[self.kind].ground
        if made is None:
            raise ValueError(f"{self.kind} is no ground")
        return made(*(value for _, value in self.numbers))

    def scaled(self, length: float) -> ShapeSpec:
        """The shape in another unit of length."""
        powers = KINDS[self.kind].powers
        return ShapeSpec(self.kind, tuple((n, _times(v, length ** powers[n])) for n, v in self.numbers))

    def mirrored(self, d: int) -> ShapeSpec:
        """The shape mirrored at its own y = 0, in the plane at x = 0."""
        changed = dict(self.numbers)
        if "vertices" in changed:
            flip = np.array([1.0, -1.0, 1.0] if d == 3 else [-1.0, 1.0])
            changed["vertices"] = plain(np.array(changed["vertices"]) * flip)
        elif self.kind == "HeightMap":
            changed["y"] = [-v for v in reversed(changed["y"])]
            changed["z"] = [list(reversed(row)) for row in changed["z"]]
        elif self.kind == "Sinusoid":
            changed["amplitude"], changed["phase"] = -changed["amplitude"], -changed["phase"]
        elif self.kind == "FourierRadius":
            changed["cos"] = [c * (-1.0) ** (k + 1) for k, c in enumerate(changed["cos"])]
            changed["sin"] = [-s * (-1.0) ** (k + 1) for k, s in enumerate(changed["sin"])]
        return ShapeSpec(self.kind, tuple(changed.items()))

    @property
    def round_about_z(self) -> bool:
        """Whether, as ground, a turn about the vertical leaves it as it is."""
        axes = dict(self.numbers).get("axes")
        return self.kind in ROUND_ABOUT_Z or (axes is not None and axes[0] == axes[1])


def shape(kind: str, **numbers: Any) -> ShapeSpec:
    """Return a shape of these numbers."""
    return ShapeSpec(kind, tuple((name, plain(value)) for name, value in numbers.items()))


def plain(value: Any) -> Any:
    """Return Python's own numbers and lists of arrays and numpy's numbers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_times(v, factor) for v in value]
    return value * factor


def number_code(value: Any) -> str:
    """Return numbers as code, whole ones short."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(number_code(v) for v in value) + "]"
    if value is None:
        return "None"
    return repr(float(value))
