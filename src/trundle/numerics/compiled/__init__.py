"""CasADi functions made fast: compiled as C, called through buffers, evaluated at many points at once.

`compile` generates and compiles, `cache` keeps the libraries, `buffered` calls without conversions, `batch` is for
machines without a compiler, `tape` for functions too large for one, `ldl` solves saddle-point systems symbolically,
`symbols` checks what expressions depend on.
"""

from trundle.numerics.compiled.batch import batched
from trundle.numerics.compiled.buffered import BufferedCall, BufferedFunction
from trundle.numerics.compiled.compile import CompilerInfo, clear_cache, compile_function, compiler_info, find_compiler
from trundle.numerics.compiled.ldl import kkt_solver, solve_kkt
from trundle.numerics.compiled.symbols import check_symbols

__all__ = [
    "BufferedCall",
    "BufferedFunction",
    "CompilerInfo",
    "batched",
    "check_symbols",
    "clear_cache",
    "compile_function",
    "compiler_info",
    "find_compiler",
    "kkt_solver",
    "solve_kkt",
]
