"""What humanoids of kind `multicontact` keep away from: obstacles and blocks of the file, checked before the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid
from trundle.numerics.rotations import rotation_rpy
from trundle.scenarios.engine.building import error_context
from trundle.scenarios.scenario import Scenario
from trundle.systems.multicontact.humanoid.obstacles import Obstacle
from trundle.systems.multicontact.scenario.layout import terrain_of
from trundle.systems.multicontact.scenario.record import HumanoidTrialResult
from trundle.systems.multicontact.whole_body.collision import CollisionRows

if TYPE_CHECKING:
    from trundle.systems.multicontact.humanoid.mujoco_humanoid import HumanoidPlant
    from trundle.systems.multicontact.scenario.schema import MulticontactTables

_SINKS = 1e-3
"""How far, m, a body of the robot may be in an obstacle at the start: soles stand on a floor that is one."""


def read_obstacles(scenario: Scenario, tables: MulticontactTables, humanoid: Humanoid) -> tuple[Obstacle, ...]:
    """Return the obstacles of the file, each against the capsules that keep away from it.

    Raises
    ------
    InputError
        For a name that is taken, or a capsule that the robot's file does not have.
    """
    limbs = tuple(humanoid.clearance.capsules) if humanoid.clearance else ()
    taken, found = {*limbs, *(block.name for block in tables.terrain.blocks if block.name)}, []
    for i, table in enumerate(tables.obstacles):
        key = f"obstacles[{i}]"
        if not table.name or table.name in taken:
            allowed = "a name that no other obstacle, no block and no capsule of the robot has"
            raise InputError(f"{key}.name", table.name, allowed, scenario.file)
        taken.add(table.name)
        against = limbs if table.against is None else table.against
        _check_names(scenario, humanoid, f"{key}.against", against)
        numbers = np.hstack([np.zeros(0), *table.shape.model_dump(exclude={"type"}).values()])
        R = rotation_rpy(np.array(table.rpy))
        with error_context(key, scenario):
            found.append(Obstacle(table.name, numbers, np.array(table.center), against, R, table.shape.type))
    return tuple(found)


def read_avoidance_pairs(
    scenario: Scenario, tables: MulticontactTables, humanoid: Humanoid
) -> dict[str, tuple[str, ...]]:
    """Return the capsules that keep away from each block of the terrain that names some.

    Raises
    ------
    InputError
        For a block without a name, or a capsule that the robot's file does not have.
    """
    found: dict[str, tuple[str, ...]] = {}
    limbs = tuple(humanoid.clearance.capsules) if humanoid.clearance else ()
    for i, block in enumerate(tables.terrain.blocks):
        key = f"terrain.blocks[{i}]"
        if not block.against:
            continue
        if not block.name or block.name in limbs:
            allowed = "a name that no capsule of the robot has: the block is kept away from"
            raise InputError(f"{key}.name", block.name, allowed, scenario.file)
        _check_names(scenario, humanoid, f"{key}.against", block.against)
        found[block.name] = tuple(dict.fromkeys(block.against))
    return found


def _check_names(scenario: Scenario, humanoid: Humanoid, key: str, names: tuple[str, ...]) -> None:
    limbs = tuple(humanoid.clearance.capsules) if humanoid.clearance else ()
    for k, name in enumerate(names):
        if name not in limbs:
            allowed = "one of the robot's capsules: " + ", ".join(limbs)
            if not limbs:
                allowed = f"left out: the file of {humanoid.name} has no table clearance with capsules"
            raise InputError(f"{key}[{k}]", name, allowed, scenario.file)


def read_rows(scenario: Scenario, tables: MulticontactTables, humanoid: Humanoid) -> CollisionRows | None:
    """Return the rows that keep the robot's limbs apart and away from obstacles and blocks, if there are any.

    Raises
    ------
    InputError
        If limbs are to keep apart of which the robot's file says nothing.
    """
    avoid, limits = tables.controller.avoid, humanoid.clearance
    if avoid and limits is None:
        allowed = f"false: the file of {humanoid.name} has no table clearance"
        raise InputError("controller.avoid", avoid, allowed, scenario.file)
    pairs = read_avoidance_pairs(scenario, tables, humanoid)
    around = (*read_obstacles(scenario, tables, humanoid), *_blocks(tables, humanoid, pairs))
    if limits is None or avoid is False:
        return None
    around = tuple(one for one in around if one.against)
    if avoid is None:
        limits = replace(limits, pairs=())
    if not around and not limits.pairs:
        return None
    return CollisionRows(limits, around)


def _blocks(
    tables: MulticontactTables, humanoid: Humanoid, avoidance_pairs: Mapping[str, tuple[str, ...]]
) -> list[Obstacle]:
    if not avoidance_pairs:
        return []
    terrain = terrain_of(tables, humanoid)  # a support may be laid out for the robot's arm
    blocks = {name: terrain.block(name) for name in avoidance_pairs}
    return [Obstacle(name, 2 * b.half_size, b.center, avoidance_pairs[name], b.R) for name, b in blocks.items()]


def check_start(scenario: Scenario, tables: MulticontactTables, plant: HumanoidPlant, q: FloatArray) -> None:
    """Raise `InputError` where an obstacle, or a block that is kept away from, is in the robot at its start q (nq,)."""
    if not plant.fixtures:
        return
    view, blocks = plant.plant(q).view(), tables.terrain.blocks
    places = {one.name: f"obstacles[{i}].center" for i, one in enumerate(tables.obstacles)}
    places |= {
        one.name: f"terrain.blocks[{i}].center" for i, one in enumerate(blocks) if one.name in plant.avoidance_pairs
    }
    centres = {one.name: one.position for one in plant.obstacles} | {one.name: one.center for one in blocks}
    for (name, (geom, others)), (_, gap) in zip(plant.fixtures.items(), plant.nearness(view), strict=True):
        if gap < -_SINKS:
            worst = min(others, key=lambda other: view.distance(view.geom(geom), view.geom(other), 1.0))
            allowed = (
                f"a place outside the robot: at the start {name!r} is {-gap:.3f} m deep in {_capsule_name(worst)!r}"
            )
            raise InputError(places[name], np.asarray(centres[name]).tolist(), allowed, scenario.file)


def _capsule_name(geom: str) -> str:
    """Return the capsule's name in the robot's file for a geom."""
    return geom.removeprefix("limb_").rstrip("0123456789")


def with_obstacles(
    result: HumanoidTrialResult, plant: HumanoidPlant, records: Mapping[str, FloatArray]
) -> HumanoidTrialResult:
    """Add the largest force (N) and the least distance (m) of each obstacle to a result."""
    if not plant.fixtures:
        return result
    near = records["nearness"]
    force, gap = near[:, :, 0].max(axis=0), near[:, :, 1].min(axis=0)
    return replace(result, obstacles=tuple(plant.fixtures), obstacle_force=force, obstacle_gap=gap)
