"""Exact motions without a simulator: ball on a spinning plate, ellipsoid in a dish, disk and rock in the plane."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from trundle.numerics.rotations import rotation_matrices
from trundle.records import PAIR, SceneBody, Trajectory, make_dataset, tree_view
from trundle.report.implicit import curve
from trundle.status import Status

G = 9.81


def uv_sphere(axes, n=32):
    """Mesh of an ellipsoid, as fine as that of a recorded scene."""
    theta, phi = np.meshgrid(np.linspace(0, np.pi, n + 1), np.linspace(0, 2 * np.pi, 2 * n + 1), indexing="ij")
    points = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1) * axes
    return points.reshape(-1, 3), grid_faces(n, 2 * n)


def grid_faces(rows, columns):
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    a = (i * (columns + 1) + j).ravel()
    b, c, d = a + columns + 1, a + columns + 2, a + 1
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def plate_mesh(half):
    xs = np.linspace(-half, half, 21)
    x, y = np.meshgrid(xs, xs, indexing="ij")
    return np.stack([x, y, 0 * x], axis=-1).reshape(-1, 3), grid_faces(20, 20)


def ball_on_plate(duration=6.0, step=0.01, tilt=0.0, spin=7.0, radius=0.2, mass=0.1, start=(0.0, 0.0), v=(0.0, -0.2)):
    """Solid ball on a plate that spins about its tilted normal: closed form but for the quaternion."""
    k = 0.4
    rate = k / (1 + k) * spin
    t = np.arange(round(duration / step) + 1) * step
    slide = G * np.sin(tilt) / (k * spin)  # drift along +x in the plate's resting frame
    v_rel = np.array(v) - [slide, 0.0]
    centre = np.array(start) - np.array([v_rel[1], -v_rel[0]]) / rate
    arm = np.array(start) - centre

    def path(s):
        c, n = np.cos(rate * s), np.sin(rate * s)
        turned = np.stack([c * arm[0] - n * arm[1], n * arm[0] + c * arm[1]], axis=-1)
        spin_v = rate * np.stack([-turned[..., 1], turned[..., 0]], axis=-1)
        ones = np.multiply.outer(s, np.array([slide, 0.0]))
        return centre + ones + turned, spin_v + np.array([slide, 0.0]), -(rate**2) * turned

    def omega(s):
        p, dp, _ = path(s)
        return np.stack(
            [-(dp[..., 1] - spin * p[..., 0]) / radius, (dp[..., 0] + spin * p[..., 1]) / radius, 0 * p[..., 0]], -1
        )

    def rate_of_quaternion(s, q):
        w = omega(s)
        return 0.5 * np.concatenate([[-w @ q[1:]], q[0] * w + np.cross(w, q[1:])])

    solution = solve_ivp(rate_of_quaternion, (0, t[-1]), [1.0, 0, 0, 0], "DOP853", t, rtol=1e-12, atol=1e-13)
    q = (solution.y / np.linalg.norm(solution.y, axis=0)).T
    p, dp, ddp = path(t)
    w = omega(t)
    flat = np.zeros((t.size, 1))
    R_tilt = rotation_matrices(np.array([[np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]]))[0]
    tilt_q = np.array([np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0])
    gravity = R_tilt.T @ [0, 0, -G]
    hand_q = np.stack([np.cos(spin * t / 2), 0 * t, 0 * t, np.sin(spin * t / 2)], axis=1)
    contact = np.hstack([p, flat])
    ball = contact + np.array([0, 0, radius])
    force = mass * (np.hstack([ddp, flat]) - gravity)
    R_o = rotation_matrices(q)
    world = lambda x: x @ R_tilt.T  # noqa: E731
    arrays = {
        "object_position": world(ball),
        "object_quaternion": _product(tilt_q, q),
        "object_velocity": world(np.hstack([dp, flat])),
        "object_angular_velocity": world(w),
        "hand_position": np.zeros((t.size, 3)),
        "hand_quaternion": _product(tilt_q, hand_q),
        "hand_velocity": np.zeros((t.size, 3)),
        "hand_angular_velocity": world(np.tile([0, 0, spin], (t.size, 1))),
        "contact_position": world(contact),
        "contact_normal": world(np.tile([0, 0, 1.0], (t.size, 1))),
        "contact_force": world(force),
        "contact_moment": 0 * t,
        "contact_on_hand": np.einsum("nji,nj->ni", rotation_matrices(hand_q), contact),
        "contact_on_object": np.einsum("nji,j->ni", R_o, [0, 0, -radius]),
        "gap": 0 * t,
        "slip": np.zeros((t.size, 3)),
        "energy": 0.5 * mass * np.sum(dp**2, 1) + 0.2 * mass * radius**2 * np.sum(w**2, 1) - mass * (ball @ gravity),
        "mode": np.full(t.size, "rolling"),
    }
    scene = (
        SceneBody("ball", "object", *uv_sphere([radius] * 3), shape={"type": "sphere", "radius": radius}),
        SceneBody("plate", "hand", *plate_mesh(0.6), shape={"type": "plane"}),
    )
    physics = {"mass": mass, "inertia": [k * mass * radius**2] * 3, "gravity": [0, 0, -G], "friction": 0.8}
    return _juggling(t, arrays, physics, scene)


def ellipsoid_in_dish(n=200, seed=1, axes=(0.09, 0.07, 0.05), dish=(0.5, 0.6, 0.4), com=(0.01, -0.004, 0.006)):
    """States on a smooth path that touch and do not slip; the dish moves and turns. No dynamics."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 2, n)
    axes, dish, com = np.array(axes), np.array(dish), np.array(com)
    q = np.array([1, 0.2, -0.3, 0.1]) + 0.5 * np.sin(np.outer(t, [1, 1.3, 0.7, 2]) + rng.uniform(0, 6, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    hand_q = np.array([1, 0.1, 0.2, 0]) + 0.1 * np.sin(np.outer(t, [1, 2, 3, 1]))
    hand_q /= np.linalg.norm(hand_q, axis=1, keepdims=True)
    R_o, R_h = rotation_matrices(q), rotation_matrices(hand_q)
    b = dish * _unit(np.stack([0.5 * np.sin(t), 0.4 * np.cos(1.7 * t), -1 + 0 * t], axis=1))
    normal = -_unit(b / dish**2)
    n_world = np.einsum("nij,nj->ni", R_h, normal)
    n_object = -np.einsum("nji,nj->ni", R_o, n_world)
    a = axes**2 * n_object / np.linalg.norm(axes * n_object, axis=1, keepdims=True)
    hand_p = 0.1 * np.sin(np.outer(t, [1, 2, 3]))
    point = hand_p + np.einsum("nij,nj->ni", R_h, b)
    lever = np.einsum("nij,nj->ni", R_o, a - com)
    w, hand_w, hand_v = (np.sin(np.outer(t, [1, 2, 3]) + rng.uniform(0, 6, 3)) for _ in range(3))
    v = hand_v + np.cross(hand_w, point - hand_p) - np.cross(w, lever)
    force = 2.0 * n_world + 0.3 * _unit(np.cross(n_world, [1.0, 0, 0]))
    arrays = {
        "object_position": point - lever, "object_quaternion": q, "object_velocity": v, "object_angular_velocity": w,
        "hand_position": hand_p, "hand_quaternion": hand_q, "hand_velocity": hand_v, "hand_angular_velocity": hand_w,
        "contact_position": point, "contact_normal": n_world, "contact_force": force, "contact_moment": 0 * t,
        "contact_on_hand": b, "contact_on_object": a, "gap": 0 * t, "slip": 0 * v, "energy": 0 * t,
        "mode": np.full(n, "rolling"),
    }  # fmt: skip
    vertices, faces = uv_sphere(dish)
    low = vertices[faces][:, :, 2].max(axis=1) < -0.05
    scene = (
        SceneBody("egg", "object", *uv_sphere(axes), shape={"type": "ellipsoid", "semi_axes": axes.tolist()},
                  center_of_mass=com),
        SceneBody("dish", "hand", vertices, faces[low][:, ::-1], shape={"type": "dish", "semi_axes": dish.tolist()}),
    )  # fmt: skip
    physics = {"mass": 0.2, "inertia": [3e-4, 4e-4, 5e-4], "gravity": [0, 0, -G], "friction": 0.5}
    return _juggling(t, arrays, physics, scene)


def disk_down_slope(duration=2.0, step=0.01, slope=-0.3, radius=0.25, mass=2.0):
    """Solid disk that rolls down a line from rest: a = 2/3 g sin."""
    t = np.arange(round(duration / step) + 1) * step
    psi = np.arctan(slope)
    T, N = np.array([np.cos(psi), np.sin(psi)]), np.array([-np.sin(psi), np.cos(psi)])
    a = -2 / 3 * G * np.sin(psi)
    s, v = 0.5 * a * t**2, a * t
    contact = np.outer(s, T)
    inertia = 0.5 * mass * radius**2
    position = contact + radius * N
    force = mass * (a * T + [0, G])
    arrays = {
        "body_position": position, "body_angle": -s / radius, "body_velocity": np.outer(v, T),
        "body_angular_velocity": -v / radius, "contact_position": contact, "contact_force": np.tile(force, (t.size, 1)),
        "gap": 0 * t, "slip": 0 * t, "mode": np.full(t.size, "rolling"),
        "energy": 0.5 * mass * v**2 + 0.5 * inertia * (v / radius) ** 2 + mass * G * position[:, 1],
    }  # fmt: skip
    shape, ground = {"type": "circle", "radius": radius}, {"type": "line", "slope": slope, "offset": 0.0}
    return _planar(t, arrays, shape, ground, {"mass": mass, "inertia": inertia, "gravity": G, "friction": 0.6})


ROCK = {"type": "fourier", "radius": 0.3, "cos": [0.0, 0.10, 0.02], "sin": [0.0, 0.02, -0.015]}
UNDULATING = {
    "type": "sum",
    "terms": [
        {"type": "parabola", "curvature": 0.1},
        {"type": "sinusoid", "amplitude": 0.06, "wavelength": 2 * np.pi / 2.3, "phase": 0.7},
        {"type": "sinusoid", "amplitude": 0.05, "wavelength": 2 * np.pi / 1.3, "phase": np.pi / 2},
    ],
}


def rock_on_terrain(n=300, shape=None, terrain=None, com=(0.01, 0.02), span=(-1.2, 1.2)):
    """A rock that rolls along a terrain at a wavy pace: exact contact, no slip; forces made up."""
    shape, terrain = shape or ROCK, terrain or UNDULATING
    outline, ground = curve(shape), curve(terrain)
    t = np.linspace(0, 4, n)
    x = np.linspace(*span, n)
    fine = np.linspace(*span, 20 * n)
    arc = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(ground.at(fine)[0], axis=0), axis=1))])
    u_grid = np.linspace(-12, 12, 20000)
    u_arc = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(outline.at(u_grid)[0], axis=0), axis=1))])
    s = np.interp(x, fine, arc)
    u = np.interp(u_arc[15000] - s, u_arc, u_grid)
    P, D, _ = ground.at(x)
    A, dA, _ = outline.at(u)
    angle = np.unwrap(np.arctan2(D[:, 1], D[:, 0]) - np.arctan2(dA[:, 1], dA[:, 0]))
    c, sn = np.cos(angle), np.sin(angle)
    R = np.moveaxis(np.array([[c, -sn], [sn, c]]), 2, 0)
    lever = np.einsum("nij,nj->ni", R, A - np.array(com))
    w = np.gradient(angle, t)
    velocity = -w[:, None] * np.stack([-lever[:, 1], lever[:, 0]], axis=1)
    N = _unit(np.stack([-D[:, 1], D[:, 0]], axis=1))
    force = (9 + 4 * np.sin(5 * t))[:, None] * N + 2 * np.cos(3 * t)[:, None] * _unit(D)
    arrays = {
        "body_position": P - lever, "body_angle": angle, "body_velocity": velocity, "body_angular_velocity": w,
        "contact_position": P, "contact_force": force, "gap": 0 * t, "slip": 0 * t, "energy": 0 * t,
        "mode": np.full(n, "rolling"),
    }  # fmt: skip
    return _planar(t, arrays, shape, terrain, {"mass": 1.0, "inertia": 0.045, "gravity": G, "friction": 1.0}, com)


