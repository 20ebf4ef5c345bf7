/* Conic programs of a few unknowns: minimise sum P_i x_i^2/2 + q'x with every A_j x + b_j in a second-order cone
 *
 *     Q = {s: s_0 >= |(s_1, ..., s_d-1)|},    d = 1: s_0 >= 0.
 *
 * By a primal-dual method of inner points, with the scaling of Nesterov and Todd and Mehrotra's corrections: Vandenberghe,
 * "The CVXOPT linear and quadratic cone program solvers" (2010), sections 5 and 7.
 */

enum { CONE_ITERATIONS = 60, CONE_LARGEST = 8 };
static const double CONE_GAP = 1e-13, CONE_RESIDUAL = 1e-8, CONE_LAST = 1e-9, CONE_BACK = 0.99;

typedef struct {
  integer n, rows, cones;
  const integer *at;             /* cone j: rows at[j] to at[j + 1] */
  const double *A, *b, *P, *q;   /* A (rows, n) by rows */
  double *s, *z, *ds, *dz, *scaled, *u, *rz, *v, *beta, *rx, *dx, *factor; /* work memory */
} Program;

/* Words of work memory of a program. */
static integer program_size(integer n, integer rows, integer cones) { return 8 * rows + cones + n * n + 2 * n; }

static void program_memory(Program *p, double *w) {
  integer n = p->n, rows = p->rows;
  p->s = w, p->z = w + rows, p->ds = w + 2 * rows, p->dz = w + 3 * rows, p->scaled = w + 4 * rows, p->u = w + 5 * rows;
  p->rz = w + 6 * rows, p->v = w + 7 * rows, w += 8 * rows;
  p->beta = w, w += p->cones, p->factor = w, w += n * n, p->rx = w, p->dx = w + n;
}

