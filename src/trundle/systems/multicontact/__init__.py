"""Multicontact."""