def changed(run, **arrays):
    """The same record with other arrays: what a wrong simulation would have written."""
    dataset = run.dataset.copy()
    for name, values in arrays.items():
        dataset[name] = (dataset[name].dims, np.asarray(values).reshape(dataset[name].shape), dataset[name].attrs)
    return Trajectory(dataset, run.status, run.feasible, run.metadata, run.scene)


def _juggling(t, arrays, physics, scene):
    return Trajectory(
        make_dataset(PAIR, t, arrays), Status.SUCCESS, True,
        {"kind": "juggling", "scenario": "synthetic", "seed": 0, "version": "0", "physics": physics, "transitions": []},
        scene,
    )  # fmt: skip


def _planar(t, arrays, shape, terrain, physics, com=(0.0, 0.0)):
    u = np.linspace(0, 2 * np.pi, 181)[:-1]
    x = np.linspace(-2.5, 8, 600)
    scene = (
        SceneBody("body", "body", curve(shape).at(u)[0], closed=True, shape=shape, center_of_mass=com),
        SceneBody("terrain", "terrain", curve(terrain).at(x)[0], closed=False, shape=terrain),
    )
    metadata = {"kind": "planar", "scenario": "synthetic", "seed": 0, "version": "0", "physics": physics}
    return Trajectory(
        make_dataset(tree_view(2), t, arrays), Status.SUCCESS, True, metadata | {"transitions": []}, scene
    )


def _product(p, q):
    """Quaternion product p q for one p and many q."""
    w = p[0] * q[:, 0] - q[:, 1:] @ p[1:]
    v = p[0] * q[:, 1:] + np.outer(q[:, 0], p[1:]) + np.cross(np.tile(p[1:], (len(q), 1)), q[:, 1:])
    return np.column_stack([w, v])


def _unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)
