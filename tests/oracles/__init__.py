"""Independent derivations against which the package is tested.

Nothing here imports the package: only numpy, scipy and the standard library. Everything is derived in another way
than in the
package: implicit surfaces and support functions with hand-written derivatives, maximal coordinates, a common-normal
contact
search, dense linear systems, energy-based planar dynamics, closed forms. Arrays are SI, world frame unless a name
says otherwise,
twists are (angular, linear), quaternions (w, x, y, z) world from body.
"""
