"""Folders that commands write: a list in each names what trundle wrote, and nothing else is replaced or removed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from trundle.errors import InputError
from trundle.records.whole import append, read_bytes, storing, write_bytes
from trundle.scenarios.engine.summary import Summary
from trundle.scenarios.files import CSV_BYTES
from trundle.scenarios.scenario import Scenario, named_beside
from trundle.scratch import try_lock
from trundle.version import __version__

LIST = ".trundle.jsonl"
DATA = "data"
_PART = re.compile(r"\.(.+)\.[0-9a-f]{12}\.part")
_NO_NAME = re.compile("[\0\ud800-\udc7f\udd00-\udfff]|^[./]*$")
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK


class OwnedFolder:
    """A folder that this process alone writes to (final); see `own_folder`.

    Its file `LIST` has a line for each file that trundle writes there, added before the file is: what a killed process
    leaves is known. The system lets go of the lock on the list when the process ends.
    """

    def __init__(self, path: Path, kind: str, handle: int) -> None:
        self.path = path
        self._kind, self._handle = kind, handle
        self.kinds: set[str] = set()
        self.names: set[str] = set()
        for line in _lines(handle, path):
            if isinstance(line, str) and not _NO_NAME.search(line) and not {"..", "/"} & set(Path(line).parts):
                self.names.add(line)
            elif isinstance(line, dict) and line.get("folder") != "report":
                self.kinds.add(str(line.get("folder")))

    def target(self, name: str) -> Path:
        """Note that the file `name` of the folder is trundle's, and return its path to be written, its folder made.

        Raises
        ------
        InputError
            If there is such a file that trundle did not write, or a link in its place or that of its folder.
        """
        path = self.path / name
        links = [one for one in (path, *path.parents) if self.path in one.parents and one.is_symlink()]
        if links or (name not in self.names and os.path.lexists(path)):
            raise InputError("--out", str(self.path), f"a folder without {_not_ours(name)}")
        if name not in self.names:
            self._append(name)
            self.names.add(name)
        with storing(path, "--out", "a folder that can be written to"):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def begin(self) -> None:
        """Note which process writes what kind of folder."""
        self._append({"trundle": __version__, "folder": self._kind, "process": os.getpid()})

    def clear(self, keep: Collection[Path] = ()) -> None:
        """Remove the files that trundle wrote, but those in `keep`."""
        with storing(self.path, "--out", "a folder that can be written to"):
            for name in sorted(self.names):
                if (self.path / name).resolve() not in keep:
                    (self.path / name).unlink(missing_ok=True)
                    self.names.discard(name)
                    with suppress(OSError):  # not empty
                        os.removedirs((self.path / name).parent)
            os.ftruncate(self._handle, 0)
        self.begin()
        for name in sorted(self.names):
            self._append(name)

    def foreign(self, beside: Collection[str]) -> str | None:
        """Return a name here, none of `beside`, that trundle did not write; remove its own unfinished files."""
        folders = {str(parent) for name in self.names for parent in Path(name).parents}
        for root, inner, files in os.walk(self.path):
            here = Path(root).relative_to(self.path)
            if here == Path():
                inner[:], files = [n for n in inner if n not in beside], [n for n in files if n not in (*beside, LIST)]
            for name in sorted((*inner, *files)):
                path, known, part = self.path / here / name, str(here / name), _PART.fullmatch(name)
                if part and str(here / part[1]) in self.names:
                    path.unlink()
                elif path.is_symlink() or known not in (
                    self.names if path.is_file() else folders if path.is_dir() else ()
                ):
                    return known
        return None

    def _append(self, line: object) -> None:
        append(self._handle, (json.dumps(line) + "\n").encode(), self.path / LIST, lasting=False)


def _lines(handle: int, folder: Path) -> list[object]:
    found: list[object] = []
    with storing(folder / LIST, "--out", "a folder that can be written to"):
        content = os.pread(handle, 10_000_000, 0)
    for line in content.splitlines():
        with suppress(ValueError, RecursionError):  # cut off by a kill, before its file was begun; or damaged
            found.append(json.loads(line))
    return found


def _not_ours(name: str) -> str:
    return f"{name!r}, which is not in the list {LIST} of what trundle wrote there: move it, or name another folder"


@contextmanager
def own_folder(out: str | Path, kind: str, earlier: str, beside: Collection[str] | None = ()) -> Iterator[OwnedFolder]:
    """Lock a folder, made if it is not there, and yield it to be written to.

    Parameters
    ----------
    out : str or Path
    kind : str
        Of the folder: one of another kind is refused.
    earlier : str
        What may be there already, for messages.
    beside : collection of str or None
        Names of files and folders of others that may be there; None: any may.

    Raises
    ------
    InputError
        If it cannot be made or written to, holds something that trundle did not write there, or another process is
        writing to it.
    """
    folder = Path(out)
    here = list_or_make_folder(folder)
    others = sorted(here - set(here if beside is None or LIST in here else beside))
    if others:
        raise InputError("--out", str(out), f"a new or empty folder, or {earlier}, without {_not_ours(others[0])}")
    with storing(folder / LIST, "--out", "a folder that can be written to"):
        handle = os.open(folder / LIST, _FLAGS, 0o644)
    try:
        if try_lock(handle) is False:
            heads = [line for line in _lines(handle, folder) if isinstance(line, dict)] or [{}]
            by = f"{heads[-1].get('folder', kind)} is writing to (process {heads[-1].get('process', 'unknown')} is)"
            raise InputError("--out", str(out), f"a folder that no other {by}")
        known = OwnedFolder(folder, kind, handle)
        if beside is not None:
            other = known.foreign(beside)
            fault = f", without {_not_ours(other)}" if other else ""
            fault = f" (it is that of a {'/'.join(sorted(known.kinds))})" if known.kinds - {kind} else fault
            if fault:
                raise InputError("--out", str(out), f"a new or empty folder, or {earlier}{fault}")
        known.begin()
        yield known
    finally:
        os.close(handle)


@contextmanager
def run_folder(out: str | Path | None, scenario: Scenario) -> Iterator[OwnedFolder]:
    """Yield the run's own folder, empty but for files that the scenario reads and that the run leaves as they are.

    Raises
    ------
    InputError
        As `own_folder`, or if the run would replace a file that the scenario reads.
    """
    folder = _fresh(scenario.name) if out is None else Path(out)
    with own_folder(folder, "run", "that of an earlier run") as own:
        names, copies = _layout(folder, scenario)
        same = {source.resolve() for target, source, _ in copies if (folder / target).resolve() == source.resolve()}
        file = (scenario.folder / Path(scenario.file).name).resolve()
        if file.is_file() and file.read_bytes() == _resolve_scenario(scenario, names):
            same.add(file)
        reads = {file, *(source.resolve() for _, source, _ in copies)} - same
        for name in own.names:
            if (folder / name).resolve() in reads:
                raise InputError("--out", str(out), f"another folder: the run would replace {name!r}, which it reads")
        own.clear(same)
        yield own


def list_or_make_folder(folder: Path) -> set[str]:
    """Return the names in a folder given as `--out`, created if it is not there.

    Raises
    ------
    InputError
        If it cannot be created or read.
    """
    with storing(folder, "--out", "a folder that can be written to"):
        folder.mkdir(parents=True, exist_ok=True)
        return {path.name for path in folder.iterdir()}


def _fresh(name: str) -> Path:
    folder = base = Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    number = 1
    while True:
        with storing(folder, "--out", "a folder that can be created"), suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder
        folder = base.with_name(f"{base.name}-{(number := number + 1)}")


def write_scenario(folder: Path, scenario: Scenario, target: Callable[[str], Path] | None = None) -> None:
    """Write the resolved `scenario.toml`; copy its data files, and the files that these refer to, to `data/`.

    What stands there already as it should is left alone; `target` is told the names of the files, see `OwnedFolder`.
    """
    names, copies = _layout(folder, scenario)
    place = target or folder.joinpath
    for name, source, shown in copies:
        if (folder / name).resolve() != source.resolve():
            content = read_bytes(source, CSV_BYTES, "file", shown, scenario.file)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_bytes(place(name), content)
    path, text = place("scenario.toml"), _resolve_scenario(scenario, names)
    if not path.is_file() or path.read_bytes() != text:
        write_bytes(path, text)


def _resolve_scenario(scenario: Scenario, names: dict[str, str]) -> bytes:
    return scenario.resolved_toml(names).encode()


def _layout(folder: Path, scenario: Scenario) -> tuple[dict[str, str], list[tuple[str, Path, str]]]:
    """Return the new names of data files, and (name in the folder, source, name in the scenario) of all files."""
    names: dict[str, str] = {}
    copies: list[tuple[str, Path, str]] = []
    sources = scenario.data_files()
    reads = {source.resolve() for source in sources.values()}
    for name, source in sources.items():
        target, number = f"{DATA}/{source.name}", 1
        while target in names.values() or (folder / target).resolve() in reads - {source.resolve()}:
            number += 1
            target = f"{DATA}/{source.stem}-{number}{source.suffix}"
        names[name] = target
        copies.append((target, source, name))
        copies += [(f"{DATA}/{beside}", source.parent / beside, name) for beside in named_beside(source)]
    return names, copies


def write_summary(path: Path, summary: Summary) -> None:
    """Write `summary.json`."""
    write_bytes(path, (json.dumps(summary, indent=2, allow_nan=False) + "\n").encode())
