"""What a robot walks on and leans on: boxes that do not move, and the floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import ArrayField, FloatArray, array, instance, vector
from trundle.errors import InputError
from trundle.numerics.rotations import rotation_rpy, rotation_z
from trundle.parameters import Checked
from trundle.threads import cached_property

_UP = np.array([0.0, 0.0, 1.0])
_FLAT = 0.5
"""Least height of the normal of something that can be stood on."""
_EDGE, _LEVEL = 1e-9, 1e-3
"""What is on a face, m: so far beyond its edge, and so far above or below its plane."""
_ROOM = 0.3
"""What is farther above a foothold, m, is not in a sole's way."""
_GRID, _SAMPLES = 0.01, 7
"""Places at which a sole is tried, m, and points of it, along each side, that must lie on the face."""


@dataclass(frozen=True)
class Block(Checked):
    """A box that does not move: ground, step, slope, ridge, beam.

    Parameters
    ----------
    center, half_size : (3,) m
    rpy : (3,) rad
        R = Rz(yaw) Ry(pitch) Rx(roll).
    name : str
        For messages, and for those who mean this one.
    """

    center: ArrayField = vector("m")
    half_size: ArrayField = vector("m", above=0.0)
    rpy: ArrayField = vector("rad", (0.0, 0.0, 0.0))
    name: str = ""

    @cached_property
    def R(self) -> FloatArray:  # noqa: N802
        """R_world_block (3, 3)."""
        return rotation_rpy(self.rpy)

    @property
    def corners(self) -> FloatArray:
        """The eight corners (8, 3), world, m."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
        return self.center + (signs * self.half_size) @ self.R.T

    def heights(self, points: FloatArray) -> FloatArray:
        """Return the height (n,), m, of the face along its own z axis at places (n, 2); -inf beside it."""
        normal = self.R[:, 2]
        if normal[2] < _FLAT:
            return np.full(len(points), -np.inf)
        face = self.center + self.half_size[2] * normal
        z = face[2] - (points - face[:2]) @ normal[:2] / normal[2]
        own = (np.column_stack((points, z)) - face) @ self.R[:, :2]
        return np.where(np.all(np.abs(own) <= self.half_size[:2] + _EDGE, axis=1), z, -np.inf)

    def top(self, x: float, y: float) -> float | None:
        """Return the height of that face above (x, y), m; None beside it."""
        z = float(self.heights(np.array([[x, y]]))[0])
        return z if np.isfinite(z) else None


@dataclass(frozen=True)
class Terrain:
    """Boxes, and the floor z = 0 unless there is none (final)."""

    blocks: Sequence[Block] = ()
    floor: bool = True

    def __post_init__(self) -> None:
        for i, block in enumerate(self.blocks):
            instance(f"blocks[{i}]", block, Block, "a Block")
        object.__setattr__(self, "blocks", tuple(self.blocks))

    @property
    def table(self) -> dict[str, bool | list[dict[str, str | list[list[float]]]]]:
        """What a record keeps: "floor", and the "blocks" with name and corners (8, 3), m."""
        blocks: list[dict[str, str | list[list[float]]]]
        blocks = [{"name": block.name, "corners": block.corners.tolist()} for block in self.blocks]
        return {"floor": self.floor, "blocks": blocks}

    def block(self, name: str) -> Block:
        """Return the block with this name; raises `InputError` with the names there are."""
        for block in self.blocks:
            if block.name == name:
                return block
        names = ", ".join(repr(block.name) for block in self.blocks if block.name)
        raise InputError("block", name, f"one of the named blocks: {names}" if names else "the name of a block")

    def with_offsets(self, offsets: Mapping[str, ArrayLike]) -> Terrain:
        """Return the terrain with named blocks elsewhere, by offsets (3,) m, world.

        Raises
        ------
        InputError
            For a name that no block has.
        """
        found = {self.block(name).name: array(name, offset, (3,), unit="m") for name, offset in offsets.items()}
        return replace(
            self, blocks=[replace(b, center=b.center + found[b.name]) if b.name in found else b for b in self.blocks]
        )

    def ground(self, x: float, y: float, only: str = "") -> tuple[FloatArray, FloatArray]:
        """Return the highest point (3,) m over (x, y), and the axes (3, 3) of a foothold there, its x ahead.

        Of the block named `only`, if one is.

        Raises
        ------
        InputError
            If there is nothing.
        """
        blocks = [self.block(only)] if only else self.blocks
        found = [(z, block.R[:, 2]) for block in blocks if (z := block.top(x, y)) is not None]
        found += [(0.0, _UP)] if self.floor and not only else []
        if not found:
            where = f"over block {only!r}" if only else "over a block, or with a floor"
            raise InputError("place", (round(x, 6), round(y, 6)), f"a place {where} (m)")
        z, normal = max(found, key=lambda one: one[0])
        ahead: FloatArray = np.array([1.0, 0.0, 0.0]) - normal[0] * normal
        ahead = ahead / float(np.linalg.norm(ahead))
        R: FloatArray = np.array([ahead, np.cross(normal, ahead), normal]).T
        return np.array([x, y, z]), R

    def heights(self, points: FloatArray, ceiling: float = np.inf) -> FloatArray:
        """Return the height (n,), m, of the highest ground at places (n, 2) below `ceiling` (m); -inf where none is."""
        found = np.full(len(points), 0.0 if self.floor else -np.inf)
        for block in self.blocks:
            z = block.heights(points)
            found = np.where(z < ceiling, np.maximum(found, z), found)
        return found

    def foothold(
        self, x: float, y: float, half_size: ArrayLike, shift: float = 0.1, yaw: float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """Return `ground` at the place nearest to (x, y), at most `shift` (m) off, where a whole sole lies on one face.

        The sole's long side is turned by `yaw` (rad) from the x axis; the axes of the foothold are not.

        Raises
        ------
        InputError
            If there is none (key "place").
        """
        half, reach = array("half_size", half_size, (2,), above=0.0, unit="m"), round(shift / _GRID)
        steps = _GRID * np.arange(-reach, reach + 1)
        offsets = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
        away = np.hypot(*offsets.T)
        sides = np.linspace(-1.0, 1.0, _SAMPLES)
        sole = np.stack(np.meshgrid(sides, sides), axis=-1).reshape(-1, 2) * half @ rotation_z(yaw)[:2, :2].T
        for k in np.argsort(away, kind="stable"):
            place: FloatArray = offsets[k].astype(np.float64) + np.array([x, y])
            if away[k] > shift + 1e-12 or not np.isfinite(self.heights(place[None])[0]):
                continue
            point, R = self.ground(float(place[0]), float(place[1]))
            points: FloatArray = point + sole @ R[:, :2].T
            if np.all(np.abs(self.heights(points[:, :2], float(point[2]) + _ROOM) - points[:, 2]) <= _LEVEL):
                return point, R
        room = " x ".join(f"{2 * side:.3g}" for side in half)
        raise InputError("place", (round(x, 6), round(y, 6)), f"within {shift:g} m of a face with room for {room} m")

    def breadth(self, x: float, y: float, most: float = 4.0) -> float:
        """Return how broad (m), at most `most`, the level ground along y is of which (x, y) is the middle.

        Raises
        ------
        InputError
            If there is nothing at (x, y).
        """
        height = self.ground(x, y)[0][2]

        def level(away: float) -> bool:
            """Whether the ground is as high on both sides."""
            try:
                return all(abs(self.ground(x, side)[0][2] - height) < 1e-9 for side in (y - away, y + away))
            except InputError:
                return False

        inside, outside = 0.0, most / 2
        if level(outside):
            return most
        while outside - inside > 1e-12:
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if level(middle) else (inside, middle)
        return 2.0 * inside
