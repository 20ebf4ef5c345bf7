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
@}
@inputs{
#define @NAME@_NU @nu@

/* Entries of the input u. */
@inputs@
@}
@model{
/* Rate xdot of the state x under the input u, and the contact forces (N), in the mode of the start; 0 for success. */
int @name@_rate(const double x[@NAME@_NX], const double u[@NAME@_NU ? @NAME@_NU : 1], double xdot[@NAME@_NX],
                double force[@NAME@_NF ? @NAME@_NF : 1]);

@}
@control{
/* Input u for the state x measured at a time (s), to be held for @NAME@_PERIOD; 0 for success. */
#define @NAME@_PERIOD @period@
int @name@_control(double time, const double x[@NAME@_NX], double u[@NAME@_NU]);

@}
@tick{
/* What a tick returns: 0 or more where its input is new, below where the last one is held, or there is none. */
enum {
    @NAME@_SUCCESS = 0,             /* all limits hold */
    @NAME@_LIMITS_RELAXED = 1,      /* limits with a price are exceeded by the least amount */
    @NAME@_CONFLICTING_LIMITS = -1, /* limits contradict each other */
    @NAME@_NOT_FINITE = -2,         /* an argument, or a number made of it, is not finite */
    @NAME@_NOT_CONVERGED = -3       /* the quadratic program, or contact coordinates, were not found */
};

@tick_enumerations@
/* Forget the last tick@tick_about_reset@. Call it before the first tick. */
int @name@_reset(@tick_reset@);

/* Input u, to be held for @NAME@_PERIOD (s)@tick_about_x@. Matrices stand by columns.
 * Nothing is allocated; for one thread. */
#define @NAME@_PERIOD @tick_period@
int @name@_tick(@tick_arguments@double u[@NAME@_NU]);

@}
@stages{
@stage_declarations@
@}
#ifdef __cplusplus
}
#endif

#endif
