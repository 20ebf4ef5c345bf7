"""Quadratic programs: a sparse program, its solvers, and answers judged outside them."""
