"""The build of the package: its static cores, compiled where there is a C compiler.

The wheel is one of this platform then, for any Python: the libraries are loaded by ctypes. Without a compiler it is one
for all platforms, and the cores are compiled at run time. An editable installation has them beside their sources.
"""

from __future__ import annotations

import runpy
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CoresHook(BuildHookInterface):
    """Puts compiled cores into a wheel (final)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the builder what there is."""
        package = Path(self.root, "src", "trundle")
        build_cores = runpy.run_path(str(package / "numerics" / "compiled" / "cores.py"))["build_cores"]
        self._folder = Path(tempfile.mkdtemp(prefix="trundle-cores-"))
        cores, problem = build_cores(package, self._folder)
        if not cores:
            self.app.display_warning(f"the C cores are not built, but compiled at run time: {problem}")
            return
        if version == "editable":
            for source, library in cores.items():
                lay_beside(source, library)
            return
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
        for source, library in cores.items():
            place = Path("trundle", source.relative_to(package)).with_name(library.name)
            build_data["force_include"][str(library)] = place.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled."""
        shutil.rmtree(self._folder, ignore_errors=True)


def lay_beside(source: Path, library: Path) -> None:
    """Copy a library to the core that it was made of; those of other sources go."""
    for old in source.parent.glob(f"{source.stem}.*.so"):
        old.unlink()
    shutil.copyfile(library, source.with_name(library.name))
