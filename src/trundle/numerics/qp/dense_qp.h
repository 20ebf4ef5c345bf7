/* Strictly convex quadratic programs, dense: the dual active-set method of Goldfarb and Idnani (1983).
 *
 *   minimise 1/2 x'H x + g'x   subject to   low <= (x, A x) <= high
 *
 * H (n, n) symmetric positive definite, A (m, n) by rows, low and high (n + m): bounds of x, then of the rows. Equal
 * bounds are an equation, infinite ones none. C99, header only, nothing is allocated.
 */
#ifndef TRUNDLE_DENSE_QP_H
#define TRUNDLE_DENSE_QP_H

#include <math.h>
#include <string.h>

enum { QP_SOLVED, QP_CONFLICT, QP_NOT_FINITE, QP_NOT_CONVEX, QP_NO_CONVERGENCE };

#define QP_DOUBLES(n, m) (2 * (n) * (n) + 9 * (n) + (m) + 4)
#define QP_INTS(n, m) (4 * (n) + 3 * (m) + 2)
#define QP_ROUND 1e-11  /* violation, over the size of its terms, that is round-off */
#define QP_RANK 1e-9    /* part of a normal, in the norm of 1 / H, that active normals leave: below, it depends on them */
#define QP_ACCURACY 1e-6 /* largest residual, over the size of its terms, of a solution */

typedef struct {
  int n, m, q;                  /* q: active limits */
  const double *H, *g, *A, *low, *high;
  double *x;
  double *J;                    /* rows: columns of L^-T Q, H = L L', active normals N = L Q R */
  double *R;                    /* columns of R */
  double *u;                    /* multipliers >= 0 of the active limits (of equations: any) */
  double *a, *d, *z, *r, *s;    /* normal; J a; step of x; R^-1 d; scratch */
  int *set, *side;              /* active limits; of each limit 1: at low, -1: at high, 2: skipped */
  int *from, *to;               /* where the entries of a limit's normal are that are not zero */
} Qp;

static double qp_dot(int n, const double *a, const double *b) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0}; /* independent: none waits for another one */
  int i = 0;
  for (; i + 3 < n; i += 4)
    for (int k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
  for (; i < n; i++) sum[0] += a[i] * b[i];
  return sum[0] + sum[1] + (sum[2] + sum[3]);
}

static void qp_add(int n, double t, const double *a, double *b) {
  for (int i = 0; i < n; i++) b[i] += t * a[i];
}

/* Value of limit i at x, and in *size that of its terms. */
static double qp_value(const Qp *c, int i, double *size) {
  if (i < c->n) return *size = fabs(c->x[i]), c->x[i];
  const double *a = c->A + (i - c->n) * c->n;
  double sum = 0.0, most = 0.0;
  for (int k = c->from[i]; k < c->to[i]; k++) {
    const double term = a[k] * c->x[k];
    sum += term;
    most += fabs(term);
  }
  *size = most;
  return sum;
}

/* Write the inward normal of limit i at a side to a. */
static void qp_normal(const Qp *c, int i, int side) {
  memset(c->a, 0, (size_t)c->n * sizeof *c->a);
  for (int k = c->from[i]; k < c->to[i]; k++) c->a[k] = i < c->n ? side : side * c->A[(i - c->n) * c->n + k];
}

/* How far x is outside limit i, over 1 and the size of its terms; at which side. */
static double qp_outside(const Qp *c, int i, int *side, double *distance) {
  double size;
  const double value = qp_value(c, i, &size), below = c->low[i] - value, above = value - c->high[i];
  *side = below > above ? 1 : -1;
  *distance = *side > 0 ? below : above;
  return *distance / (1.0 + size);
}

static void qp_rotate(int n, double cosine, double sine, double *a, double *b) {
  for (int i = 0; i < n; i++) {
    const double p = a[i], q = b[i];
    a[i] = cosine * p + sine * q;
    b[i] = cosine * q - sine * p;
  }
}

/* Rotate rows k and k + 1 of J so that the second of (p, q) vanishes; return the first. */
static double qp_annul(Qp *c, int k, double p, double q, double *cosine, double *sine) {
  const double length = hypot(p, q);
  *cosine = length > 0.0 ? p / length : 1.0;
  *sine = length > 0.0 ? q / length : 0.0;
  qp_rotate(c->n, *cosine, *sine, c->J + k * c->n, c->J + (k + 1) * c->n);
  return length;
}

/* Make limit i active, whose normal gives d and z: reflect the rows of J from q on so that d vanishes beyond q. */
static void qp_activate(Qp *c, int i, int side, double u) {
  const int n = c->n, q = c->q;
  const double length = sqrt(qp_dot(n - q, c->d + q, c->d + q)), most = c->d[q] < 0.0 ? -length : length;
  const double scale = 1.0 / (length * (length + fabs(c->d[q])));
  memcpy(c->s, c->z, (size_t)n * sizeof *c->s);
  qp_add(n, most, c->J + q * n, c->s);
  c->d[q] += most;
  for (int k = q; k < n; k++) qp_add(n, -scale * c->d[k], c->s, c->J + k * n);
  c->d[q] = -most;
  memcpy(c->R + c->q * c->n, c->d, (size_t)(c->q + 1) * sizeof *c->d);
  c->set[c->q] = i;
  c->side[i] = side;
  c->u[c->q++] = u;
}

