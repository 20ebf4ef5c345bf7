/* Explicit Runge-Kutta stepping over functions in CasADi's calling convention.
 *
 * The tableau, the functions and every buffer come from outside through one struct that mirrors
 * `trundle.numerics.ode_native.OdeStruct` field by field; nothing is allocated here.
 * `trundle_ode_run` returns after `slice_seconds` so that its caller can look for Ctrl-C; all state is
 * in the struct, so where a run is sliced does not change its numbers.
 */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <string.h>
#include <time.h>

typedef long long integer;
typedef int (*casadi_function)(const double **, double **, integer *, double *, int);

typedef struct {
  casadi_function eval; /* null where the system has no such function */
  const double **arg;
  double **res;
  integer *iw;
  double *w;
  integer mem;
} Call;

enum { RUNNING, DONE, EVENT, STEP_TOO_SMALL, TOO_MANY_STEPS, NOT_FINITE };
enum { WAITING, ARMED, UNWATCHED };

typedef struct {
  /* tableau: `stages` stages, then the rate at the step's end, then `extra` stages for dense output */
  integer stages, extra, dense_rows, error_rows;
  const double *A, *b, *c, *E, *A_extra, *c_extra, *D;
  double error_exponent;
  /* system */
  integer n, m;
  Call rate, margins, projection;
  const double *p;
  /* settings; step > 0 fixes the step, 0 adapts it */
  double t0, t1, step, first_step, relative_tolerance, min_step, arming_tolerance, slice_seconds;
  const double *absolute_tolerance;
  integer max_steps, points, sample_count;
  const double *sample_times;
  double *samples;
  /* state of the run */
  double t, h_next;
  double *x, *x_new, *x_dense, *K, *F, *trial, *g, *g_trial, *g_min;
  integer *armed;
  integer steps, rejected, evaluations, reached, status, event, after_reject;
} Ode;

integer trundle_ode_size(void) { return (integer)sizeof(Ode); }

static int finite_all(const double *v, integer n) {
  for (integer i = 0; i < n; i++)
    if (!isfinite(v[i])) return 0;
  return 1;
}

static int call(Ode *o, Call *f, double t, const double *x, double *out) {
  f->arg[0] = &t;
  f->arg[1] = x;
  f->arg[2] = o->p;
  f->res[0] = out;
  return f->eval(f->arg, f->res, f->iw, f->w, (int)f->mem) == 0;
}

static int rate(Ode *o, double t, const double *x, double *dx) {
  o->evaluations++;
  return call(o, &o->rate, t, x, dx) && finite_all(dx, o->n);
}

/* Projection in place. `trial` is free whenever this is called. */
static int project(Ode *o, double t, double *x) {
  if (!o->projection.eval) return 1;
  int good = call(o, &o->projection, t, x, o->trial) && finite_all(o->trial, o->n);
  if (good) memcpy(x, o->trial, (size_t)o->n * sizeof(double));
  return good;
}

/* Margins; a watched margin that is not a number is a failure. */
static int margins(Ode *o, double t, const double *x, double *g) {
  if (!call(o, &o->margins, t, x, g)) return 0;
  for (integer j = 0; j < o->m; j++)
    if (o->armed[j] != UNWATCHED && isnan(g[j])) return 0;
  return 1;
}

/* x_new = x + h sum_i weights_i K_i */
static void combine(Ode *o, double h, const double *weights, integer count, double *out) {
  integer n = o->n;
  for (integer k = 0; k < n; k++) out[k] = 0.0;
  for (integer i = 0; i < count; i++) {
    double a = weights[i];
    const double *Ki = o->K + i * n;
    if (a != 0.0)
      for (integer k = 0; k < n; k++) out[k] += a * Ki[k];
  }
  for (integer k = 0; k < n; k++) out[k] = o->x[k] + h * out[k];
}

/* The stages of one step of size h from (t, x), whose rate is K_0; x_new is not projected. */
static int attempt(Ode *o, double h) {
  for (integer i = 1; i < o->stages; i++) {
    combine(o, h, o->A + i * o->stages, i, o->trial);
    if (!rate(o, o->t + o->c[i] * h, o->trial, o->K + i * o->n)) return 0;
  }
  combine(o, h, o->b, o->stages, o->x_new);
  return finite_all(o->x_new, o->n);
}

