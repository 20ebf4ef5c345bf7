"""Reading untrusted XML: bounded in size, depth and number of elements, without document types or entities."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from xml.parsers import expat

from trundle.errors import InputError

MAX_BYTES = 20_000_000  # of an untrusted file
MAX_ELEMENTS = 200_000  # of an untrusted file
MAX_DEPTH = 50
"""Bounds of a file; the largest public robot descriptions stay a factor of ten below each."""

TENSOR = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
"""Attributes of an <inertia> and their places in the tensor."""
_MOST = 1e50  # as of masses: what is computed of them can be squared
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def parse_xml(data: bytes) -> ET.Element:
    """Return the root of an XML document in UTF-8.

    Raises
    ------
    InputError
        If it is too large, too deep, not well formed, in another encoding, or declares a document type or
        entities (entities that expand to entities can fill the memory, external ones read other files).
    """
    if len(data) > MAX_BYTES:
        raise InputError("file", f"{len(data)} bytes", f"at most {MAX_BYTES} bytes")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("xml", f"byte {error.start}", "text in UTF-8") from None
    parser = expat.ParserCreate("utf-8")
    builder = _TreeBuilder(parser)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError("xml", str(error), "well formed XML") from None
    return builder.tree.close()


def number_of(key: str, text: str | None) -> float:
    """Return the finite number a text is; nan, inf, hexadecimal digits and underscores are none.

    Raises
    ------
    InputError
        Otherwise, or if the attribute is missing (None).
    """
    (value,) = numbers_of(key, text, 1)
    return value


def numbers_of(key: str, text: str | None, count: int) -> tuple[float, ...]:
    """Return the `count` finite numbers of a text, separated by white space."""
    allowed = "a finite number" if count == 1 else f"{count} finite numbers"
    parts = () if text is None else text.split(None, count + 1)
    if len(parts) != count or any(_NUMBER.fullmatch(part) is None for part in parts):
        raise InputError(key, text, allowed)
    values = tuple(float(part) for part in parts)
    if any(abs(value) > _MOST for value in values):
        raise InputError(key, text, f"{allowed}, up to {_MOST:g}")
    return values


class _TreeBuilder:
    """Builds the tree from expat's events and refuses what a robot's description has no use for."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self.parser = parser
        self.tree = ET.TreeBuilder()
        self.depth = 0
        self.count = 0
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.tree.data
        parser.XmlDeclHandler = self.declaration
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.doctype

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.count += 1
        if self.depth > MAX_DEPTH:
            raise InputError("xml", self.where(tag), f"nested at most {MAX_DEPTH} deep")
        if self.count > MAX_ELEMENTS:
            raise InputError("xml", self.where(tag), f"at most {MAX_ELEMENTS} elements")
        self.tree.start(tag, attributes)

    def end(self, tag: str) -> None:
        self.depth -= 1
        self.tree.end(tag)

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii", "ascii"):
            raise InputError("xml", f"encoding {encoding}", "in UTF-8")

    def doctype(self, name: str, *details: object) -> None:
        raise InputError("xml", self.where(f"!DOCTYPE or !ENTITY {name}"), "without document type and entities")

    def where(self, tag: str) -> str:
        return f"<{tag}> at line {self.parser.CurrentLineNumber}"
