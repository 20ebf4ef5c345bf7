"""Files of robots, and what another reader says of those that are accepted: XML by the standard library, TOML alike."""

from __future__ import annotations

import dataclasses
import tomllib
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz import damage
from tests.fuzz.cases import LEG
from tests.fuzz.kind import Kind, must, plain, text, written
from tests.models.urdf.test_meshes import DAE, PLY, stl
from trundle.models.robots.humanoid import load_humanoid
from trundle.models.urdf.articulated import Articulated
from trundle.models.urdf.checks import CheckedUrdf, load_urdf
from trundle.models.urdf.lock import joint_ranges, lock_joints
from trundle.models.urdf.meshes import visual_meshes
from trundle.models.urdf.robot import robot_from_urdf
from trundle.models.urdf.tree import urdf_tree
from trundle.systems.walking.robots.avatar import build_avatar
from trundle.systems.wallbounce.robot import BallBalancer

ROOT = Path(__file__).resolve().parents[2] / "src/trundle"
AVATAR = build_avatar().robot.urdf()
HUMANOID = """
[robot]
name = "avatar"
urdf = "avatar.urdf"
base = "pelvis"

[feet.left]
link = "left_foot"
length = 0.2
width = 0.08
at = [0.05, 0.0, -0.07]

[posture]
"*" = 0.0

[armature]
"*" = 0.01

[stiffness]
"*" = 100.0

[servo.stiffness]
"*" = 300.0

[servo.damping]
"*" = 6.0
"""
OBJ = "# a tetrahedron\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"

_READ = ("link/inertial/mass", "link/inertial/inertia", "link/inertial/origin", "link/visual/origin")
_READ += tuple(f"joint/{tag}" for tag in ("origin", "axis", "parent", "child", "mimic"))


def described(path: Path, repair: bool = False) -> CheckedUrdf:
    """Read a description; links, joints and numbers are those of the file, and possible."""
    urdf = load_urdf(path, repair=repair)
    root: Any = ET.fromstring(path.read_bytes())
    links, joints = root.findall("link"), root.findall("joint")
    must(urdf.links == tuple(link.get("name") for link in links), "other links")
    must(urdf.joints == {joint.get("name"): joint.get("type") for joint in joints}, "other joints")
    must(len(joints) == len(links) - 1 == len({j.find("child").get("link") for j in joints}), "no tree")
    own: Any = ET.fromstring(urdf.text)
    for element in [e for path in _READ for e in own.findall(path)]:
        for key, value in element.attrib.items():
            must(key in ("link", "joint") or np.isfinite([float(v) for v in value.split()]).all(), f"{key} = {value}")
    for joint in joints:
        must(joint.get("type") in ("revolute", "continuous", "prismatic", "fixed", "floating", "planar"), "joint type")
        if (limit := joint.find("limit")) is not None:
            must(float(limit.get("lower", 0)) <= float(limit.get("upper", 0)), "lower > upper")
    for inertial in own.findall("link/inertial"):
        must(float(inertial.find("mass").get("value")) >= 0, "a negative mass")
        given = inertial.find("inertia").attrib
        tensor = np.array([[float(given["i" + "".join(sorted(a + b))]) for b in "xyz"] for a in "xyz"])
        low, middle, high = np.linalg.eigvalsh(tensor)
        possible = low >= -2e-3 * high - 2e-15 and low + middle >= high * (1 - 2e-3) - 2e-15
        must(possible, f"an inertia of {low, middle, high}")
    return urdf


def moving(path: Path) -> str:
    """Read a description and make its tree: no mass is lost, and every joint moves some."""
    urdf = described(path, repair=True)
    tree = urdf_tree(urdf)
    masses = [float(mass.attrib["value"]) for mass in ET.fromstring(urdf.text).findall("link/inertial/mass")]
    M = tree.inertia()
    must(np.isfinite(M).all() and np.linalg.eigvalsh(M)[0] > 0, "an inertia matrix that is not positive")
    np.testing.assert_allclose(np.diag(M)[3:6], sum(masses), rtol=1e-9)
    must(len(tree.joints) == sum(kind != "fixed" for kind in urdf.joints.values()), "other joints")
    ranges = joint_ranges(urdf)
    locked = lock_joints(urdf, {name: low for name, (low, _) in list(ranges.items())[:1] if np.isfinite(low)})
    return repr((plain([vars(body) for body in tree.bodies]), ranges, locked.joints))