/* Root mean square of the error over the tolerance; NaN where a stage was not finite. */
static double error_norm(Ode *o, double t_new, double h) {
  integer n = o->n, count = o->stages + 1;
  double sum[2] = {0.0, 0.0};
  if (o->E[o->stages] != 0.0 && !rate(o, t_new, o->x_new, o->K + o->stages * n)) return NAN;
  for (integer k = 0; k < n; k++) {
    double scale = o->absolute_tolerance[k] + o->relative_tolerance * fmax(fabs(o->x[k]), fabs(o->x_new[k]));
    for (integer r = 0; r < o->error_rows; r++) {
      double e = 0.0;
      for (integer i = 0; i < count; i++)
        if (o->E[r * count + i] != 0.0) e += o->E[r * count + i] * o->K[i * n + k];
      e /= scale;
      sum[r] += e * e;
    }
  }
  if (o->error_rows == 1) return fabs(h) * sqrt(sum[0] / (double)n);
  if (sum[0] == 0.0 && sum[1] == 0.0) return 0.0;
  return fabs(h) * sum[0] / sqrt((sum[0] + 0.01 * sum[1]) * (double)n); /* Hairer's pair of orders 5 and 3 */
}

/* After an attempt: project x_new and evaluate the rate there (the next step's K_0). */
static int finish(Ode *o, double t_new, int have_rate) {
  if (!project(o, t_new, o->x_new)) return 0;
  if (have_rate && !o->projection.eval) return 1;
  return rate(o, t_new, o->x_new, o->K + o->stages * o->n);
}

/* Coefficients of x + theta (F0 + (1-theta) (F1 + theta (F2 + (1-theta) (F3 + ...)))). */
static int densify(Ode *o, double h) {
  integer n = o->n, s = o->stages, total = s + 1 + o->extra;
  for (integer i = 0; i < o->extra; i++) {
    combine(o, h, o->A_extra + i * total, s + 1 + i, o->trial);
    if (!rate(o, o->t + o->c_extra[i] * h, o->trial, o->K + (s + 1 + i) * n)) return 0;
  }
  const double *first = o->K, *last = o->K + s * n;
  for (integer k = 0; k < n; k++) {
    double delta = o->x_new[k] - o->x[k];
    o->F[k] = delta;
    o->F[n + k] = h * first[k] - delta;
    o->F[2 * n + k] = 2.0 * delta - h * (last[k] + first[k]);
    for (integer r = 0; r < o->dense_rows; r++) {
      double value = 0.0;
      for (integer i = 0; i < total; i++) value += o->D[r * total + i] * o->K[i * n + k];
      o->F[(3 + r) * n + k] = h * value;
    }
  }
  return 1;
}

static int interpolate(Ode *o, double theta, double t, double *out) {
  integer n = o->n, rows = 3 + o->dense_rows;
  for (integer k = 0; k < n; k++) {
    double value = 0.0;
    for (integer r = rows - 1; r >= 0; r--)
      value = (value + o->F[r * n + k]) * (r % 2 == 0 ? theta : 1.0 - theta);
    out[k] = o->x[k] + value;
  }
  return project(o, t, out);
}

/* Margins at t + h into g_trial, the state into x_new by a step of that size (h_dense = 0),
 * or into x_dense by the dense output of a step of size h_dense. */
static int probe(Ode *o, double h, double h_dense) {
  double *x = h_dense > 0.0 ? o->x_dense : o->x_new;
  int good = h_dense > 0.0 ? interpolate(o, h / h_dense, o->t + h, x) : attempt(o, h) && project(o, o->t + h, x);
  return good && margins(o, o->t + h, x, o->g_trial);
}

/* Time step in (low, high] where margin j reaches zero, by Chandrupatla's method; the side with margin <= 0.
 * Negative where a probe fails or not margin(low) > 0 >= margin(high). */
static double locate(Ode *o, integer j, double low, double high, double h_dense) {
  if (!probe(o, low, h_dense)) return -1.0;
  double b = low, gb = o->g_trial[j];
  if (!probe(o, high, h_dense)) return -1.0;
  double a = high, ga = o->g_trial[j], c = b, gc = gb, part = 0.5;
  double resolution = 4.5e-16 * (fabs(o->t) + high);
  if (!(gb > 0.0 && ga <= 0.0)) return -1.0;
  for (int k = 0; k < 120 && fabs(b - a) > resolution && ga != 0.0; k++) {
    double h = a + part * (b - a);
    if (h <= fmin(a, b) || h >= fmax(a, b)) break;
    if (!probe(o, h, h_dense)) return -1.0;
    double g = o->g_trial[j];
    if ((g <= 0.0) == (ga <= 0.0)) {
      c = a, gc = ga;
    } else {
      c = b, gc = gb, b = a, gb = ga;
    }
    a = h, ga = g;
    double xi = (a - b) / (c - b), phi = (ga - gb) / (gc - gb), edge = 0.5 * resolution / fabs(b - a);
    part = 0.5;
    if (phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi)
      part = ga / (gb - ga) * gc / (gb - gc) + (c - a) / (b - a) * ga / (gc - ga) * gb / (gc - gb);
    part = isfinite(part) ? fmin(fmax(part, fmin(edge, 0.5)), 1.0 - fmin(edge, 0.5)) : 0.5;
  }
  return ga <= 0.0 ? a : b;
}