static double sum_of(const double *a, const double *b, integer n) {
  double sum = 0.0;
  for (integer i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* a_0 b_0 - a_1'b_1 */
static double hyperbolic(const double *a, const double *b, integer d) { return a[0] * b[0] - sum_of(a + 1, b + 1, d - 1); }

/* y <- W x of one cone, which may be x itself, W = beta (2 v v' - J); with `inverse` W^-1 = (2 J v v' J - J)/beta. */
static void scale_cone(double *y, const double *x, const double *v, double beta, integer d, int inverse) {
  double along = inverse ? hyperbolic(v, x, d) : sum_of(v, x, d), factor = inverse ? 1.0 / beta : beta;
  y[0] = factor * (2.0 * along * v[0] - x[0]);
  for (integer i = 1; i < d; i++) y[i] = factor * ((inverse ? -2.0 : 2.0) * along * v[i] + x[i]);
}

static void scale_all(const Program *p, double *y, const double *x, int inverse) {
  for (integer j = 0; j < p->cones; j++) {
    integer at = p->at[j];
    scale_cone(y + at, x + at, p->v + at, p->beta[j], p->at[j + 1] - at, inverse);
  }
}

/* The scaling with W z = W^-1 s = scaled; 1 where s or z is no inner point. */
static int make_scaling(Program *p) {
  for (integer j = 0; j < p->cones; j++) {
    integer at = p->at[j], d = p->at[j + 1] - at;
    double *s = p->s + at, *z = p->z + at, *v = p->v + at, ss = hyperbolic(s, s, d), zz = hyperbolic(z, z, d);
    if (!(ss > 0.0 && zz > 0.0)) return 1;
    double rs = sqrt(ss), rz = sqrt(zz), gamma = sqrt(0.5 * (1.0 + sum_of(s, z, d) / (rs * rz)));
    p->beta[j] = sqrt(rs / rz);
    v[0] = (s[0] / rs + z[0] / rz) / (2.0 * gamma);
    for (integer i = 1; i < d; i++) v[i] = (s[i] / rs - z[i] / rz) / (2.0 * gamma);
    double size = sqrt(2.0 * (v[0] + 1.0));
    v[0] += 1.0;
    for (integer i = 0; i < d; i++) v[i] /= size;
  }
  scale_all(p, p->scaled, p->z, 0);
  return 0;
}

/* Cholesky factor of H = P + A'W^-2 A. */
static int make_factor(Program *p) {
  integer n = p->n;
  double *H = p->factor, row[CONE_LARGEST], column[CONE_LARGEST];
  memset(H, 0, (size_t)(n * n) * sizeof(double));
  for (integer i = 0; i < n; i++) H[i * n + i] = p->P[i];
  for (integer j = 0; j < p->cones; j++) {
    integer at = p->at[j], d = p->at[j + 1] - at;
    const double *A = p->A + at * n;
    for (integer i = 0; i < n; i++) {
      for (integer r = 0; r < d; r++) column[r] = A[r * n + i];
      scale_cone(row, column, p->v + at, p->beta[j], d, 1);
      scale_cone(column, row, p->v + at, p->beta[j], d, 1);
      for (integer k = 0; k <= i; k++)
        for (integer r = 0; r < d; r++) H[i * n + k] += column[r] * A[r * n + k];
    }
  }
  for (integer i = 0; i < n; i++) {
    for (integer k = 0; k <= i; k++) {
      double value = H[i * n + k] - sum_of(H + i * n, H + k * n, k);
      if (k < i) H[i * n + k] = value / H[k * n + k];
      else if (value > 0.0) H[i * n + i] = sqrt(value);
      else return 1;
    }
  }
  return 0;
}

static void solve_factor(const Program *p, double *x) {
  integer n = p->n;
  const double *H = p->factor;
  for (integer i = 0; i < n; i++) x[i] = (x[i] - sum_of(H + i * n, x, i)) / H[i * n + i];
  for (integer i = n - 1; i >= 0; i--) {
    for (integer k = i + 1; k < n; k++) x[i] -= H[k * n + i] * x[k];
    x[i] /= H[i * n + i];
  }
}

/* y (rows) <- A x */
static void times_A(const Program *p, const double *x, double *y) {
  for (integer r = 0; r < p->rows; r++) y[r] = sum_of(p->A + r * p->n, x, p->n);
}

/* x (n) += A'y */
static void add_transposed(const Program *p, const double *y, double *x) {
  for (integer r = 0; r < p->rows; r++)
    for (integer i = 0; i < p->n; i++) x[i] += p->A[r * p->n + i] * y[r];
}

/* Newton's step for the right-hand side u of the scaled complementarity, residuals counted by a part. */
static void newton_step(Program *p, double part) {
  integer rows = p->rows;
  for (integer i = 0; i < p->n; i++) p->dx[i] = -part * p->rx[i];
  scale_all(p, p->ds, p->rz, 1);
  for (integer r = 0; r < rows; r++) p->ds[r] = part * p->ds[r] + p->u[r];
  scale_all(p, p->dz, p->ds, 1);
  add_transposed(p, p->dz, p->dx);
  solve_factor(p, p->dx);
  times_A(p, p->dx, p->ds);
  for (integer r = 0; r < rows; r++) p->ds[r] -= part * p->rz[r];
  scale_all(p, p->dz, p->ds, 1);
  for (integer r = 0; r < rows; r++) p->dz[r] = p->u[r] - p->dz[r];
  scale_all(p, p->dz, p->dz, 1);
}

/* The longest step, at most `most`, that keeps all s + step ds (or z) in their cones. */
static double longest_step(const Program *p, const double *s, const double *ds, double most) {
  for (integer j = 0; j < p->cones; j++) {
    integer at = p->at[j], d = p->at[j + 1] - at;
    double a = hyperbolic(ds + at, ds + at, d), b = hyperbolic(s + at, ds + at, d), c = hyperbolic(s + at, s + at, d);
    if (ds[at] < 0.0) most = fmin(most, -s[at] / ds[at]);
    if (d == 1) continue;
    double under = b * b - a * c, root = under >= 0.0 ? sqrt(under) - b : -1.0;
    if (root > 0.0) most = fmin(most, c / root);
  }
  return most;
}

/* u <- scaled \ u, the inverse of Jordan's product */
static void divide_by_scaled(const Program *p, double *u) {
  for (integer j = 0; j < p->cones; j++) {
    integer at = p->at[j], d = p->at[j + 1] - at;
    const double *l = p->scaled + at;
    double *x = u + at, first = hyperbolic(l, x, d) / hyperbolic(l, l, d);
    for (integer i = 1; i < d; i++) x[i] = (x[i] - first * l[i]) / l[0];
    x[0] = first;
  }
}

/* u <- -scaled o scaled - (W^-1 ds) o (W dz) + target e, over scaled */
static void corrected(Program *p, double target) {
  double a[CONE_LARGEST], b[CONE_LARGEST];
  for (integer j = 0; j < p->cones; j++) {
    integer at = p->at[j], d = p->at[j + 1] - at;
    const double *l = p->scaled + at;
    scale_cone(a, p->ds + at, p->v + at, p->beta[j], d, 1);
    scale_cone(b, p->dz + at, p->v + at, p->beta[j], d, 0);
    p->u[at] = target - sum_of(l, l, d) - sum_of(a, b, d);
    for (integer i = 1; i < d; i++) p->u[at + i] = -2.0 * l[0] * l[i] - a[0] * b[i] - b[0] * a[i];
  }
  divide_by_scaled(p, p->u);
}

/* Moves s into the inside of its cones along their axes. */
static void push_inside(const Program *p, double *s) {
  double outside = -INFINITY;
  for (integer j = 0; j < p->cones; j++) {
    integer at = p->at[j], d = p->at[j + 1] - at;
    outside = fmax(outside, sqrt(sum_of(s + at + 1, s + at + 1, d - 1)) - s[at]);
  }
  if (outside < -1e-8) return;
  for (integer j = 0; j < p->cones; j++) s[p->at[j]] += 1.0 + outside;
}

static double largest_of(const double *x, integer n, double least) {
  for (integer i = 0; i < n; i++) least = fmax(least, fabs(x[i]));
  return least;
}

/* Residuals of optimality and of the cones' rows, in parts of what they are sums of, and s'z in parts of s and z. */
static double residuals(Program *p, const double *x, double *worst) {
  double size_s = largest_of(p->s, p->rows, 1.0), size_z = largest_of(p->z, p->rows, 1.0);
  times_A(p, x, p->rz);
  for (integer r = 0; r < p->rows; r++) p->rz[r] = p->s[r] - p->rz[r] - p->b[r], p->u[r] = -p->z[r];
  for (integer i = 0; i < p->n; i++) p->rx[i] = p->P[i] * x[i] + p->q[i];
  add_transposed(p, p->u, p->rx);
  *worst = fmax(largest_of(p->rz, p->rows, 0.0) / size_s, largest_of(p->rx, p->n, 0.0) / size_z);
  return sum_of(p->s, p->z, p->rows) / fmax(size_s, size_z);
}

/* Start: the least squares of s = A x + b, s and z pushed inside. */
static int first_point(Program *p, double *x) {
  integer n = p->n, rows = p->rows;
  memset(p->v, 0, (size_t)rows * sizeof(double));
  for (integer j = 0; j < p->cones; j++) p->v[p->at[j]] = 1.0, p->beta[j] = 1.0;
  if (make_factor(p)) return 1;
  for (integer i = 0; i < n; i++) x[i] = -p->q[i];
  for (integer r = 0; r < rows; r++) p->u[r] = -p->b[r];
  add_transposed(p, p->u, x);
  solve_factor(p, x);
  times_A(p, x, p->s);
  for (integer r = 0; r < rows; r++) p->s[r] += p->b[r], p->z[r] = -p->s[r];
  push_inside(p, p->s);
  push_inside(p, p->z);
  return 0;
}

/* The solution x (n,); 1 where none was found, x is then the last inner point. */
static int solve_program(Program *p, double *x) {
  double worst = INFINITY, gap = INFINITY;
  if (first_point(p, x)) return 1;
  for (integer again = 0; again < CONE_ITERATIONS; again++) {
    gap = residuals(p, x, &worst);
    if (gap < CONE_GAP * (double)p->cones && worst < CONE_RESIDUAL) return 0;
    if (make_scaling(p) || make_factor(p)) break;
    double mean = sum_of(p->s, p->z, p->rows) / (double)p->cones, step = 1.0;
    for (integer r = 0; r < p->rows; r++) p->u[r] = -p->scaled[r];
    newton_step(p, 1.0);
    step = longest_step(p, p->z, p->dz, longest_step(p, p->s, p->ds, 1.0));
    double left = pow(1.0 - step, 3.0);
    corrected(p, left * mean);
    newton_step(p, 1.0 - left);
    step = fmin(1.0, CONE_BACK * longest_step(p, p->z, p->dz, longest_step(p, p->s, p->ds, 2.0)));
    if (!(step > 1e-12)) break;
    for (integer i = 0; i < p->n; i++) x[i] += step * p->dx[i];
    for (integer r = 0; r < p->rows; r++) p->s[r] += step * p->ds[r], p->z[r] += step * p->dz[r];
  }
  return !(gap < CONE_LAST * (double)p->cones && worst < CONE_RESIDUAL);
}

integer cone_program_size(integer n, integer rows, integer cones) { return program_size(n, rows, cones); }

int cone_program(integer n, integer rows, integer cones, const integer *at, const double *A, const double *b, const double *P,
                 const double *q, double *x, double *w) {
  Program p = {n, rows, cones, at, A, b, P, q, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  program_memory(&p, w);
  return solve_program(&p, x);
}
