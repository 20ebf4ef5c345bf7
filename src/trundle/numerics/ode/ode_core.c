/* Explicit Runge-Kutta stepping over functions in CasADi's calling convention.
 *
 * The tableau, the functions and every buffer come from outside through one struct that mirrors
 * `trundle.numerics.ode.native.OdeStruct` field by field (ode_step.h); nothing is allocated here.
 * `trundle_ode_run` returns after `slice_seconds` so that its caller can look for Ctrl-C; all state is
 * in the struct, so where a run is sliced does not change its numbers.
 */
#define _POSIX_C_SOURCE 199309L
#include <time.h>

#include "ode_step.h"

#include "ode_events.h"

static const double ROUGH = 10.0; /* error over the tolerance up to which the dense output gives the samples */
static const double HOPELESS = 1e6; /* error over the tolerance of a step over something that is not smooth */
/* How far short of the zero of a margin a step ends, of the time to it: as well as that is known, the second time better. */
static const double CLOSE = 1.0 / 32.0, CLOSEST = 1.0 / 1024.0;

integer trundle_ode_size(void) { return (integer)sizeof(Ode); }

/* The state at t by a step of its own from the last one, whose end stays in x_new with its rate. */
static int step_to(Ode *o, double t, double *out) {
  double *end = o->x_new;
  o->x_new = out;
  int good = attempt(o, t - o->t) && project(o, t, out);
  o->x_new = end;
  return good;
}

/* Write the samples up to t_new, where the state is x_new: by the dense output where that is good enough. */
static int emit(Ode *o, double t_new, double h, int *dense, double h_dense) {
  int judged = o->step > 0.0, rough = 0; /* a fixed step has no tolerance */
  while (o->reached < o->sample_count && o->sample_times[o->reached] <= t_new) {
    double ts = o->sample_times[o->reached], *out = o->samples + o->reached * o->n;
    if (ts >= t_new) {
      memcpy(out, o->x_new, (size_t)o->n * sizeof(double));
    } else {
      if (!*dense && !densify(o, h)) return 0;
      *dense = 1;
      if (!judged) rough = !(dense_error(o, h_dense) < ROUGH);
      judged = 1;
      int stepped = rough && step_to(o, ts, out);
      if (!stepped && !interpolate(o, (ts - o->t) / h_dense, ts, out)) return 0;
    }
    o->reached++;
  }
  return 1;
}

/* The accepted step to t_new: events, samples, and the new state. */
static void accept(Ode *o, double h, double t_new) {
  size_t row = (size_t)o->n * sizeof(double);
  double h_dense = h;
  int dense = 0;
  integer event = -1;
  if (o->m > 0) {
    double h_step = h;
    event = watch(o, t_new, &h, &dense, &h_dense);
    if (event >= 0 && h < h_step) t_new = o->t + h;
  }
  if (event == -2 || !emit(o, t_new, h, &dense, h_dense)) {
    o->status = NOT_FINITE;
    return;
  }
  o->steps++;
  o->h_last = h;
  o->t = t_new;
  memcpy(o->x, o->x_new, row);
  memcpy(o->K, o->K + o->stages * o->n, row);
  if (o->m > 0) memcpy(o->g, o->g + (o->points + 1) * o->m, (size_t)o->m * sizeof(double));
  if (event >= 0) {
    o->event = event;
    o->status = EVENT;
  } else if (t_new >= o->t1) {
    o->status = DONE;
  }
}

/* By what the step grows after one with an error below one. Where several steps one after the other had to be smaller than
 * the one before, as towards an instant at which the rate is not smooth, it goes on like that (Gustafsson 1994). */
static double growth(Ode *o, double h, double error) {
  double factor = error == 0.0 ? 10.0 : fmin(10.0, 0.9 * pow(error, -o->error_exponent));
  int rejected = o->after_reject;
  if (rejected) factor = fmin(factor, 1.0);
  if (o->pressed > 1 && error > 0.0 && o->error_last > 0.0) {
    double as_before = 0.8 * h / o->h_last * pow(o->error_last / (error * error), o->error_exponent);
    factor = fmin(factor, fmax(0.2, as_before));
  }
  if (rejected) o->pressed++;
  else if (o->pressed < 2 || factor >= 1.0) o->pressed = 0;
  o->after_reject = 0;
  return factor;
}

/* After a step that failed: most of the time in which a margin is about to reach zero, if that is less than the step. Past
 * zero the rate may be another one, as that of a slip is which turns round; 0: no margin says so, or that was tried. */
