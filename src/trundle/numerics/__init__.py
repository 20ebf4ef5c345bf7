"""Space, compiled functions, integrators and solvers: mathematics without physics."""
