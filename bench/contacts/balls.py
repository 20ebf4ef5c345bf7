"""Balls: a rack, a row, a box full, one between fingertips, one on a spinning plate."""

from __future__ import annotations

import itertools

import numpy as np

import trundle as tr
from bench.classics.impacts import BALLS, CRADLE_TIMES, HIT
from bench.classics.impacts import RADIUS as CRADLE_RADIUS
from bench.contacts.scene import Case, Drive
from bench.reference import BallCase
from trundle.interop.forms import Form
from trundle.interop.scene import PeerBody, PeerContact, PeerGeom, PeerScene

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
BOX_FRICTION, BOX_TIME = 0.4, 2.0  # -, s
WALLS = ((1, 0), (-1, 0), (0, 1), (0, -1))
"""Directions in which the walls lie."""
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


def ball_mass(radius: float) -> float:
    """Return the mass (kg) of a ball in the box."""
    return DENSITY * 4 / 3 * np.pi * radius**3


def box() -> Case:
    """A hundred balls of three sizes fall into a box."""
    robot = tr.Robot(gravity=GRAVITY, on_slip="slide", on_separation="fly")
    places = {}
    for number, (radius, *at) in enumerate(box_places()):
        robot.free(ball_mass(radius), shape=tr.Sphere(radius), name=f"ball{number}")
        places[f"ball{number}"] = tuple(at)
    for one, other in itertools.combinations(places, 2):
        robot.contact(one, other, friction=BOX_FRICTION)
    robot.terrain(tr.Plane(), friction=BOX_FRICTION)
    for number, (x, y) in enumerate(WALLS):
        turn = (0.0, -x * np.pi / 2, 0.0) if x else (y * np.pi / 2, 0.0, 0.0)
        robot.terrain(tr.Plane(), friction=BOX_FRICTION, at=(WALL * x, WALL * y, 0.0), rpy=turn, name=f"wall{number}")
    tree = robot.finish()
    return Case(tree, tree.place(contacts=[], **places), BOX_TIME)


def box_scene() -> tuple[PeerScene, float]:
    """Return the same as other simulators take it, and its duration (s): its tree takes a minute to build."""
    bodies, geoms, still = [], [_wall("floor", (0, 0, 1), 0.0)], np.zeros(3)
    geoms += [_wall(f"wall{number}", (-x, -y, 0), WALL) for number, (x, y) in enumerate(WALLS)]
    fixed = [geom.name for geom in geoms]
    for number, (radius, *at) in enumerate(box_places()):
        name, mass = f"ball{number}", ball_mass(radius)
        inertia = 0.4 * mass * radius**2 * np.eye(3)
        axis, twist = np.array([0.0, 0.0, 1.0]), np.zeros(6)
        bodies.append(PeerBody(name, "", "free", mass, still, inertia, np.array(at), np.eye(3), axis, twist))
        geoms.append(PeerGeom(name, name, Form("sphere", (radius,)), still, np.eye(3)))
    names = [body.name for body in bodies]
    pairs = [*itertools.combinations(names, 2), *itertools.product(names, fixed)]
    contacts = tuple(PeerContact(one, other, BOX_FRICTION) for one, other in pairs)
    return PeerScene(np.array(GRAVITY), tuple(bodies), tuple(geoms), contacts, (), ()), BOX_TIME


def _wall(name: str, normal: tuple[float, float, float], away: float) -> PeerGeom:
    """Return a plane whose normal points inwards, `away` (m) from the origin."""
    n = np.array(normal, dtype=np.float64)
    side = np.cross(n, (0.0, 0.0, 1.0)) if abs(n[2]) < 0.5 else np.array([0.0, 1.0, 0.0])
    return PeerGeom(name, "", Form("plane"), -away * n, np.column_stack([np.cross(side, n), side, n]))


def box_mjcf() -> str:
    """Return the same in MuJoCo's words: it looks for what is near itself."""
    surface = f'friction="{BOX_FRICTION}"'
    lines = [f'<mujoco><worldbody><geom type="plane" size="1 1 1" {surface}/>']
    for x, y in WALLS:
        lines.append(f'<geom type="plane" size="1 1 1" pos="{WALL * x} {WALL * y} 0" zaxis="{-x} {-y} 0" {surface}/>')
    for number, (radius, x, y, z) in enumerate(box_places()):
        geom = f'<geom type="sphere" size="{radius}" density="{DENSITY}" {surface}/>'
        lines.append(f'<body name="ball{number}" pos="{x} {y} {z}"><freejoint/>{geom}</body>')
    return "\n".join([*lines, "</worldbody></mujoco>"])


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

    def grip(t: float) -> np.ndarray:
        return np.full(3, GRIP * (1 + _SWAY * np.sin(2 * np.pi * _CYCLES * t)))

    return Case(tree, tree.place(ball=(0.0, 0.0, 0.0), contacts=contacts), 5.0, drive=Drive(1e-3, grip))


CASE = BallCase()
PLATE_FRICTION, PLATE_TIME = 0.8, 120.0  # -, s


def plate() -> Case:
    """A ball on a spinning plate: `bench.reference`, with less friction and for longer."""
    pair = tr.RollingPair(
        tr.RigidBody(tr.Sphere(CASE.radius), mass=CASE.mass),
        tr.Hand(tr.Plane(), twist=(0, 0, CASE.plate_rate, 0, 0, 0)),
        friction=PLATE_FRICTION,
    )
    start = pair.place(contact_on_hand=(0, 0, 0), object_angular_velocity=CASE.ball_rate)
    return Case(pair, start, PLATE_TIME)
