/* Contacts that resist slip, rolling and spin, each by itself (`resisted.py`): Newton's method on the natural map
 * F(L) = L - P(L - v), v = before + D L, of contacts that are scaled. P onto L_n >= 0 and |L_g| <= b_g L_n of each group g; where
 * the direction of a group is known, a ray e, P_g = -b_g P_n e. */

enum { RESISTED_STEPS = 40, RESISTED_HALVINGS = 12 };
static const double RESISTED_RANK = 1e-11;   /* of the largest singular value: what redundant contacts leave open, and round-off */
static const double RESISTED_REGULAR = 1e-7; /* of the largest pivot: a slope with smaller ones may have such a rank */

/* m contacts of K rows: the normal, then `groups` groups, that begin at begin[g] and end at begin[g + 1]; n = m K.
 * D (n, n), before (n), bounds (m, groups), rays (n). */
typedef struct {
  integer m, K, n, groups;
  const integer *begin;
  const double *D, *before, *bounds, *rays;
} Resisted;

/* A group of a contact: where its rows begin in L, how many they are, its bound, 0 where there is none, and its ray. */
typedef struct {
  integer at, size;
  double bound, finite;
  const double *ray;
  int along;
} Group;

static Group group_of(const Resisted *r, integer i, integer g) {
  Group one = {0};
  one.at = i * r->K + r->begin[g];
  one.size = r->begin[g + 1] - r->begin[g];
  one.bound = r->bounds[i * r->groups + g];
  one.finite = isinf(one.bound) ? 0.0 : one.bound;
  one.ray = r->rays + one.at;
  for (integer k = 0; k < one.size; k++) one.along |= one.ray[k] != 0.0;
  return one;
}

/* The part of |trial| of a group that its bound leaves beside a normal push. */
static double part_of(const Group *one, const double *trial, double push) {
  double size = length(trial + one->at, one->size), room = push > 0.0 && one->bound > 0.0 ? one->bound * push : 0.0;
  return size > room ? room / size : 1.0;
}

/* F (n) of L, the trial pushes L - v (n); |F|^2. */
static double resisted_values(const Resisted *r, const double *L, double *trial, double *F) {
  integer n = r->n;
  multiply(r->D, L, n, n, trial);
  for (integer k = 0; k < n; k++) trial[k] = L[k] - (r->before[k] + trial[k]);
  for (integer i = 0; i < r->m; i++) {
    double push = fmax(trial[i * r->K], 0.0);
    F[i * r->K] = L[i * r->K] - push;
    for (integer g = 0; g < r->groups; g++) {
      Group one = group_of(r, i, g);
      double part = part_of(&one, trial, push);
      for (integer k = 0; k < one.size; k++) {
        double within = one.along ? -one.finite * push * one.ray[k] : part * trial[one.at + k];
        F[one.at + k] = L[one.at + k] - within;
      }
    }
  }
  return dot(F, F, n);
}

/* The generalised Jacobian of F (n, n) where the trial pushes are these. */
static void resisted_slope(const Resisted *r, const double *trial, double *slope) {
  integer n = r->n, K = r->K;
  for (integer k = 0; k < n; k++)
    for (integer j = 0; j < n; j++) slope[k * n + j] = k == j ? 1.0 : 0.0;
  for (integer i = 0; i < r->m; i++) {
    double push = trial[i * K];
    if (!(push > 0.0)) continue;
    double *normal = slope + i * K * n;
    const double *of_normal = r->D + i * K * n;
    for (integer j = 0; j < n; j++) normal[j] = of_normal[j]; /* 1 - (1 - D) */
    for (integer g = 0; g < r->groups; g++) {
      Group one = group_of(r, i, g);
      double part = part_of(&one, trial, push);
      double size = length(trial + one.at, one.size);
      double e[3] = {0.0, 0.0, 0.0};
      for (integer k = 0; k < one.size; k++) {
        if (one.along) e[k] = -one.ray[k];
        else if (part < 1.0) e[k] = trial[one.at + k] / size;
      }
      for (integer j = 0; j < n; j++) {
        double rest[3];
        double along = 0.0;
        double pressed = (j == i * K ? 1.0 : 0.0) - of_normal[j];
        for (integer k = 0; k < one.size; k++) {
          rest[k] = (j == one.at + k ? 1.0 : 0.0) - r->D[(one.at + k) * n + j];
          along += e[k] * rest[k];
        }
        for (integer k = 0; k < one.size; k++) {
          double own = one.along ? 0.0 : part * (rest[k] - e[k] * along);
          slope[(one.at + k) * n + j] -= own + one.finite * e[k] * pressed;
        }
      }
    }
  }
}

