"""Mutations of scenario files: what people and broken disks do to them."""

from __future__ import annotations

import copy
import datetime
import random
import string
from collections.abc import Callable, Sequence
from typing import Any

import tomli_w

Table = dict[str, Any]
EXTREMES: list[Any] = [
    0,
    -1,
    1,
    -0.0,
    1e-9,
    9.99e-10,
    1e9,
    1e12,
    -1e12,
    1e13,
    5e-324,
    1e308,
    -1e308,
    2**53 + 1,
    2**63,
    -(2**63),
    10**400,
    float("nan"),
    float("inf"),
    float("-inf"),
    0.1 + 0.2,
    1.7976931348623157e308,
]
OTHERS: list[Any] = [
    True,
    False,
    "",
    "0.1",
    "solid",
    "plane",
    "a\nb",
    "\u202e\x00",
    [],
    [1.0],
    [[1.0, 0.0], [0.0, 1.0]],
    [True, False, True],
    {},
    {"type": "sphere"},
    {"type": 3},
    {"type": ["a"]},
    datetime.datetime(2020, 1, 1, 12, 0),
    datetime.date(2020, 1, 1),
    datetime.time(1, 2, 3),
]
PATHS = [
    "../outside.csv",
    "/etc/passwd",
    "data/../../outside.csv",
    ".",
    "..",
    "",
    "link.csv",
    "loop.csv",
    "pipe.csv",
    "missing.csv",
    "a\x00b.csv",
    "x" * 500,
    "https://example.org/a.csv",
    "~/a.csv",
    "bumps.csv/",
    "ragged.csv",
    "letters.csv",
    "one.csv",
    "good.csv",
]
TYPES = (
    "plane sphere ellipsoid dish cylinder tube torus disc capsule superellipsoid heightmap samples coast sinusoid line "
    "parabola arc sum spline circle ellipse fourier"
).split()


SHAPES: dict[str, list[Table]] = {
    "object": [
        {"type": "sphere", "radius": 0.1},
        {"type": "ellipsoid", "semi_axes": [0.1, 0.2, 0.05]},
        {"type": "superellipsoid", "semi_axes": [0.1, 0.2, 0.1], "exponents": [1.5, 3.0], "rounding": 0.02},
        {"type": "torus", "major": 0.2, "minor": 0.05},
        {"type": "disc", "radius": 0.1, "rounding": 0.01},
        {"type": "disc", "radius": 0.1},
        {"type": "capsule", "radius": 0.1, "length": 0.3},
    ],
    "hand": [
        {"type": "plane"},
        {"type": "sphere", "radius": 1.0},
        {"type": "ellipsoid", "semi_axes": [1.0, 2.0, 1.5]},
        {"type": "dish", "semi_axes": [2.0, 1.0, 1.5]},
        {"type": "cylinder", "radius": 1.0},
        {"type": "tube", "radius": 1.0},
        {"type": "torus", "major": 2.0, "minor": 0.5},
        {"type": "heightmap", "file": "good.csv"},
    ],
    "body": [
        {"type": "circle", "radius": 0.2},
        {"type": "ellipse", "semi_axes": [0.1, 0.3]},
        {"type": "fourier", "radius": 0.2, "cos": [0.0, 0.2]},
    ],
    "terrain": [
        {"type": "line", "slope": 0.2},
        {"type": "parabola", "curvature": -0.3},
        {"type": "sinusoid", "amplitude": 0.1, "wavelength": 2.0},
        {"type": "arc", "radius": 2.0, "center": [0.0, 2.0]},
        {"type": "arc", "radius": 2.0, "side": "outside"},
        {"type": "sum", "terms": [{"type": "line", "slope": 0.5}, {"type": "parabola", "curvature": 0.5}]},
    ],
}