/* Search a dip of margin j below zero between three dense points, the middle one lowest (times after t in s,
 * margins in g). Returns a time after t with margin <= 0, else a negative number; s[0] is then before it. */
static double dip(Ode *o, integer j, double *s, double *g, double h) {
  for (int k = 0; k < 8 && g[1] > 0.0 && g[1] <= g[0] && g[1] <= g[2]; k++) {
    double left = (g[0] - g[1]) / (s[1] - s[0]), right = (g[2] - g[1]) / (s[2] - s[1]);
    double bend = (left + right) / (s[2] - s[0]), slope = right - bend * (s[2] - s[1]);
    double shift = -0.5 * slope / bend, bottom = g[1] - 0.25 * slope * slope / bend;
    if (!(bottom <= 0.5 * g[1]) || !(fabs(shift) > 1e-9 * h)) return -1.0;
    double tip = s[1] + shift;
    if (!(tip > s[0] && tip < s[2]) || !probe(o, tip, h)) return -1.0;
    double value = o->g_trial[j];
    int before = tip < s[1], lower = value < g[1];
    if (value <= 0.0) {
      if (!before) s[0] = s[1];
      return tip;
    }
    if (before && lower) s[2] = s[1], g[2] = g[1], s[1] = tip, g[1] = value;
    else if (before) s[0] = tip, g[0] = value;
    else if (lower) s[0] = s[1], g[0] = g[1], s[1] = tip, g[1] = value;
    else s[2] = tip, g[2] = value;
  }
  return -1.0;
}

/* First watched margin that leaves its range in the step, with its bracket; -1 for none. Arms the waiting ones. */
static integer first_crossing(Ode *o, double h, double *low, double *high) {
  integer m = o->m, count = o->points + 1;
  for (integer i = 0; i < count; i++) {
    const double *ga = o->g + i * m, *gb = ga + m;
    *low = h * (double)i / (double)count;
    *high = i + 1 == count ? h : h * (double)(i + 1) / (double)count;
    for (integer j = 0; j < m; j++) {
      if (o->armed[j] == WAITING && ga[j] > o->arming_tolerance) o->armed[j] = ARMED;
      if (i == 0 || o->armed[j] != ARMED || !(ga[j - m] > 0.0)) continue;
      double s[3] = {h * (double)(i - 1) / (double)count, *low, *high}, g[3] = {ga[j - m], ga[j], gb[j]};
      double tip = dip(o, j, s, g, h);
      if (tip >= 0.0) {
        *low = s[0], *high = tip;
        return j;
      }
    }
    for (integer j = 0; j < m; j++)
      if (o->armed[j] == ARMED && ga[j] > 0.0 && gb[j] <= 0.0) return j;
  }
  for (integer j = 0; j < m; j++) /* a waiting margin that is up at the end of the step */
    if (o->armed[j] == WAITING && o->g[count * m + j] > o->arming_tolerance) o->armed[j] = ARMED;
  return -1;
}

/* Exact time after t of event *j, whose dense bracket is given; *j becomes an earlier one if there is.
 * Leaves the state of the event in x_new, and in F a dense output over *h_whole. Negative on failure. */
static double settle(Ode *o, integer *j, double low, double high, double h, double *h_whole) {
  double h_dense = 0.0, width = h / (double)(o->points + 1), h_event = locate(o, *j, low, high, h_dense);
  for (double up = high; h_event < 0.0 && up < h; ) /* the dense output is a little early */
    up = fmin(up + width, h), h_event = locate(o, *j, low, up, h_dense);
  if (h_event < 0.0) h_event = locate(o, *j, 0.0, high, h_dense); /* or a little late */
  if (h_event < 0.0) h_dense = h, h_event = locate(o, *j, low, high, h_dense);
  if (h_event < 0.0 || !probe(o, h_event, h_dense)) return -1.0;
  for (integer k = 0; k < o->m; k++) {
    if (k == *j || o->armed[k] != ARMED || o->g_trial[k] >= 0.0) continue;
    double earlier = locate(o, k, low, h_event, h_dense);
    if (earlier < 0.0) earlier = locate(o, k, 0.0, h_event, h_dense);
    if (earlier >= 0.0) h_event = earlier, *j = k;
    if (!probe(o, h_event, h_dense)) return -1.0;
  }
  *h_whole = h_dense > 0.0 ? h_dense : h_event;
  if (h_dense > 0.0) {
    memcpy(o->x_new, o->x_dense, (size_t)o->n * sizeof(double));
    return h_event;
  }
  double t_event = o->t + h_event;
  return rate(o, t_event, o->x_new, o->K + o->stages * o->n) && densify(o, h_event) ? h_event : -1.0;
}

