"""State manifolds and their rates: trees of bodies, rolling joints, rolling kinematics."""