/* By how much L and its velocities miss the law, of the largest speed there is, 1 at least. */
static double resisted_residual(const Resisted *r, const double *L, double *trial, double *F) {
  double fastest = 1.0;
  resisted_values(r, L, trial, F);
  for (integer k = 0; k < r->n; k++) fastest = fmax(fastest, fabs(L[k] - trial[k]));
  return largest(F, r->n) / fastest;
}

static integer resisted_size(integer n) { return 6 * n + 3 * n * n; }

/* Where Newton's method ends from L, projected, in L. Steps of redundant contacts are the least ones. */
static void resisted_newton(const Resisted *r, double *L, double *work) {
  integer n = r->n;
  double *F = work;
  double *trial = F + n;
  double *step = trial + n;
  double *ahead = step + n;
  double *F_ahead = ahead + n;
  double *trial_ahead = F_ahead + n;
  double *slope = trial_ahead + n;
  double *factor = slope + n * n;
  double *turns = factor + n * n;
  double merit = resisted_values(r, L, trial, F);
  for (int k = 0; k < RESISTED_STEPS && merit > MAP_ROUND_OFF * MAP_ROUND_OFF * (0.01 + dot(L, L, n)); k++) {
    resisted_slope(r, trial, slope);
    memcpy(factor, slope, (size_t)(n * n) * sizeof(double));
    memcpy(step, F, (size_t)n * sizeof(double));
    int regular = pivoted_solve(factor, step, n) > RESISTED_REGULAR;
    if (!regular) least_squares(slope, F, n, RESISTED_RANK, factor, turns, step);
    double part = 1.0, found = INFINITY;
    int halvings = merit > MAP_NEAR * MAP_NEAR ? RESISTED_HALVINGS : 2, better = 0;
    for (int h = 0; h < halvings && !better; h++) {
      for (integer j = 0; j < n; j++) ahead[j] = L[j] - part * step[j];
      found = resisted_values(r, ahead, trial_ahead, F_ahead);
      better = found < (1.0 - MAP_DESCENT * part) * merit;
      part /= 2.0;
    }
    if (!better) break;
    memcpy(L, ahead, (size_t)n * sizeof(double));
    memcpy(F, F_ahead, (size_t)n * sizeof(double));
    memcpy(trial, trial_ahead, (size_t)n * sizeof(double));
    merit = found;
  }
  for (integer j = 0; j < n; j++) L[j] -= F[j];
}

/* Of what `starts` (count, n) lead to the pushes L (n) with the least residual, the first one below `content`; -1: no memory. */
int resisted_impulses(integer m, integer K, integer groups, const integer *begin, const double *D, const double *before,
                      const double *bounds, const double *rays, integer count, const double *starts, double content, double *L,
                      double *residual) {
  integer n = m * K;
  Resisted r = {m, K, n, groups, begin, D, before, bounds, rays};
  double *work = malloc((size_t)(n + resisted_size(n)) * sizeof(double));
  if (!work) return -1;
  double *trial = work + n;
  *residual = INFINITY;
  memset(L, 0, (size_t)n * sizeof(double));
  for (integer k = 0; k < count && !(*residual <= content); k++) {
    memcpy(work, starts + k * n, (size_t)n * sizeof(double));
    resisted_newton(&r, work, trial);
    double found = resisted_residual(&r, work, trial, trial + n);
    if (!(found < *residual)) continue;
    *residual = found;
    memcpy(L, work, (size_t)n * sizeof(double));
  }
  free(work);
  return 0;
}