def mutated(base: Table, rng: random.Random, ways: Sequence[Callable[[Table, random.Random], None]] = ()) -> bytes:
    """Return the bytes of `base` after one to four mutations (`ways`), in the tables or in the text."""
    data = copy.deepcopy(base)
    for _ in range(rng.choice([1, 1, 2, 3])):
        rng.choice(ways or TABLE_MUTATIONS)(data, rng)
    try:
        text = tomli_w.dumps(data)
    except (TypeError, ValueError, AttributeError, RecursionError):
        text = tomli_w.dumps(base)
    content = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.25 and content:
        content = rng.choice(BYTE_MUTATIONS)(content, rng)
    return content


def _slots(value: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """Return (container, key or index) of every value, at any depth."""
    found = [] if found is None else found
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        found.append((value, key))
        if isinstance(inner, dict | list):
            _slots(inner, found)
    return found


def _slot(data: Table, rng: random.Random, wanted: Callable[[Any], bool] = lambda v: True) -> tuple[Any, Any] | None:
    fitting = [(box, key) for box, key in _slots(data) if wanted(box[key])]
    return rng.choice(fitting) if fitting else None


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def rename(data: Table, rng: random.Random) -> None:
    """A key with a typing mistake."""
    boxes = [data, *(box for box, _ in _slots(data) if isinstance(box, dict))]
    box = rng.choice(boxes)
    if not box:
        return
    key = rng.choice(list(box))
    place = rng.randrange(len(key) + 1)
    letter = rng.choice(string.ascii_lowercase + "_ .-é")
    new = rng.choice(
        [key[:place] + letter + key[place:], key[:place] + key[place + 1 :], key + "s", key.upper(), key[::-1]]
    )
    value = box[key]
    if rng.random() < 0.7:
        del box[key]
    box[new] = value


def retype(data: Table, rng: random.Random) -> None:
    """A value of another type."""
    if slot := _slot(data, rng):
        slot[0][slot[1]] = copy.deepcopy(rng.choice(OTHERS))


def extreme(data: Table, rng: random.Random) -> None:
    """A number at or beyond the edge."""
    if slot := _slot(data, rng, _number):
        slot[0][slot[1]] = rng.choice(EXTREMES)


def plausible(data: Table, rng: random.Random) -> None:
    """A number that may well be right: these files get as far as a model."""
    if slot := _slot(data, rng, _number):
        slot[0][slot[1]] = rng.choice([1, -1, 1, 1]) * 10 ** rng.uniform(-4, 2)


def shape(data: Table, rng: random.Random) -> None:
    """Another shape, and somewhere on it."""
    name = rng.choice([name for name in SHAPES if isinstance(data.get(name), dict)] or [""])
    if name:
        data[name]["shape" if name in ("object", "hand") else "curve"] = copy.deepcopy(rng.choice(SHAPES[name]))
    initial = data.setdefault("initial", {})
    if isinstance(initial, dict) and rng.random() < 0.7:
        if "object" in data:
            initial["contact_on_hand"] = [round(rng.uniform(-2, 2), 2) for _ in range(3)]
        else:
            initial["contact_x"] = rng.uniform(-2, 2)
            initial["angle"] = rng.uniform(-4, 4)


def units(data: Table, rng: random.Random) -> None:
    """Millimetres for metres, degrees for radians, or the unit written into the value."""
    if slot := _slot(data, rng, _number):
        value = slot[0][slot[1]]
        if not -1e15 < value < 1e15:
            return
        changes = (value * 1000, value / 1000, value * 57.29577951308232, -value, f"{value} m", int(value) or 1)
        slot[0][slot[1]] = rng.choice(changes)


def remove(data: Table, rng: random.Random) -> None:
    """A key or an array's element that is not there."""
    if slot := _slot(data, rng):
        del slot[0][slot[1]]


def lengthen(data: Table, rng: random.Random) -> None:
    """An array of another length."""
    if slot := _slot(data, rng, lambda v: isinstance(v, list)):
        box = slot[0][slot[1]]
        if box and rng.random() < 0.4:
            box.pop()
        else:
            box.extend(copy.deepcopy(rng.choice([[0.0], [[0.0]], box * 50, ["x"], [{}]])))


def nest(data: Table, rng: random.Random) -> None:
    """A value deep inside tables or arrays."""
    if slot := _slot(data, rng):
        value = slot[0][slot[1]]
        for _ in range(rng.choice([1, 2, 20, 200])):
            value = {rng.choice(["x", "type", "shape"]): value} if rng.random() < 0.5 else [value]
        slot[0][slot[1]] = value


def tag(data: Table, rng: random.Random) -> None:
    """A table of another type with the old keys."""
    if slot := _slot(data, rng, lambda v: isinstance(v, dict) and "type" in v):
        slot[0][slot[1]]["type"] = rng.choice([*TYPES, "spere", "", 1, "Plane"])


def path(data: Table, rng: random.Random) -> None:
    """A data file that is elsewhere, missing or strange."""
    box = data.get("hand") or data.get("terrain")
    if isinstance(box, dict):
        key, kind = rng.choice([("shape", "heightmap"), ("motion", "samples"), ("curve", "spline")])
        box[key] = {"type": kind, "file": rng.choice(PATHS)}


def swap(data: Table, rng: random.Random) -> None:
    """Two tables exchanged, or one where it does not belong."""
    if len(data) > 1:
        a, b = rng.sample(list(data), 2)
        data[a], data[b] = data[b], data[a]


def head(data: Table, rng: random.Random) -> None:
    """Keys at the top."""
    key = rng.choice(["schema", "kind", "task", "name", "title", "seed", "paper", "parts"])
    data[key] = rng.choice(
        [0, 1, 2, 1.0, True, "juggling", "planar", "simulate", "walking", "", "a/b", "x" * 3000, [], {}, -1, 2**60]
    )


def parts(data: Table, rng: random.Random) -> None:
    """Comparison parts, right and wrong."""
    name = rng.choice(["a", "pure-rolling", "", "a b", "x" * 200, "../a"])
    tables: list[Any] = [
        {"contact": {"friction": rng.choice([0.5, -1.0, "x", 2])}},
        {"simulation": {"relative_tolerance": 1e-8}},
        {"simulation": {"step": 0.002, "relative_tolerance": 1e-8}},
        {"object": {"shape": {"type": "sphere", "radius": 0.1}}},
        {"parts": {"b": {}}},
        {"kind": "planar"},
        3,
        {"contact": 3},
        {},
    ]
    if isinstance(data.get("parts"), dict) or "parts" not in data:
        data.setdefault("parts", {})[name] = rng.choice(tables)


def _flip(content: bytes, rng: random.Random) -> bytes:
    result = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 10])):
        result[rng.randrange(len(result))] = rng.randrange(256)
    return bytes(result)


def _cut(content: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(content)) for _ in range(2))
    return content[:a] + content[b:]


def _insert(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    noise = rng.choice(
        [b"\x00", b"\xff\xfe", b"[", b"[[", b"]", b'"""', b"=", b"\r", b"\n[x]\n", b"{" * 500, b"a." * 300, b"1" * 5000]
    )
    return content[:place] + noise + content[place:]


def _double(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    return b"".join([*lines[:place], lines[place], *lines[place:]])


def _bom(content: bytes, rng: random.Random) -> bytes:
    return b"\xef\xbb\xbf" + content if rng.random() < 0.5 else content.decode("utf-8", "replace").encode("utf-16")


ANY_TABLE = [rename, retype, extreme, extreme, plausible, units, remove, lengthen, nest, swap]
TABLE_MUTATIONS = [
    *(plausible, plausible, plausible, shape, shape, shape),
    *(rename, retype, extreme, extreme, units, units, remove, lengthen, nest, tag, path, swap, head, parts),
]
BYTE_MUTATIONS = [_flip, _flip, _cut, _insert, _double, _bom]
