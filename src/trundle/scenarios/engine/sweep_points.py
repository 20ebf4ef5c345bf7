"""The points of a sweep: `--over table.key=a:b:n` or `=v1,v2,...`, as a grid or as random draws."""

from __future__ import annotations

import itertools
import json
import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trundle.errors import InputError
from trundle.scenarios.overrides import split
from trundle.scenarios.problems import Toml

Row = dict[str, Toml]
"""A run of a sweep as a row of its table."""

MOST_RUNS = 1_000_000  # of a sweep: the table of points fits into memory
_FORM = "of the form table.key=a:b:n or table.key=v1,v2,..."


@dataclass(frozen=True)
class Axis:
    """One key that a sweep varies, with its values.

    Parameters
    ----------
    key : str
        Dotted key, as in ``--set``.
    values : tuple
        Values on the grid, in order.
    ends : (float, float) or None
        Range from which random draws are taken; None: they are taken from `values`.
    """

    key: str
    values: tuple[Toml, ...]
    ends: tuple[float, float] | None = None

    @classmethod
    def parse(cls, text: str) -> Axis:
        """Return the axis of ``table.key=a:b:n`` (n values from a to b) or ``table.key=v1,v2,...`` (TOML values).

        Whole ends with a whole step give whole numbers, so that ``seed=0:9:10`` works.

        Raises
        ------
        InputError
            If it is not of that form.
        """
        key, given = split("--over", text, _FORM)
        words = given.split(":")
        if len(words) == 3 and not given.startswith(('"', "'", "[", "{")):
            return cls._range(key, given, *map(_number, words))
        try:
            values = tomllib.loads(f"values = [{given}]")
        except (ValueError, RecursionError):
            values = {}
        try:
            json.dumps(values, allow_nan=False)
        except (TypeError, ValueError):
            values = {}
        if list(values) != ["values"] or not values["values"]:
            hint = "; a text needs quotes" if re.search(r"[A-Za-z]", given) else ""
            raise InputError(f"--over {key}", given, f"a:b:n, or finite TOML values v1,v2,...{hint}")
        return cls(key, tuple(values["values"]))

    @classmethod
    def _range(cls, key: str, given: str, low: float, high: float, count: float) -> Axis:
        finite = all(map(math.isfinite, (low, high, count)))
        if not finite or not isinstance(count, int) or not 1 <= count <= MOST_RUNS or (count == 1 and low != high):
            allowed = "a:b:n with finite numbers a and b and a whole number n >= 2 (1 if a = b) of values"
            raise InputError(f"--over {key}", given, allowed)
        values = [float(value) for value in np.linspace(low, high, count)]
        whole = isinstance(low, int) and isinstance(high, int) and (count == 1 or (high - low) % (count - 1) == 0)
        ends = (float(low), float(high))
        return cls(key, tuple(round(value) for value in values) if whole else tuple(values), ends)

    def draw(self, generator: np.random.Generator) -> Toml:
        """Return a random value: uniform in the range, or one of the values."""
        if self.ends is None:
            return self.values[int(generator.integers(len(self.values)))]
        return float(generator.uniform(*self.ends))


@dataclass(frozen=True)
class SweepPoint:
    """One run of a sweep: its number, the keys and values it sets, and its seed (None: the scenario's own)."""

    number: int
    values: tuple[tuple[str, Toml], ...]
    seed: int | None

    @property
    def overrides(self) -> tuple[str, ...]:
        """The keys and values as arguments of ``--set``."""
        return tuple(f"{key}={toml_text(value)}" for key, value in self.values)


def axes_of(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Return the axes of the `--over` options, each of another key."""
    axes = tuple(Axis.parse(text) for text in texts)
    if not axes:
        raise InputError("--over", "", f"given at least once, {_FORM}")
    for first, second in itertools.combinations(axes, 2):
        if first.key == second.key:
            raise InputError("--over", second.key, "a key that no other --over has")
    return axes


def points_of(axes: Sequence[Axis], samples: int | None, seed: int | None) -> list[SweepPoint]:
    """Return the points: the grid of all axes, the last one fastest, or `samples` random draws.

    On a grid all runs have the same seed. Each random draw has a seed of its own as well (drawn like the values, in
    the order of the axes), unless the axes have the key ``seed``.

    Raises
    ------
    InputError
        If there are more than a million.
    """
    own = any(axis.key == "seed" for axis in axes)
    if samples is None:
        count = math.prod(len(axis.values) for axis in axes)
        if count > MOST_RUNS:
            raise InputError("--over", f"{count} runs", f"at most {MOST_RUNS} runs")
        grid = itertools.product(*(axis.values for axis in axes))
        keys, seed = [axis.key for axis in axes], None if own else seed
        return [SweepPoint(i, tuple(zip(keys, values, strict=True)), seed) for i, values in enumerate(grid)]
    if not 1 <= samples <= MOST_RUNS:
        raise InputError("--samples", samples, f"from 1 to {MOST_RUNS}")
    generator = np.random.default_rng(0 if seed is None else seed)
    points = []
    for i in range(samples):
        values = tuple((axis.key, axis.draw(generator)) for axis in axes)
        drawn = int(generator.integers(2**31))
        points.append(SweepPoint(i, values, None if own else drawn))
    return points


def toml_text(value: Toml) -> str:
    """Return a value on one line of TOML."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)} = {toml_text(v)}" for k, v in value.items()) + "}"
    return repr(value) if isinstance(value, int | float) else str(value)


def _number(word: str) -> int | float:
    word = word.strip()
    if re.fullmatch(r"[+-]?\d{1,18}", word):
        return int(word)
    try:
        return float(word)
    except ValueError:
        return math.nan
