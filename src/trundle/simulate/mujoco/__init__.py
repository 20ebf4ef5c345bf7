"""Mujoco."""
