/* Scenario @scenario@, written by trundle @version@. SI units; for one thread. */
#ifndef @NAME@_H
#define @NAME@_H

#ifdef __cplusplus
extern "C" {
#endif

@model{
#define @NAME@_NX @nx@
#define @NAME@_NF @nf@

/* Entries of the state x: positions and velocities in world axes, a twist (of a hand, about its origin) too. */
@states@
/* Entries of the contact forces, on the first body of each contact, world axes. */
@forces@
#define @NAME@_NU @nu@

/* Entries of the input u. */
@inputs@
/* Rate xdot of the state x under the input u, and the contact forces (N), in the mode of the start; 0 for success. */
int @name@_rate(const double x[@NAME@_NX], const double u[@NAME@_NU ? @NAME@_NU : 1], double xdot[@NAME@_NX],
                double force[@NAME@_NF ? @NAME@_NF : 1]);

@}
@control{
/* Input u for the state x measured at a time (s), to be held for @NAME@_PERIOD; 0 for success. */
#define @NAME@_PERIOD @period@
int @name@_control(double time, const double x[@NAME@_NX], double u[@NAME@_NU]);

@}
@tick_declarations@
@stages{
@stage_declarations@
@}
#ifdef __cplusplus
}
#endif

#endif
