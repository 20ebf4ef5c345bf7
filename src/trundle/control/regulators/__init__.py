"""Regulators."""
