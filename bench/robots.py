"""Robots from URDFs on both routes: sizes and times of their functions, growth with degrees of freedom.

Run with ``python -m bench.robots [sizes | landings [NAME ...]]``; times are CPU times in the VM, where compiling would
not pay. Landings: robots dropped onto feet, see `bench.landings`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import casadi as ca
import numpy as np

from trundle.contact.laws import ROLLING, SEPARATED
from trundle.models.feet import Foot
from trundle.models.urdf.articulated import Articulated
from trundle.models.urdf.checks import CheckedUrdf, check_urdf
from trundle.models.urdf.examples import load_example_robot
from trundle.models.urdf.robot import robot_from_urdf
from trundle.systems.walking.robots.avatar import build_avatar

ROBOTS = ("bolt", "solo12", "simple_humanoid", "talos_reduced", "talos_full_v2")


def microseconds(call: Callable[[], object], count: int = 200) -> float:
    """Return the CPU time of a call in us."""
    begin = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - begin) / count * 1e6


def row(name: str, urdf: CheckedUrdf) -> str:
    """Return one line of the table."""
    other, model = Articulated(urdf), robot_from_urdf(urdf).model()
    begin = time.process_time()
    nudot = ca.SX.sym("nudot", model.nv)
    inverse = ca.Function("inverse", [model.x, nudot], [model.inverse_dynamics([], nudot, ca.SX(0, 1))])
    terms = ca.Function("terms", [model.x], list(model.inertia_terms()))
    rate = ca.Function("rate", [model.x, model.u], [model.dynamics([]).xdot])
    built = time.process_time() - begin
    q, nu = other.neutral, np.ones(model.nv)
    x, u = np.concatenate([q, nu]), np.zeros(model.nv - 6)
    sizes = [f.n_instructions() for f in (inverse, terms, rate)]
    times = [
        microseconds(lambda: inverse(x, nu)),
        microseconds(lambda: terms(x)),
        microseconds(lambda: rate(x, u)),
        microseconds(lambda: other.terms(q, nu)),
    ]
    return (
        f"{name:18s}{model.nv:4d}"
        + "".join(f"{n:8d}" for n in sizes)
        + "".join(f"{t:8.0f}" for t in (*times, built * 1e3))
    )


def main(arguments: list[str]) -> None:
    """Print the tables asked for, both by default."""
    if arguments[:1] != ["landings"]:
        sizes()
    if arguments[:1] != ["sizes"]:
        from bench import landings

        landings.table(arguments[1:])


def sizes() -> None:
    """Print sizes and times, and the size of the avatar's equations on its feet."""
    print("robot              dof  instructions of ID, M h, x'    us: ID    M h     x'   Pinocchio M h   ms to build")
    avatar = build_avatar()
    print(row("avatar", check_urdf(avatar.robot.urdf())))
    for name in ROBOTS:
        print(row(name, load_example_robot(name)))

    sole = avatar.foot.sole
    feet = {f"{side}_foot": Foot(sole, position=avatar.foot.center.tolist()) for side in ("left", "right")}
    model = robot_from_urdf(avatar.robot, feet).model()
    for laws in ((SEPARATED, SEPARATED), (ROLLING, SEPARATED), (ROLLING, ROLLING)):
        rate = ca.Function("rate", [model.x, model.u], [model.dynamics(laws).xdot], {"cse": True})
        onto = ca.Function("onto", [model.x, model.u], [model.project(laws)], {"cse": True})
        names = " + ".join(law.name for law in laws)
        print(f"avatar, {names}: x' {rate.n_instructions()}, projection {onto.n_instructions()} instructions")


if __name__ == "__main__":
    main(sys.argv[1:])
