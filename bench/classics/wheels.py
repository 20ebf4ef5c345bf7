"""Chaplygin's sleigh and the snakeboard: bodies on wheels that do not slip, kept upright by a joint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.classics import oracles
from bench.classics.classic import Answer, Classic, Quantity, timed, tree_samples
from bench.classics.scene import GRAVITY, Body, Geom, Joint, Joints, Scene, light, part, rotation

RADIUS, WHEEL = 0.05, 0.1  # m, kg
SPIN, ACROSS = 0.5 * WHEEL * RADIUS**2, 0.25 * WHEEL * RADIUS**2  # kg m^2 of a wheel about and across its axle
Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
TURNED = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # a disc's axis onto y


def upright(pitch: bool) -> Any:
    """Return trundle's joint to the world: x, y, z, yaw and, where asked for, pitch."""
    import casadi as ca

    from trundle.models import VectorJoint

    class Upright(VectorJoint):
        d, size = 3, 5 if pitch else 4

        def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
            c, s = ca.cos(q[3]), ca.sin(q[3])
            yaw = ca.blockcat([[c, -s, 0], [s, c, 0], [0, 0, 1]])
            if not pitch:
                return yaw, q[:3]
            c, s = ca.cos(q[4]), ca.sin(q[4])
            return yaw @ ca.blockcat([[c, 0, s], [0, 1, 0], [-s, 0, c]]), q[:3]

        def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
            turning, sliding = ca.SX(3, self.size), ca.SX(3, self.size)
            turning[2, 3] = 1
            sliding[:3, :3] = ca.SX.eye(3)
            if pitch:
                turning[0, 4], turning[1, 4] = -ca.sin(q[3]), ca.cos(q[3])
            return turning, sliding

    return Upright()


def wheel_shape() -> Any:
    """Return trundle's disc with its axis along y."""
    import casadi as ca

    import trundle as tr

    return tr.geometry.ExpressionBody(lambda x, y, z: RADIUS * ca.sqrt(x**2 + z**2))


def chain(pitch: bool, speed: float) -> tuple[Body, ...]:
    """Return light links that let a body move in x, y, z and, with `pitch`, in yaw before it pitches."""
    at = (0.0, 0.0, RADIUS)
    links = [
        light("x", Joint(None, "slide", (1, 0, 0), at, speed), at),
        light("y", Joint("x", "slide", Y, at), at),
        light("z", Joint("y", "slide", Z, at), at),
    ]
    if pitch:
        links.append(light("yaw", Joint("z", "hinge", Z, at), at))
    return tuple(links)


def wheel(name: str, parent: str, at: tuple[float, float, float], rate: float) -> Body:
    """Return a wheel on an axle along y."""
    disc = (Geom("disc", (RADIUS,), quaternion=TURNED),)
    return Body(name, WHEEL, (ACROSS, SPIN, ACROSS), at, disc, Joint(parent, "hinge", Y, at, rate))


def heading(samples: np.ndarray, body: int) -> np.ndarray:
    """Return the heading (n,) rad of a body."""
    R = rotation(part(samples, "quaternion", body))
    return np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))


# Chaplygin's sleigh: the blade is a wheel, the centre of mass AHEAD of it

MASS, INERTIA, AHEAD = 1.0, 0.02, 0.1  # kg, kg m^2, m
BACKWARD, TURN = -0.8, 0.5  # m/s along the blade, rad/s at the start
SLEIGH_TIMES = np.linspace(0, 4, 401)


