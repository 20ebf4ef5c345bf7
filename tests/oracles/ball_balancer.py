"""Ball balancer by Lagrange's equations in five coordinates (x, y, yaw, pitch, roll), derivatives by complex steps.

T = 1/2 (m_b + I_b / r_b^2) |v|^2 + 1/2 m |v_c|^2 + 1/2 w' I w, V = g (m c + R a)_z with the arms' first moment a less
that of arms at rest; forces enter by their virtual power.
"""

from __future__ import annotations

import numpy as np

STEP = 1e-30


def turn(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    R = np.eye(3, dtype=np.result_type(angle, float))
    R[i, i] = R[j, j] = c
    R[i, j], R[j, i] = -s, s
    return R


def orientation(q):
    return turn(2, q[2]) @ turn(1, q[3]) @ turn(0, q[4])


def angular_jacobian(q):
    """omega (world) by the rates of all five coordinates."""
    E = np.zeros((3, 5), dtype=np.result_type(q, float))
    E[2, 2] = 1.0
    E[:, 3] = turn(2, q[2])[:, 1]
    E[:, 4] = (turn(2, q[2]) @ turn(1, q[3]))[:, 0]
    return E


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def mass_matrix(robot, q):
    R, E = orientation(q), angular_jacobian(q)
    J = np.zeros((3, 5), dtype=E.dtype)
    J[0, 0] = J[1, 1] = 1.0
    ball = robot["ball_mass"] + robot["ball_inertia"] / robot["ball_radius"] ** 2
    Jc = J - skew(R @ robot["com"]) @ E
    turning = R.T @ E
    return ball * J.T @ J + robot["mass"] * Jc.T @ Jc + turning.T @ np.diag(robot["inertia"]) @ turning


def gradient(f, q):
    """df/dq_i, stacked last."""
    return np.stack([np.imag(f(q + 1j * STEP * e)) / STEP for e in np.eye(len(q))], axis=-1)


def hand(robot, q, joints, side):
    """Position (3,) of a hand from O, world axes: links turned one after another."""
    shoulder = robot["shoulder"] * np.array([1.0, side, 1.0])
    link = np.array([0.0, 0.0, -1.0])
    elbow = turn(1, -joints[2]) @ (robot["forearm"] * link)
    return orientation(q) @ (
        shoulder + turn(0, side * joints[0]) @ turn(1, -joints[1]) @ (robot["upper_arm"] * link + elbow)
    )


def arms(robot, joints):
    """First moment of mass (3,) of the arms, body axes, less that at rest; links' masses are half-way along them."""
    upper, fore = robot["arm_masses"]
    total, straight = np.zeros(3), robot | {"forearm": 0.0}
    for sign, angles in ((1.0, joints), (-1.0, np.tile(robot["joint_rest"], 2))):
        for side, part in ((1, angles[:3]), (-1, angles[3:])):
            ends = [hand(r, np.zeros(5), part, side) for r in (straight | {"upper_arm": 0.0}, straight, robot)]
            total += sign * (upper * (ends[0] + ends[1]) + fore * (ends[1] + ends[2])) / 2
    return total


def motion(robot, q, qd, joints, drive, yaw, forces):
    """Momenta l, h, their rates, accelerations and the load on the floor."""
    M, E = mass_matrix(robot, q), angular_jacobian(q)
    dM = gradient(lambda z: mass_matrix(robot, z), q)
    heavy = robot["mass"] * robot["com"] + arms(robot, joints)
    weight = robot["gravity"] * gradient(lambda z: (orientation(z) @ heavy)[2], q)
    drive3 = np.array([*drive, 0.0])
    Q = np.array([*drive, 0.0, 0.0, 0.0]) + E.T @ (-robot["ball_radius"] * np.cross([0, 0, 1], drive3) + [0, 0, yaw])
    for side, angles, force in zip((1, -1), (joints[:3], joints[3:]), forces, strict=True):
        Q += np.array([*force[:2], 0, 0, 0]) + E.T @ np.cross(hand(robot, q, angles, side), force)
    p = M @ qd
    p_dot = 0.5 * np.einsum("i,ijk,j->k", qd, dM, qd) - weight + Q
    acceleration = np.linalg.solve(M, p_dot - np.einsum("ijk,j,k->i", dM, qd, qd))
    E_dot = gradient(angular_jacobian, q) @ qd
    h = np.linalg.solve(E[:, 2:].T, p[2:])
    h_dot = np.linalg.solve(E[:, 2:].T, p_dot[2:] - E_dot[:, 2:].T @ h)
    com = gradient(lambda z: orientation(z) @ robot["com"], q)
    along = com_acceleration(robot, q, qd) + com @ acceleration
    ball, body = robot["ball_mass"], robot["mass"]
    total = body * along + (ball + body) * np.array([*acceleration[:2], 0.0])
    load = total + (ball + body) * np.array([0, 0, robot["gravity"]]) - np.sum(forces, axis=0)
    return {"l": p[:2], "h": h, "l_dot": p_dot[:2], "h_dot": h_dot, "acceleration": acceleration, "floor": load}


def com_acceleration(robot, q, qd):
    """Acceleration of the centre of mass from O without second rates: w x (w x c) + E_dot qd x c."""
    w = angular_jacobian(q) @ qd
    c = orientation(q) @ robot["com"]
    turning = (gradient(angular_jacobian, q) @ qd) @ qd
    return np.cross(w, np.cross(w, c)) + np.cross(turning, c)
