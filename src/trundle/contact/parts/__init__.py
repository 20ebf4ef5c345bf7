"""Corners, edges, faces and rims that touch in a body's place, each with a contact of its own."""
