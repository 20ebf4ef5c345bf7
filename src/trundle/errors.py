"""Every error trundle raises has one root, `TrundleError`."""

from __future__ import annotations

import errno
import os
import pickle
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trundle.status import Status


_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_LONGEST = 1000  # entries of a value that are looked at to print it: the text is cut far before


def printable(text: str, keep: str = "") -> str:
    r"""Return a text whose characters that would steer a terminal, all but those to `keep`, are escaped.

    Examples
    --------
    >>> from trundle.errors import printable
    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


class TrundleError(Exception):
    """Root of all errors raised on purpose by trundle; its text is safe to print, whatever names are in it.

    Examples
    --------
    >>> issubclass(tr.InputError, tr.TrundleError)
    True
    """

    def __str__(self) -> str:
        return printable(super().__str__(), keep="\n")


class TrundleWarning(UserWarning):
    """A value given by the user is acceptable, but leads to something that was hardly meant.

    Examples
    --------
    >>> issubclass(trundle.errors.TrundleWarning, UserWarning)
    True
    """


class InputError(TrundleError, ValueError):
    """A value given by the user is not acceptable.

    Parameters
    ----------
    key : str
        Name of the parameter, dotted for a key of a scenario file (``object.mass``).
    value : object
        What was given.
    allowed : str
        What is allowed, as a phrase that completes "must be ...".
    file : str, optional
        The file the value came from.

    Examples
    --------
    >>> tr.Sphere(radius=-0.2)
    Traceback (most recent call last):
        ...
    trundle.errors.InputError: radius = -0.2: must be a length > 0, from 1e-7 to 1e7 (m)
    """

    def __init__(self, key: str, value: Any, allowed: str, file: str | None = None) -> None:
        self.key = key
        self.value = value
        self.allowed = allowed
        self.file = file
        super().__init__(key, value, allowed, file)

    def __reduce__(self) -> tuple[type[InputError], tuple[object, ...]]:
        try:
            pickle.dumps(self.value)
        except Exception:  # whatever a user's object raises: the text says enough
            return type(self), (self.key, _Shown(_text(self.value)), self.allowed, self.file)
        return type(self), (self.key, self.value, self.allowed, self.file)

    def __str__(self) -> str:
        text = " ".join(_text(self.value).split())
        if len(text) > 120:
            text = text[:117] + "..."
        where = f"{self.file}: " if self.file else ""
        return printable(f"{where}{self.key} = {text}: must be {self.allowed}")

    def within(self, prefix: str, file: str | None = None) -> InputError:
        """Return the same error with `prefix` put before the key, as in ``object.shape.radius``."""
        key = ".".join(part for part in (prefix, self.key) if part)
        return type(self)(key, self.value, self.allowed, file or self.file)


class _Shown(str):
    """What stands for a value that cannot be pickled: the text that it had."""

    def __repr__(self) -> str:
        return str(self)


def _text(value: object) -> str:
    try:
        return repr(_plain(value))
    except Exception:  # of a user's object, or an integer of too many digits
        return f"a value of type {type(value).__name__}"


def _plain(value: Any, depth: int = 6) -> Any:
    """Return `value` with numpy's arrays, and tuples, as lists, and its numbers as Python's."""
    if hasattr(value, "tolist"):  # arrays and scalars of numpy, which this module does not import
        return (value[:_LONGEST] if getattr(value, "ndim", 0) else value).tolist()
    if type(value) in (list, tuple) and depth > 0:
        return [_plain(inner, depth - 1) for inner in value[:_LONGEST]]
    return value


class ShapeError(InputError):
    """A shape is not regular, not convex or not closed where it has to be.

    Examples
    --------
    >>> issubclass(tr.errors.ShapeError, tr.InputError)
    True
    """


class MissingExtraError(TrundleError, ImportError):
    """An optional dependency is not installed; the message ends with the command that installs it.

    Examples
    --------
    >>> str(tr.errors.MissingExtraError("mujoco", "sim")).startswith("mujoco is not installed: pip install ")
    True
    """

    def __init__(self, package: str, extra: str) -> None:
        from trundle.extras import command

        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed: {command(extra)}")

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), (self.package, self.extra)


class StorageError(TrundleError):
    """The machine could not keep a file: its disk is full, read only or broken. What was there before is untouched.

    Examples
    --------
    >>> raise tr.errors.StorageError("run.nc cannot be written: no space left on device")
    Traceback (most recent call last):
        ...
    trundle.errors.StorageError: run.nc cannot be written: no space left on device
    """


def optional(module: str, package: str, extra: str) -> ModuleType:
    """Return a module that `package` brings; raises `MissingExtraError` where that is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(package, extra) from None


def load_pinocchio(module: str) -> ModuleType:
    """Return a module of Pinocchio or Pink; raises `MissingExtraError` where it is not installed."""
    return optional(module, "pin-pink" if module.startswith("pink") else "pin", "robots")


def of_machine(error: BaseException | None) -> bool:
    """Whether an error says that the disk is full, read only or broken, or that there are no means left to use it."""
    return isinstance(error, StorageError) or (isinstance(error, OSError) and error.errno in _MACHINE)


def reason(error: Exception) -> str:
    """Return a short cause of a failed system call, without paths."""
    if isinstance(error, OSError):
        known = {errno.ENOENT: "no such file", errno.EACCES: "permission denied", errno.ELOOP: "a loop of links"}
        return str(error) if error.errno is None else known.get(error.errno, os.strerror(error.errno).lower())
    return "not a file name"


class CompileError(TrundleError):
    """The C compiler refused a generated source; `log` holds what it printed.

    Examples
    --------
    >>> tr.errors.CompileError("cc failed", log="line 3: ...").log
    'line 3: ...'
    """

    def __init__(self, message: str, log: str = "") -> None:
        self.log = log
        super().__init__(message)

    def __reduce__(self) -> tuple[type[CompileError], tuple[str, str]]:
        return type(self), (str(self), self.log)


class SimulationError(TrundleError):
    """A simulation could not go on; `status` says why and `result` holds what was computed.

    Examples
    --------
    >>> tr.errors.SimulationError("it fell", tr.Status.FAILED).status.label
    'failed'
    """

    def __init__(self, message: str, status: Status, result: Any = None) -> None:
        self.status = status
        self.result = result
        super().__init__(message)

    def __reduce__(self) -> tuple[type[SimulationError], tuple[str, Status, Any]]:
        return type(self), (str(self), self.status, self.result)


class ControlLostError(SimulationError):
    """A policy gives up: a simulation that calls it ends there, with `status` and what was computed until then.

    Examples
    --------
    >>> raise tr.errors.ControlLostError("the ball is gone", tr.Status.DIVERGED)
    Traceback (most recent call last):
        ...
    trundle.errors.ControlLostError: the ball is gone
    """
