"""Sphinx: MyST pages, executed where they hold code cells, and the docstrings of the public names.

Formulas become MathML while the pages are built: they show offline and without scripts.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import MISSING
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import trundle
from trundle.parameters import parameters_of

MATHML = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", MATHML)

project = "trundle"
author = "The trundle authors"
copyright = "2026, the trundle authors"
version = release = trundle.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
html_theme = "furo"
html_title = f"trundle {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["wide.css"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 600  # runs that are not kept yet
nb_output_stderr = "remove"  # which runs were made, and bars
nb_render_markdown_format = "myst"  # what cells print as Markdown may hold tables
# Pages run in folders of their own.
HERE = Path(__file__).resolve().parent
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # the command trundle
os.environ["TRUNDLE_EXAMPLES"] = str(HERE.parent / "examples")
os.environ.pop("MPLBACKEND", None)  # of the shell: pages have that of notebooks, which shows pictures
sys.path.insert(0, str(HERE))  # of the pages that are made
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False  # "(d, d) m" is a shape and a unit, not a reference to something called d
suppress_warnings = ["ref.python"]  # the same in the descriptions of attributes


def escape_bars(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings write norms as |x|; to reStructuredText that would be a substitution."""
    for i, line in enumerate(lines):
        parts = re.split(r"(``.*?``|`.*?`)", line)
        lines[i] = "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


def parameters(_app: Any, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """List the parameters that a dataclass declares, with sentences and defaults, if its docstring does not."""
    if what == "class" and any("text" in field.metadata for field in getattr(obj, "__dataclass_fields__", {}).values()):
        written = re.findall(r"\*\*([\w, ]+)\*\*", "\n".join(lines))  # as napoleon sets the names of a section
        there = {name for names in written for name in names.split(", ")}
        left = [one for one in parameters_of(obj) if one.name not in there]
        told = ((one, "" if one.default is MISSING else f"; default ``{one.default!r}``") for one in left)
        lines += ["", *(f":param {one.name}: {one.text}{default}" for one, default in told), ""]


def plain_types(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Write types in signatures without their ranges: those are told with the parameters."""
    ranged = r"Annotated\[([^()]*?), ~?trundle\.parameters\.Range\(text=.*?, infinite=(?:True|False)\)\]"
    return None if signature is None else re.sub(ranged, r"\1", signature), returned


def formula(writer: Any, node: nodes.Element) -> None:
    """Write a formula as MathML; one that cannot be read ends the build."""
    text = re.sub(r"frac(\d)(\d)", r"frac{\1}{\2}", node.astext())  # tex2mathml takes 52 for one number
    written = tex2mathml(text, as_block=isinstance(node, nodes.math_block))
    tree = ElementTree.fromstring(re.sub(r"&(?!amp;|lt;|gt;)\w+;", lambda name: unescape(name[0]), written))
    for element in tree.iter(f"{{{MATHML}}}munderover"):
        base, index, mark = element
        if mark.text in ("˙", "¨", "ˉ"):  # a letter with a mark and an index: the index belongs beside it, not below
            dotted = ElementTree.Element(f"{{{MATHML}}}mover", accent="true")
            dotted.extend([base, mark])
            element.tag, element[:] = f"{{{MATHML}}}msub", [dotted, index]
    writer.body.append(ElementTree.tostring(tree, encoding="unicode"))
    raise nodes.SkipNode


def made(_app: Any, name: str, source: list[str]) -> None:
    """Add what a page is made of when it is built."""
    if name in ("gallery", "metrics"):
        source[0] += import_module(name).page()


def setup(app: Any) -> None:
    """Connect what is above."""
    app.connect("source-read", made)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("autodoc-process-docstring", parameters, priority=600)  # after napoleon has read the docstring
    app.connect("autodoc-process-docstring", escape_bars, priority=700)
    app.connect("autodoc-process-signature", plain_types)
