/* The integrator's state, one Runge-Kutta step and its dense output. Included by ode_core.c. */
#include <math.h>
#include <string.h>

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

/* Where in a step the slope of its dense output is worst, and the error of a state over that slope's, of a step (DOP853). */
static const double WORST_AT = 0.65, ERROR_OF_SLOPE = 1.0 / 7.0;

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
  double t0, t1, step, first_step, relative_tolerance, min_step, max_step, slice_seconds;
  const double *absolute_tolerance, *arming_tolerance;
  integer max_steps, points, sample_count;
  const double *sample_times;
  double *samples;
  /* state of the run */
  double t, h_next, h_last, error_last;
  double *x, *x_new, *x_dense, *K, *F, *trial, *g, *g_trial, *g_min;
  integer *armed;
  integer steps, rejected, evaluations, reached, status, event, after_reject, pressed, approaches, near_zero;
} Ode;

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

/* The error of the dense output between the ends of a step of size h, over the tolerance (root mean square): its slope
 * against the rate, where that differs most. Not finite where there is no rate. */
static double dense_error(Ode *o, double h) {
  integer n = o->n, rows = 3 + o->dense_rows;
  double sum = 0.0, t = o->t + WORST_AT * h;
  if (!interpolate(o, WORST_AT, t, o->x_dense) || !rate(o, t, o->x_dense, o->trial)) return NAN;
  for (integer k = 0; k < n; k++) {
    double value = 0.0, slope = 0.0;
    for (integer r = rows - 1; r >= 0; r--) {
      double factor = r % 2 == 0 ? WORST_AT : 1.0 - WORST_AT;
      value += o->F[r * n + k];
      slope = r % 2 == 0 ? slope * factor + value : slope * factor - value;
      value *= factor;
    }
    double scale = o->absolute_tolerance[k] + o->relative_tolerance * fmax(fabs(o->x[k]), fabs(o->x_new[k]));
    double error = ERROR_OF_SLOPE * (slope - h * o->trial[k]) / scale;
    sum += error * error;
  }
  return sqrt(sum / (double)n);
}
