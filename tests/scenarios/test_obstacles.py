"""Obstacles of humanoids: what is hit without distance rows is passed with them; the plant has what the program has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.measuring import compute, measured, stage_of
from trundle.models.robots.capsules import Clearance
from trundle.numerics.rotations import rotation_rpy
from trundle.scenarios import build, load_scenario
from trundle.systems.multicontact.humanoid.mujoco_humanoid import HumanoidPlant
from trundle.systems.multicontact.humanoid.obstacles import Obstacle
from trundle.systems.multicontact.scenario.experiment import MulticontactExperiment
from trundle.systems.multicontact.scenario.record import results
from trundle.systems.multicontact.whole_body.collision import CollisionRows

EXAMPLE = Path(__file__).parents[2] / "examples" / "humanoid_past_post.toml"
pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")
TURN = rotation_rpy(np.array([0.4, -0.8, 0.3]))
AROUND = (
    Obstacle("box", (0.3, 0.2, 0.4), (0.7, 0.1, 0.8), (), TURN),
    Obstacle("post", (0.05, 0.5), (0.3, 0.6, 0.7), (), TURN, "capsule"),
    Obstacle("ball", (0.15,), (0.2, -0.7, 0.9), (), np.eye(3), "sphere"),
    Obstacle("wall", (), (0.9, 0.0, 0.0), (), rotation_rpy(np.array([0.1, -1.4, 0.2])), "half-space"),
)


def passed(*overrides: str) -> Any:
    (job,) = build(load_scenario(EXAMPLE, ["trials.count=1", *overrides])).parts()
    return job.run(None)


@pytest.mark.slow
def test_what_is_hit_without_rows_is_passed_with_them() -> None:
    kept, hit = passed(), passed("controller.avoid=false")
    for run in (kept, hit):
        (result,) = results(run)
        assert result.survived
        assert result.obstacles == ("post", "shelf")
    (free,) = results(kept)
    (bad,) = results(hit)
    assert free.obstacle_force is not None
    assert free.obstacle_gap is not None
    assert bad.obstacle_force is not None
    assert bad.obstacle_gap is not None
    assert free.obstacle_force.tolist() == [0.0, 0.0]
    assert min(free.obstacle_gap) > 0.004
    assert min(bad.obstacle_force) > 10.0
    assert max(bad.obstacle_gap) < 0.0
    values = compute("humanoid-past-post", kept)
    assert values["obstacle_force"] == 0.0
    assert values["obstacle_gap"] == min(free.obstacle_gap)
    assert measured("humanoid-past-post", kept)["obstacle_force"].unit == "N"
    names = [actor.name for actor in stage_of(kept).actors]
    assert "obstacle_post" in names
    assert "shelf" in names


@pytest.mark.parametrize("robot", ["g1", "talos"])
def test_the_plant_is_as_far_from_obstacles_as_the_rows_say(robot: str) -> None:
    work = build(load_scenario("humanoid-stand", [f'robot.name="{robot}"']))
    assert isinstance(work, MulticontactExperiment)
    humanoid = work.controller.humanoid
    assert humanoid.clearance
    plant = HumanoidPlant(humanoid, obstacles=AROUND)
    rng, q = np.random.default_rng(2), work.start.copy()
    q[7:] = np.clip(q[7:] + 0.2 * rng.normal(size=len(q) - 7), humanoid.robot.lower, humanoid.robot.upper)
    view, limbs = plant.plant(q).view(), tuple(humanoid.clearance.capsules)
    against = [Obstacle(o.name, o.size, o.position, limbs, o.R_world_obstacle, o.kind) for o in AROUND]
    rows = CollisionRows(Clearance(humanoid.clearance.capsules, reach=9.0), against)
    still = np.zeros(humanoid.robot.nv)
    motions = dict(zip(rows.links, humanoid.robot.terms(q, still, rows.links).motions, strict=True))
    told = {one.names: one.distance for one in rows.distances(motions, still) if one}
    for o in AROUND:
        obstacle = view.geom(f"obstacle_{o.name}")
        for limb in limbs:
            found = view.distance(obstacle, view.geom(f"limb_{limb}"), 9.0)
            assert found == pytest.approx(told[limb, o.name], abs=2e-5), (limb, o.name)


def test_obstacles_change_nothing_of_a_plant_without_them() -> None:
    work = build(load_scenario("humanoid-stand"))
    assert isinstance(work, MulticontactExperiment)
    plant = HumanoidPlant(work.controller.humanoid)
    names = [geom.name for geom in plant.specification().geoms]
    assert not any(name.startswith(("limb_", "obstacle_")) for name in names)
    assert plant.nearness(plant.plant(work.start).view()).shape == (0, 2)
