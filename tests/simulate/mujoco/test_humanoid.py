"""A humanoid in MuJoCo: the same accelerations as Pinocchio's, contacts at the soles, what sensors tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trundle.models.robots.humanoid import HUMANOIDS, Humanoid, load_humanoid
from trundle.numerics.rotations import rotation_of, rotation_rpy
from trundle.systems.multicontact.humanoid.mujoco_humanoid import (
    FreeBox,
    HumanoidPlant,
    SensorNoise,
    _thick,
    from_mujoco,
    to_mujoco,
)
from trundle.systems.multicontact.humanoid.terrain import Block, Terrain

pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def g1() -> Humanoid:
    return load_humanoid("g1")


@pytest.mark.parametrize("name", HUMANOIDS)
def test_accelerations_are_those_of_pinocchio(name: str) -> None:
    humanoid = load_humanoid(name)
    robot, rng = humanoid.robot, np.random.default_rng(4)
    model = HumanoidPlant(humanoid, Terrain(floor=False)).specification().compile()
    data = mujoco.MjData(model)
    for _ in range(5):
        q = robot.displace(humanoid.standing(), 0.4 * rng.normal(size=robot.nv))
        nu, torque = rng.normal(size=robot.nv), 10 * rng.normal(size=robot.nv - 6)
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, to_mujoco(q, nu), torque
        mujoco.mj_forward(model, data)
        terms = robot.terms(q, nu)
        expected = np.linalg.solve(terms.M, np.concatenate([np.zeros(6), torque]) - terms.h)
        found = from_mujoco(q, data.qacc_smooth)
        assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
        assert from_mujoco(q, to_mujoco(q, nu)) == pytest.approx(nu, abs=1e-14)


def test_masses_scale_without_the_rotors(g1: Humanoid) -> None:
    heavy = HumanoidPlant(g1, mass_factor=1.05).specification().compile()
    assert heavy.body_mass.sum() == pytest.approx(1.05 * g1.robot.mass, rel=1e-12)
    assert heavy.dof_armature[6:] == pytest.approx(g1.joint_armature)


def test_points_rods_and_frames_without_mass_are_bodies_that_mujoco_takes() -> None:
    for mass, inertia in ((2.0, np.zeros(3)), (2.0, [1.0, 1.0, 0.0]), (2.0, [1.0, 2.0, 3.0]), (0.0, np.zeros(3))):
        heavy, thick = _thick(mass, np.diag(inertia))
        assert heavy == (mass or 1e-4)
        principal = np.linalg.eigvalsh(thick)
        assert principal[0] > 1e-15
        assert principal[0] + principal[1] > principal[2]
        assert thick == pytest.approx(np.diag(inertia), abs=1e-9)
    possible = np.diag([1.0, 2.0, 2.9])
    assert _thick(2.0, possible)[1] is possible


class Still:
    """A policy that lets the robot hang in its joints."""

    period = 0.002

    def reset(self) -> None:
        self.told: list[np.ndarray] = []

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        self.told.append(state)
        return np.zeros(29)


def test_a_robot_without_torques_falls_and_says_so(g1: Humanoid) -> None:
    run = HumanoidPlant(g1).plant(g1.standing()).run(Still(), 3.0)
    assert run.status.name == "FELL"
    assert "base" in run.reason


def test_soles_carry_the_weight_at_first(g1: Humanoid) -> None:
    plant = HumanoidPlant(g1)
    made = plant.plant(g1.standing())
    run = made.run(Still(), 0.02, record={"forces": plant.forces}, output_step=0.001)
    forces = run.records["forces"]
    assert forces.shape == (21, 4, 3)
    assert forces[5, :2, 2].min() > 20.0
    assert np.abs(forces[:, 2:]).max() == 0.0


def test_a_measurement_has_joints_attitude_and_forces(g1: Humanoid) -> None:
    plant, robot = HumanoidPlant(g1), g1.robot
    q = robot.displace(g1.standing(), np.concatenate([[0.1, -0.2, 0.3], np.zeros(32)]))
    q[2] += 1.0
    nu = np.arange(35) / 10
    view = plant.plant(q, nu).view()
    told = plant.measure(view)
    assert told[:29] == pytest.approx(q[7:])
    assert told[29:58] == pytest.approx(nu[6:])
    assert told[58:61] == pytest.approx([0.1, -0.2, 0.3])
    assert rotation_of(q[3:7]) @ told[61:64] == pytest.approx(nu[:3])
    assert told[64:] == pytest.approx(np.zeros(12))
    assert plant.state(view)[1] == pytest.approx(nu)


def test_noise_is_what_was_asked_for(g1: Humanoid) -> None:
    plant, policy = HumanoidPlant(g1, Terrain(floor=False)), Still()
    noise = SensorNoise(position=1e-3, rate=0.2, attitude=0.03, gyro=0.4, force=5.0)
    plant.plant(g1.standing()).run(policy, 0.05, sensors=plant.sensors(noise, seed=1))
    exact = Still()
    plant.plant(g1.standing()).run(exact, 0.05, sensors=plant.sensors())
    error = np.array(policy.told) - np.array(exact.told)
    sizes = [error[:, part].std() for part in np.split(np.arange(76), [29, 58, 61, 64])]
    assert sizes == pytest.approx([1e-3, 0.2, 0.03, 0.4, 5.0], rel=0.25)


def test_blocks_are_ground(g1: Humanoid) -> None:
    block = Block((0.0, 0.0, 0.25), (0.5, 0.5, 0.05), (0.1, 0.2, 0.3))
    spec = HumanoidPlant(g1, Terrain([block], floor=False)).specification()
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.geom("block0").xmat.reshape(3, 3) == pytest.approx(rotation_rpy(np.array([0.1, 0.2, 0.3])))
    assert model.geom("block0").conaffinity == model.geom("left_foot0").contype
    assert model.geom("left_foot0").conaffinity != model.geom("right_foot0").contype


def test_a_box_on_a_stand_stays_and_hangs_on_nothing_else(g1: Humanoid) -> None:
    stand, box = Block((0.6, 0, 0.3), (0.1, 0.1, 0.3)), FreeBox((0.2, 0.24, 0.2), 2.0, (0.6, 0, 0.7), yaw=0.3)
    plant = HumanoidPlant(g1.gripping(), Terrain([stand]), box=box)
    run = plant.plant(g1.standing()).run(Still(), 0.3, record={"box": plant.box_pose})
    pose = run.records["box"][-1]
    assert pose[:3] == pytest.approx([0.6, 0, 0.7], abs=2e-3)
    assert rotation_of(pose[3:]) == pytest.approx(rotation_rpy(np.array([0, 0, 0.3])), abs=2e-3)
    assert box.inertia == pytest.approx(2 / 12 * np.diag([0.0976, 0.08, 0.0976]))


def test_balls_of_pads_touch_their_planes_from_inside(g1: Humanoid) -> None:
    plant = HumanoidPlant(g1.gripping(), Terrain(floor=False))
    view, robot = plant.plant(g1.standing()).view(), g1.robot
    ends = g1.gripping().end_motions(robot.terms(g1.standing(), np.zeros(robot.nv), g1.links).motions)
    for name in ("left_hand", "right_hand"):
        end = ends[name]
        balls = np.array([view.data.geom_xpos[view.geom(f"{name}{j}")] for j in range(4)])
        assert (balls - end.p) @ end.R[:, 2] == pytest.approx(np.full(4, 0.005), abs=1e-9)
        assert balls.mean(axis=0) - 0.005 * end.R[:, 2] == pytest.approx(end.p, abs=1e-9)


@pytest.mark.parametrize("joints", [2, 3, 29])
def test_each_number_of_a_measurement_has_its_own_noise(joints: int) -> None:
    noise = SensorNoise(position=1.0, rate=2.0, attitude=3.0, gyro=4.0, force=5.0)
    robot = SimpleNamespace(joints=("joint",) * joints)
    plant: Any = SimpleNamespace(humanoid=SimpleNamespace(robot=robot), ends=("left_foot",), measure=None)
    deviation = HumanoidPlant.sensors(plant, noise).deviation
    assert deviation.tolist() == [1.0] * joints + [2.0] * joints + [3.0] * 3 + [4.0] * 3 + [5.0] * 3
