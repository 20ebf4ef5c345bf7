@outputs{
#define @NAME@_NU @nu@

/* Entries of the output u. */
@outputs@
@}
/* What a tick returns: 0 or more where u is new, below where the last one is held, or there is none. */
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

/* One tick: u, to be held for @NAME@_PERIOD (s)@tick_about_x@. Matrices stand by columns.
 * Nothing is allocated; for one thread. */
#define @NAME@_PERIOD @tick_period@
int @name@_tick(@tick_arguments@double u[@NAME@_NU]);

