"""Walking."""
