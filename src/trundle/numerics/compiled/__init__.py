"""CasADi functions made fast: compiled as C, called through buffers, evaluated at many points at once.

`compile` generates and compiles, `cache` keeps the libraries, `cores` says what is built with the package, of which
`interpreter` runs functions without a compiler; `buffered` calls without conversions, `batch` evaluates at many points
without a compiler, `tape` is for functions too large for one, `ldl` solves saddle-point systems symbolically, `symbols`
checks what expressions depend on.
"""
