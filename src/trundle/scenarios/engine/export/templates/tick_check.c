/* Ticks of Python's controller: arguments and outputs. */
@known_ticks@
enum { @NAME@_TICKS = @ticks@, @NAME@_LOOP = @loop_count@ };

/* Largest difference from them. */
static double @name@_compared(void)
{
    double largest = 0.0;
    if (@name@_reset(@tick_first@)) return INFINITY;
    for (int i = 0; i < @NAME@_TICKS; ++i) {
        double u[@NAME@_NU];
        @name@_tick(@tick_rows@u);
        compare(u, @name@_known_u[i], @NAME@_NU, &largest);
    }
    return largest;
}

/* One second of a loop at @loop_rate@: where recorded arguments are taken, read the sensors; then use u. */
static void @name@_loop(void)
{
    static double spent[@NAME@_LOOP];
    const double start = now(), step = @loop_step@;
    for (int k = 0; k < @NAME@_LOOP; ++k) {
        double u[@NAME@_NU];
        struct timespec rest = {0, 0};
        const int i = k % @NAME@_TICKS;
        const double begin = now();
        if (i == 0) @name@_reset(@tick_first@);
        @name@_tick(@tick_rows@u);
        spent[k] = now() - begin;
        rest.tv_nsec = (long)(1e9 * fmin(fmax(start + step * (k + 1) - now(), 0.0), step));
        nanosleep(&rest, NULL);
    }
    qsort(spent, @NAME@_LOOP, sizeof *spent, ascending);
    printf("%d ticks at @loop_rate@: median %.1f us, worst %.1f us\n", @NAME@_LOOP, 1e6 * spent[@NAME@_LOOP / 2],
           1e6 * spent[@NAME@_LOOP - 1]);
}

