"""Broken robot descriptions are refused with element and rule named; sound ones, and repaired ones, pass."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trundle.errors import InputError
from trundle.models.urdf import xml as urdf_xml
from trundle.models.urdf.checks import check_urdf, load_urdf
from trundle.models.urdf.robot import robot_from_urdf
from trundle.systems.walking.robots.avatar import build_avatar

GOOD = """<robot name="r"><!-- two links, one hinge -->
<link name="a"><inertial><origin xyz="0 0 .1" rpy="0 0 0"/><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><box size="1 2 3"/></geometry></visual></link>
<link name="b"><collision><origin xyz="0 0 0"/><geometry><mesh filename="foot.stl" scale="1 -1 1"/></geometry>
</collision></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10" velocity="5"/><dynamics damping=".1"/></joint></robot>"""


def refused(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        check_urdf(text)
    return caught.value


def test_a_sound_description_passes() -> None:
    checked = check_urdf(GOOD)
    assert (checked.name, checked.root, checked.links, checked.joints) == ("r", "a", ("a", "b"), {"j": "revolute"})
    assert checked.text == GOOD
    assert checked.repaired == ()


@pytest.mark.parametrize(
    ("old", "new", "key", "rule"),
    [
        ('mass value="2"', 'mass value="nan"', "link[a].inertial.mass.value", "a finite number"),
        ('mass value="2"', 'mass value="-2"', "link[a].inertial.mass.value", ">= 0"),
        ('mass value="2"', 'mass value="0"', "link[a].inertial.mass.value", "has an inertia"),
        ('mass value="2"', 'mass value="1e999"', "link[a].inertial.mass.value", "a finite number"),
        ('mass value="2"', 'mass value="0x10"', "link[a].inertial.mass.value", "a finite number"),
        ('mass value="2"', 'mass value="1_0"', "link[a].inertial.mass.value", "a finite number"),
        ('mass value="2"', "mass", "link[a].inertial.mass.value", "a finite number"),
        ('<mass value="2"/>', "", "link[a].inertial.mass", "given"),
        ('<mass value="2"/>', '<mass value="2"/><mass value="3"/>', "inertial", "once"),
        ('izz="1"', 'izz="3"', "link[a].inertial.inertia", "I1 + I2 >= I3"),
        ('izz="1"', 'izz="-1"', "link[a].inertial.inertia", "below zero"),
        ('ixy="0"', 'ixy="2"', "link[a].inertial.inertia", "below zero"),
        ('ixy="0"', 'ixy="inf"', "link[a].inertial.inertia.ixy", "a finite number"),
        ('izz="1"', "", "link[a].inertial.inertia.izz", "a finite number"),
        ('xyz="0 0 .1"', 'xyz="0 .1"', "link[a].inertial.origin.xyz", "3 finite numbers"),
        ('rpy="0 0 0"', 'rpy="0 0 0 nan"', "link[a].inertial.origin.rpy", "3 finite numbers"),
        ('size="1 2 3"', 'size="1 0 3"', "link[a].visual.box.size", "> 0"),
        ('<box size="1 2 3"/>', "", "link[a].visual.geometry", "one shape"),
        ('<box size="1 2 3"/>', "<cone/>", "link[a].visual.geometry", "one of box"),
        ('scale="1 -1 1"', 'scale="1 0 1"', "link[b].collision.mesh.scale", "not zero"),
        ('filename="foot.stl"', "", "link[b].collision.mesh.filename", "name of a file"),
        ('xyz="0 0 1"/><axis', 'xyz="0 0 x"/><axis', "joint[j].origin.xyz", "3 finite numbers"),
        ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', "joint[j].axis.xyz", "not zero"),
        ('<axis xyz="0 0 1"/>', "<axis/>", "joint[j].axis.xyz", "3 finite numbers"),
        ('lower="-1"', 'lower="1.5"', "joint[j].limit", "lower <= upper"),
        ('lower="-1"', 'lower="nan"', "joint[j].limit.lower", "a finite number"),
        ('effort="10"', "", "joint[j].limit.effort", "a finite number"),
        ('velocity="5"', 'velocity="-5"', "joint[j].limit.velocity", ">= 0"),
        ('damping=".1"', 'damping="-.1"', "joint[j].dynamics.damping", ">= 0"),
        ('type="revolute"', 'type="hinge"', "joint[j].type", "one of revolute"),
        ('<child link="b"/>', '<child link="a"/>', "joint[j]", "two different links"),
        ('<child link="b"/>', '<child link="c"/>', "joint[j].child.link", "a link of this robot"),
        ('<parent link="a"/>', "", "joint[j].parent.link", "a link of this robot"),
        ('name="b"', 'name="a"', "link[a].name", "no other link"),
        ('link name="b"', "link", "link.name", "not empty"),
        ('joint name="j"', 'joint name=" "', "joint.name", "not empty"),
        ("</robot>", '<link name="c"/></robot>', "robot", "one tree"),
        ("</joint>", '<mimic joint="j"/></joint>', "joint[j].mimic.joint", "another joint"),
        ("</joint>", '<mimic joint="k" offset="x"/></joint>', "joint[j].mimic.offset", "a finite number"),
        ("</robot>", '<xacro:macro name="leg"/></robot>', "xml", "expand macros"),
        ("</robot>", "", "xml", "well formed"),
        ("robot", "sdf", "xml", "<robot>"),
    ],
)
def test_a_broken_description_is_refused_by_element_and_rule(old: str, new: str, key: str, rule: str) -> None:
    assert old in GOOD
    error = refused(GOOD.replace(old, new))
    assert error.key == key
    assert rule in error.allowed


def chain(joints: str) -> str:
    links = "".join(f'<link name="{name}"/>' for name in "abcd")
    return f'<robot name="r">{links}{joints}</robot>'


def fixed(name: str, parent: str, child: str, inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="fixed">{ends}{inside}</joint>'


def test_loops_and_second_parents_are_refused() -> None:
    start = fixed("i", "a", "b")
    assert "loop" in refused(chain(start + fixed("j", "c", "d") + fixed("k", "d", "c"))).allowed
    error = refused(chain(start + fixed("j", "a", "c") + fixed("k", "c", "b")))
    assert error.key == "joint[k].child.link"
    assert "one tree" in refused(chain(start + fixed("j", "c", "d"))).allowed
    assert refused(chain(start + fixed("i", "a", "c") + fixed("k", "a", "d"))).key == "joint[i].name"
    mimics = [f'<mimic joint="{name}"/>' for name in "kj"]
    error = refused(chain(start + fixed("j", "a", "c", mimics[0]) + fixed("k", "a", "d", mimics[1])))
    assert "loop" in error.allowed
    assert refused('<robot name="r"/>').key == "robot"


def test_a_long_chain_is_checked_in_time_that_grows_with_it() -> None:
    n = 3000
    links = "".join(f'<link name="l{i}"/>' for i in range(n))
    joints = "".join(fixed(f"j{i}", f"l{i}", f"l{i + 1}") for i in reversed(range(n - 1)))
    assert check_urdf(f'<robot name="r">{links}{joints}</robot>').root == "l0"


BOMB = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"><link name="a"/></robot>'
OUTSIDE = '<!DOCTYPE r SYSTEM "file:///etc/hostname"><robot name="r"><link name="a"/></robot>'


@pytest.mark.parametrize("text", [BOMB, OUTSIDE])
def test_entities_and_document_types_are_refused(text: str) -> None:
    assert "without document type and entities" in refused(text).allowed


def test_huge_and_deep_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "deep" in refused("<robot>" + "<a>" * 100_000).allowed
    monkeypatch.setattr(urdf_xml, "MAX_ELEMENTS", 20)
    assert "elements" in refused("<robot>" + "<a/>" * 30 + "</robot>").allowed
    monkeypatch.setattr(urdf_xml, "MAX_BYTES", 100)
    assert "bytes" in refused("<robot>" + " " * 200 + "</robot>").allowed


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    assert "UTF-8" in refused('<?xml version="1.0" encoding="latin-1"?>' + GOOD).allowed
    assert "UTF-8" in refused('<robot name="\ud800"/>').allowed
    file = tmp_path / "marked.urdf"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load_urdf(file, meshes=False).text == GOOD
    file = tmp_path / "wide.urdf"
    file.write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(InputError):
        load_urdf(file, meshes=False)


@pytest.mark.parametrize("wrong", [None, 3, b"<robot/>"])
def test_what_is_no_text_is_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        check_urdf(wrong)  # type: ignore[arg-type]


def test_files_are_named_and_meshes_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.urdf.*a file that can be read"):
        load_urdf(tmp_path / "nowhere.urdf")
    with pytest.raises(InputError, match="a file that can be read"):
        load_urdf(tmp_path)
    file = tmp_path / "robot.urdf"
    file.write_text(GOOD)
    with pytest.raises(InputError, match=r"robot\.urdf: link\[b\].*foot\.stl"):
        load_urdf(file)
    assert load_urdf(file, meshes=False).file == file
    (tmp_path / "foot.stl").touch()
    assert load_urdf(file).links == ("a", "b")
    file.write_text(GOOD.replace("foot.stl", "package://legs/foot.stl"))
    with pytest.raises(InputError, match="no package folder"):
        load_urdf(file)
    (tmp_path / "legs").mkdir()
    (tmp_path / "legs" / "foot.stl").touch()
    assert load_urdf(file, packages=[tmp_path]).root == "a"
    file.write_text(GOOD.replace("foot.stl", "https://legs/foot.stl"))
    with pytest.raises(InputError, match="package:// address"):
        load_urdf(file)


def tensor_of(text: str) -> np.ndarray:
    inertia = ET.fromstring(text).find(".//inertia")
    assert inertia is not None
    xx, xy, xz, yy, yz, zz = (float(inertia.get(key, "")) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_an_impossible_inertia_is_repaired_only_when_asked() -> None:
    broken = GOOD.replace('izz="1"', 'izz="3"')
    checked = check_urdf(broken, repair=True)
    assert checked.repaired == ("a",)
    # second moments of diag(1, 1, 3): (1.5, 1.5, -.5), cut at zero
    np.testing.assert_allclose(tensor_of(checked.text), np.diag([1.5, 1.5, 3.0]))
    assert check_urdf(checked.text).repaired == ()
    without_mass = check_urdf(GOOD.replace('mass value="2"', 'mass value="0"'), repair=True)
    np.testing.assert_array_equal(tensor_of(without_mass.text), np.zeros((3, 3)))
    assert check_urdf(GOOD.replace('izz="1"', 'izz="2.0015"')).repaired == ()


@given(st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_repaired_inertia_is_possible_and_a_possible_one_is_kept(entries: list[float]) -> None:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    new = " ".join(f'{name}="{value!r}"' for name, value in zip(names, entries, strict=True))
    text = GOOD.replace('ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"', new)
    checked = check_urdf(text, repair=True)
    tensor = tensor_of(checked.text)
    low, middle, high = np.linalg.eigvalsh(tensor)
    assert low + middle >= high - 1.1e-3 * abs(high) - 1e-12
    assert low >= -1.1e-3 * abs(high) - 1e-12
    if not checked.repaired:
        assert checked.text == text
        np.testing.assert_array_equal(tensor, tensor_of(text))


AVATAR = build_avatar().robot.urdf()
WORDS = ["nan", "-1", "0", "0 0 0", "1e400", "", "pelvis", "left_foot", "inf", "1 2", "\u0661", "fixed", "1,5", "-0.0"]


@given(st.integers(0, 10**6), st.sampled_from(WORDS), st.sampled_from(["set", "drop", "double", "remove"]))
@settings(max_examples=150, deadline=None)
def test_mutated_descriptions_pass_or_are_refused_and_never_break_the_checks(at: int, word: str, how: str) -> None:
    robot = ET.fromstring(AVATAR)
    places = [(parent, child) for parent in robot.iter() for child in parent]
    parent, element = places[at % len(places)]
    attribute = sorted(element.attrib)[at % len(element.attrib)] if element.attrib else None
    if how == "set" and attribute:
        element.set(attribute, word)
    elif how == "drop" and attribute:
        del element.attrib[attribute]
    elif how == "double":
        parent.append(element)
    else:
        parent.remove(element)
    try:
        checked = check_urdf(ET.tostring(robot, encoding="unicode"))
    except InputError:
        pass
    else:
        for inertia in ET.fromstring(checked.text).iter("inertial"):
            mass = inertia.find("mass")
            assert mass is not None
            assert float(mass.get("value", "nan")) >= 0
        assert how != "double" or element.tag not in {"link", "joint", "mass", "axis", "limit", "inertia"}


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: f"<robot>{text}</robot>".encode("utf-8", "replace"))
)
@settings(max_examples=80, deadline=None)
def test_any_bytes_give_a_description_or_a_refusal(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.urdf"
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"any\.urdf"):
        load_urdf(file)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("<inertia ", '<link name="c"><mass value="1"/></link><inertia ', "<link> in <inertial>"),
        ("<dynamics", '<inertial><mass value="1"/></inertial><dynamics', "<inertial> in <joint> of 'j'"),
        ("<dynamics", "<dynamcs", "<dynamcs> in <joint> of 'j'"),
        ('<axis xyz="0 0 1"/>', '<axis xzy="0 0 1"/>', "axis.xzy"),
        ('upper="1"', 'uper="1"', "limit"),
        ('<mass value="2"/>', '<mass value="1e60"/>', "link[a].inertial.mass.value"),
        ('<mass value="2"/>', '<mass value="1e-60"/>', "link[a].inertial.mass.value"),
        ('robot name="r"', "robot", "robot.name"),
    ],
)
def test_what_stands_where_nothing_reads_it_is_refused(old: str, new: str, named: str) -> None:
    assert old in GOOD
    assert named in str(refused(GOOD.replace(old, new)))


def test_words_of_other_programs_are_left_alone() -> None:
    other = '<gazebo><joint><mass value="1"/></joint></gazebo></robot>'
    check_urdf(GOOD.replace("</robot>", other).replace("<dynamics", '<drake:gear ratio="3"/><dynamics'))


def test_errors_of_what_is_made_of_a_file_name_it(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    for old, new in (('"revolute"', '"floating"'), ('<mass value="2"/>', '<mass value="0"/>')):
        file.write_text(GOOD.replace(old, new).replace('"1" ix', '"0" ix').replace('"1" iy', '"0" iy'))
        with pytest.raises(InputError, match=r"r\.urdf"):
            robot_from_urdf(load_urdf(file, meshes=False, repair=True))
