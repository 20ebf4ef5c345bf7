"""A biped rolls over its left foot and brings the right one forward: planned by Crocoddyl on feet of trundle."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

import trundle as tr

URDF = Path(__file__).resolve().parent / "hopper.urdf"
SOLE = tr.Foot(tr.Ellipsoid([0.1, 0.05, 0.06]), "left_shank", (0.0, 0.0, -0.22), law="pure-rolling")  # m
STEP, NODES, SPEED = 0.005, 80, 0.5  # s, -, m/s
LANDING = (0.25, -0.1, 0.3)  # m, of the right knee at the end
POSTURE = (-0.2, -0.3, 0.5, 0.1, 0.3, 0.9)  # rad: spread, hip and knee, left and right


def start(feet: tr.interop.pinocchio.RollingFeet) -> np.ndarray:
    """Return (q, v) with the foot on the ground and the trunk moving ahead; the foot rolls."""
    q, v = feet.neutral, np.zeros(feet.model.nv)
    q[7:], v[0] = POSTURE, SPEED
    q[2] -= feet.rows(q, v).gap[0]
    J = feet.rows(q, v).J
    return np.concatenate([q, v - np.linalg.pinv(J) @ J @ v])


def node(feet: tr.interop.pinocchio.RollingFeet, x: np.ndarray, last: bool):
    """Return Crocoddyl's action model of one step in time, or of the end."""
    cd, model = import_module("crocoddyl"), feet.model
    state = cd.StateMultibody(model)
    drives = cd.ActuationModelFloatingBase(state)
    contacts, costs = cd.ContactModelMultiple(state, drives.nu), cd.CostModelSum(state, drives.nu)
    contacts.addContact("left", tr.interop.crocoddyl.contact_model(state, feet, "left", drives.nu, (0.0, 50.0)))

    def add(name, residual, weight, activation=None):
        parts = (residual,) if activation is None else (activation, residual)
        costs.addCost(name, cd.CostModelResidual(state, *parts), weight)

    goal = np.concatenate([[x[0] + SPEED * STEP * NODES], x[1:]])
    weights = cd.ActivationModelWeightedQuad(np.repeat([2.0 * last, 0.0, 5.0, 0.2, 0.5, 0.1], [1, 1, 4, 6, 6, 6]))
    add("posture", cd.ResidualModelState(state, goal, drives.nu), 10.0 if last else 1.0, weights)
    if last:
        knee = model.getFrameId("right_shank")
        add("landing", cd.ResidualModelFrameTranslation(state, knee, np.array(LANDING), drives.nu), 1e3)
    else:
        add("torques", cd.ResidualModelControl(state, drives.nu), 1e-3)
        inside = cd.ActivationModelQuadraticBarrier(cd.ActivationBounds(np.full(5, 5.0), np.full(5, np.inf)))  # N
        add("cone", tr.interop.crocoddyl.cone_residual(state, feet, "left", drives.nu), 0.1, inside)
    dynamics = cd.DifferentialActionModelContactFwdDynamics(state, drives, contacts, costs, 0.0, True)
    return cd.IntegratedActionModelEuler(dynamics, 0.0 if last else STEP)


def main() -> float:
    """Print the step and return the largest difference of accelerations, against trundle's own dynamics."""
    crocoddyl = import_module("crocoddyl")
    urdf = tr.load_urdf(URDF)
    feet = tr.interop.pinocchio.RollingFeet(urdf, {"left": SOLE})
    x, nq = start(feet), feet.model.nq
    problem = crocoddyl.ShootingProblem(x, [node(feet, x, last=False)] * NODES, node(feet, x, last=True))
    solver = crocoddyl.SolverFDDP(problem)
    found = solver.solve([x] * (NODES + 1), problem.quasiStatic([np.r_[x[:nq], 0 * x[nq:]]] * NODES), 100)
    print(f"found {found} after {solver.iter} iterations, cost {solver.cost:.3f}, stop {solver.stop:.0e}")
    rows = [feet.rows(x[:nq], x[nq:]) for x in solver.xs]
    slip = max(np.abs(r.J[:3] @ x[nq:]).max() for r, x in zip(rows, solver.xs, strict=True))
    nodes = [data.differential for data in problem.runningDatas]
    force = np.array([node.multibody.contacts.contacts["left"].foot.force for node in nodes])
    cone = [feet.margins(x[:nq], f)["left.friction"] for x, f in zip(solver.xs, force, strict=False)]
    print(f"rolled {rows[-1].point[0, 0] - rows[0].point[0, 0]:.3f} m, slip {slip:.0e} m/s, the trunk came", end=" ")
    print(f"{solver.xs[-1][0]:.2f} m ahead; force over {force[:, 2].min():.0f} N, in its cone by {min(cone):.0f} N")
    X, U, a = np.array(solver.xs)[:-1].T, np.array(solver.us).T, np.array([node.xout for node in nodes]).T
    torque = np.array(feet.functions().inverse_dynamics(X[:nq], X[nq:], a, force.T))
    error = float(np.abs(torque - np.vstack([np.zeros((6, NODES)), U])).max())
    print(f"largest error of the torques by trundle's own inverse dynamics {error:.1e} N m")
    return error


if __name__ == "__main__":
    main()
