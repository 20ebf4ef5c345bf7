/* Compares the exported functions with values computed by trundle @version@ in Python. */
#include "@name@.h"
#include <math.h>
#include <stdio.h>

@known@
/* Largest difference over 1 + |value|; what is not a number counts as infinite. */
static void compare(const double *here, const double *known, int count, double *largest)
{
    for (int i = 0; i < count; ++i) {
        const double difference = fabs(here[i] - known[i]) / (1.0 + fabs(known[i]));
        if (!(difference <= *largest)) *largest = difference == difference ? difference : INFINITY;
    }
}

int main(void)
{
    double model = 0.0, controller = 0.0;
    for (int k = 0; k < @count@; ++k) {
        double rate[@NAME@_NX], force[@NAME@_NF ? @NAME@_NF : 1];
        if (@name@_rate(known_x[k], known_u[k], rate, force)) return 2;
        compare(rate, known_rate[k], @NAME@_NX, &model);
        compare(force, known_force[k], @NAME@_NF, &model);
@control{
        double answer[@NAME@_NU];
        if (@name@_control(known_time[k][0], known_x[k], answer)) return 2;
        compare(answer, known_control[k], @NAME@_NU, &controller);
@}
    }
    printf("largest difference: model %.3g\n", model);
@control{
    printf("largest difference: controller %.3g\n", controller);
@}
    return model <= @largest@ && controller <= @largest@ ? 0 : 1;
}
