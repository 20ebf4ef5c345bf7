"""A scenario: a checked file with its overrides, the folder its data files lie in, and its comparison parts."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from trundle.checks import inside
from trundle.errors import InputError
from trundle.scenarios import catalogue, files, overrides
from trundle.scenarios.problems import Problem, ScenarioError, Toml, keys_of, problems_of, suggestion
from trundle.scenarios.schema import DataFile, ScenarioTable, Table, schema_of

TablesT = TypeVar("TablesT", bound=ScenarioTable)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NUMBERS = re.compile(r"\[\n(?:\s+[-+.\w]+,\n)+\s*\]")  # texts hold no line ends, so this is only ever an array
_DEPTH = 16  # tables in tables, far more than any schema has
_DOTS = 200  # in one line: the TOML reader's time grows with their square


@dataclass(frozen=True)
class Scenario:
    """A checked scenario with all defaults filled in: the input of `run`.

    Parameters
    ----------
    name : str
        Name in results.
    tables : ScenarioTable
        The checked tables, defaults filled in.
    folder : Path
        Folder of the data files.
    file : str
        The file as the user named it, for messages.
    allow_path : tuple of Path
        Further folders data files may lie in.
    parts : mapping of str to Scenario
        Runs to compare the main run with.
    set_keys : tuple of str
        Dotted keys that ``--set`` gave a value, for messages.
    """

    name: str
    tables: ScenarioTable
    folder: Path
    file: str
    allow_path: tuple[Path, ...] = ()
    parts: Mapping[str, Scenario] = field(default_factory=dict)
    set_keys: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind, as in the file."""
        return str(getattr(self.tables, "kind"))  # noqa: B009 - every schema has it, each with its own literal type

    @property
    def task(self) -> str:
        """The task, as in the file."""
        return str(getattr(self.tables, "task"))  # noqa: B009

    def read(self, schema: type[TablesT]) -> TablesT:
        """Return the tables as an instance of `schema`, the schema of the scenario's task."""
        if not isinstance(self.tables, schema):
            raise TypeError(f"the tables of task {self.task!r} are no {schema.__name__}")
        return self.tables

    @property
    def seed(self) -> int:
        """Seed of everything random."""
        return self.tables.seed

    def resolve(self) -> dict[str, Toml]:
        """Return all tables as plain TOML values, defaults filled in: loading them gives the same scenario."""
        return plain(self.tables)

    def resolved_toml(self, data_files: Mapping[str, str] | None = None) -> str:
        """Return the text of the resolved file; `data_files` renames the data files it points to."""
        import tomli_w

        data = _renamed_in(self.resolve(), data_files or {})
        return _NUMBERS.sub(_on_one_line, tomli_w.dumps(data))

    def data_files(self) -> dict[str, Path]:
        """Return every data file that the scenario or a part names, as written there, with its resolved path."""
        found: dict[str, Path] = {}
        for scenario in (self, *self.parts.values()):
            for key, name, _ in scenario.data_keys():
                found[name] = scenario.data_path(key, name)
        return found

    def with_seed(self, seed: int) -> Scenario:
        """Return the same scenario with another seed, in its parts too."""
        data = self.resolve()
        return scenario_from(data, folder=self.folder, file=self.file, seed=seed, allow_path=self.allow_path)

    def data_contents(self) -> dict[str, bytes]:
        """Return the contents of all data files, and of the files that these refer to, for a digest."""
        found = {}
        for name, path in self.data_files().items():
            found[name] = files.read_bytes(path, files.CSV_BYTES, "file", name, self.file)
            for beside in named_beside(path):
                shown = f"{name}: {beside}"
                found[shown] = files.read_bytes(path.parent / beside, files.CSV_BYTES, "file", shown, self.file)
        return found

    def data_keys(self) -> list[tuple[str, str, DataFile]]:
        """Return (dotted key, name, metadata) of every key that names a data file."""
        return _data_keys(self.tables, "")

    def data_path(self, key: str, name: str) -> Path:
        """Return the path of the data file that `key` names."""
        where = "a file inside the scenario's folder, or in one named by --allow-path"
        return inside(key, name, [self.folder, *self.allow_path], where, self.file)