/* Margins over the step just made: -1 none left its range, -2 failure, else the event; *h becomes its time. */
static integer watch(Ode *o, double t_new, double *h, int *dense, double *h_dense) {
  integer m = o->m, count = o->points + 1, watched = 0, event = -1;
  for (integer j = 0; j < m; j++) watched += o->armed[j] != UNWATCHED;
  if (!margins(o, t_new, o->x_new, o->g + count * m)) return -2;
  if (watched) {
    if (!*dense && !densify(o, *h)) return -2;
    *dense = 1;
    for (integer i = 1; i < count; i++) {
      double s = *h * (double)i / (double)count;
      if (!interpolate(o, s / *h, o->t + s, o->x_dense)) return -2;
      if (!margins(o, o->t + s, o->x_dense, o->g + i * m)) return -2;
    }
    double low = 0.0, high = *h;
    event = first_crossing(o, *h, &low, &high);
    if (event >= 0) {
      double h_event = settle(o, &event, low, high, *h, h_dense);
      if (h_event < 0.0) return -2;
      *h = h_event;
      memcpy(o->g + count * m, o->g_trial, (size_t)m * sizeof(double));
    }
  }
  for (integer j = 0; j < m; j++) {
    double value = o->g[count * m + j];
    if (!(value >= o->g_min[j]) && !isnan(o->g_min[j])) o->g_min[j] = value;
  }
  return event;
}

/* Write the samples up to t_new, where the state is x_new. */
static int emit(Ode *o, double t_new, double h, int *dense, double h_dense) {
  while (o->reached < o->sample_count && o->sample_times[o->reached] <= t_new) {
    double ts = o->sample_times[o->reached], *out = o->samples + o->reached * o->n;
    if (ts >= t_new) {
      memcpy(out, o->x_new, (size_t)o->n * sizeof(double));
    } else {
      if (!*dense && !densify(o, h)) return 0;
      *dense = 1;
      if (!interpolate(o, (ts - o->t) / h_dense, ts, out)) return 0;
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
    o->h_next = h * (good ? fmax(0.2, 0.9 * pow(error, -o->error_exponent)) : 0.1);
    o->after_reject = 1;
    if (fixed || o->h_next < least) o->status = good ? STEP_TOO_SMALL : NOT_FINITE;
    return;
  }
  if (!fixed) {
    double factor = error == 0.0 ? 10.0 : fmin(10.0, 0.9 * pow(error, -o->error_exponent));
    if (o->after_reject) factor = fmin(factor, 1.0);
    o->after_reject = 0;
    o->h_next = last ? fmax(o->h_next, h * factor) : h * factor;
  }
  accept(o, h, t_new);
}

/* First step after Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4. */
static double starting_step(Ode *o) {
  double d0 = 0.0, d1 = 0.0, d2 = 0.0, span = o->t1 - o->t0, *rate_next = o->K + o->n;
  for (int pass = 0; pass < 2; pass++) {
    double h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    h0 = fmin(h0, span);
    if (pass == 1) {
      for (integer k = 0; k < o->n; k++) o->x_new[k] = o->x[k] + h0 * o->K[k];
      if (!rate(o, o->t0 + h0, o->x_new, rate_next)) return 1e-3 * h0;
    }
    double sums[3] = {0.0, 0.0, 0.0};
    for (integer k = 0; k < o->n; k++) {
      double scale = o->absolute_tolerance[k] + o->relative_tolerance * fabs(o->x[k]);
      double v[3] = {o->x[k] / scale, o->K[k] / scale, pass ? (rate_next[k] - o->K[k]) / scale : 0.0};
      for (int r = 0; r < 3; r++) sums[r] += v[r] * v[r];
    }
    d0 = sqrt(sums[0] / (double)o->n), d1 = sqrt(sums[1] / (double)o->n);
    if (pass == 0) continue;
    d2 = sqrt(sums[2] / (double)o->n) / h0;
    double worst = fmax(d1, d2);
    double h1 = worst <= 1e-15 ? fmax(1e-6, 1e-3 * h0) : pow(0.01 / worst, o->error_exponent);
    return fmin(fmin(100.0 * h0, h1), span);
  }
  return span;
}

void trundle_ode_start(Ode *o) {
  int dense = 1;
  o->t = o->t0, o->h_next = o->step, o->event = -1, o->status = NOT_FINITE;
  o->steps = o->rejected = o->evaluations = o->reached = o->after_reject = 0;
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
    o->h_next = o->first_step > 0.0 ? fmin(o->first_step, o->t1 - o->t0) : starting_step(o);
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
