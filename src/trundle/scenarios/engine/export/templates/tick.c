/* One tick of the controller: CasADi's functions around quadratic programs. Memory is static: nothing is allocated. */
#include "@header@.h"
#include "@header@_functions.h"
#include "dense_qp.h"
#include <math.h>
#include <string.h>

enum { N = @tick_n@, M = @tick_m@, ATTEMPTS = @tick_count@, DEPTH = @tick_depth@ };

static double memory[@tick_memory@], after[@tick_memory@], carry[@tick_carry@];
static double z_begin[@tick_z@], z[@tick_z@], z_after[@tick_z@];
static double H[N * N], g[N], A[M * N], low[N + M], high[N + M], y[N], multipliers[N + M];
static double doubles[QP_DOUBLES(N, M)];
static int ints[QP_INTS(N, M)];

@tick_parts@static int solve_stage(int number)
{
    switch (number) {
@tick_switch@    default: return QP_NOT_FINITE;
    }
}

/* Stages of each attempt, -1 after the last: the next one is tried where limits contradict each other. */
static const int attempts[ATTEMPTS][DEPTH] = {@tick_attempts@};

static int begin(@tick_pointers@double *good)
{
@call_begin@}

static int end(double solved, double *u)
{
@call_end@}

static int remember(@tick_remember@)
{
@call_memory@}

/* Limits may be infinite; an infinity elsewhere leaves numbers that are not finite to the program. */
static int are_numbers(const double *values, int count)
{
    for (int i = 0; i < count; ++i) {
        if (isnan(values[i])) return 0;
    }
    return 1;
}

static int solve(void)
{
    int status = QP_CONFLICT;
    for (int attempt = 0; attempt < ATTEMPTS && status == QP_CONFLICT; ++attempt) {
        memcpy(z, z_begin, sizeof z);
        status = QP_SOLVED;
        for (int k = 0; attempts[attempt][k] >= 0 && status == QP_SOLVED; ++k) {
            status = solve_stage(attempts[attempt][k]);
            if (status == QP_SOLVED) memcpy(z, z_after, sizeof z);
        }
        if (status == QP_SOLVED) return attempt ? @NAME@_LIMITS_RELAXED : @NAME@_SUCCESS;
    }
    if (status == QP_CONFLICT) return @NAME@_CONFLICTING_LIMITS;
    return status == QP_NOT_FINITE ? @NAME@_NOT_FINITE : @NAME@_NOT_CONVERGED;
}

int @name@_reset(@tick_reset@)
{
    memset(carry, 0, sizeof carry);
    memset(z, 0, sizeof z);
    return remember(@tick_seed@);
}

int @name@_tick(@tick_arguments@double u[@NAME@_NU])
{
    double good = 0.0;
    int status = @NAME@_NOT_FINITE;
    if (@tick_finite@) {
        if (begin(@tick_names@&good)) return @NAME@_NOT_CONVERGED;
        status = good > 0.0 ? solve() : @NAME@_NOT_CONVERGED;
    }
    const double solved = status == @NAME@_SUCCESS ? 1.0 : status > 0 ? 2.0 : status == @NAME@_NOT_FINITE ? -1.0 : 0.0;
    if (end(solved, u)) return @NAME@_NOT_CONVERGED;
    memcpy(memory, after, sizeof memory);
    return status;
}
