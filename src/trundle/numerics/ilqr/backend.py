"""What an iteration of the real-time optimiser is made of: four operations on shared arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from trundle.numerics.ilqr.stage import ControlProblem


class Backend(ABC):
    """What an iteration is made of; every operation answers whether its numbers are usable.

    Attributes
    ----------
    p : (N + 1, n_p)
        Parameters of the stages and of the end.
    x, u, gap : (N + 1, n_x), (N, n_u), (N, n_x)
        The iterate; gap = F(x_k, u_k) - x_(k+1).
    k, K : (N, n_u), (N, n_u, n_x)
        Feed-forward and gains.
    x_new, u_new : (N + 1, n_x), (N, n_u)
        Roll-out of the last step.
    """

    name: str

    def __init__(self, problem: ControlProblem) -> None:
        N, nx, nu, n_p = problem.stages, problem.nx, problem.nu, problem.n_p
        nz = nx + nu
        self.stages, self.nx, self.nu = N, nx, nu
        self.cost = self.slope_along = self.curvature = self.gradient = np.nan
        self.p = np.zeros((N + 1, n_p))
        self.x, self.u, self.gap = np.zeros((N + 1, nx)), np.zeros((N, nu)), np.zeros((N, nx))
        self.M, self.g, self.H = np.zeros((N, nx, nz)), np.zeros((N, nz)), np.zeros((N, nz, nz))
        self.g_end, self.H_end = np.zeros(nx), np.zeros((nx, nx))
        self.k, self.K = np.zeros((N, nu)), np.zeros((N, nu, nx))
        self.dx, self.du = np.zeros((N + 1, nx)), np.zeros((N, nu))
        self.x_new, self.u_new = np.zeros((N + 1, nx)), np.zeros((N, nu))

    @abstractmethod
    def measure(self) -> bool:
        """Set `gap` and `cost` of the iterate (x, u)."""

    @abstractmethod
    def slope(self) -> bool:
        """Set the derivatives M, g, H of every stage at the iterate."""

    @abstractmethod
    def backward(self, rho: float) -> bool:
        """Set k, K and the linear step, with Q_uu + rho |diag Q_uu|; its slope, curvature and the largest |dJ/du|."""

    @abstractmethod
    def roll(self, alpha: float) -> bool:
        """Roll u + alpha k + K (x_new - x) out from x_new[0] with gaps left at 1 - alpha; set x_new, u_new, cost."""
