"""The verb `export`: a scenario's model and controller as C, and a program that checks both against Python.

`writing` makes the CasADi functions and the samples of them, `names` says what the entries of their arguments are,
`text` fills the C files in `templates`.
"""

from trundle.scenarios.engine.export.writing import Exported, export

__all__ = ["Exported", "export"]
