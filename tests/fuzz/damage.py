"""What disks, people and other programs do to files: damage, and wrong values under a right checksum."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tests.fuzz import mutate

SEAL = b"\ntrundle-sha256:"
_WORDS = [
    b"nan", b"-inf", b"1e999", b"-1", b"0", b"1e308", b"9" * 400, b"99999999999999999999", b"true", b"null", b'"x"',
    b"''", b"[]", b"{}", b"[1, 2]", b"[[[1.0]]]", b"1_0", b"0x10", b"\xff", b"\x00", b"\xe2\x80\xae", b"[" * 3000,
    b'{"a":' * 2000, b'"\\ud800"',
]  # fmt: skip
VALUES: list[Any] = [
    None, True, -1, 0, 1e308, 10**400, 2**63, "", "x", "\ud800", "a\x00b", [], [1], ["x"], {}, {"x": 1}, [[1.0, 2.0]],
    "x" * 5000,
]  # fmt: skip


def bytes_of(content: bytes, rng: random.Random) -> bytes:
    """Return the bytes damaged in one way: a bit, a byte, a block lost, moved, doubled or zeroed, a cut, a word."""
    n = len(content)
    a, b = sorted(rng.randrange(n + 1) for _ in range(2))
    b = min(b, a + rng.choice([1, 8, 64, 4096]))
    ways: list[Callable[[], bytes]] = [
        lambda: _with(content, a % n, content[a % n] ^ (1 << rng.randrange(8))),
        lambda: _with(content, a % n, rng.randrange(256)),
        lambda: content[:a],
        lambda: content[:a] + content[b:],
        lambda: content[:b] + content[a:b] + content[b:],
        lambda: content[:a] + bytes(b - a) + content[b:],
        lambda: content[b:] + content[:b],
        lambda: content[:a] + rng.choice(_WORDS) + content[a:],
        lambda: content + rng.randbytes(rng.randrange(1, 50)),
    ]
    return rng.choice(ways)()


def _with(content: bytes, place: int, value: int) -> bytes:
    return content[:place] + bytes([value]) + content[place + 1 :]


def text_of(content: bytes, rng: random.Random) -> bytes:
    """Return a text with one word replaced, one line lost, doubled or moved; else damaged bytes."""
    if rng.random() < 0.3:
        return bytes_of(content, rng)
    lines = content.splitlines(keepends=True)
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(6)
    if way == 0:
        del lines[i]
    elif way == 1:
        lines.insert(j, lines[i])
    elif way == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        words = list(re.finditer(rb"[\w.+-]+", content))
        word = rng.choice(words)
        return content[: word.start()] + rng.choice(_WORDS) + content[word.end() :]
    return b"".join(lines)


def xml_of(content: bytes, rng: random.Random) -> bytes:
    """Return a well-formed XML with one element or attribute lost, doubled, moved, renamed or of another value."""
    root = ET.fromstring(content)
    for _ in range(rng.choice([1, 1, 2])):
        inner = [(parent, child) for parent in root.iter() for child in parent]
        holders = [element for element in root.iter() if element.attrib]
        if not inner or not holders:
            break
        (parent, child), (other, _), element = rng.choice(inner), rng.choice(inner), rng.choice(holders)
        outside = not any(other is e for e in child.iter())
        key = rng.choice(list(element.attrib))
        words = element.attrib[key].split() or [""]
        place = rng.randrange(len(words))
        way = rng.randrange(10)
        if way == 0:
            parent.remove(child)
        elif way == 1 and outside:
            other.append(child)  # twice in the tree
        elif way == 2 and outside:
            parent.remove(child)
            other.append(child)
        elif way == 3:
            child.tag = rng.choice([e.tag for e in root.iter()] + ["xacro:x", "gazebo"])
        elif way == 4:
            element.attrib[rng.choice(["other", *rng.choice(holders).attrib])] = element.attrib.pop(key)
        elif way == 5:
            element.attrib[key] = rng.choice([v for e in holders for v in e.attrib.values()])
        else:
            words[place] = _another(words[place], rng)
            element.attrib[key] = " ".join(words)
    return ET.tostring(root)


def _another(word: str, rng: random.Random) -> str:
    """Return another word: a number times something, of another sign, at the edge, or none."""
    try:
        value = float(word)
    except ValueError:
        return rng.choice(["", "x", word + "x", word.upper(), "nan", "fixed", "floating", "planar", "screw", "\u0661"])
    numbers = ["nan", "inf", "-inf", "1e300", "-1e300", "1e-300", "5e-324", "0", "-0.0", "1e999", "0x10", "1_0", "1,5"]
    return rng.choice(
        [*numbers, repr(-value), repr(value * 10 ** rng.uniform(-9, 9)), repr(value * (1 + 1e-9)), word * 2]
    )


def toml_of(content: bytes, rng: random.Random) -> bytes:
    """Return a TOML file some values, keys or tables of which are others, lost or elsewhere."""
    return mutate.mutated(tomllib.loads(content.decode()), rng, mutate.ANY_TABLE)


def rows_of(content: bytes, rng: random.Random) -> bytes:
    """Return a table with rows or columns lost, doubled, exchanged or turned round, or other words or separators."""
    lines = content.decode().splitlines()
    mark = next((m for m in ("\t", ",") if m in lines[-1]), " ")
    table = [line.split(mark) for line in lines]
    i, j = rng.randrange(len(table)), rng.randrange(len(table))
    k, m = rng.randrange(len(table[-1])), rng.randrange(len(table[-1]))
    way = rng.randrange(12)
    if way == 0:
        table[1:] = table[:0:-1]
    elif way == 1:
        table.insert(j, list(table[i]))
    elif way == 2:
        table[i], table[j] = table[j], table[i]
    elif way == 3:
        table = [row[:k] + row[k + 1 :] for row in table]
    elif way == 4:
        table = [[*row, *row[k : k + 1]] for row in table]
    elif way == 5:
        table = [[row[m] if n == k and m < len(row) else word for n, word in enumerate(row)] for row in table]
    elif way == 6:
        mark = rng.choice([";", ",", "\t", " ", ", ", "\t\t"])
    elif way == 7:
        del table[min(i, j) : max(i, j)]
    elif table[i]:
        k %= len(table[i])
        table[i][k] = _another(table[i][k], rng)
    return ("\n".join(mark.join(row) for row in table) + rng.choice(["\n", "\n", "", "\r\n\n"])).encode()


def value_in(data: Any, rng: random.Random) -> None:
    """Replace, remove or rename one value somewhere in JSON tables and lists."""
    slots: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            slots.append((value, key))
            if isinstance(value[key], dict | list):
                collect(value[key])

    collect(data)
    if not slots:
        return
    table, key = rng.choice(slots)
    way = rng.random()
    if way < 0.15:
        del table[key]
    elif way < 0.2 and isinstance(table, dict):
        table["other"] = table.pop(key)
    else:
        table[key] = rng.choice(VALUES)


def array_of(values: np.ndarray, rng: random.Random) -> np.ndarray:
    """Return another array: a value that is none, another shape, length or type."""
    other = np.array(values)
    ways: list[Callable[[], np.ndarray]] = [
        lambda: other[: len(other) // 2] if other.ndim else other[None],
        lambda: np.concatenate([other, other]) if other.ndim else other,
        lambda: other[::-1] if other.ndim else other,
        lambda: other[..., None],
        lambda: other[..., :0] if other.ndim else other,
        lambda: other.astype("S8") if other.dtype.kind in "fiub" else np.zeros(other.shape),
        lambda: other.astype(np.complex128) if other.dtype.kind in "fiub" else other,
        lambda: np.full(other.shape, rng.choice([np.nan, np.inf, -1e300])),
        lambda: other.astype(np.float32) if other.dtype.kind in "fiub" else other,
        lambda: np.full(other.shape, 99, dtype=np.int64),
    ]
    if other.dtype == np.float64 and other.size and rng.random() < 0.5:
        other.flat[rng.randrange(other.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1.0])
        return other
    return rng.choice(ways)()


def unsealed(file: bytes) -> bytes:
    """Return what the checksum of a file is of."""
    return file.rpartition(SEAL)[0]


def sealed(content: bytes) -> bytes:
    """Return a content with its checksum, as another program that knows of it would write."""
    return content + SEAL + hashlib.sha256(content).hexdigest().encode() + b"\n"


def npz_under_checksum(file: bytes, rng: random.Random) -> bytes:
    """Return a well-formed .npz with its checksum, one value or array of which is wrong, or whose bytes are damaged."""
    inner = unsealed(file)
    if rng.random() < 0.2:
        return sealed(bytes_of(inner, rng))
    with np.load(io.BytesIO(inner)) as data:
        arrays = {name: data[name] for name in data.files}
    name = rng.choice([*arrays, *["content"] * 6])
    if name == "content":
        content = json.loads(str(arrays["content"]))
        value_in(content, rng)
        arrays["content"] = np.array(json.dumps(content))
    elif rng.random() < 0.1:
        del arrays[name]
    else:
        arrays[name] = array_of(arrays[name], rng)
    np.savez(memory := io.BytesIO(), **arrays)
    return sealed(memory.getvalue())


def netcdf_under_checksum(file: bytes, rng: random.Random) -> bytes:
    """Return a NetCDF file with its checksum, one value, variable or attribute of which is wrong."""
    memory = io.BytesIO(unsealed(file))
    with h5py.File(memory, "r+") as data:
        names: list[str] = []
        data.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        way = rng.random()
        name = rng.choice(names)
        if way < 0.5:
            said = json.loads(data["trundle/content"][()])
            value_in(said, rng)
            data["trundle/content"][()] = json.dumps(said)
        elif way < 0.6:
            del data[name]
        elif way < 0.7:
            attributes = data[name].attrs
            attributes[rng.choice([*attributes, "units", "_FillValue", "scale_factor", "dtype"])] = rng.choice(
                [1.0, "x", [1, 2], np.nan, "days since 1970-01-01"]
            )
        else:
            _replace(data, name, rng)
    return sealed(memory.getvalue())


def _replace(data: h5py.File, name: str, rng: random.Random) -> None:
    values = data[name][()]
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.size and rng.random() < 0.5:
        values.flat[rng.randrange(values.size)] = rng.choice([np.nan, np.inf, -1.0, 1e308])
        data[name][...] = values
        return
    scales = [data[name].dims[i].values() for i in range(data[name].ndim)]
    del data[name]
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        data[name] = array_of(values, rng)
    else:
        data[name] = rng.choice(["x", 1.0, np.zeros(3)])
    for i, scale in enumerate(scales[: data[name].ndim]):
        for one in scale:
            if one and one.is_scale:
                data[name].dims[i].attach_scale(one)


def row_under_checksum(file: bytes, rng: random.Random) -> bytes:
    """Return a journal one row of which is wrong, under the checksum of that row."""
    lines = file.splitlines()
    i = rng.randrange(len(lines))
    row = json.loads(lines[i])
    row.pop("sha256")
    value_in(row, rng)
    text = json.dumps(row)
    lines[i] = json.dumps(row | {"sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()
    return b"\n".join(lines) + b"\n"


def lines_of(file: bytes, rng: random.Random) -> bytes:
    """Return a list of JSON lines with another value in one of them."""
    lines = file.splitlines()
    held = [json.loads(lines[i := rng.randrange(len(lines))])]
    value_in(held, rng)
    lines[i] = json.dumps(held[0] if held else "").encode()
    return b"\n".join(lines) + b"\n"


def json_of(file: bytes, rng: random.Random) -> bytes:
    """Return a JSON file with another value somewhere."""
    data = json.loads(file)
    value_in(data, rng)
    return json.dumps(data).encode()


def file_of(folder: Path, name: str, content: bytes) -> Path:
    """Write the bytes of a file and return its path."""
    (folder / name).write_bytes(content)
    return folder / name