static void qp_drop(Qp *c, int at) {
  const int n = c->n;
  c->side[c->set[at]] = 0;
  c->q--;
  for (int k = at; k < c->q; k++) {
    double cosine, sine, *column = c->R + k * n;
    memcpy(column, column + n, (size_t)(k + 2) * sizeof *column);
    c->set[k] = c->set[k + 1];
    c->u[k] = c->u[k + 1];
    column[k] = qp_annul(c, k, column[k], column[k + 1], &cosine, &sine);
    for (int j = k + 2; j <= c->q; j++) qp_rotate(1, cosine, sine, c->R + j * n + k, c->R + j * n + k + 1);
  }
}

/* r = R^-1 d. */
static void qp_backward(const Qp *c, const double *d, double *r) {
  for (int k = c->q - 1; k >= 0; k--) {
    r[k] = d[k];
    for (int j = k + 1; j < c->q; j++) r[k] -= c->R[j * c->n + k] * r[j];
    r[k] /= c->R[k * c->n + k];
  }
}

/* Gradient of the Lagrangian to s; return its largest entry over 1 and the largest of its terms. */
static double qp_gradient(const Qp *c) {
  double size = 1.0, most = 0.0;
  for (int k = 0; k < c->n; k++) {
    c->s[k] = qp_dot(c->n, c->H + k * c->n, c->x);
    size = fmax(size, fmax(fabs(c->s[k]), fabs(c->g[k])));
    c->s[k] += c->g[k];
  }
  for (int k = 0; k < c->q; k++) {
    qp_normal(c, c->set[k], c->side[c->set[k]]);
    qp_add(c->n, -c->u[k], c->a, c->s);
  }
  for (int k = 0; k < c->n; k++) most = fmax(most, fabs(c->s[k]));
  return most / size;
}

/* Bring x onto the active limits: long steps leave round-off. */
static void qp_settle(Qp *c) {
  const int n = c->n;
  for (int k = 0; k < c->q; k++) {
    const int i = c->set[k], side = c->side[i];
    double size;
    c->r[k] = side * ((side > 0 ? c->low[i] : c->high[i]) - qp_value(c, i, &size));
    c->r[k] -= qp_dot(k, c->R + k * n, c->r);
    c->r[k] /= c->R[k * n + k];
  }
  for (int k = 0; k < c->q; k++) qp_add(n, c->r[k], c->J + k * n, c->x);
}

/* Bring x onto the active limits and to the least cost on them. */
static void qp_refine(Qp *c) {
  const int n = c->n;
  qp_settle(c);
  qp_gradient(c);
  for (int k = 0; k < n; k++) c->d[k] = qp_dot(n, c->J + k * n, c->s);
  for (int k = c->q; k < n; k++) qp_add(n, -c->d[k], c->J + k * n, c->x);
  qp_backward(c, c->d, c->r);
  qp_add(c->q, 1.0, c->r, c->u);
}

/* J = L^-1 by rows, x = -H^-1 g. */
static int qp_begin(Qp *c) {
  const int n = c->n;
  double *L = c->R;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      const double rest = c->H[i * n + j] - qp_dot(j, L + i * n, L + j * n);
      if (i == j && !(rest > 0.0)) return rest == rest ? QP_NOT_CONVEX : QP_NOT_FINITE;
      L[i * n + j] = i == j ? sqrt(rest) : rest / L[j * n + j];
    }
  memset(c->J, 0, (size_t)(n * n) * sizeof *c->J);
  for (int i = 0; i < n; i++) {
    double *row = c->J + i * n;
    row[i] = 1.0;
    for (int j = 0; j < i; j++) qp_add(j + 1, -L[i * n + j], c->J + j * n, row);
    for (int j = 0; j <= i; j++) row[j] /= L[i * n + i];
  }
  memset(c->x, 0, (size_t)n * sizeof *c->x);
  for (int i = 0; i < n; i++) qp_add(n, -qp_dot(n, c->J + i * n, c->g), c->J + i * n, c->x);
  return QP_SOLVED;
}

