/* Runs the instructions of a CasADi function, each at POINTS points at once: bitwise as CasADi's virtual machine. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "operations.h"

typedef double points __attribute__((vector_size(8 * POINTS)));

typedef struct {
    const int *in_size, *out_size; /* nonzeros of one point */
    const double *constants;
    const char *begin, *end; /* words of 8 bytes; operation: 7 bits; result, first and second operand: 19 bits each */
} tape;

enum { INPUT = OPERATIONS, OUTPUT, CONSTANT };

#define EACH(F) for (int p = 0; p < POINTS; p++) { F; }
#define TOGETHER(NAME, F) case OP_##NAME: { points x = w[a], y = w[b]; (void)y; w[o] = F; } break;
#define APART(NAME, F) \
    case OP_##NAME: { points r; EACH(double x = w[a][p]; double y = w[b][p]; (void)y; r[p] = F) w[o] = r; } break;

static int run(const tape *f, const double **arg, double **res, double *memory) {
    points *w = (points *)(((uintptr_t)memory + sizeof(points) - 1) & ~(uintptr_t)(sizeof(points) - 1));
    for (const char *t = f->begin; t < f->end; t += 8) {
        uint64_t word;
        memcpy(&word, t, 8);
        unsigned o = word >> 7 & 0x7ffff, a = word >> 26 & 0x7ffff, b = word >> 45;
        switch (word & 127) {
            case INPUT: { points r; EACH(r[p] = arg[a] ? arg[a][p * f->in_size[a] + b] : 0.0) w[o] = r; } break;
            case OUTPUT: if (res[b]) EACH(res[b][p * f->out_size[b] + o] = w[a][p]) break;
            case CONSTANT: { points r; EACH(r[p] = f->constants[a]) w[o] = r; } break;
            ARITHMETIC(TOGETHER)
            FUNCTIONS(APART)
            default: return 1;
        }
    }
    return 0;
}

/* What CasADi asks an external function for. */
#define FUNCTION(NAME, WORK) \
    int NAME(const double **arg, double **res, long long *iw, double *w, int mem) { \
        (void)iw; (void)mem; \
        return run(&NAME##_tape, arg, res, w); \
    } \
    long long NAME##_n_in(void) { return sizeof(NAME##_in) / sizeof(*NAME##_in); } \
    long long NAME##_n_out(void) { return sizeof(NAME##_out) / sizeof(*NAME##_out); } \
    const long long *NAME##_sparsity_in(long long i) { return NAME##_in[i]; } \
    const long long *NAME##_sparsity_out(long long i) { return NAME##_out[i]; } \
    int NAME##_work(long long *n_arg, long long *n_res, long long *n_iw, long long *n_w) { \
        *n_arg = NAME##_n_in(); *n_res = NAME##_n_out(); *n_iw = 0; *n_w = POINTS * (WORK + 1LL); \
        return 0; \
    }
