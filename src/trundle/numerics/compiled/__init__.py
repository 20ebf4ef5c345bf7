"""CasADi functions made fast: compiled as C, called through buffers, evaluated at many points at once.

`compile` generates and compiles, `cache` keeps the libraries, `buffered` calls without conversions, `batch` is for
machines without a compiler, `tape` for functions too large for one, `ldl` solves saddle-point systems symbolically,
`symbols` checks what expressions depend on.
"""
