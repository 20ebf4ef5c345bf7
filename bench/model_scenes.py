"""Random models for the survey: pairs on all ground and small trees, each as the script that makes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import trundle as tr
from bench.model_shapes import Array, BodyShape, GroundShape, Random, gap, random_body, random_ground

G = 9.81
HEAD = "import casadi as ca\nimport numpy as np\n\nimport trundle as tr\n\n"


def made_by(script: str) -> dict[str, Any]:
    """Return the names that a script has made: what is judged is what is printed."""
    names: dict[str, Any] = {}
    exec(compile(script, "<scene>", "exec"), names)
    return names


@dataclass(frozen=True)
class PairScene:
    """A body on a hand or on ground in space, where it is placed, and in which form it is modelled."""

    body: BodyShape
    ground: GroundShape
    size: float
    mass: float
    center: tuple[float, ...]
    hand: bool
    contact: tuple[float, ...]
    quaternion: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    turning: tuple[float, ...] = (0.0, 0.0, 0.0)
    gravity: tuple[float, ...] = (0.0, 0.0, -G)
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0)
    twist: tuple[float, ...] = (0.0,) * 6
    law: str = "rolling"
    friction: float = 1.0
    form: str = "auto"
    coordinates: str = "pose"
    ignores: bool = False

    @property
    def time(self) -> float:
        """Natural time, s: of a fall over the size, or of the turning."""
        fastest = max(float(np.linalg.norm(self.turning)), float(np.linalg.norm(self.gravity) / self.size) ** 0.5)
        return 1.0 / fastest

    @property
    def script(self) -> str:
        """A script that makes `pair` and `start`."""
        hand = f", position={self.position}, rpy={self.rpy}, twist={self.twist}" if self.hand else ""
        rules = ', on_slip="ignore", on_separation="ignore"' if self.ignores else ""
        return (
            f"{HEAD}body = tr.RigidBody({self.body.text}, mass={self.mass!r}, center_of_mass={self.center})\n"
            f"ground = tr.{'Hand' if self.hand else 'Ground'}({self.ground.text}{hand})\n"
            f'pair = tr.RollingPair(body, ground, law="{self.law}", friction={self.friction!r}, '
            f'gravity={self.gravity}, contact="{self.form}", coordinates="{self.coordinates}"{rules})\n'
            f"start = pair.place(contact_on_hand={self.contact}, object_quaternion={self.quaternion}, "
            f"object_angular_velocity={self.turning})\n"
        )

    def placed(self, pair: tr.RollingPair) -> tr.Start:
        """Return the start of this scene on `pair`, which is made once; the hand's pose and twist are this scene's."""
        if self.hand:
            base = replace(pair.base, position=self.position, rpy=self.rpy, twist=self.twist)
            pair = replace(pair, base=base)
        return pair.place(
            contact_on_hand=self.contact, object_quaternion=self.quaternion, object_angular_velocity=self.turning
        )

    def moved(self, random: Random, step: float) -> PairScene:
        """Return the scene with everything that a user may give moved by about `step` natural sizes."""
        size, rate = self.size, 1 / self.time
        turn = Rotation.from_rotvec(step * random.uniform(-1, 1, 3))
        attitude = Rotation.from_quat(self.quaternion, scalar_first=True)
        changed = replace(
            self,
            contact=_sum(self.contact, step * size * random.uniform(-1, 1, 3)),
            quaternion=tuple((turn * attitude).as_quat(scalar_first=True).tolist()),
            turning=_sum(self.turning, step * rate * random.uniform(-1, 1, 3)),
        )
        moves = random.uniform(-1, 1, (4, 3))
        if not self.hand:
            return changed
        return replace(
            changed,
            position=_sum(self.position, step * size * moves[0]),
            rpy=_sum(self.rpy, step * moves[1]),
            twist=_sum(self.twist, step * rate * np.concatenate([moves[2], size * moves[3]])),
        )

    def pose(self, pair: tr.RollingPair, start: tr.Start) -> tuple[Array, Array]:
        """Return R and p of the body's shape in the frame of the ground's at a state in pose coordinates."""
        layout = pair.model(start.atlas).layout
        R, p = _frame(start.x, layout, "object")
        p = p - R @ np.asarray(self.center)
        if not self.hand:
            return R, p
        R_hand, p_hand = _frame(start.x, layout, "hand")
        return R_hand.T @ R, R_hand.T @ (p - p_hand)

    def gap(self, pair: tr.RollingPair, start: tr.Start) -> tuple[float, Array]:
        """Return the gap (m) between the whole shapes and the point on the ground, in its frame."""
        return gap(self.body, self.ground, *self.pose(pair, start))

    def touches_along_a_line(self, pair: tr.RollingPair, start: tr.Start) -> bool:
        """Whether other points of the body touch as well."""
        found = [gap(self.body, self.ground, *self.pose(pair, start), seed)[1] for seed in range(3)]
        return bool(max(np.linalg.norm(point - found[0]) for point in found) > 1e-3 * self.size)


def _frame(x: Array, layout: Any, name: str) -> tuple[Array, Array]:
    R = Rotation.from_quat(x[layout[f"{name}.orientation"]], scalar_first=True).as_matrix()
    return R, x[layout[f"{name}.position"]]


def _sum(a: tuple[float, ...], b: Array) -> tuple[float, ...]:
    return tuple((np.asarray(a) + b).tolist())


def random_pair(seed: int, hand: bool | None = None, unit: float = 1.0) -> PairScene:
    """Return a random body somewhere on random ground, at rest; all lengths in units of `unit` m."""
    random = np.random.default_rng(seed)
    r = float(10 ** random.uniform(-2.5, -0.3)) * unit
    body, ground = random_body(random, r), random_ground(random, r)
    off = random.uniform(-0.15, 0.15, 3) * r * float(random.random() < 0.4)
    turn = random.normal(size=4) if random.random() < 0.7 else np.array([1.0, 0, 0, 0])
    return PairScene(
        body,
        ground,
        r,
        mass=float(random.uniform(0.1, 2.0)),
        center=tuple(off.tolist()),
        hand=bool(random.random() < 0.4) if hand is None else hand,
        contact=tuple(ground.place(random).tolist()),
        quaternion=tuple((turn / np.linalg.norm(turn)).tolist()),
        gravity=tuple(G * unit * one for one in ground.down),
        law=str(random.choice(["rolling", "rolling", "pure-rolling"])),
    )


def mirrored(scene: PairScene) -> PairScene:
    """Return the scene seen in a mirror, x to -x: all its shapes are symmetric about that plane."""
    flip = np.array([-1.0, 1.0, 1.0])
    w, x, y, z = scene.quaternion
    return replace(
        scene,
        center=tuple((flip * scene.center).tolist()),
        contact=tuple((flip * scene.contact).tolist()),
        quaternion=(w, x, -y, -z),
        turning=tuple((-flip * scene.turning).tolist()),
    )


def turned(scene: PairScene) -> PairScene:
    """Return the scene on a hand, with it and gravity turned about a slanted axis: nothing is level any more."""
    hand = Rotation.from_euler("xyz", scene.rpy)
    turn = Rotation.from_rotvec([0.4, -0.7, 0.5])
    body = turn * Rotation.from_quat(scene.quaternion, scalar_first=True)
    return replace(
        scene,
        hand=True,
        rpy=tuple((turn * hand).as_euler("xyz").tolist()),
        quaternion=tuple(body.as_quat(scalar_first=True).tolist()),
        gravity=tuple(turn.apply(scene.gravity).tolist()),
        turning=tuple(turn.apply(scene.turning).tolist()),
    )


def in_units(scene: PairScene, other: PairScene) -> PairScene:
    """Return the scene with the shapes of `other`, the same in other units of length: placed likewise."""
    ratio = other.size / scene.size
    return replace(
        scene,
        body=other.body,
        ground=other.ground,
        size=other.size,
        center=other.center,
        contact=tuple((ratio * np.asarray(scene.contact)).tolist()),
        position=tuple((ratio * np.asarray(scene.position)).tolist()),
        twist=(*scene.twist[:3], *(ratio * np.asarray(scene.twist[3:])).tolist()),
        gravity=other.gravity,
    )


@dataclass(frozen=True)
class TreeScene:
    """A tree: the script that makes `tree`, and the positions and rates that `place` is given."""

    model: str
    positions: dict[str, tuple[float, ...]]
    rates: dict[str, tuple[float | None, ...]]
    size: float

    @property
    def time(self) -> float:
        """Natural time, s."""
        return (self.size / G) ** 0.5

    @property
    def script(self) -> str:
        """A script that makes `tree` and `start`."""
        given = {name: value[0] if len(value) == 1 else value for name, value in self.positions.items()}
        rates = {name: value[0] if len(value) == 1 else value for name, value in self.rates.items()}
        return f"{HEAD}{self.model}start = tree.place(rates={rates!r}, **{given!r})\n"

    def placed(self, tree: tr.RollingTree) -> tr.Start:
        """Return the start of this scene on the tree, which is made once."""
        positions = {name: value[0] if len(value) == 1 else value for name, value in self.positions.items()}
        rates = {name: value[0] if len(value) == 1 else value for name, value in self.rates.items()}
        return tree.place(rates=rates, **positions)

    def moved(self, random: Random, step: float) -> TreeScene:
        """Return the scene with all positions and given rates moved by about `step` natural sizes."""
        positions = {}
        for name, value in self.positions.items():
            now = np.asarray(value)
            scale = np.where(np.arange(len(now)) < min(3, len(now) - 1), self.size, 1.0)
            if len(now) == 7:
                turn = Rotation.from_rotvec(step * random.uniform(-1, 1, 3))
                after = (turn * Rotation.from_quat(now[3:], scalar_first=True)).as_quat(scalar_first=True)
                place = now[:3] + step * self.size * random.uniform(-1, 1, 3)
                positions[name] = (*place.tolist(), *after.tolist())
            else:
                positions[name] = tuple((now + step * scale * random.uniform(-1, 1, len(now))).tolist())
        rates = {
            name: tuple(v if v is None else v + step / self.time * float(random.uniform(-1, 1)) for v in value)
            for name, value in self.rates.items()
        }
        return replace(self, positions=positions, rates=rates)


def random_tree(seed: int) -> TreeScene:
    """Return one of five trees with random numbers: joints, motors, springs, wheels, a loop."""
    random = np.random.default_rng(seed)
    makers = (_rolling_pendulum, _planar_cart, _chain, _four_bar, _car)
    return makers[random.integers(len(makers))](random)


def _rolling_pendulum(random: Random) -> TreeScene:
    """A body that rolls on ground and carries a pendulum with a spring and a motor."""
    r = float(10 ** random.uniform(-1.5, -0.5))
    body, ground = random_body(random, r), random_ground(random, r)
    length, stiffness = float(random.uniform(0.3, 0.8) * r), float(random.uniform(0.0, 0.3) * G * r)
    axis, gravity = random.normal(size=3).tolist(), tuple(G * one for one in ground.down)
    text = (
        f'robot = tr.Robot(gravity={gravity}, on_slip="ignore", on_separation="ignore")\n'
        f'base = robot.free(1.0, "solid", shape={body.text}, name="base")\n'
        f"arm = robot.revolute(base, (0, 0, 0), 0.2, {0.05 * r * r!r}, axis={axis}, "
        f'center_of_mass=(0, 0, {-length!r}), name="arm")\n'
        f"robot.resist(arm, stiffness={stiffness!r}, damping={0.1 * stiffness * (r / G) ** 0.5!r})\n"
        f"robot.terrain({ground.text}, friction=1.0)\ntree = robot.finish()\n"
    )
    n = random.normal(size=4)
    lowest = ground.lowest
    inward = np.array([0, 1.0, 0]) if lowest[1] else np.array([0, 0, 1.0])
    p = (lowest + inward * r * 0.9).tolist()
    positions = {"base": (*p, *(n / np.linalg.norm(n)).tolist()), "arm": (float(random.uniform(-1, 1)),)}
    return TreeScene(text, positions, {"base": (0.0, 0.0, 0.0, None, None, None), "arm": (0.0,)}, r)


def _planar_cart(random: Random) -> TreeScene:
    """A cart on two wheels in the plane, with a pole on a spring, on a line or in a parabola."""
    r, k = float(random.uniform(0.03, 0.1)), float(random.uniform(0.5, 1.5))
    ground = ["tr.Line()", f"tr.Parabola({k * 0.5!r})"][random.integers(2)]
    text = (
        f'robot = tr.Robot(gravity={G}, on_slip="ignore", on_separation="ignore")\n'
        'body = robot.free(2.0, 0.02, name="body")\n'
        f'robot.revolute(body, (-0.15, -0.05), 0.2, shape=tr.Circle({r!r}), name="rear", actuated=False)\n'
        f'robot.revolute(body, (0.15, -0.05), 0.3, shape=tr.Circle({r!r}), name="front")\n'
        f'pole = robot.revolute(body, (0, 0.05), 0.3, 0.002, center_of_mass=(0, {k * 0.2!r}), name="pole")\n'
        f"robot.resist(pole, stiffness={float(random.uniform(0, 3))!r}, damping={float(random.uniform(0, 0.05))!r})\n"
        f"robot.terrain({ground}, friction=1.0)\ntree = robot.finish()\n"
    )
    speed = float(random.uniform(-1, 1))
    positions = {"body": (float(random.uniform(-0.2, 0.2)), r + 0.05, 0.0), "pole": (float(random.uniform(-1, 1)),)}
    return TreeScene(text, positions, {"body": (None, speed, None), "pole": (0.3,)}, 0.1)


def _chain(random: Random) -> TreeScene:
    """A chain of hinges and slides with springs and motors in space."""
    lines = [f"robot = tr.Robot(gravity=(0, 0, {-G}))\nlast = None\n"]
    positions, rates = {}, {}
    for i in range(random.integers(2, 5)):
        axis = random.normal(size=3).tolist()
        kind = "revolute" if random.random() < 0.7 else "prismatic"
        at, com = (0.2 * random.uniform(-1, 1, 3)).tolist(), (0.2 * random.uniform(-1, 1, 3)).tolist()
        mass, stiffness = float(random.uniform(0.2, 1)), float(random.uniform(1, 30))
        lines.append(
            f"last = robot.{kind}(last, {at}, {mass!r}, [0.004, 0.005, 0.006], axis={axis}, center_of_mass={com}, "
            f'name="link{i}")\nrobot.resist(last, stiffness={stiffness!r}, damping={0.02 * stiffness!r})\n'
        )
        positions[f"link{i}"], rates[f"link{i}"] = (float(random.uniform(-1, 1)),), (float(random.uniform(-2, 2)),)
    return TreeScene("".join(lines) + "tree = robot.finish()\n", positions, rates, 0.2)


def _four_bar(random: Random) -> TreeScene:
    """A closed loop of three links in the plane, with a spring."""
    a, b, c = random.uniform(0.3, 0.5, 3).tolist()
    text = (
        f"robot = tr.Robot(gravity={G})\n"
        f'crank = robot.revolute(None, (0, 0), 0.5, 0.005, center_of_mass=({a / 2!r}, 0), name="crank")\n'
        f"robot.resist(crank, stiffness={float(random.uniform(0, 5))!r}, damping=0.05)\n"
        f'rod = robot.revolute(crank, ({a!r}, 0), 0.4, 0.005, center_of_mass=({b / 2!r}, 0), name="rod", '
        "actuated=False)\n"
        f'end = robot.revolute(rod, ({b!r}, 0), 0.4, 0.005, center_of_mass=({c / 2!r}, 0), name="end", '
        "actuated=False)\n"
        f"robot.close(end, ({c!r}, 0), None, (0.5, 0.0))\n"
        "tree = robot.finish()\n"
    )
    angles = {"crank": random.uniform(1.0, 1.5), "rod": random.uniform(-1.5, -1.0), "end": random.uniform(-1.8, -1.3)}
    return TreeScene(text, {name: (float(q),) for name, q in angles.items()}, {"crank": (0.5,)}, 0.3)


def _car(random: Random) -> TreeScene:
    """A car on four wheels on a plane: more rows than freedoms, which all depend on each other."""
    r, a, b = float(random.uniform(0.03, 0.05)), *random.uniform(0.1, 0.2, 2).tolist()
    wheels = [("fl", a, b), ("fr", a, -b), ("rl", -a, b), ("rr", -a, -b)]
    text = (
        f'robot = tr.Robot(gravity=(0, 0, {-G}), on_slip="ignore", on_separation="ignore")\n'
        'car = robot.free(1.0, [0.01, 0.01, 0.02], name="car")\n'
        + "".join(
            f"robot.revolute(car, ({x!r}, {y!r}, 0), 0.1, shape=tr.Disc({r!r}), axis=(0, 1, 0), "
            f'shape_rpy=({np.pi / 2!r}, 0, 0), name="{name}")\n'
            for name, x, y in wheels
        )
        + "robot.terrain(tr.Plane(), friction=1.0)\ntree = robot.finish()\n"
    )
    speed = float(random.uniform(0, 2)) / r
    positions = {"car": (0.0, 0.0, r, 1.0, 0.0, 0.0, 0.0)}
    return TreeScene(text, positions, {name: (speed,) for name, _, _ in wheels}, r)
