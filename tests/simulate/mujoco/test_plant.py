"""The MuJoCo plant: what a policy is told and when, pushes, falls, instability, and bad arguments."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.simulate.mujoco.plant import Fall, MujocoPlant
from trundle.simulate.mujoco.pushes import Action, ForcePulse
from trundle.simulate.mujoco.sensors import Sensors
from trundle.status import Status

mujoco = pytest.importorskip("mujoco")

SLIDER = """
<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody>
<body name="cart"><joint type="slide" axis="1 0 0" name="x"/><geom name="cart" type="sphere" size=".1" mass="2"/></body>
</worldbody><actuator><motor joint="x"/></actuator></mujoco>
"""
DROP = """
<mujoco><option timestep="0.001" gravity="0 0 -10"/><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
<body name="ball" pos="0 0 .1"><freejoint/><geom name="ball" type="sphere" size=".1" mass="3"/></body>
</worldbody></mujoco>
"""


class Constant:
    def __init__(self, value, period=0.001):
        self.value, self.period, self.calls, self.resets = np.atleast_1d(value), period, [], 0

    def reset(self):
        self.resets += 1

    def __call__(self, time, state):
        self.calls.append((time, np.array(state)))
        return self.value


def test_a_force_accelerates_by_newtons_law():
    run = MujocoPlant(SLIDER).run(Constant(4.0), 0.5, record={"x": lambda view: view.position("cart")[0]})
    assert run.status is Status.SUCCESS
    assert run.time == pytest.approx(np.arange(0, 0.51, 0.01))
    assert run.records["x"] == pytest.approx(0.5 * 2.0 * run.time**2, abs=2e-3)


def test_a_policy_is_called_at_its_own_period():
    policy = Constant(0.0, period=0.004)
    MujocoPlant(SLIDER).run(policy, 0.02)
    assert [time for time, _ in policy.calls] == pytest.approx([0, 0.004, 0.008, 0.012, 0.016, 0.02])
    assert policy.resets == 1


def test_sensors_are_late_noisy_and_may_fail():
    plant = MujocoPlant(SLIDER)
    clock = lambda view: np.array([view.time])  # noqa: E731
    policy = Constant(0.0)
    plant.run(policy, 0.05, sensors=Sensors(clock, delay=0.007))
    assert [told[0] for _, told in policy.calls] == pytest.approx(np.maximum(np.arange(51) * 1e-3 - 0.007, 0.0))
    told = []
    for seed in (3, 3, 4):
        policy = Constant(0.0)
        plant.run(policy, 0.5, sensors=Sensors(lambda view: np.zeros(1), 0.2, seed=seed))
        told.append(np.array([value[0] for _, value in policy.calls]))
    assert np.std(told[0]) == pytest.approx(0.2, rel=0.15)
    assert np.array_equal(told[0], told[1])
    assert not np.array_equal(told[0], told[2])
    policy = Constant(0.0)
    plant.run(policy, 0.01, sensors=Sensors(clock, fault=lambda time, value: value * np.nan if time > 0.005 else value))
    assert [bool(np.isnan(value[0])) for _, value in policy.calls] == [False] * 6 + [True] * 5


def test_a_push_gives_its_impulse():
    push = ForcePulse("cart", [0, 0, 0], [5.0, 3.0, 0.0], 0.1, 0.2)
    run = MujocoPlant(SLIDER).run(Constant(0.0), 0.5, pushes=[push], record={"v": lambda view: view.data.qvel[0]})
    assert run.records["v"][-1] == pytest.approx(5.0 * 0.2 / 2.0, rel=1e-6)
    assert run.records["v"][9] == 0.0
    with pytest.raises(InputError, match="cart"):
        MujocoPlant(SLIDER).run(Constant(0.0), 0.1, pushes=[ForcePulse("wagon", [0, 0, 0], [1, 0, 0], 0.0, 0.1)])


def test_contact_forces_carry_the_weight():
    record = {
        "ball": lambda view: view.contact_force(view.geom("ball")),
        "floor": lambda view: view.contact_force(view.geom("floor")),
        "gap": lambda view: view.distance(view.geom("ball"), view.geom("floor")),
    }
    run = MujocoPlant(DROP).run(Constant(np.zeros(0)), 1.0, record=record)
    assert run.records["ball"][-1] == pytest.approx([0, 0, 30.0], abs=0.05)
    assert run.records["floor"][-1] == pytest.approx([0, 0, -30.0], abs=0.05)
    assert abs(run.records["gap"][-1]) < 2e-3


def test_actions_happen_once():
    def kick(view):
        view.data.qvel[0] += 1.0

    run = MujocoPlant(SLIDER).run(
        Constant(0.0), 0.3, actions=[Action(0.2, kick), Action(0.1, kick)], record={"v": lambda view: view.data.qvel[0]}
    )
    assert run.records["v"][[5, 15, 29]] == pytest.approx([0.0, 1.0, 2.0])


def test_a_fall_ends_the_run_and_says_why():
    run = MujocoPlant(DROP, fall=[Fall("ball", lowest=0.3)]).run(Constant(np.zeros(0)), 1.0)
    assert (run.status, run.time.size) == (Status.FELL, 1)
    assert "below 0.3 m" in run.reason

    def tip(view):
        view.data.qvel[4] = 4.0

    tipped = MujocoPlant(DROP, fall=[Fall("ball", tilt=0.5)]).run(
        Constant(np.zeros(0)), 1.0, actions=[Action(0.0, tip)]
    )
    assert tipped.status is Status.FELL
    assert "leans" in tipped.reason


class Feedback(Constant):
    def __call__(self, time, state):
        return self.value * state


@pytest.mark.parametrize(("gain", "period"), [(200.0, 0.001), (200.0, 0.02), (2.0, 0.02)])
def test_a_loop_that_diverges_ends_early_and_names_what_runs_away(gain, period):
    """As in trundle's own simulation, past 1e4 m/s; MuJoCo goes on to 1e10, of positions: twice as long."""
    sensors = Sensors(lambda view: view.data.qpos)
    plant = MujocoPlant(SLIDER, start=lambda view: view.data.qpos.fill(0.1))
    run = plant.run(Feedback(gain, period), 60.0, sensors=sensors, record={"v": lambda view: view.data.qvel[0]})
    assert run.status is Status.DIVERGED
    assert "the loop diverges: cart moves at 1" in run.reason
    rate = np.sqrt(gain / 2.0)  # 1/s, of the unstable mode: v = 0.05 rate exp(rate t)
    assert run.time[-1] < 1.3 * np.log(1e4 / (0.05 * rate)) / rate
    assert run.records["v"][-1] < 1.1e4
    assert plant.run(Feedback(-gain, 0.001), 0.5, sensors=sensors).status is Status.SUCCESS