def sleigh_motion(times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return speed, rate of turn and heading (n,): v = V tanh(k(t - t0)), w = W sech(k(t - t0)).

    From M v' = m a w^2 and I w' = -m a v w about the blade; M holds the wheel's spin, I all about the blade.
    """
    M, about = MASS + WHEEL + SPIN / RADIUS**2, INERTIA + MASS * AHEAD**2 + ACROSS
    V = np.sqrt(BACKWARD**2 + about / M * TURN**2)
    k, W = MASS * AHEAD * V / about, V * np.sqrt(M / about)
    x0 = np.arctanh(BACKWARD / V)
    x = k * times + x0

    def turned(x: np.ndarray | float) -> np.ndarray:
        return 2 * np.arctan(np.tanh(np.asarray(x) / 2))

    return V * np.tanh(x), W / np.cosh(x), W / k * (turned(x) - turned(x0))


def sleigh_quantities() -> tuple[Quantity, ...]:
    """Return speed, rate of turn and heading at the end."""
    v, w, angle = (float(values[-1]) for values in sleigh_motion(SLEIGH_TIMES))
    return (
        Quantity("speed at 4 s", v, "m/s"),
        Quantity("rate of turn at 4 s", w, "rad/s", TURN),
        Quantity("heading at 4 s", angle, "rad"),
    )


def sleigh_scene() -> Scene:
    """Return the sleigh on light slides."""
    at, ahead = (0.0, 0.0, RADIUS), (AHEAD, 0.0, RADIUS)
    sled = Body("sled", MASS, (INERTIA,) * 3, ahead, (), Joint("z", "hinge", Z, at, TURN))
    return Scene((*chain(False, BACKWARD), sled, wheel("wheel", "sled", at, BACKWARD / RADIUS)), SLEIGH_TIMES)


def sleigh_measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the quantities; sled and wheel are the last two bodies."""
    angle = heading(samples, -2)
    v, along = part(samples, "velocity", -1)[-1], np.array([np.cos(angle[-1]), np.sin(angle[-1]), 0])
    w = part(samples, "spin", -2)[-1, 2]
    return {
        "speed at 4 s": float(v @ along),
        "rate of turn at 4 s": float(w),
        "heading at 4 s": float(angle[-1] - angle[0]),
    }


def _sleigh() -> Answer:
    import trundle as tr

    made = tr.Robot(gravity=(0, 0, -GRAVITY))
    sled = made.joint(None, upright(False), MASS, (INERTIA,) * 3, center_of_mass=(AHEAD, 0, 0), name="sled")
    inertia, options = (ACROSS, SPIN, ACROSS), {"axis": Y, "actuated": False, "name": "wheel"}
    made.revolute(sled, (0, 0, 0), WHEEL, inertia, shape=wheel_shape(), **options)
    made.terrain(tr.Plane(), friction=5.0)
    tree = made.finish()
    rates = {"sled": [BACKWARD, 0, 0, TURN], "wheel": BACKWARD / RADIUS}
    start = tree.place(sled=[0, 0, RADIUS, 0], rates=rates)
    run = tr.simulate(tree, start, SLEIGH_TIMES[-1], output_step=SLEIGH_TIMES[1])
    return Answer(sleigh_measure(sleigh_scene(), tree_samples(run)), timed(run), run.status.label)


# The snakeboard: board and rotor, at each end an axle that steers a wheel

HALF, BOARD, ROTOR, AXLE = 0.2, (2.0, 0.03), (0.5, 0.02), (0.2, 4e-4)  # m; (kg, kg m^2) each
BOARD_TIMES = np.linspace(0, 6, 601)
GAINS = {"rotor": (0.8, 0.08), "front": (0.2, 0.02), "rear": (0.2, 0.02)}  # N m/rad, N m s/rad


def gait(time: float, joints: Joints) -> dict[str, float]:
    """Return the torques that follow the drive gait of Ostrowski and Burdick: all angles at one frequency."""
    wave = np.sin(2 * np.pi * time / 2.0)
    wanted = {"rotor": 1.0 * wave, "front": 0.4 * wave, "rear": -0.4 * wave}
    return {name: GAINS[name][0] * (wanted[name] - q) - GAINS[name][1] * rate for name, (q, rate) in joints.items()}


def _board_rate(torque: np.ndarray) -> Any:
    """Return y -> y' of q = (x, y, yaw, rotor, front, rear, two wheels' turns) under held torques."""
    across, end = AXLE[1] + ACROSS, AXLE[0] + WHEEL
    total = BOARD[0] + ROTOR[0] + 2 * end
    M = np.diag(
        [total, total, BOARD[1] + ROTOR[1] + 2 * (end * HALF**2 + across), ROTOR[1], across, across, SPIN, SPIN]
    )
    for i, value in ((3, ROTOR[1]), (4, across), (5, across)):
        M[2, i] = M[i, 2] = value
    force = np.concatenate([np.zeros(3), torque, np.zeros(2)])

    def rate(y: np.ndarray) -> np.ndarray:
        q, v = y[:8], y[8:]
        A, A_rate = np.zeros((4, 8)), np.zeros((4, 8))
        for i, (arm, steer) in enumerate(((HALF, 4), (-HALF, 5))):
            a, b = q[2] + q[steer], q[steer]
            w, s = v[2] + v[steer], v[steer]
            # across the wheel, and along it less the rim's speed
            A[2 * i, :3] = -np.sin(a), np.cos(a), arm * np.cos(b)
            A[2 * i + 1, :3] = np.cos(a), np.sin(a), arm * np.sin(b)
            A[2 * i + 1, 6 + i] = -RADIUS
            A_rate[2 * i, :3] = -w * np.cos(a), -w * np.sin(a), -s * arm * np.sin(b)
            A_rate[2 * i + 1, :3] = -w * np.sin(a), w * np.cos(a), s * arm * np.cos(b)
        K = np.block([[M, A.T], [A, np.zeros((4, 4))]])
        return np.concatenate([v, np.linalg.solve(K, np.concatenate([force, -A_rate @ v]))[:8]])

    return rate


def board_motion() -> np.ndarray:
    """Return the states (n, 16) at `BOARD_TIMES`, torques held between."""
    y, states = np.zeros(16), []
    for time, end in zip(BOARD_TIMES, [*BOARD_TIMES[1:], None], strict=True):
        states.append(y)
        if end is not None:
            told = gait(time, {name: (y[3 + i], y[11 + i]) for i, name in enumerate(GAINS)})
            torque = np.array([told[name] for name in GAINS])
            y = oracles.integrate(_board_rate(torque), y, np.array([time, end]))[-1]
    return np.array(states)


def board_quantities() -> tuple[Quantity, ...]:
    """Return where the board is at the end."""
    x, y, yaw = board_motion()[-1, :3]
    return (
        Quantity("x at 6 s", float(x), "m"),
        Quantity("y at 6 s", float(y), "m", abs(float(x))),
        Quantity("heading at 6 s", float(yaw), "rad", 1.0),
    )


def board_scene() -> Scene:
    """Return the snakeboard on light slides and a yaw joint."""
    centre, ends = (0.0, 0.0, RADIUS), {"front": (HALF, 0.0, RADIUS), "rear": (-HALF, 0.0, RADIUS)}
    bodies = [
        *chain(True, 0.0),
        Body("board", BOARD[0], (BOARD[1],) * 3, centre, (), Joint("yaw", "hinge", Y, centre)),
        Body("rotor", ROTOR[0], (ROTOR[1],) * 3, centre, (), Joint("board", "hinge", Z, centre, actuated=True)),
    ]
    for name, at in ends.items():
        axle = Joint("board", "hinge", Z, at, actuated=True)
        bodies += [Body(name, AXLE[0], (AXLE[1],) * 3, at, (), axle), wheel(f"{name}-wheel", name, at, 0.0)]
    return Scene(tuple(bodies), BOARD_TIMES, torques=gait)


def board_measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the quantities; the board is followed by five bodies."""
    x, y, _ = part(samples, "position", -6)[-1]
    return {"x at 6 s": float(x), "y at 6 s": float(y), "heading at 6 s": float(heading(samples, -6)[-1])}


class _Gait:
    """The gait as a policy of trundle."""

    def __init__(self, model: Any) -> None:
        self.period, self.model = float(BOARD_TIMES[1]), model

    def reset(self) -> None:
        pass

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        at = self.model.layout
        told = gait(time, {n: (state[at[f"{n}.joint"]][0], state[at[f"{n}.rate"]][0]) for n in GAINS})
        u = np.zeros(self.model.u.shape[0])
        for name, torque in told.items():
            u[self.model.input_layout[f"{name}.torque"]] = torque
        return u


def _board() -> Answer:
    import trundle as tr

    made = tr.Robot(gravity=(0, 0, -GRAVITY))
    board = made.joint(None, upright(True), BOARD[0], (BOARD[1],) * 3, name="board")
    made.revolute(board, (0, 0, 0), ROTOR[0], (ROTOR[1],) * 3, axis=Z, name="rotor")
    for name, at in (("front", HALF), ("rear", -HALF)):
        axle = made.revolute(board, (at, 0, 0), AXLE[0], (AXLE[1],) * 3, axis=Z, name=name)
        inertia, options = (ACROSS, SPIN, ACROSS), {"axis": Y, "actuated": False, "name": f"{name}-wheel"}
        made.revolute(axle, (0, 0, 0), WHEEL, inertia, shape=wheel_shape(), **options)
    made.terrain(tr.Plane(), friction=5.0)
    tree = made.finish()
    start = tree.place(board=[0, 0, RADIUS, 0, 0])
    policy = _Gait(tree.model(start.atlas))
    run = tr.simulate(tree, start, BOARD_TIMES[-1], output_step=BOARD_TIMES[1], policy=policy)
    return Answer(board_measure(board_scene(), tree_samples(run)), timed(run), run.status.label)


_UPRIGHT = "Slides and hinges of 1e-6 kg keep it upright in the other engines."

CLASSICS = (
    Classic(
        "sleigh",
        "Chaplygin sleigh",
        "A blade (here a wheel that does not slip) with the centre of mass ahead of it, pushed backwards: it turns "
        f"round and runs straight. {_UPRIGHT}",
        "Chaplygin (1911); Neimark and Fufaev (1972); Bloch, Nonholonomic Mechanics and Control (2003)",
        sleigh_quantities,
        _sleigh,
        sleigh_scene,
        sleigh_measure,
    ),
    Classic(
        "snakeboard",
        "Snakeboard",
        "The drive gait: rotor and axles swing at one frequency under proportional-derivative torques held for 10 ms, "
        f"and the board moves off. {_UPRIGHT}",
        "Ostrowski, Lewis, Murray, Burdick, IEEE ICRA (1994) 2391; constrained equations integrated at 1e-13",
        board_quantities,
        _board,
        board_scene,
        board_measure,
    ),
)
