"""Checks of robot descriptions (URDF): what is broken is refused, element and rule named, before a library reads it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trundle.checks import FloatArray, instance, positive
from trundle.errors import InputError
from trundle.models.brief import brief
from trundle.models.urdf.joints import check_joint, check_structure
from trundle.models.urdf.xml import MAX_BYTES, TENSOR, number_of, numbers_of, parse_xml
from trundle.records.whole import read_bytes

SLACK = 1e-3
"""Part of the largest principal moment by which rounded entries may break I1 + I2 >= I3 or fall below zero."""

NEGLIGIBLE = 1e-15
"""kg m2: below it an inertia is the dust of a computation and counts as zero."""

_OWN = {
    "robot": {"link", "joint", "material"},
    "link": {"inertial", "visual", "collision", "origin"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration", "safety_controller"},
    "inertial": {"origin", "mass", "inertia"},
    "visual": {"origin", "geometry", "material"},
    "collision": {"origin", "geometry", "material"},
}
_WORDS = set[str]().union(*_OWN.values())
_ATTRIBUTES = {
    "origin": {"xyz", "rpy"},
    "mass": {"value"},
    "inertia": {key for key, _, _ in TENSOR},
    "axis": {"xyz"},
    "parent": {"link"},
    "child": {"link"},
    "mimic": {"joint", "multiplier", "offset"},
}
_SINGLE = {"inertial", "mass", "inertia", "origin", "axis", "limit", "parent", "child", "geometry", "mimic", "dynamics"}


@dataclass(frozen=True, repr=False)
class CheckedUrdf:
    """A description that passed `check_urdf`.

    Attributes
    ----------
    text : str
        The XML, for a library to read.
    name : str
        Of the robot.
    root : str
        The link without parent: the base.
    links : tuple of str
    joints : dict of name -> type
    file : Path or None
    repaired : tuple of str
        Links whose inertia was replaced, see `load_urdf`.
    """

    text: str
    name: str
    root: str
    links: tuple[str, ...]
    joints: dict[str, str]
    file: Path | None
    folders: tuple[Path, ...] = ()
    repaired: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return links and joints in one line."""
        return brief(self, self.name, links=self.links, joints=self.joints)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Have errors of what is made of the description name its file."""
        try:
            yield
        except InputError as error:
            raise error.within("", None if self.file is None else str(self.file)) from None


def load_urdf(
    path: str | Path, packages: Sequence[str | Path] = (), *, meshes: bool = True, repair: bool = False
) -> CheckedUrdf:
    """Return the checked description in a file; see `check_urdf`.

    Parameters
    ----------
    path : str or Path
    packages : sequence of str or Path
        Folders that hold the packages of ``package://`` addresses, or are one.
    meshes : bool
        Whether mesh files must be there; dynamics need none.
    repair : bool
        Replace impossible inertias (a quarter of the public descriptions have some, mostly of small parts) by
        the nearest possible ones instead of refusing them; ``repaired`` names the links. With the second moments
        of mass S = tr(I)/2 1 - I, which a mass distribution makes positive semidefinite: negative eigenvalues
        of S become zero, I = tr(S) 1 - S. A link without mass gets no inertia.

    Raises
    ------
    InputError
        If the file is missing or broken; the error names the file.

    Examples
    --------
    The description of the built-in avatar, written to a file and read from it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "avatar.urdf"
    ...     _ = file.write_text(tr.walking.build_avatar().robot.urdf())
    ...     urdf = tr.load_urdf(file)
    >>> urdf.name, urdf.root, urdf.joints["left_knee"]
    ('avatar_male', 'pelvis', 'revolute')
    """
    file = Path(path)
    if file.is_dir():
        raise InputError("file", str(path), "a file that can be read (it is a folder)")
    data = read_bytes(file, MAX_BYTES, "file", str(path))
    try:
        return _check_description(data, file, (file.parent, *map(Path, packages)), meshes, repair)
    except InputError as error:
        raise type(error)(error.key, error.value, error.allowed, str(path)) from None


def check_urdf(text: str, *, repair: bool = False) -> CheckedUrdf:
    """Return the checked description in a text; mesh files are not looked for. ``repair``: see `load_urdf`.

    A description is accepted if

    1. the XML is well formed, of bounded size, without document type and entities (`trundle.models.urdf.xml`);
    2. every number is finite; masses are >= 0, and > 0 where there is an inertia; inertias are those of a mass
       distribution: no principal moment below zero, I1 + I2 >= I3 (to `SLACK`: files round);
    3. what URDF has words for stands where it is read, and no joint or inertial has other words (but ``name:word``);
       axes are not zero, lower <= upper, both given or none, efforts, rates, damping and friction >= 0; sizes of
       shapes > 0;
    4. names of links and of joints are unique, joints join two different links that exist, every link has one
       parent but the base: no loops, one tree; who mimics follows a joint that does not follow it in turn.

    Raises
    ------
    InputError
        Naming the element, as in ``link[foot].inertial.mass.value``, and the rule.
    """
    instance("urdf", text, str, "a text")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise InputError("urdf", text, "text in UTF-8") from None
    return _check_description(data, None, (), False, repair)


def _check_description(
    data: bytes, file: Path | None, folders: tuple[Path, ...], meshes: bool, repair: bool
) -> CheckedUrdf:
    robot = parse_xml(data)
    if robot.tag != "robot":
        raise InputError("xml", f"<{robot.tag}>", "a <robot> element at the root")
    _name("robot", robot)
    for element in robot.iter():
        _check_element(element)
    _check_words(robot)
    links = [_name("link", link) for link in robot.findall("link")]
    repaired = []
    for name, link in zip(links, robot.findall("link"), strict=True):
        if _check_link(name, link, folders, meshes, repair):
            repaired.append(name)
    joints = [(_name("joint", joint), joint) for joint in robot.findall("joint")]
    for name, joint in joints:
        try:
            _check_origin(joint)
            check_joint(joint)
        except InputError as error:
            raise error.within(f"joint[{name}]") from None
    root = check_structure(links, joints)
    kinds = {name: str(joint.get("type")) for name, joint in joints}
    text = ET.tostring(robot, encoding="unicode") if repaired else data.decode("utf-8-sig")
    return CheckedUrdf(text, robot.get("name", ""), root, tuple(links), kinds, file, folders, tuple(repaired))


def _check_element(element: ET.Element) -> None:
    """Rules of any element: no macros left, nothing twice that libraries read once."""
    if element.tag.startswith("xacro:"):
        raise InputError("xml", f"<{element.tag}>", "plain URDF: expand macros (xacro) first")
    if element.tag in ("link", "joint", "inertial", "visual", "collision"):
        tags = [child.tag for child in element if child.tag in _SINGLE]
        twice = next((tag for tag in tags if tags.count(tag) > 1), None)
        if twice:
            name = element.get("name")
            raise InputError(f"{element.tag}[{name}]" if name else element.tag, f"<{twice}> twice", "given once")


def _check_words(element: ET.Element) -> None:
    """Refuse what stands where nothing reads it: in another element than its own, or misspelt."""
    name = f" of {element.get('name')!r}" if element.get("name") else ""
    own = _OWN.get(element.tag, set[str]())
    for child in element:
        if child.tag in own:
            _check_words(child)
        elif child.tag in _WORDS or (element.tag in ("joint", "inertial") and ":" not in child.tag):
            rule = f"where it is read: <{element.tag}> has " + ", ".join(f"<{tag}>" for tag in sorted(own))
            raise InputError("xml", f"<{child.tag}> in <{element.tag}>{name}", rule)
    known = _ATTRIBUTES.get(element.tag, set(element.attrib))
    for key in element.attrib.keys() - known:
        raise InputError(f"{element.tag}.{key}", element.get(key), "one of " + ", ".join(sorted(known)))


def _name(tag: str, element: ET.Element) -> str:
    name = element.get("name", "")
    if not name.strip():
        raise InputError(f"{tag}.name", element.get("name"), "a name that is not empty")
    return name


def _check_link(name: str, link: ET.Element, folders: Sequence[Path], meshes: bool, repair: bool) -> bool:
    """Check a link's inertia and shapes; return whether the inertia was replaced."""
    try:
        repaired = _check_inertial(link.find("inertial"), repair)
        for part in (*link.findall("visual"), *link.findall("collision")):
            try:
                _check_shape(part, folders, meshes)
            except InputError as error:
                raise error.within(part.tag) from None
    except InputError as error:
        raise error.within(f"link[{name}]") from None
    return repaired


