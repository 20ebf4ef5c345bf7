"""Work on the workers of a Dask scheduler: if a worker dies, what it was working on begins anew on another one."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar, cast

from trundle.errors import InputError, TrundleError, optional
from trundle.version import __version__

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

ANSWERS, WORKERS = "10s", "60s"
"""How long the scheduler may take to answer, and a first worker to be there."""


class _Future(Protocol):
    """What Dask promises."""

    def result(self) -> object:
        """Return what was computed, or raise what came instead."""
        ...


class Cluster:
    """Connection to a Dask scheduler, for a ``with`` block (final).

    Parameters
    ----------
    address : str
        ``tcp://host:port``.

    Raises
    ------
    InputError
        If no scheduler answers there, or it has no workers.
    MissingExtraError
        If Dask is not installed.
    """

    def __init__(self, address: str) -> None:
        self._dask, self.address = optional("distributed", "dask", "scale"), address
        try:
            self._client = self._dask.Client(address, timeout=ANSWERS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            allowed = f"the address of a Dask scheduler that answers, as tcp://host:8786 ({error})"
            raise InputError("scheduler", address, allowed) from None
        try:
            self._client.wait_for_workers(1, timeout=WORKERS)
        except TimeoutError:
            self._client.close()
            raise InputError("scheduler", address, f"of a Dask scheduler that has workers within {WORKERS}") from None

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def slots(self) -> int:
        """Number of items that are worked on at a time."""
        return sum(self._client.nthreads().values())

    def run(
        self, run: Callable[[ItemT], ResultT], items: Sequence[ItemT], *, ordered: bool
    ) -> Iterator[tuple[int, ResultT | None]]:
        """Yield (number of the item, result of ``run(item)``), as the items finish or in their order.

        A worker unpickles `run` once and keeps it. The result is None for an item during which several workers died.

        Raises
        ------
        InputError
            If the workers have no trundle, or one of another version.
        TrundleError
            If the scheduler is gone. Other errors are those of ``run``.
        """
        source = optional("cloudpickle", "dask", "scale").dumps(run)
        # The work itself is the result of a task: should its worker die, Dask has it made again.
        made = self._client.submit(bytes, source, pure=False)
        futures = self._client.map(_work_on_item, [(__version__, item) for item in items], kept=made, pure=False)
        numbers = {future.key: number for number, future in enumerate(futures)}
        ahead = iter(futures) if ordered else self._dask.as_completed(futures, loop=self._client.loop)
        for future in ahead:
            yield numbers[future.key], cast("ResultT | None", self._result(future))
            future.release()

    def _result(self, future: _Future) -> object:
        try:
            return future.result()
        except self._dask.KilledWorker:
            return None
        except (CancelledError, self._dask.comm.CommClosedError) as error:
            raise TrundleError(f"the Dask scheduler at {self.address} is gone: {error}") from None
        except ModuleNotFoundError as error:
            allowed = f"of a Dask scheduler whose workers have trundle and its extras installed ({error})"
            raise InputError("scheduler", self.address, allowed) from None
        except _OtherVersionError as error:
            allowed = f"of a Dask scheduler whose workers have trundle {__version__}, not {error}"
            raise InputError("scheduler", self.address, allowed) from None


def connect_scheduler(address: str | None) -> AbstractContextManager[Cluster | None]:
    """Return the connection to a scheduler, or None where there is no address, for a ``with`` block."""
    return nullcontext() if address is None else Cluster(address)


class _OtherVersionError(Exception):
    """A worker has another version, which is the text."""


_kept: dict[bytes, Callable[[object], object]] = {}


def once(kept: bytes, item: object) -> object:
    """Return the result of the pickled function `kept`, which a process unpickles once, for an item."""
    if (run := _kept.get(kept)) is None:
        _kept.clear()
        run = _kept[kept] = pickle.loads(kept)
    return run(item)


def _work_on_item(versioned: tuple[str, object], kept: bytes) -> object:
    """Work on an item, on a worker."""
    version, item = versioned
    if version != __version__:
        raise _OtherVersionError(__version__)
    return once(kept, item)
