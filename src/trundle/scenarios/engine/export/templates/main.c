/* Compares the exported functions with values computed by trundle @version@ in Python. */
@tick{
#define _POSIX_C_SOURCE 200112L /* clock_gettime, nanosleep */
@}
#include "@name@.h"
#include <math.h>
#include <stdio.h>
@tick{
#include <stdlib.h>
#include <time.h>
@}

@model{
@known@
@}
@control{
@known_control@
@}
@stages{
@known_stages@
@}
/* Largest difference over 1 + |value|; what is not a number counts as infinite. */
static void compare(const double *here, const double *known, int count, double *largest)
{
    for (int i = 0; i < count; ++i) {
        const double difference = fabs(here[i] - known[i]) / (1.0 + fabs(known[i]));
        if (!(difference <= *largest)) *largest = difference == difference ? difference : INFINITY;
    }
}

@tick{
/* Ticks of Python's controller: measured states, arguments and inputs. */
@known_ticks@
enum { TICKS = @ticks@, LOOP = 1000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* One second of a loop at 1 kHz: where the recorded state is taken, read the sensors; then send u to the drives. */
static void loop(void)
{
    static double spent[LOOP];
    const double start = now();
    for (int k = 0; k < LOOP; ++k) {
        double u[@NAME@_NU];
        struct timespec rest = {0, 0};
        const int i = k % TICKS;
        const double begin = now();
        if (i == 0) @name@_reset(@tick_first@);
        @name@_tick(@tick_rows@u);
        spent[k] = now() - begin;
        rest.tv_nsec = (long)(1e9 * fmin(fmax(start + 1e-3 * (k + 1) - now(), 0.0), 1e-3));
        nanosleep(&rest, NULL);
    }
    qsort(spent, LOOP, sizeof *spent, ascending);
    printf("%d ticks at 1 kHz: median %.1f us, worst %.1f us\n", LOOP, 1e6 * spent[LOOP / 2], 1e6 * spent[LOOP - 1]);
}

@}
int main(void)
{
    double model = 0.0, controller = 0.0, stages = 0.0;
@model{
    for (int k = 0; k < @count@; ++k) {
        double rate[@NAME@_NX], force[@NAME@_NF ? @NAME@_NF : 1];
        if (@name@_rate(known_x[k], known_u[k], rate, force)) return 2;
        compare(rate, known_rate[k], @NAME@_NX, &model);
        compare(force, known_force[k], @NAME@_NF, &model);
    }
@}
@control{
    for (int k = 0; k < @count@; ++k) {
        double answer[@NAME@_NU];
        if (@name@_control(known_time[k][0], known_x[k], answer)) return 2;
        compare(answer, known_control[k], @NAME@_NU, &controller);
    }
@}
@tick{
    if (@name@_reset(@tick_first@)) return 2;
    for (int i = 0; i < TICKS; ++i) {
        double answer[@NAME@_NU];
        @name@_tick(@tick_rows@answer);
        compare(answer, tick_u[i], @NAME@_NU, &controller);
    }
@}
@stages{
@check_stages@
    printf("largest difference: stages %.3g\n", stages);
@}
@model{
    printf("largest difference: model %.3g\n", model);
@}
@control{
    printf("largest difference: controller %.3g\n", controller);
@}
@tick{
    printf("largest difference: controller %.3g\n", controller);
    loop();
@}
    return model <= @largest@ && controller <= @controller_largest@ && stages <= @stages_largest@ ? 0 : 1;
}