def named_beside(path: Path) -> tuple[str, ...]:
    """Return the files that a data file refers to: for a robot's TOML file, its URDF and the meshes of that."""
    if path.suffix != ".toml":
        return ()
    from trundle.models.robots.humanoid import files_beside

    return files_beside(path)


def load_scenario(
    path_or_name: str | Path,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    allow_path: Sequence[str | Path] = (),
) -> Scenario:
    """Return the named scenario or the one in a TOML file, checked.

    Parameters
    ----------
    path_or_name : str or Path
        A name of the library, or the path of a file.
    overrides : sequence of str
        ``table.key=value`` with TOML values, set before anything is checked; they act on the parts too.
    seed : int, optional
        Replaces the file's `seed`.
    allow_path : sequence of path
        Folders outside the scenario's own that data files may lie in.

    Raises
    ------
    InputError
        If the file cannot be read or something in it is not allowed; the message names file, key, value and range.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.load_scenario("plate-spinning", ["simulation.duration=2.0"]).tables.simulation.duration
    2.0
    """
    from_library = isinstance(path_or_name, str) and path_or_name in catalogue.names()
    path = catalogue.path_of(str(path_or_name)) if from_library else Path(path_or_name)
    shown = str(path_or_name)
    if not from_library and path.suffix != ".toml" and not path.exists():
        hint = suggestion(shown, catalogue.names())
        raise ScenarioError([Problem("scenario", shown, f"no such scenario and no such file; {hint}")])
    content = files.read_bytes(path, files.TOML_BYTES, "scenario", shown)
    data = read_toml(content, shown)
    return scenario_from(
        data,
        folder=path.parent,
        file=shown,
        library_name=str(path_or_name) if from_library else None,
        overrides_=overrides,
        seed=seed,
        allow_path=tuple(Path(p) for p in allow_path),
    )


