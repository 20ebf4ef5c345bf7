"""The version of the package, and nothing else: what everything may import."""

__version__ = "0.1.0"