def simulated(path: Path) -> str:
    """Make the model of a description, and Pinocchio's: both move alike."""
    urdf = described(path, repair=True)
    tree = robot_from_urdf(urdf)
    other = Articulated(urdf)
    must(list(urdf_tree(urdf).joints) == list(other.joints), "joints in another order")
    M, own = other.terms(other.neutral, np.zeros(other.nv)).M, urdf_tree(urdf).inertia()
    np.testing.assert_allclose(own, M, rtol=1e-9, atol=1e-12 * np.max(np.abs(M)))
    return repr((tree, plain(M)))


def shown(kind: str, path: Path) -> str:
    """Read a mesh by the description that names it."""
    home = path.with_suffix(".urdf")
    geometry = f'<geometry><mesh filename="{path.name}"/></geometry>'
    home.write_text(f'<robot name="r"><link name="a"><visual>{geometry}</visual></link></robot>')
    (mesh,) = visual_meshes(load_urdf(home))
    must(np.isfinite(mesh.vertices).all() and mesh.faces.max() < len(mesh.vertices), "a mesh that is none")
    return repr(plain([mesh.vertices, mesh.faces]))


def balancer(path: Path) -> str:
    """Read the robot of two arms; each number is the file's."""
    robot = BallBalancer.read(path)
    for key, value in tomllib.loads(path.read_text("utf-8-sig"))["robot"].items():
        read = value if isinstance(value, str) else np.asarray(value, dtype=float)  # an integer of TOML has any size
        must(np.array_equal(getattr(robot, key), read), f"another {key}")
    for field in dataclasses.fields(robot):
        value = getattr(robot, field.name)
        must(isinstance(value, str) or np.isfinite(value).all(), f"{field.name} is not finite")
    return repr(robot)


def humanoid(path: Path) -> str:
    """Read a robot with feet; its numbers are the file's."""
    robot = load_humanoid(path)
    given = tomllib.loads(path.read_text("utf-8"))
    must(robot.name == given["robot"].get("name", path.stem), "another name")
    for name, foot in given["feet"].items():
        for key, value in foot.items():
            must(np.array_equal(getattr(robot.feet[name], key), value), f"another feet.{name}.{key}")
    q = robot.standing()
    must(np.isfinite(q).all(), "a posture that is not finite")
    return repr((robot.name, robot.feet, q.tolist(), robot.drives if robot.servo else None))


def a_humanoid(path: Path) -> Path:
    """Write the file of a robot beside its description."""
    (path.parent / "avatar.urdf").write_text(AVATAR)
    path.write_text(HUMANOID)
    return path


_XML, _TOML = (damage.text_of, damage.xml_of, damage.xml_of), (damage.text_of, damage.toml_of, damage.toml_of)
ROBOTS: dict[str, Kind] = {
    "leg.urdf": Kind(text(LEG), lambda path: described(path).text, _XML),
    "robot.urdf": Kind(text(LEG), moving, _XML),
    "avatar.urdf": Kind(text(AVATAR), moving, _XML, share=3),
    "modelled.urdf": Kind(text(LEG), simulated, _XML, share=1),
    "humanoid.toml": Kind(a_humanoid, humanoid, _TOML, share=3),
    "ball_balancer.toml": Kind(
        text((ROOT / "systems/wallbounce/robots/ball_balancer.toml").read_text()), balancer, _TOML
    ),
    "mesh.stl": Kind(written(stl()), partial(shown, "stl"), (damage.bytes_of,)),
    "mesh.obj": Kind(text(OBJ), partial(shown, "obj"), (damage.text_of,)),
    "mesh.ply": Kind(text(PLY), partial(shown, "ply"), (damage.text_of,)),
    "mesh.dae": Kind(text(DAE), partial(shown, "dae"), _XML),
}