def read_toml(content: bytes, file: str) -> dict[str, Toml]:
    """Return the tables of a TOML file.

    Raises
    ------
    ScenarioError
        If it is not UTF-8, not TOML, or nested too deeply.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError([Problem("", None, f"must be a text in UTF-8 (byte {error.start} is not)")], file) from None
    if any(line.count(".") > _DOTS for line in text.split("\n")):
        raise ScenarioError([Problem("", None, f"must have at most {_DOTS} dots in a line")], file)
    try:
        data = tomllib.loads(text.replace("\r\n", "\n"))
    except RecursionError:
        raise ScenarioError([Problem("", None, "must be TOML that is not nested that deep")], file) from None
    except ValueError as error:
        raise ScenarioError([Problem("", None, f"must be valid TOML: {str(error)[:200]}")], file) from None
    if _deeper(data, _DEPTH):
        raise ScenarioError([Problem("", None, f"must be nested at most {_DEPTH} tables deep")], file)
    return data


def scenario_from(
    data: dict[str, Toml],
    *,
    folder: Path,
    file: str,
    library_name: str | None = None,
    overrides_: Sequence[str] = (),
    seed: int | None = None,
    allow_path: tuple[Path, ...] = (),
) -> Scenario:
    """Return the scenario of TOML tables `data`; see `load_scenario`."""
    try:
        data = overrides.apply(data, overrides_)
    except InputError as error:
        raise type(error)(error.key, error.value, error.allowed, file) from None
    set_keys = tuple(".".join(overrides.parse(text)[0]) for text in overrides_)
    if seed is not None:
        data["seed"] = seed
    stem = library_name or Path(file).stem
    data.setdefault("name", stem if _NAME.fullmatch(stem) else "scenario")
    with _mark_overrides(set_keys):
        tables = _check_tables(data, file, "")
        name, whole = str(tables.name), plain(tables)
        parts: dict[str, Scenario] = {}
        for part, change in tables.parts.items():
            _check_part(part, change, type(tables), file)
            merged = _check_tables(overrides.merge({**whole, "parts": {}}, change), file, f"parts.{part}.")
            parts[part] = Scenario(name, merged, folder, file, allow_path, {}, set_keys)
        scenario = Scenario(name, tables, folder, file, allow_path, parts, set_keys)
        scenario.data_files()  # a path outside the folder is refused here, before anything reads it
    return scenario


@contextmanager
def _mark_overrides(set_keys: Sequence[str]) -> Iterator[None]:
    """Say of every problem whose key was set from outside that it was."""
    try:
        yield
    except ScenarioError as error:
        marked = [Problem(p.key, p.value, p.fault + overrides.mark(p.key, set_keys)) for p in error.problems]
        raise ScenarioError(marked, error.file) from None


def plain(tables: Table) -> dict[str, Toml]:
    """Return `tables` as TOML values (lists, no None), the keys that identify the file (`kind`, `name`, ...) first."""
    dumped = tables.model_dump(by_alias=True, exclude_none=True)
    data = {key: _lists(value) for key, value in dumped.items()}
    first = ("schema", "kind", "task", "name", "title", "paper", "seed")
    acceptance, parts = data.pop("acceptance", {}), data.pop("parts", {})
    ordered = {key: data.pop(key) for key in first if key in data} | data
    last = {"acceptance": acceptance, "parts": parts}
    return ordered | {key: table for key, table in last.items() if table}


def _check_tables(data: dict[str, Toml], file: str, prefix: str) -> ScenarioTable:
    schema = schema_of(data, file)
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        found = problems_of(error, schema, data)
    except RecursionError:
        found = [Problem("", None, "must not be nested that deep")]
    raise ScenarioError([Problem(prefix + p.key, p.value, p.fault) for p in found], file)


def _check_part(part: str, change: Mapping[str, Toml], schema: type[ScenarioTable], file: str) -> None:
    if not _NAME.fullmatch(part):
        fault = "must be a name of at most 100 letters, digits, '.', '_' and '-'"
        raise ScenarioError([Problem("parts", part, fault)], file)
    fixed = {"schema", "kind", "task", "name", "paper", "seed", "parts", "acceptance"}
    known = [key for key in keys_of(schema) if key not in fixed]
    for key, value in change.items():
        if key not in known:
            raise ScenarioError([Problem(f"parts.{part}.{key}", value, "unknown key; " + suggestion(key, known))], file)


def _data_keys(table: Table, prefix: str) -> list[tuple[str, str, DataFile]]:
    found: list[tuple[str, str, DataFile]] = []
    for key, info in keys_of(type(table)).items():
        value = getattr(table, key, None)
        for mark in info.metadata:
            if isinstance(mark, DataFile) and value is not None and str(value).endswith(mark.ending):
                found.append((prefix + key, str(value), mark))
        inside: list[tuple[str, object]] = [(key, value)]
        if isinstance(value, tuple):
            inside = [(f"{key}[{i}]", inner) for i, inner in enumerate(value)]
        elif isinstance(value, dict):
            inside = [(f"{key}.{name}", inner) for name, inner in value.items()]
        for place, inner in inside:
            found += _data_keys(inner, f"{prefix}{place}.") if isinstance(inner, Table) else []
    return found


def _rename_keys(value: Toml, names: Mapping[str, str], table: str = "") -> Toml:
    if isinstance(value, dict):
        return _renamed_in(value, names, table)
    return [_rename_keys(v, names) for v in value] if isinstance(value, list) else value


def _renamed_in(data: Mapping[str, Toml], names: Mapping[str, str], table: str = "") -> dict[str, Toml]:
    """Return a table with its data files renamed by `names` (old -> new)."""
    found: dict[str, Toml] = {}
    for k, v in data.items():
        a_file = isinstance(v, str) and (k in ("file", "urdf", "warm_from") or (table, k) == ("robot", "name"))
        found[k] = names.get(v, v) if a_file and isinstance(v, str) else _rename_keys(v, names, k)
    return found


def _on_one_line(found: re.Match[str]) -> str:
    return "[" + ", ".join(item.strip(" ,") for item in found[0].splitlines()[1:-1]) + "]"


def _lists(value: Toml) -> Toml:
    if isinstance(value, dict):
        return {key: _lists(inner) for key, inner in value.items()}
    return [_lists(inner) for inner in value] if isinstance(value, list | tuple) else copy.copy(value)


def _deeper(data: dict[str, Toml], depth: int) -> bool:
    """Whether tables and arrays are nested deeper than `depth`, found without recursion."""
    level: list[dict[str, Toml] | list[Toml]] = [data]
    for _ in range(depth + 1):
        below: list[dict[str, Toml] | list[Toml]] = []
        for value in level:
            inner = value.values() if isinstance(value, dict) else value
            below += [one for one in inner if isinstance(one, dict | list)]
        if not below:
            return False
        level = below
    return True
