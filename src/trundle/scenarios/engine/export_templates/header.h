/* Scenario @scenario@, written by trundle @version@. SI units; for one thread. */
#ifndef @NAME@_H
#define @NAME@_H

#define @NAME@_NX @nx@
#define @NAME@_NU @nu@
#define @NAME@_NF @nf@

/* Rate xdot of the state x under the input u, and the contact forces (N), in the mode of the start; 0 for success. */
int @name@_rate(const double x[@NAME@_NX], const double u[@NAME@_NU], double xdot[@NAME@_NX],
                double force[@NAME@_NF ? @NAME@_NF : 1]);

@control{
/* Input u for the state x measured at a time (s), to be held for @NAME@_PERIOD; 0 for success. */
#define @NAME@_PERIOD @period@
int @name@_control(double time, const double x[@NAME@_NX], double u[@NAME@_NU]);

@}
#endif
