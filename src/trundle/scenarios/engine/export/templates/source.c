#include "@name@.h"
#include "@name@_functions.h"
#include <math.h>

int @name@_rate(const double x[@NAME@_NX], const double u[@NAME@_NU ? @NAME@_NU : 1], double xdot[@NAME@_NX],
                double force[@NAME@_NF ? @NAME@_NF : 1])
{
@call_model@}
@control{

@reference@
@held@
@gains@
int @name@_control(double time, const double x[@NAME@_NX], double u[@NAME@_NU])
{
    /* Row j of reference, inputs and gains: the last one from the end of the reference on. */
    const double step = floor((time - @first@) / @NAME@_PERIOD + 1e-6);
    const int i = step < 0 ? 0 : step > @last_row@ ? @last_row@ : (int)step;
    const int j = time >= @last@ - 1e-9 * @NAME@_PERIOD ? @last_row@ : i;
@call_law@}
@}
