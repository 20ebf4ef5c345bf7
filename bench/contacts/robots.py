"""Robots on feet and wheels, dominoes, and an oloid."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

import trundle as tr
from bench.classics.blocks import (
    CORNER,
    COUNT,
    DOMINO,
    DOMINO_TIMES,
    HIGH,
    PUSH,
    SPACING,
    THICK,
    domino_scene,
    domino_times,
)
from bench.classics.scene import GRAVITY as DOWN
from bench.contacts.balls import GRAVITY
from bench.contacts.scene import Case, Drive, Replay
from trundle.interop.forms import Form
from trundle.interop.scene import PeerContact, PeerGeom, PeerScene, scene_of
from trundle.simulate.run import capture_call
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.plan.robot_steps import RobotWalk, on_contacts, plan_steps
from trundle.systems.walking.replay.walk_gains import walk_gains
from trundle.systems.walking.replay.walk_replay import replay_walk
from trundle.systems.walking.robots.legged import LeggedRobot
from trundle.systems.walking.robots.soles import suggest_feet

ROOT = Path(__file__).resolve().parents[2]


def dominoes() -> Case:
    """Twelve dominoes fall, hinged at their lower edges."""
    robot = tr.Robot(gravity=DOWN, on_slip="slide", on_separation="fly")
    inertia, middle = DOMINO / 12 * (THICK**2 + HIGH**2), (-THICK / 2, HIGH / 2)
    for i in range(COUNT):
        edge = (i * (SPACING + THICK), 0.0)
        one = robot.revolute(None, edge, DOMINO, inertia, center_of_mass=middle, actuated=False, name=f"domino{i}")
        robot.attach(one, tr.Circle(CORNER), at=(-CORNER, HIGH), name=f"corner{i}")
        if i:
            robot.attach(one, tr.Line(), at=(-THICK, 0.0), rpy=np.pi / 2, name=f"face{i}")
            robot.resist(one, high=0.0)
            robot.contact(f"corner{i - 1}", f"face{i}", friction=0.0)
    tree = robot.finish()
    start = tree.place(rates={"domino0": -PUSH})
    return Case(tree, start, domino_times()[-1] + 1e-3, {"output_step": DOMINO_TIMES[1]})


def domino_boxes() -> PeerScene:
    """Return the dominoes as boxes, each of which may touch its neighbours."""
    case = dominoes()
    hinged = scene_of(case.model, case.start)
    names = [body.name for body in hinged.bodies]
    geoms = [
        PeerGeom(body.name, body.name, Form("box", solid.geoms[0].size), body.com, np.eye(3))
        for body, solid in zip(hinged.bodies, domino_scene().bodies, strict=True)
    ]
    contacts = [PeerContact(one, other, 0.0) for one, other in pairwise(names)]
    return replace(hinged, geoms=tuple(geoms), contacts=tuple(contacts))


def landing() -> Case:
    """Solo12 of example-robot-data lands: examples/quadruped_lands.toml."""
    scenario = tr.load_scenario(ROOT / "examples" / "quadruped_lands.toml")
    with tempfile.TemporaryDirectory() as folder:
        call = capture_call(lambda: tr.run(scenario, Path(folder) / "out"))
    assert call is not None
    return Case(call.model, call.start, call.duration)


STEPS, PERIOD = 6, 2e-3  # of a replay, and of its controller (s)


@cache
def _walk(name: str, feet: tuple[str, ...]) -> RobotWalk:
    urdf = tr.load_example_robot(name)
    return plan_steps(LeggedRobot(urdf, suggest_feet(urdf, list(feet))), RobotGait(pattern="trot"))


def _replay(name: str, *feet: str) -> Replay:
    walk = _walk(name, feet)
    steps, plan = walk.steps, on_contacts(walk)
    robot = steps.robot.on_ground(steps.gravity, steps.gait.friction)
    gains = walk_gains(robot, plan)

    def walked() -> str:
        found = replay_walk(robot, plan, STEPS, gains=gains, period=PERIOD)
        return f"{found.steps} steps of {float(found.run.time[-1]):.2f} s"

    return Replay(walked)


def trot() -> Replay:
    """Solo12 trots six planned steps."""
    return _replay("solo12", "FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")


def soles() -> Replay:
    """Talos walks six planned steps on flat soles."""
    return _replay("talos_reduced", "left_sole_link", "right_sole_link")


_WHEEL, _TRACK, _BASE = 0.12, 0.5, 0.6  # m: radius, width and length between wheels
_RMS, _BUMP = 0.03, 0.9  # m: of the heights, and the length of the shortest wave
_AHEAD, _CELLS = 4.0, 0.1  # m


def bumps() -> tr.HeightMap:
    """Return ground of 3 cm rms: waves of random direction, level at the start."""
    random = np.random.default_rng(3)
    x, y = np.arange(-1.5, _AHEAD + _CELLS, _CELLS), np.arange(-1.5, 1.5 + _CELLS, _CELLS)
    heights = np.zeros((len(x), len(y)))
    for _ in range(12):
        angle, phase = random.uniform(0, 2 * np.pi, 2)
        wave = 2 * np.pi / random.uniform(_BUMP, 3 * _BUMP)
        heights += np.sin(wave * (np.cos(angle) * x[:, None] + np.sin(angle) * y) + phase)
    heights *= _RMS / np.sqrt(np.mean(heights**2))
    return tr.HeightMap(x, y, heights)


def rocker() -> Case:
    """Four driven wheels, the front ones on a beam that rocks, on uneven ground."""
    robot = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    base = robot.free(12.0, (0.3, 0.5, 0.6), name="base")
    beam = robot.revolute(base, (_BASE / 2, 0, 0), 1.0, (0.03, 2e-3, 0.03), axis=(1, 0, 0), actuated=False, name="beam")
    wheel = tr.Ellipsoid([_WHEEL, 0.06, _WHEEL])
    for name, on, x, y in (("fl", beam, 0, 1), ("fr", beam, 0, -1), ("rl", base, -1, 1), ("rr", base, -1, -1)):
        at = (x * _BASE / 2, y * _TRACK / 2, -0.02)
        robot.revolute(on, at, 1.0, (4e-3, 7e-3, 4e-3), shape=wheel, name=name)
    robot.terrain(bumps(), friction=0.8)
    tree = robot.finish()
    start = tree.place(base=(0, 0, 0.2, 1, 0, 0, 0), tolerance=0.5)
    torque = np.full(4, 1.0)  # N m
    return Case(tree, start, 3.0, drive=Drive(0.01, lambda t: torque))


_ROLLERS, _RIM, _BARREL = 8, 0.08, (0.035, 0.014)  # a wheel; m: wheel's radius, half length and radius of a roller


def rollers() -> Case:
    """A car on four wheels of eight free rollers each turns in place."""
    robot = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    base = robot.free(10.0, (0.1, 0.2, 0.25), name="base")
    touching = []
    for name, x, y in (("fl", 1, 1), ("fr", 1, -1), ("rl", -1, 1), ("rr", -1, -1)):
        hub = robot.revolute(base, (0.2 * x, 0.18 * y, 0), 0.4, (8e-4, 1.5e-3, 8e-4), name=name)
        lean = -x * y * np.pi / 4
        for k in range(_ROLLERS):
            angle = 2 * np.pi * k / _ROLLERS
            down, along = np.array([np.sin(angle), 0, -np.cos(angle)]), np.array([np.cos(angle), 0, np.sin(angle)])
            axis = np.cos(lean) * np.array([0.0, 1.0, 0.0]) + np.sin(lean) * along
            yaw, pitch = np.arctan2(axis[1], axis[0]), -np.arcsin(axis[2])
            robot.revolute(
                hub,
                tuple((_RIM - _BARREL[1]) * down),
                0.05,
                axis=tuple(axis),
                actuated=False,
                shape=tr.Ellipsoid([_BARREL[0], _BARREL[1], _BARREL[1]]),
                shape_rpy=(0.0, float(pitch), float(yaw)),
                name=f"{name}{k}",
            )
        touching.append(f"{name}0")
    robot.terrain(tr.Plane(), friction=0.7)
    tree = robot.finish()
    start = tree.place(base=(0, 0, _RIM, 1, 0, 0, 0), contacts=touching, tolerance=1e-3)
    torque = 0.3 * np.array([-1.0, 1.0, -1.0, 1.0])  # N m
    return Case(tree, start, 0.6, drive=Drive(0.01, lambda t: torque))


def sprung() -> Case:
    """A robot on two wheels with sprung legs turns; its weight hangs below the axles."""
    robot = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    base = robot.free(8.0, (0.08, 0.05, 0.09), center_of_mass=(0, 0, -0.06), name="base")
    for name, y in (("left", 0.2), ("right", -0.2)):
        leg = robot.prismatic(base, (0, y, 0.0), 0.5, (1e-3,) * 3, axis=(0, 0, 1), actuated=False, name=f"{name} leg")
        robot.resist(leg, stiffness=3000.0, damping=60.0)
        turned = (np.pi / 2, 0.0, 0.0)  # the disc's axis along y
        robot.revolute(leg, (0, 0, 0), 0.6, (1.5e-3, 3e-3, 1.5e-3), shape=tr.Disc(0.1), shape_rpy=turned, name=name)
    robot.terrain(tr.Plane(), friction=0.8)
    tree = robot.finish()
    start = tree.place(base=(0, 0, 0.1, 1, 0, 0, 0), tolerance=1e-2)
    torque = 0.4 * np.array([-1.0, 1.0])  # N m
    return Case(tree, start, 1.0, drive=Drive(0.01, lambda t: torque))


_CIRCLE, _OLOID_MASS, _SPIN = 0.05, 0.3, 15.0  # m, kg, rad/s


def oloid() -> Case:
    """An oloid, the hull of two crossed circles through each other's middles, spins on a plane and rolls on."""
    robot = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    body = robot.free(_OLOID_MASS, (2e-4, 3e-4, 3e-4), name="oloid")
    robot.attach(body, tr.Disc(_CIRCLE), at=(-_CIRCLE / 2, 0, 0), rpy=(np.pi / 4, 0, 0), name="one")
    robot.attach(body, tr.Disc(_CIRCLE), at=(_CIRCLE / 2, 0, 0), rpy=(-np.pi / 4, 0, 0), name="other")
    robot.terrain(tr.Plane(), friction=0.1)
    tree = robot.finish()
    spin = (0.0, 0.0, _SPIN, 0.0, 0.0, 0.0)
    pose = (0.0, 0.0, _CIRCLE * np.sqrt(0.5), 1.0, 0.0, 0.0, 0.0)
    return Case(tree, tree.place(oloid=pose, rates={"oloid": spin}, contacts=[]), 3.0)