def _check_inertial(inertial: ET.Element | None, repair: bool) -> bool:
    if inertial is None:
        return False
    try:
        _check_origin(inertial)
        mass_element, inertia_element = inertial.find("mass"), inertial.find("inertia")
        if mass_element is None:
            raise InputError("mass", None, "given: an <inertial> has a <mass>")
        mass = number_of("mass.value", mass_element.get("value"))
        if mass < 0:
            raise InputError("mass.value", mass, ">= 0 (kg)")
        if mass > 0:
            positive("mass.value", mass, "kg")
        if inertia_element is None:
            raise InputError("inertia", None, "given: an <inertial> has an <inertia>")
        tensor = np.zeros((3, 3))
        for key, i, j in TENSOR:
            tensor[i, j] = tensor[j, i] = number_of(f"inertia.{key}", inertia_element.get(key))
        broken = _broken_rule(mass, tensor)
        if broken is not None and not repair:
            raise broken
    except InputError as error:
        raise error.within("inertial") from None
    if broken is not None:
        possible = nearest_possible(tensor) if mass > 0 else np.zeros((3, 3))
        for key, i, j in TENSOR:
            inertia_element.set(key, repr(float(possible[i, j])))
    return broken is not None


def _broken_rule(mass: float, tensor: FloatArray) -> InputError | None:
    """The rule that mass and inertia (3, 3) break, if any."""
    size = float(np.max(np.abs(tensor)))
    if size < NEGLIGIBLE:
        return None
    if mass == 0:
        return InputError("mass.value", mass, "> 0 (kg): the link has an inertia")
    low, middle, high = np.linalg.eigvalsh(tensor / size)
    if low >= -SLACK * high and low + middle >= high * (1 - SLACK):
        return None
    rule = "an inertia of a mass distribution: no principal moment below zero, I1 + I2 >= I3 in every order"
    return InputError("inertia", [float(m) * size for m in (low, middle, high)], rule)


