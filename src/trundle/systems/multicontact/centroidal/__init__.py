"""Centroidal dynamics: centre of mass and angular momentum under contact wrenches.

`centroidal` is the model and its exact motion under constant wrenches, `forecast` what is known of the time ahead
(contacts, pushes, changes of mass and of the privileged axis), `samples` the exact discretisation along a prescribed
axis that preview control uses as its linear stages.
"""
