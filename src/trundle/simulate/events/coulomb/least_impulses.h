/* Redundant contacts: of all impulses with the velocities of an answer those with the least sum of squares.
 *
 * What parts has no impulse, what slips has one along its ray n - mu v_t/|v_t|, what sticks one in its cone. Of those x in
 * these K with the velocities of L the least is the part of L that D does not lose where that is in K, and else
 *
 *     x = P_K(Q'q)   with   Q P_K(Q'q) = Q L,   Q: orthonormal rows of D,
 *
 * where the gradient of a convex function of q is zero, by Newton's method with a search along each step.
 */

enum { LEAST_STEPS = 40, LEAST_HALVINGS = 20 };
static const double LEAST_SAME = 1e-11;       /* of the largest speed: what parts or slips */
static const double LEAST_EDGE = 1e-6;        /* of the largest friction: what is on the edge of its cone */
static const double LEAST_UNLIMITED = 1e6;    /* friction that stands for one without limit where a contact sticks */
static const double LEAST_RANK = 1e-11;       /* of the largest pivot of D: what redundant contacts leave open */
static const double LEAST_INSIDE = 1e-14;     /* of the largest impulse: how far outside a cone is round-off */
static const double LEAST_ROUND_OFF = 1e-14, LEAST_DESCENT = 1e-4, LEAST_RIDGE = 1e-2;

/* Contacts that push or may push, `count` with n = count d unknowns: friction, whether they slide, directions of the slips. */
typedef struct {
  integer count, d, n, rank;
  const double *friction, *e;
  const integer *slides;
  const double *Q; /* (rank, n) */
} Cones;

/* P_K of the trial (n), and of each contact its generalised Jacobian (d, d) where asked for. */
static void into_cones(const Cones *c, const double *trial, double *pushes, double *jacobian) {
  integer d = c->d;
  for (integer i = 0; i < c->count; i++, trial += d, pushes += d) {
    double mu = c->friction[i], *J = jacobian ? jacobian + i * d * d : NULL;
    const double *slip = c->e + i * (d - 1);
    if (J) memset(J, 0, (size_t)(d * d) * sizeof(double));
    if (c->slides[i]) {
      double ray[3] = {1.0}, square;
      for (integer k = 1; k < d; k++) ray[k] = -mu * slip[k - 1];
      square = dot(ray, ray, d);
      double along = fmax(dot(ray, trial, d) / square, 0.0);
      for (integer k = 0; k < d; k++) pushes[k] = along * ray[k];
      if (J && along > 0.0)
        for (integer a = 0; a < d; a++)
          for (integer b = 0; b < d; b++) J[a * d + b] = ray[a] * ray[b] / square;
      continue;
    }
    double size = length(trial + 1, d - 1);
    int inside = size <= mu * trial[0], edge = !inside && mu * size > -trial[0];
    double normal = inside ? trial[0] : edge ? (trial[0] + mu * size) / (1.0 + mu * mu) : 0.0;
    if (normal < 0.0) normal = 0.0, inside = edge = 0;
    double room = mu * normal, part = size > room ? room / size : 1.0;
    pushes[0] = normal;
    for (integer k = 1; k < d; k++) pushes[k] = part * trial[k];
    if (!J) continue;
    if (inside)
      for (integer a = 0; a < d; a++) J[a * d + a] = 1.0;
    if (!edge) continue;
    double ray[3] = {1.0}, e[2];
    for (integer k = 0; k < d - 1; k++) e[k] = size > 0.0 ? trial[k + 1] / size : 0.0, ray[k + 1] = mu * e[k];
    for (integer a = 0; a < d; a++)
      for (integer b = 0; b < d; b++) J[a * d + b] = ray[a] * ray[b] / (1.0 + mu * mu);
    if (room > 0.0)
      for (integer a = 0; a < d - 1; a++)
        for (integer b = 0; b < d - 1; b++)
          J[(a + 1) * d + b + 1] += size > room ? part * ((a == b ? 1.0 : 0.0) - e[a] * e[b]) : (a == b ? 1.0 : 0.0);
  }
}