static double short_of_zero(Ode *o, double h) {
  integer m = o->m, count = o->points + 1;
  double soon = h, part = o->h_last / (double)count;
  if (o->approaches > 0 || count < 3 || !(part > 0.0)) return 0.0;
  for (integer j = 0; j < m; j++) {
    const double *last = o->g + (count - 1) * m + j, *first = last - m;
    double g = o->g[j];
    double slope = (3.0 * g - 4.0 * *last + *first) / (2.0 * part);
    double bend = (g - 2.0 * *last + *first) / (part * part);
    double square = slope * slope - 2.0 * bend * g;
    if (o->armed[j] != ARMED || !(g > 0.0 && slope < 0.0 && square >= 0.0)) continue;
    soon = fmin(soon, 2.0 * g / (sqrt(square) - slope));
  }
  return soon < h ? soon * (1.0 - (o->near_zero ? CLOSEST : CLOSE)) : 0.0;
}

static void advance(Ode *o) {
  int fixed = o->step > 0.0, last;
  double h = o->h_next, t_new, least = fmax(o->min_step, 1.8e-15 * fabs(o->t));
  if (o->steps + o->rejected >= o->max_steps) {
    o->status = TOO_MANY_STEPS;
    return;
  }
  t_new = fixed ? o->t0 + (double)(o->steps + 1) * o->step : o->t + h;
  last = fixed ? t_new >= o->t1 - 1e-9 * o->step : o->t + 1.01 * h >= o->t1;
  if (last) t_new = o->t1, h = o->t1 - o->t;
  int good = attempt(o, h), have_rate = 0;
  double error = 0.0;
  if (good && !fixed) {
    error = error_norm(o, t_new, h);
    good = isfinite(error);
    have_rate = o->E[o->stages] != 0.0;
  }
  if (good && error < 1.0) good = finish(o, t_new, have_rate);
  if (!good || error >= 1.0) {
    o->rejected++;
    double shorter = fixed ? 0.0 : short_of_zero(o, h);
    o->near_zero = o->near_zero || shorter > 0.0;
    o->approaches = shorter > 0.0;
    double least_part = o->after_reject && error > HOPELESS ? 0.04 : 0.2;
    double by_error = h * (good ? fmax(least_part, 0.9 * pow(error, -o->error_exponent)) : 0.1);
    o->h_next = shorter > 0.0 ? shorter : by_error;
    o->after_reject = 1;
    if (fixed || o->h_next < least) o->status = good ? STEP_TOO_SMALL : NOT_FINITE;
    return;
  }
  if (!fixed) {
    double factor = growth(o, h, error);
    o->near_zero = o->near_zero && o->approaches;
    o->approaches = 0;
    o->error_last = error;
    o->h_next = fmin(last ? fmax(o->h_next, h * factor) : h * factor, o->max_step);
  }
  accept(o, h, t_new);
}

static double scaled_norm(Ode *o, const double *v, const double *minus) {
  double sum = 0.0;
  for (integer k = 0; k < o->n; k++) {
    double scale = o->absolute_tolerance[k] + o->relative_tolerance * fabs(o->x[k]);
    double value = (minus ? v[k] - minus[k] : v[k]) / scale;
    sum += value * value;
  }
  return sqrt(sum / (double)o->n);
}

/* First step after Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4. */
static double starting_step(Ode *o) {
  double d0 = scaled_norm(o, o->x, 0), d1 = scaled_norm(o, o->K, 0), span = o->t1 - o->t0, *next = o->K + o->n;
  double h0 = fmin(d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1, span);
  for (integer k = 0; k < o->n; k++) o->x_new[k] = o->x[k] + h0 * o->K[k];
  if (!rate(o, o->t0 + h0, o->x_new, next)) return 1e-3 * h0;
  double worst = fmax(d1, scaled_norm(o, next, o->K) / h0);
  double h1 = worst <= 1e-15 ? fmax(1e-6, 1e-3 * h0) : pow(0.01 / worst, o->error_exponent);
  return fmin(fmin(100.0 * h0, h1), span);
}

void trundle_ode_start(Ode *o) {
  int dense = 1;
  o->t = o->t0, o->h_next = o->step, o->event = -1, o->status = NOT_FINITE;
  o->steps = o->rejected = o->evaluations = o->reached = o->after_reject = 0;
  o->pressed = o->approaches = o->near_zero = 0;
  o->h_last = o->error_last = 0.0;
  memcpy(o->x_new, o->x, (size_t)o->n * sizeof(double));
  if (o->m > 0) {
    if (!margins(o, o->t, o->x, o->g)) return;
    memcpy(o->g_min, o->g, (size_t)o->m * sizeof(double));
  }
  if (!emit(o, o->t0, 0.0, &dense, 1.0)) return;
  for (integer j = 0; j < o->m && o->event < 0; j++)
    if (o->armed[j] == ARMED && o->g[j] <= 0.0) o->event = j;
  o->status = o->event >= 0 ? EVENT : o->t1 > o->t0 ? RUNNING : DONE;
  if (o->status != RUNNING) return;
  if (!rate(o, o->t0, o->x, o->K)) {
    o->status = NOT_FINITE;
  } else if (!(o->step > 0.0)) {
    o->h_next = fmin(o->first_step > 0.0 ? fmin(o->first_step, o->t1 - o->t0) : starting_step(o), o->max_step);
  }
}

