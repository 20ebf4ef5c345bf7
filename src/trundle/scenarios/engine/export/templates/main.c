/* Compares the exported functions with values computed by trundle @version@ in Python. */
@ticks{
#define _POSIX_C_SOURCE 200112L /* clock_gettime, nanosleep */
@}
#include "@name@.h"
#include <math.h>
#include <stdio.h>
@ticks{
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

@ticks{
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

@tick_checks@
@}
int main(void)
{
    double model = 0.0, controller = 0.0, stages = 0.0;
    int failed = 0;
    (void)controller;
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
@stages{
@check_stages@
    printf("largest difference: stages %.3g\n", stages);
@}
@model{
    printf("largest difference: model %.3g\n", model);
@}
@control{
    printf("largest difference: controller %.3g\n", controller);
    failed |= !(controller <= @largest@);
@}
@ticks{
@tick_calls@
@}
    return !failed && model <= @largest@ && stages <= @stages_largest@ ? 0 : 1;
}