/* |P_K(Q'q)|^2/2 - q'Q L, its slope (rank) and P_K (n), with its Jacobians where asked for. */
static double least_value(const Cones *c, const double *q, const double *target, double *slope, double *pushes, double *jacobian) {
  double trial[c->n];
  memset(trial, 0, (size_t)c->n * sizeof(double));
  for (integer i = 0; i < c->rank; i++)
    for (integer j = 0; j < c->n; j++) trial[j] += q[i] * c->Q[i * c->n + j];
  into_cones(c, trial, pushes, jacobian);
  multiply(c->Q, pushes, c->rank, c->n, slope);
  for (integer i = 0; i < c->rank; i++) slope[i] -= target[i];
  return dot(pushes, trial, c->n) / 2.0 - dot(q, target, c->rank); /* x - P_K x is normal to P_K x */
}

/* x (n) <- P_K(Q'q) of the q with the same velocities as `start`. Work: (rank, n) and (rank, rank). */
static void least_in_cones(const Cones *c, const double *start, double *x, double *rows, double *matrix) {
  integer r = c->rank, n = c->n, d = c->d;
  double target[r], q[r], slope[r], ahead[r], slope_ahead[r], step[r], jacobian[n * d];
  multiply(c->Q, start, r, n, target);
  memcpy(q, target, sizeof(q));
  double height = least_value(c, q, target, slope, x, jacobian);
  for (int k = 0; k < LEAST_STEPS; k++) {
    double steep = largest(slope, r), fall, part = 1.0;
    if (steep <= LEAST_ROUND_OFF) break;
    for (integer i = 0; i < r; i++) {
      for (integer at = 0; at < c->count; at++)
        multiply(jacobian + at * d * d, c->Q + i * n + at * d, d, d, rows + i * n + at * d);
      step[i] = -slope[i];
    }
    /* Where contacts have no impulse yet the slope does not change: the ridge, which goes with it, leads there. */
    double ridge = LEAST_RIDGE * length(slope, r);
    for (integer i = 0; i < r; i++)
      for (integer j = 0; j < r; j++) matrix[i * r + j] = dot(c->Q + i * n, rows + j * n, n) + (i == j ? ridge : 0.0);
    if (!(pivoted_solve(matrix, step, r) > 0.0)) return;
    fall = dot(slope, step, r);
    int halved = 0;
    for (; halved < LEAST_HALVINGS; halved++, part /= 2.0) {
      for (integer i = 0; i < r; i++) ahead[i] = q[i] + part * step[i];
      double height_ahead = least_value(c, ahead, target, slope_ahead, x, jacobian);
      if (height_ahead <= height + LEAST_DESCENT * part * fall || largest(slope_ahead, r) < steep / 2.0) {
        height = height_ahead;
        break;
      }
    }
    if (halved == LEAST_HALVINGS) {
      least_value(c, q, target, slope, x, jacobian);
      return;
    }
    memcpy(q, ahead, sizeof(q)), memcpy(slope, slope_ahead, sizeof(slope));
  }
}

static double outside(const double *x, double mu, integer d) { return length(x + 1, d - 1) - mu * x[0]; }

/* x (n): the least along the rays of what slides, any of what sticks; 0 where that is outside the cones. W (rank, n): rows
 * whose span is that of D; lost. */
static int least_without_cones(const Cones *c, double *W, integer rank, const double *start, double *x) {
  integer d = c->d, n = 0;
  double rays[c->count * d], root[c->count], along[rank], kept[c->n];
  for (integer i = 0; i < c->count; i++) {
    double *ray = rays + i * d;
    ray[0] = 1.0;
    for (integer k = 1; k < d; k++) ray[k] = -c->friction[i] * c->e[i * (d - 1) + k - 1];
    root[i] = length(ray, d);
  }
  /* A slip has one unknown, along its ray. */
  for (integer i = 0; i < c->count; n += c->slides[i] ? 1 : d, i++) {
    if (c->slides[i]) kept[n] = root[i] * start[i * d];
    else memcpy(kept + n, start + i * d, (size_t)d * sizeof(double));
  }
  for (integer row = 0; row < rank; row++) {
    double *to = W + row * n, from[c->n]; /* to is never beyond from */
    memcpy(from, W + row * c->n, (size_t)c->n * sizeof(double));
    for (integer i = 0; i < c->count; to += c->slides[i] ? 1 : d, i++) {
      if (c->slides[i]) to[0] = dot(from + i * d, rays + i * d, d) / root[i];
      else memcpy(to, from + i * d, (size_t)d * sizeof(double));
    }
  }
  onto(W, orthonormal(W, rank, n, sqrt(LEAST_RANK)), n, kept, along);
  const double *from = kept;
  for (integer i = 0; i < c->count; from += c->slides[i] ? 1 : d, i++) {
    for (integer k = 0; k < d; k++) x[i * d + k] = c->slides[i] ? from[0] / root[i] * rays[i * d + k] : from[k];
    if (x[i * d] < -LEAST_INSIDE || (!c->slides[i] && outside(x + i * d, c->friction[i], d) > LEAST_INSIDE)) return 0;
  }
  return 1;
}

