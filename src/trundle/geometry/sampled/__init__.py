"""Sampled."""