static double now(void) {
  struct timespec clock;
  clock_gettime(CLOCK_MONOTONIC, &clock);
  return (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
}

void trundle_ode_run(Ode *o) {
  double begin = now();
  for (integer k = 1; o->status == RUNNING; k++) {
    advance(o);
    if (k % 16 == 0 && now() - begin > o->slice_seconds) return;
  }
}

/* Runs one after the other through pieces in which their inputs are held; mirror of `trundle.numerics.ode.batch`.
 *
 * p holds the parameters of every run, the inputs first: in piece k of run i they are inputs[i, k] - gains[i, k] (x -
 * reference[i, k]), kept within low and high where there are gains; `held` tells those of the samples. A run ends at its first event or failure, in `piece`.
 */
typedef struct {
  integer runs, pieces, inputs_count, parameters, inputs_stride, gains_stride, reference_stride;
  const double *ends, *inputs, *gains, *reference, *low, *high;
  const integer *armed, *most;
  double *x, *p, *samples, *held, *margin_minimum, *t, *next;
  integer *status, *event, *piece, *counts;
} Batch;

integer trundle_batch_size(void) { return (integer)sizeof(Batch); }

static void hold_inputs(const Ode *o, const Batch *b, integer run, integer k, double *p) {
  memcpy(p, b->inputs + run * b->inputs_stride + k * b->inputs_count, (size_t)b->inputs_count * sizeof(double));
  for (integer i = 0; b->gains && i < b->inputs_count; i++) {
    const double *row = b->gains + run * b->gains_stride + (k * b->inputs_count + i) * o->n;
    const double *reference = b->reference + run * b->reference_stride + k * o->n;
    double back = 0.0;
    for (integer j = 0; j < o->n; j++) back += row[j] * (o->x[j] - reference[j]);
    p[i] = fmin(fmax(p[i] - back, b->low[i]), b->high[i]);
  }
}

/* One run from t0; all samples lie in one array, the pieces share them. */
static void run_one(Ode *o, const Batch *b, integer run, double t0, const double *times, integer count) {
  double *p = b->p + run * b->parameters, *least = b->margin_minimum + run * o->m, first = 0.0;
  integer *counts = b->counts + 3 * run, taken = 0;
  memcpy(o->x, b->x + run * o->n, (size_t)o->n * sizeof(double));
  for (integer j = 0; j < o->m; j++) least[j] = INFINITY;
  o->p = p, o->t1 = t0;
  for (integer k = 0; k < b->pieces; k++) {
    o->t0 = o->t1, o->t1 = b->ends[k], o->first_step = first, o->max_steps = b->most[k];
    memcpy(o->armed, b->armed, (size_t)o->m * sizeof(integer));
    o->sample_times = times + taken, o->samples = b->samples + (run * count + taken) * o->n;
    for (o->sample_count = 0; taken + o->sample_count < count && o->sample_times[o->sample_count] <= o->t1;)
      o->sample_count++;
    hold_inputs(o, b, run, k, p);
    trundle_ode_start(o);
    while (o->status == RUNNING) advance(o);
    for (integer i = 0; i < o->reached; i++)
      memcpy(b->held + (run * count + taken + i) * b->inputs_count, p, (size_t)b->inputs_count * sizeof(double));
    taken += o->reached;
    for (integer j = 0; j < o->m; j++) least[j] = isnan(o->g_min[j]) ? NAN : fmin(least[j], o->g_min[j]);
    counts[0] += o->steps, counts[1] += o->rejected, counts[2] += o->evaluations;
    b->piece[run] = k;
    first = o->h_next > 0.0 && o->step <= 0.0 ? o->h_next : 0.0;
    if (o->status != DONE) break;
  }
  b->status[run] = o->status, b->event[run] = o->event, b->t[run] = o->t, b->next[run] = o->h_next;
  memcpy(b->x + run * o->n, o->x, (size_t)o->n * sizeof(double));
}

void trundle_ode_batch(Ode *o, const Batch *b, integer from, integer to) {
  double t0 = o->t0;
  const double *times = o->sample_times;
  integer count = o->sample_count;
  for (integer run = from; run < to; run++) run_one(o, b, run, t0, times, count);
  o->t0 = t0, o->sample_times = times, o->sample_count = count;
}

/* Seconds a call of f takes, over `count` calls with the arguments already in place. */
double trundle_time_calls(Call *f, const double **arg, double **res, integer n_in, integer n_out, integer count) {
  double begin = now();
  for (integer k = 0; k < count; k++) {
    for (integer i = 0; i < n_in; i++) f->arg[i] = arg[i];
    for (integer i = 0; i < n_out; i++) f->res[i] = res[i];
    if (f->eval(f->arg, f->res, f->iw, f->w, (int)f->mem)) return NAN;
  }
  return (now() - begin) / (double)count;
}
