"""Completion in a real bash, zsh and fish: what the tab key offers for commands, scenarios, files, keys and options."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
without = {
    shell: pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell}") for shell in ("zsh", "fish")
}

# What readline does at the tab key: the function that was registered for the command gets the words of the line.
_TRY = """
eval "$(_TRUNDLE_COMPLETE=source_bash trundle)"
complete -p trundle
while read -r line; do
    eval "COMP_WORDS=($line)"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
    _trundle_completion trundle
    echo "${COMPREPLY[@]}"
done
"""


def home(folder: Path) -> dict[str, str]:
    """Return the environment of a shell at home in a folder, where `trundle` is this one."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "trundle").write_text(f"#!{sys.executable}\nfrom trundle.cli import main\nmain()\n")
    (tools / "trundle").chmod(0o755)
    return os.environ | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": str(folder),
        "ZDOTDIR": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "XDG_DATA_HOME": str(folder / ".local"),
        "TERM": "xterm",
        "PS1": "ready> ",
    }


def bash(folder: Path, script: str, lines: list[str]) -> list[str]:
    """Run a script in bash, where `trundle` is this one; return the lines that it prints."""
    return shell(["bash", "--norc", "-c", script], folder, lines)


def shell(command: list[str], folder: Path, lines: list[str]) -> list[str]:
    """Run a shell with lines as its input; return the lines that it prints."""
    text = "\n".join(lines) + "\n"
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, cwd=folder, env=home(folder), timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_bash_offers_commands_scenarios_files_keys_and_options(tmp_path: Path) -> None:
    (tmp_path / "plate-mine.toml").write_text('kind = "juggling"\n[object]\nmass = 0.3\nshape.radius = 0.1\n')
    (tmp_path / "plates").mkdir()
    (tmp_path / "plates" / "mine.toml").touch()
    (tmp_path / "plate-notes.txt").touch()
    offered = bash(
        tmp_path,
        _TRY,
        ["trundle re", "trundle run plate-s", "trundle run plate-m", "trundle check ./pl",
         "trundle run plate-mine.toml --set obj", "trundle run plate-spinning --seed 1 --set simulation.d",
         "trundle report x --format ''", "trundle run ./plates"],
    )  # fmt: skip
    assert offered == [
        "complete -o default -F _trundle_completion trundle",  # nothing offered: files, as everywhere in bash
        "report render reproduce",
        "plate-spinning",
        "plate-mine.toml",
        "./plate-mine.toml ./plates/",
        "object.mass= object.shape.radius=",
        "simulation.duration= simulation.duration=10.0",  # of two no space comes behind the equals sign
        "png svg pdf",
        "./plates/ ./plates/mine.toml",
    ]


@pytest.mark.slow
def test_install_completion_writes_what_show_completion_shows(tmp_path: Path) -> None:
    shown = bash(tmp_path, "trundle --show-completion; true", [])
    said = bash(tmp_path, "trundle --install-completion; true", [])
    written = tmp_path / ".bash_completions" / "trundle.sh"
    assert f"bash completion installed in {written}" in said
    assert written.read_text().splitlines() == shown
    assert str(written) in (tmp_path / ".bashrc").read_text()


@pytest.mark.parametrize(
    ("shell", "variables", "said"),
    [
        ("zsh", {}, '"plate-spinning"'),
        ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "plate-spinning"),
    ],
)
def test_zsh_and_fish_are_answered_in_their_own_form(
    tmp_path: Path, shell: str, variables: dict[str, str], said: str
) -> None:
    asked = variables | {"_TYPER_COMPLETE_ARGS": "trundle run plate-sp", "_TRUNDLE_COMPLETE": f"complete_{shell}"}
    code = "from trundle.cli import main; main([])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | asked
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def after_tab(command: list[str], folder: Path, lines: list[str]) -> list[str]:
    """Type lines with a tab key at their ends into a shell on a terminal; return what stands there then, up to |."""
    terminal, inside = pty.openpty()
    of_shell = {"stdin": inside, "stdout": inside, "stderr": inside, "start_new_session": True}
    process = subprocess.Popen(command, cwd=folder, env=home(folder), **of_shell)

    def until(pattern: bytes) -> bytes:
        seen, end = b"", time.monotonic() + 120.0
        while not re.search(pattern, seen):
            assert time.monotonic() < end, seen
            if select.select([terminal], [], [], 1.0)[0]:
                seen += os.read(terminal, 65536)
        return seen

    found = []
    try:
        until(rb"ready> ")
        for line in lines:  # the line is printed: ctrl-A goes to its beginning
            os.write(terminal, line.encode() + b"\t'|'\x01echo \r")
            found.append(re.findall(rb"\n(trundle [^\r\n']*\|)\r", until(rb"\ntrundle [^\r\n']*\|\r"))[-1].decode())
    finally:
        process.kill()
        process.wait()
        os.close(inside)
        os.close(terminal)
    return found


@pytest.mark.slow
@without["zsh"]
def test_zsh_offers_them_from_the_first_tab_key_on(tmp_path: Path) -> None:
    (tmp_path / "plates").mkdir()
    (tmp_path / "plates" / "mine.toml").touch()
    said = shell(["zsh", "-f", "-c", "trundle --install-completion; true"], tmp_path, [])
    assert f"zsh completion installed in {tmp_path / '.zfunc' / '_trundle'}" in said
    lines = ["trundle run plate-s", "trundle run ./pl", "trundle run plate-spinning --set simulation.d", "trundle rend"]
    assert after_tab(["zsh", "-i"], tmp_path, lines) == [
        "trundle run plate-spinning |",
        "trundle run ./plates/|",
        "trundle run plate-spinning --set simulation.duration=|",
        "trundle render |",
    ]


@pytest.mark.slow
@without["fish"]
def test_fish_offers_them(tmp_path: Path) -> None:
    (tmp_path / "plates").mkdir()
    said = shell(["fish", "-c", "trundle --install-completion; true"], tmp_path, [])
    written = tmp_path / ".config" / "fish" / "completions" / "trundle.fish"
    assert f"fish completion installed in {written}" in said
    lines = [
        "trundle run plate-sp",
        "trundle run ./pl",
        "trundle run plate-spinning --set simulation.d",
        "trundle rend",
    ]
    offered = shell(["fish", "-c", "while read -l line; complete -C $line; end"], tmp_path, lines)
    assert [one.split("\t")[0] for one in offered] == [
        "plate-spinning",
        "./plates/",
        "simulation.duration=",
        "simulation.duration=10.0",
        "render",
    ]
