"""What is printed: names from outside neither steer the terminal nor are read as markup."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.files import JUGGLING, changed, written
from trundle.cli import main
from trundle.cli.run import bar
from trundle.errors import InputError, StorageError, printable

EVIL = "a\x1b[31m[bold]b[/]\r\x07\u202ec\nd"
SHORT = changed(JUGGLING, simulation__duration=0.02)


def trundle(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


def python(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, whose output no terminal gets."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd, env=environment)


def steering(text: str) -> set[str]:
    """The characters of a text that a terminal does not simply show."""
    return {c for c in text if not c.isprintable() and c != "\n"}


def test_what_is_not_printable_is_escaped_and_all_else_stays() -> None:
    assert printable("plain, \u00e9\u4e2d [bold]") == "plain, \u00e9\u4e2d [bold]"
    assert printable(EVIL) == "a\\x1b[31m[bold]b[/]\\r\\x07\\u202ec\\nd"
    assert printable("two\nlines\udc80", keep="\n") == "two\nlines\\udc80"
    assert str(InputError(EVIL, EVIL, EVIL, EVIL)).isprintable()
    assert str(StorageError(f"{EVIL} cannot be written")).replace("\n", "").isprintable()


@pytest.mark.parametrize("name", [EVIL, pytest.param("undecodable\udc80", marks=pytest.mark.slow)])
def test_a_folder_of_any_name_is_printed_as_text(tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    folder = tmp_path / name
    folder.mkdir(parents=True)
    file = written(folder, SHORT)
    shown = printable(str(file))
    assert trundle("check", file) == 0
    out, err = capfd.readouterr()
    assert out == f"{shown}: ok (kind juggling, task simulate)\n"
    assert err == ""
    trundle("run", file, "--out", folder / "out", "--no-plots")
    out, err = capfd.readouterr()
    assert printable(str(folder / "out")) in out
    assert not steering(out + err)
    assert not steering((folder / "out" / "log.txt").read_text(encoding="utf-8", errors="strict"))
    for arguments in (
        ("report", folder / "out"), ("report", folder / "nowhere"), ("check", folder),
        ("check", folder / "nowhere.toml"),
        ("run", file, "--set", f"{name}=1"), ("run", file, "--out", file), ("run", name), (name,), ("list", name),
        ("run", file, "--seed", name),
        ("run", file, "--allow-path", folder / "nowhere", "--out", folder / "out", "--no-plots"),
        ("sweep", file, "--over", f"{name}=1:2:3", "--out", folder / "sweep"), ("run", f"--{name}"), ("show", name),
    ):  # fmt: skip
        trundle(*arguments)
        out, err = capfd.readouterr()
        assert not steering(out + err), arguments


def test_keys_and_names_of_a_file_are_printed_as_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.toml"
    text = written(tmp_path, SHORT).read_text(encoding="utf-8")
    metric = '\n[acceptance]\n"[bold]\\u001b[31m" = { maximum = 1.0 }\n'
    for more in ('\n["a\\u001b[31m"]\n', metric, '\ntitle = "\\u202e"\n', "\n\x1b[31m\n"):
        file.write_text(text + more, encoding="utf-8")
        trundle("run", file, "--no-plots", "--out", tmp_path / "out")
        out, err = capfd.readouterr()
        assert out + err
        assert not steering(out + err), more


def test_a_warning_names_a_file_as_text(tmp_path: Path) -> None:
    code = "import logging, sys, trundle.scenarios.engine.log\n"
    code += "logging.getLogger('trundle.x').warning('no %s', sys.argv[1])"
    done = python(code, EVIL, cwd=tmp_path)
    assert "no a\\x1b[31m[bold]b" in done.stderr
    assert not steering(done.stdout + done.stderr)


def test_the_progress_bar_shows_the_names_of_parts_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with bar(True) as show:
        assert show is not None
        show("[/]\x1b]0;title\x07[bold]", 0.5)
    assert "[/]\\x1b]0;title\\x07[bold]" in terminal.getvalue()


def test_help_and_the_list_have_no_escapes_where_nobody_looks(tmp_path: Path) -> None:
    code = "import sys; from trundle.cli import main; main(sys.argv[1:])"
    for argument in ("--help", "list", "doctor"):
        done = python(code, argument, cwd=tmp_path)
        assert done.stdout
        assert not steering(done.stdout + done.stderr)