def nearest_possible(tensor: FloatArray, least: float = 0.0) -> FloatArray:
    """Return the possible inertia nearest to `tensor` (3, 3), kg m2: see `load_urdf`.

    The second moments of mass are at least `least` (kg m2) each: above zero it is an inertia with I1 + I2 > I3 > 0.
    """
    size = max(float(np.max(np.abs(tensor))), least)
    scaled = tensor / size
    values, axes = np.linalg.eigh(np.trace(scaled) / 2 * np.eye(3) - scaled)
    second = (axes * np.maximum(values, least / size)) @ axes.T
    return size * (np.trace(second) * np.eye(3) - second)


def _check_origin(element: ET.Element) -> None:
    origin = element.find("origin")
    for key in ("xyz", "rpy"):
        if origin is not None and key in origin.attrib:
            numbers_of(f"origin.{key}", origin.get(key), 3)


def _check_shape(part: ET.Element, folders: Sequence[Path], meshes: bool) -> None:
    _check_origin(part)
    geometry = part.find("geometry")
    shapes = [] if geometry is None else list(geometry)
    if len(shapes) != 1:
        raise InputError("geometry", [shape.tag for shape in shapes], "one shape")
    shape = shapes[0]
    sizes = {"box": {"size": 3}, "sphere": {"radius": 1}, "cylinder": {"radius": 1, "length": 1}}
    sizes["capsule"] = sizes["cylinder"]
    if shape.tag == "mesh":
        if "scale" in shape.attrib and 0.0 in numbers_of("mesh.scale", shape.get("scale"), 3):
            raise InputError("mesh.scale", shape.get("scale"), "three numbers that are not zero")
        _check_mesh(shape.get("filename", ""), folders, meshes)
    elif shape.tag not in sizes:
        raise InputError("geometry", f"<{shape.tag}>", "one of " + ", ".join([*sizes, "mesh"]))
    for key, count in sizes.get(shape.tag, {}).items():
        if min(numbers_of(f"{shape.tag}.{key}", shape.get(key), count)) <= 0:
            raise InputError(f"{shape.tag}.{key}", shape.get(key), "> 0 (m)")


def mesh_places(address: str, folders: Sequence[Path]) -> list[Path]:
    """Return where the mesh of an address may lie, from the description's folder, the first, or the packages'.

    A package is one of the other folders, or a folder in one of them.

    Raises
    ------
    InputError
        If the address is of another kind.
    """
    name = address.removeprefix("package://")
    if name != address:
        return [home / part for home in folders[1:] for part in (name, name.partition("/")[2])]
    name = address.removeprefix("file://")
    if "://" in name:
        raise InputError("mesh.filename", address, "a file, or a package:// address")
    return [folders[0] / name]


def _check_mesh(address: str, folders: Sequence[Path], there: bool) -> None:
    if not address or "\0" in address:
        raise InputError("mesh.filename", address, "the name of a file")
    places = mesh_places(address, folders) if there else []
    try:
        found = any(place.is_file() for place in places) or not there
    except (OSError, ValueError):
        found = False
    if not found:
        looked = ", ".join(map(str, places)) or "no package folder was given"
        raise InputError("mesh.filename", address, f"a file that is there ({looked})")
