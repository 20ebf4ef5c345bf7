/* CasADi functions as data: their operations, done with the numbers of CasADi's virtual machine behind the calling
 * convention of generated code. Mirror of `trundle.numerics.compiled.interpreter`.
 *
 * Each value has a place of its own in the work memory: constants, inputs, then results in the order of the code. That
 * has runs of one operation, which are done without a look at what comes next: a tenth of the time that reading
 * instructions one by one takes. */
#include <math.h>
#include <string.h>

#include "operations.h"

typedef long long integer;

typedef struct {
  integer constants, inputs, outputs, results;
  const integer *in_size, *out_size;
  const double *constant;
  const int *code, *out; /* runs: operation, how many, the places of their operands x and y; places of the outputs */
} Program;

enum { PROGRAMS = 65536 };

static const Program *programs[PROGRAMS];
static integer latest;

integer interpreter_program_size(void) { return (integer)sizeof(Program); }

/* The number of a program, which lives until that is given back; 0: there are too many. */
integer interpreter_add(const Program *program) {
  for (integer i = 1; i <= PROGRAMS; i++) {
    integer at = (latest + i) % PROGRAMS;
    if (at && !programs[at]) {
      programs[at] = program, latest = at;
      return at;
    }
  }
  return 0;
}

void interpreter_remove(integer number) { programs[number] = 0; }

static void run(const int *code, const double *values, double *result, const double *end) {
  while (result < end) {
    int operation = code[0], count = code[1];
    code += 2;
    switch (operation) {
#define CASE(NAME, RESULT) \
  case OP_##NAME: \
    for (int i = 0; i < count; i++) { \
      const double x = values[code[2 * i]], y = values[code[2 * i + 1]]; \
      (void)y; \
      result[i] = RESULT; \
    } \
    break;
      ARITHMETIC(CASE)
      FUNCTIONS(CASE)
    }
    code += 2 * count, result += count;
  }
}

/* A function of one input and one output at `count` rows of inputs, one after the other. */
void interpreter_rows(integer number, integer count, const double *in, double *out, double *w) {
  const Program *f = programs[number];
  integer size = f->in_size[0], width = f->out_size[0];
  double *input = w + f->constants, *result = input + size;
  memcpy(w, f->constant, (size_t)f->constants * sizeof(double));
  for (integer row = 0; row < count; row++, in += size, out += width) {
    memcpy(input, in, (size_t)size * sizeof(double));
    run(f->code, w, result, result + f->results);
    for (integer j = 0; j < width; j++) out[j] = w[f->out[j]];
  }
}

int interpreter_run(const double **arg, double **res, integer *iw, double *w, int mem) {
  const Program *f = programs[mem];
  double *at = w;
  (void)iw;
  memcpy(at, f->constant, (size_t)f->constants * sizeof(double)), at += f->constants;
  for (integer i = 0; i < f->inputs; at += f->in_size[i++]) {
    size_t bytes = (size_t)f->in_size[i] * sizeof(double);
    if (arg[i]) memcpy(at, arg[i], bytes);
    else memset(at, 0, bytes);
  }
  run(f->code, w, at, at + f->results);
  const int *place = f->out;
  for (integer i = 0; i < f->outputs; place += f->out_size[i++])
    for (integer j = 0; res[i] && j < f->out_size[i]; j++) res[i][j] = w[place[j]];
  return 0;
}
