"""Balls: a rack, a row, a box full, one between fingertips, one on a spinning plate."""

from __future__ import annotations

import itertools

import numpy as np

import trundle as tr
from bench.classics.impacts import BALLS, CRADLE_TIMES, HIT
from bench.classics.impacts import RADIUS as CRADLE_RADIUS
from bench.contacts.scene import Case

GRAVITY = (0.0, 0.0, -9.81)  # m/s2
BILLIARD_RADIUS, BILLIARD_MASS, CUE_SPEED = 0.028575, 0.17, 5.0  # m, kg, m/s
GAP = 1e-4  # m between the rows of a rack


def rack(count: int) -> Case:
    """A cue ball runs into the first `count` balls of a triangle."""
    radius, robot = BILLIARD_RADIUS, tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    places = {"cue": (-0.5, 0.001, radius)}
    rows = [(row, column) for row in range(5) for column in range(row + 1)]
    for number, (row, column) in enumerate(rows[:count]):
        x, y = row * (2 * radius + GAP) * np.cos(np.pi / 6), (column - row / 2) * (2 * radius + 2 * GAP)
        places[f"ball{number}"] = (x, y, radius)
    for name in places:
        robot.free(BILLIARD_MASS, shape=tr.Sphere(radius), name=name)
    for one, other in itertools.combinations(places, 2):
        robot.contact(one, other, friction=0.05, restitution=0.95)
    robot.terrain(tr.Plane(), friction=0.2)
    tree = robot.finish()
    rates = {"cue": (0.0, 0.0, 0.0, CUE_SPEED, 0.0, 0.0)}
    start = tree.place(rates=rates, slips={"cue": (CUE_SPEED, 0.0, 0.0)}, contacts=list(places), **places)
    return Case(tree, start, 0.5)


def row() -> Case:
    """A ball runs into four that touch, without gravity."""
    robot = tr.Robot(gravity=(0.0, 0.0, 0.0), on_slip="slide", on_separation="fly")
    for number in range(BALLS):
        robot.free(1.0, 1e-3, shape=tr.Sphere(CRADLE_RADIUS), name=f"ball{number}")
    for number in range(BALLS - 1):
        robot.contact(f"ball{number}", f"ball{number + 1}", friction=0.0, restitution=1.0)
    tree = robot.finish()
    places = {f"ball{i}": (2 * CRADLE_RADIUS * i - (0.02 if i == 0 else 0.0), 0.0, 0.0) for i in range(BALLS)}
    return Case(tree, tree.place(rates={"ball0": (0, 0, 0, HIT, 0, 0)}, **places), float(CRADLE_TIMES[-1]))


WALL, SIZES, DENSITY = 0.16, (0.012, 0.016, 0.02), 1000.0  # m half width, m, kg/m3
_LAYER, _SPREAD, _SEED = 5, 2e-3, 1  # balls along a side of a layer, m that they stand beside the grid


def box_places() -> list[tuple[float, float, float, float]]:
    """Return radius and place (m) of a hundred balls above the floor."""
    random, found = np.random.default_rng(_SEED), []
    for number in range(100):
        layer, rest = divmod(number, _LAYER**2)
        across, along = divmod(rest, _LAYER)
        spacing = 2.2 * SIZES[-1]
        x, y = ((k - (_LAYER - 1) / 2) * spacing + random.uniform(-_SPREAD, _SPREAD) for k in (across, along))
        found.append((SIZES[number % 3], float(x), float(y), 0.05 + 1.2 * layer * spacing))
    return found


def box() -> Case:
    """A hundred balls of three sizes fall into a box."""
    robot = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    places = {}
    for number, (radius, *at) in enumerate(box_places()):
        robot.free(DENSITY * 4 / 3 * np.pi * radius**3, shape=tr.Sphere(radius), name=f"ball{number}")
        places[f"ball{number}"] = tuple(at)
    for one, other in itertools.combinations(places, 2):
        robot.contact(one, other)
    robot.terrain(tr.Plane(), friction=0.4)
    for number, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        turn = (0.0, -x * np.pi / 2, 0.0) if x else (y * np.pi / 2, 0.0, 0.0)
        robot.terrain(tr.Plane(), friction=0.4, at=(WALL * x, WALL * y, 0.0), rpy=turn, name=f"wall{number}")
    tree = robot.finish()
    return Case(tree, tree.place(contacts=[], **places), 2.0)


def box_mjcf() -> tuple[str, float]:
    """Return the same in MuJoCo, and its duration (s)."""
    lines = ['<mujoco><worldbody><geom type="plane" size="1 1 1" friction=".4"/>']
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        lines.append(
            f'<geom type="plane" size="1 1 1" pos="{WALL * x} {WALL * y} 0" zaxis="{-x} {-y} 0" friction=".4"/>'
        )
    for radius, x, y, z in box_places():
        geom = f'<geom type="sphere" size="{radius}" density="{DENSITY}" friction=".4"/>'
        lines.append(f'<body pos="{x} {y} {z}"><freejoint/>{geom}</body>')
    return "\n".join([*lines, "</worldbody></mujoco>"]), 2.0


FINGER, BALL, BALL_MASS, GRIP = 0.01, 0.03, 0.1, 3.0  # m, m, kg, N of each finger
_CYCLES, _SWAY = 1.0, 0.2  # 1/s, of the grip


def fingers() -> Case:
    """Three fingertips hold a ball that hangs between them; their grip sways, at 1 kHz."""
    robot = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    robot.free(BALL_MASS, shape=tr.Sphere(BALL), name="ball")
    for number in range(3):
        angle = 2 * np.pi * number / 3
        inwards, reach = np.array([-np.cos(angle), -np.sin(angle), 0.0]), BALL + FINGER
        name = f"finger{number}"
        robot.prismatic(None, tuple(-reach * inwards), 0.05, axis=tuple(inwards), shape=tr.Sphere(FINGER), name=name)
        robot.contact(name, "ball", friction=0.8)
    tree = robot.finish()
    contacts = [f"finger{number}-ball" for number in range(3)]

    def grip() -> tr.FunctionPolicy:
        return tr.FunctionPolicy(1e-3, lambda t, x: np.full(3, GRIP * (1 + _SWAY * np.sin(2 * np.pi * _CYCLES * t))))

    return Case(tree, tree.place(ball=(0.0, 0.0, 0.0), contacts=contacts), 5.0, policy=grip)


def plate() -> Case:
    """A ball on a spinning plate."""
    pair = tr.RollingPair(
        tr.RigidBody(tr.Sphere(0.2), mass=0.1), tr.Hand(tr.Plane(), twist=(0, 0, 7, 0, 0, 0)), friction=0.8
    )
    return Case(pair, pair.place(contact_on_hand=(0, 0, 0), object_angular_velocity=(1.0, 0, 0)), 120.0)