def test_warnings_that_the_user_takes_stay_with_the_user():
    told = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(told.append)
    try:
        MujocoPlant(SLIDER).run(Constant(1e300), 0.1)
    finally:
        mujoco.set_mju_user_warning(before)
    assert len(told) == 1


def test_velocities_are_those_of_a_body_that_turns_about_its_frame():
    """Its frame rests, its centre of mass 0.5 m away moves at 1 m/s; gyration is sqrt(0.09)."""
    inertial = '<inertial pos="0.5 0 0" mass="2" diaginertia="0.1 0.15 0.18"/>'
    world = f'<worldbody><body name="b" pos="1 0 1"><freejoint/>{inertial}</body></worldbody>'
    view = MujocoPlant(f"<mujoco>{world}</mujoco>", start=lambda view: view.data.qvel.put([5], 2.0)).view()
    assert view.velocity("b") == pytest.approx([0, 0, 2, 0, 0, 0])
    assert view.speeds() == pytest.approx({"b": 1.0 + 0.3 * 2.0})


def test_what_blows_up_is_said_to(tmp_path, monkeypatch, caplog):
    """MuJoCo warns in the log; its own file in the working directory is not written."""
    monkeypatch.chdir(tmp_path)
    broken = MujocoPlant(SLIDER).run(Constant(1e300), 0.1)
    assert broken.status is Status.NOT_FINITE
    assert "The simulation is unstable" in caplog.text
    assert list(tmp_path.iterdir()) == []
    assert "unstable" in broken.reason
    silent = MujocoPlant(SLIDER).run(Constant(np.nan), 0.1)
    assert silent.status is Status.NOT_FINITE
    assert "answer" in silent.reason


def test_wrong_arguments_are_named():
    with pytest.raises(InputError, match="model"):
        MujocoPlant("<mujoco><worldbody><geom/></worldbody></mujoco>").view()
    with pytest.raises(InputError, match=r"policy\.period"):
        MujocoPlant(SLIDER).run(Constant(0.0, period=0.0015), 0.1)
    with pytest.raises(InputError, match="output_step"):
        MujocoPlant(SLIDER).run(Constant(0.0), 0.1, output_step=0.0004)
    with pytest.raises(InputError, match="force"):
        ForcePulse("cart", [0, 0, 0], [np.nan, 0, 0], 0.0, 0.1)
    with pytest.raises(InputError, match="deviation"):
        Sensors(deviation=-1.0)


def test_a_specification_made_at_run_time():
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.001
    body = spec.worldbody.add_body(name="cart")
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0])
    run = MujocoPlant(spec).run(Constant(np.zeros(0)), 0.1, record={"z": lambda view: view.position("cart")[2]})
    assert run.records["z"][-1] == pytest.approx(-0.5 * 9.81 * 0.01, rel=0.03)