/* Move until limit i holds, dropping what stands in the way. */
static int qp_meet(Qp *c, int i, int side, double distance) {
  const int n = c->n, first = c->from[i], count = c->to[i] - first, equation = c->low[i] == c->high[i];
  double u = 0.0, size = 0.0;
  qp_value(c, i, &size);
  for (int tries = 0; tries <= c->q + n + 1; tries++) {
    double all = 0.0, left = 0.0, t = INFINITY;
    int blocking = -1, k;
    qp_normal(c, i, side);
    memset(c->z, 0, (size_t)n * sizeof *c->z);
    for (k = 0; k < n; k++) {
      c->d[k] = qp_dot(count, c->J + k * n + first, c->a + first);
      all += c->d[k] * c->d[k];
      if (k >= c->q) left += c->d[k] * c->d[k], qp_add(n, c->d[k], c->J + k * n, c->z);
    }
    qp_backward(c, c->d, c->r);
    for (k = 0; k < c->q; k++) {
      const double length = sqrt(qp_dot(k + 1, c->R + k * n, c->R + k * n));
      if (c->low[c->set[k]] == c->high[c->set[k]] || c->r[k] * length <= QP_RANK * sqrt(all)) continue;
      if (c->u[k] / c->r[k] < t) t = c->u[k] / c->r[k], blocking = k;
    }
    const int free = left > QP_RANK * QP_RANK * all;
    if (!free && blocking < 0) {
      if (distance > QP_ACCURACY * 0.1 * (1.0 + size)) return QP_CONFLICT;
      c->side[i] = 2;
      return QP_SOLVED;
    }
    const int full = free && distance / left <= t;
    if (full) t = distance / left;
    if (free) {
      qp_add(n, t, c->z, c->x);
      const double value = qp_value(c, i, &size);
      distance = side > 0 ? c->low[i] - value : value - c->high[i];
    }
    qp_add(c->q, -t, c->r, c->u);
    u += t;
    if (full) {
      qp_activate(c, i, side, u);
      qp_settle(c);
      return QP_SOLVED;
    }
    c->u[blocking] = 0.0;
    qp_drop(c, blocking);
    if (free && distance <= 0.0 && !equation && u == 0.0) return QP_SOLVED;
  }
  return QP_NO_CONVERGENCE;
}

/* Write the solution to x (n) and the multipliers, positive at high and negative at low, to y (n + m). `doubles` and
 * `ints` are QP_DOUBLES(n, m) and QP_INTS(n, m) of memory. Returns QP_SOLVED only if residuals are small. */
static int qp_solve(int n, int m, const double *H, const double *g, const double *A, const double *low,
                    const double *high, double *x, double *y, double *doubles, int *ints) {
  double *at = doubles, total = 0.0, worst, distance;
  Qp c;
  double **parts[] = {&c.u, &c.a, &c.d, &c.z, &c.r, &c.s};
  int status = QP_SOLVED, refined = 0, side;
  c.n = n, c.m = m, c.q = 0, c.H = H, c.g = g, c.A = A, c.low = low, c.high = high, c.x = x;
  c.J = at, c.R = at + n * n, at += 2 * n * n;
  for (int k = 0; k < 6; k++) *parts[k] = at, at += n + 1;
  c.set = ints, c.side = ints + n + 1, c.from = c.side + n + m, c.to = c.from + n + m;
  memset(c.side, 0, (size_t)(n + m) * sizeof *c.side);
  memset(y, 0, (size_t)(n + m) * sizeof *y);
  for (int i = 0; i < n + m; i++) {
    c.from[i] = i < n ? i : 0, c.to[i] = i < n ? i + 1 : 0;
    for (int k = 0; k < n && i >= n; k++) {
      const double entry = A[(i - n) * n + k];
      total += entry;
      if (entry == 0.0) continue;
      if (!c.to[i]) c.from[i] = k;
      c.to[i] = k + 1;
    }
  }
  for (int i = 0; i < n; i++) total += g[i];
  if (!isfinite(total)) return QP_NOT_FINITE;
  for (int i = 0; i < n + m; i++) {
    if (!(low[i] < INFINITY && high[i] > -INFINITY)) return QP_NOT_FINITE;
    if (low[i] > high[i]) status = QP_CONFLICT;
  }
  if (status == QP_SOLVED) status = qp_begin(&c);
  for (int i = 0; i < n + m && status == QP_SOLVED; i++) {
    if (low[i] != high[i]) continue;
    qp_outside(&c, i, &side, &distance);
    status = qp_meet(&c, i, side, distance);
  }
  for (int tries = 0; status == QP_SOLVED; tries++) {
    int next = -1, which = 0;
    worst = QP_ROUND, distance = 0.0;
    for (int i = 0; i < n + m; i++) {
      double far;
      if (c.side[i]) continue;
      const double outside = qp_outside(&c, i, &side, &far);
      if (outside > worst) worst = outside, next = i, which = side, distance = far;
    }
    if (next < 0 && refined) break;
    if (next < 0) {
      qp_refine(&c);
      refined = 1;
      continue;
    }
    refined = 0;
    status = tries < 20 * (n + m) + 100 ? qp_meet(&c, next, which, distance) : QP_NO_CONVERGENCE;
  }
  if (status != QP_SOLVED) return status;
  for (int k = 0; k < c.q; k++) y[c.set[k]] = -c.u[k] * c.side[c.set[k]];
  for (int i = 0; i < n + m; i++) status |= qp_outside(&c, i, &side, &distance) > QP_ACCURACY;
  return qp_gradient(&c) <= QP_ACCURACY && !status ? QP_SOLVED : QP_NO_CONVERGENCE;
}

#endif
