"""``python -m bench.robot_files``: what broken robot files do to trundle, MuJoCo, Pinocchio and Drake.

Each file is a pendulum on a free trunk with one thing wrong. A cell says "refused" and in whose words, or what becomes
of a file that is taken: whether half a second of motion, or the accelerations, are finite and the mass matrix is one.
Every file is read in a process of its own; engines that are not installed are left out.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from multiprocessing.connection import Connection

import numpy as np
from rich.console import Console
from rich.table import Table

SECONDS = 60.0
GOOD = """<robot name="two">
  <link name="trunk"><inertial><mass value="2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="trunk"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="5"/></joint>
</robot>"""
FILES: Mapping[str, tuple[str, str]] = {
    "nothing": ("", ""),
    "negative mass": ('mass value="1"', 'mass value="-1"'),
    "mass NaN": ('mass value="1"', 'mass value="nan"'),
    "inertia NaN": ('ixx="0.01"', 'ixx="nan"'),
    "inertia negative": ('ixx="0.01"', 'ixx="-0.01"'),
    "inertia of no body": ('izz="0.002"', 'izz="0.9"'),
    "limits missing": ('<limit lower="-2" upper="2" effort="10" velocity="5"/>', ""),
    "limits crossed": ('lower="-2" upper="2"', 'lower="2" upper="-2"'),
    "joint of unknown type": ('type="revolute"', 'type="spherical9"'),
    "axis zero": ('axis xyz="0 1 0"', 'axis xyz="0 0 0"'),
    "child unknown": ('child link="arm"', 'child link="leg"'),
    "parent is itself": ('parent link="trunk"', 'parent link="arm"'),
    "two links of a name": ('link name="arm"', 'link name="trunk"'),
    "number is a word": ('mass value="1"', 'mass value="heavy"'),
    "file cut off": ("</robot>", ""),
}


def in_trundle(text: str) -> str:
    """Return what becomes of a file."""
    import trundle as tr
    from trundle.models.urdf.checks import check_urdf

    tree = tr.robot_from_urdf(check_urdf(text))
    run = tr.simulate(tree, tree.place(trunk=(0, 0, 1), shoulder=0.3), 0.5)
    return f"taken, {_finite(run['body_position'])}"


def in_mujoco(text: str) -> str:
    """Return what becomes of a file."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[-1] = 0.3
    for _ in range(250):
        mujoco.mj_step(model, data)
    warned = sum(int(one.number) for one in data.warning)
    return f"taken, {_finite(data.qpos)}{f', {warned} warnings' if warned else ''}{_changed(model.body_mass[-1])}"


def in_pinocchio(text: str) -> str:
    """Return what becomes of a file."""
    import pinocchio as pin

    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    data, q = model.createData(), pin.neutral(model)
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    a = pin.aba(model, data, q, np.zeros(model.nv), np.zeros(model.nv))  # pyright: ignore[reportAttributeAccessIssue]
    definite = np.all(np.isfinite(M)) and np.linalg.eigvalsh(M)[0] > 0
    return f"taken, {_finite(a)}, M {'positive' if definite else 'not positive'} definite"


def in_drake(text: str) -> str:
    """Return what becomes of a file."""
    from pydrake.multibody.parsing import Parser  # pyright: ignore[reportMissingImports]
    from pydrake.multibody.plant import MultibodyPlant  # pyright: ignore[reportMissingImports]

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "urdf")
    plant.Finalize()
    M = plant.CalcMassMatrix(plant.CreateDefaultContext())
    definite = np.all(np.isfinite(M)) and np.linalg.eigvalsh(M)[0] > 0
    return f"taken, M {'positive' if definite else 'not positive'} definite"


ENGINES: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "trundle": ("trundle", in_trundle),
    "MuJoCo": ("mujoco", in_mujoco),
    "Pinocchio": ("pinocchio", in_pinocchio),
    "Drake": ("pydrake", in_drake),
}


def _finite(values: np.ndarray) -> str:
    return "finite" if np.all(np.isfinite(values)) else "NOT FINITE"


def _changed(mass: float) -> str:
    return "" if mass == 1.0 else f", mass {mass:g}"


def _tell(engine: str, text: str, pipe: Connection) -> None:
    try:
        answer = ENGINES[engine][1](text)
    except Exception as error:  # whatever an engine raises is its answer
        words = (str(error).strip() or type(error).__name__).splitlines()[0]
        answer = f"refused: {words[:110]}"
    pipe.send(answer)


def told(engine: str, text: str) -> str:
    """Return what an engine makes of a file, in a process of its own."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_tell, args=(engine, text, there))
    process.start()
    there.close()
    try:
        answer = here.recv() if here.poll(SECONDS) else f"HANGS: no answer in {SECONDS:g} s"
    except EOFError:
        process.join()
        answer = f"CRASHES: exit code {process.exitcode}"
    process.kill()
    process.join()
    return answer


def main() -> None:
    """Print the table."""
    engines = [name for name, (module, _) in ENGINES.items() if find_spec(module)]
    table = Table("what is wrong", *engines, show_lines=True)
    for name, change in FILES.items():
        text = GOOD.replace(*change, 1)
        table.add_row(name, *(told(engine, text) for engine in engines))
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