/* Rows (rank, count d) whose span is that of D/unit in the columns of the contacts `at`; L (n, n) with D = L L'. */
static void least_rows(const double *L, integer rank, integer n, const double *unit, const integer *at, integer count, integer d, double *W) {
  for (integer row = 0; row < rank; row++)
    for (integer i = 0; i < count; i++)
      for (integer k = 0; k < d; k++) W[(row * count + i) * d + k] = L[(at[i] * d + k) * n + row] / unit[at[i]];
}

/* The impulses (n), N s, with the velocities v of the impulses L and the least sum of squares; 0: L are those.
 * factor (n, n), of which `rank` columns: of the scaled D; unit (m): of the scaled impulses; work: 3 n n. */
static int least_impulses(const Contacts *c, const double *unit, const double *factor, integer rank, const double *L, const double *v,
                          double speed, double *work, double *chosen) {
  integer d = c->d, m = c->m, count = 0, sliding[m], at[m];
  int special = 0; /* a contact without a limit of friction, or with a slip that goes on */
  double top = largest(L, c->n), limit = LEAST_SAME * speed, friction[m], e[m * (d - 1)], start[c->n], x[c->n];
  if (top == 0.0) return 0;
  for (integer i = 0; i < m; i++) special |= isinf(c->friction[i]) || slides(c, i);
  for (integer i = 0; i < m; i++) {
    const double *push = L + i * d, *own = c->slips + i * (d - 1);
    int unlimited = isinf(c->friction[i]);
    double mu = unlimited ? LEAST_UNLIMITED : c->friction[i], rub = length(push + 1, d - 1), to[2];
    int slips = length(v + i * d + 1, d - 1) > limit;
    int closed = (push[0] > 0.0 || v[i * d] <= limit) && (push[0] > 0.0 || !(unlimited && slips)); /* else it keeps its impulse */
    int goes_on = slides(c, i), slide = (slips && rub >= (1.0 - LEAST_EDGE) * mu * push[0] && !unlimited) || goes_on;
    if (!closed && rub > 0.0 && special) return 0;
    if (!closed) continue;
    /* The ray of an answer is its own to round-off; where it has no push, it is that of the slip. */
    for (integer k = 0; k < d - 1; k++) to[k] = rub > 0.0 ? -push[k + 1] : goes_on ? own[k] : v[i * d + k + 1];
    double size = fmax(length(to, d - 1), 1e-300);
    at[count] = i, friction[count] = mu, sliding[count] = slide;
    for (integer k = 0; k < d - 1; k++) e[count * (d - 1) + k] = slide ? to[k] / size : 0.0;
    for (integer k = 0; k < d; k++) start[count * d + k] = push[k] / top;
    count++;
  }
  Cones cones = {count, d, count * d, 0, friction, e, sliding, work};
  least_rows(factor, rank, c->n, unit, at, count, d, work);
  if (!least_without_cones(&cones, work, rank, start, x)) {
    least_rows(factor, rank, c->n, unit, at, count, d, work);
    cones.rank = orthonormal(work, rank, cones.n, sqrt(LEAST_RANK));
    least_in_cones(&cones, start, x, work + c->n * c->n, work + 2 * c->n * c->n);
  }
  double moved = 0.0;
  for (integer j = 0; j < cones.n; j++) moved = fmax(moved, fabs(x[j] - start[j]));
  if (moved <= LEAST_INSIDE) return 0;
  memset(chosen, 0, (size_t)c->n * sizeof(double));
  for (integer i = 0; i < count; i++)
    for (integer k = 0; k < d; k++) chosen[at[i] * d + k] = top * x[i * d + k];
  return 1;
}
