/* Newton's method on the natural map of Coulomb's law: F(L) = L - P(L - v), v = before + D L, with P onto L_n >= least and
 * the disc of radius mu P_n (Alart & Curnier 1991). Of contacts that are scaled; P_t = -mu P_n e for a slip e that goes on.
 */

enum { MAP_STEPS = 60, MAP_HALVINGS = 12, MAP_REFINED = 6 };
static const double MAP_ROUND_OFF = 1e-14; /* of the impulses: where the iteration ends */
static const double MAP_RIDGE = 1e-9;      /* added to equations of redundant contacts: far below what couples contacts */
static const double MAP_RANK = 1e-10;      /* of the largest singular value: what redundant contacts leave open */
static const double MAP_REFINING[MAP_REFINED] = {1e-10, 1e-10, 1e-12, 1e-10, 1e-11, 1e-13}; /* the same of refinements */
static const double MAP_NEAR = 1e-5;       /* of F: where a ridge may be what keeps it from round-off */
static const double MAP_DESCENT = 1e-4;

/* Contacts: D (n, n), n = m d, velocities before (n), friction, least normal impulses, directions of slips (m, d - 1). */
typedef struct {
  integer m, d, n;
  const double *D, *before, *friction, *least, *slips;
} Contacts;

/* An iterate: L and F (n), the trial pushes L - v (n), of each contact P_n, |trial_t|, the part of trial_t that is P_t. */
typedef struct {
  double *L, *F, *trial, *normal, *size, *part;
  double merit;
} Iterate;

typedef struct {
  const Contacts *c;
  int regular;
  Iterate now, ahead;
  double *slope, *factor, *turns, *step; /* (n, n) each, (n) */
} Map;

static integer map_size(integer m, integer n) { return 2 * (3 * n + 3 * m) + 3 * n * n + n; }

static double *iterate_memory(Iterate *one, integer m, integer n, double *w) {
  one->L = w, one->F = w + n, one->trial = w + 2 * n, w += 3 * n;
  one->normal = w, one->size = w + m, one->part = w + 2 * m;
  return w + 3 * m;
}

static void map_memory(Map *map, double *w) {
  integer m = map->c->m, n = map->c->n;
  w = iterate_memory(&map->now, m, n, w), w = iterate_memory(&map->ahead, m, n, w);
  map->slope = w, map->factor = w + n * n, map->turns = w + 2 * n * n, map->step = w + 3 * n * n;
}

/* Friction with a limit, else 0. */
static double finite_friction(const Contacts *c, integer i) { return isinf(c->friction[i]) ? 0.0 : c->friction[i]; }

static int slides(const Contacts *c, integer i) {
  const double *e = c->slips + i * (c->d - 1);
  return e[0] != 0.0 || (c->d == 3 && e[1] != 0.0);
}

/* F and all that belongs to it, of one->L. */
static void map_values(const Map *map, Iterate *one) {
  const Contacts *c = map->c;
  integer d = c->d, n = c->n;
  multiply(c->D, one->L, n, n, one->trial);
  for (integer k = 0; k < n; k++) one->trial[k] = one->L[k] - c->before[k] - one->trial[k];
  for (integer i = 0; i < c->m; i++) {
    const double *trial = one->trial + i * d, *L = one->L + i * d;
    double *F = one->F + i * d, normal = fmax(trial[0], c->least[i]), size = length(trial + 1, d - 1);
    double room = normal > 0.0 ? c->friction[i] * normal : 0.0, part = size > room ? room / size : 1.0;
    one->normal[i] = normal, one->size[i] = size, one->part[i] = part;
    F[0] = L[0] - normal;
    for (integer k = 1; k < d; k++) F[k] = L[k] - part * trial[k];
    if (slides(c, i)) {
      const double *e = c->slips + i * (d - 1);
      for (integer k = 1; k < d; k++) F[k] = L[k] + finite_friction(c, i) * normal * e[k - 1];
    }
  }
  one->merit = dot(one->F, one->F, n);
}

/* The generalised Jacobian of F (n, n) at map->now. */
static void map_slope(const Map *map) {
  const Contacts *c = map->c;
  const Iterate *at = &map->now;
  integer d = c->d, n = c->n;
  for (integer i = 0; i < c->m; i++) {
    double *rows = map->slope + i * d * n;
    const double *D = c->D + i * d * n, *trial = at->trial + i * d, *slip = c->slips + i * (d - 1);
    int pushes = trial[0] > c->least[i], slipping = at->part[i] < 1.0;
    double e[2] = {0.0, 0.0}, mu = finite_friction(c, i);
    if (slipping)
      for (integer k = 0; k < d - 1; k++) e[k] = trial[k + 1] / at->size[i];
    for (integer j = 0; j < n; j++) {
      double rest[3], dP[3];
      for (integer k = 0; k < d; k++) rest[k] = (j == i * d + k ? 1.0 : 0.0) - D[k * n + j], dP[k] = rest[k];
      if (!pushes) dP[0] = 0.0;
      if (slipping) {
        double along = dot(e, rest + 1, d - 1);
        for (integer k = 0; k < d - 1; k++)
          dP[k + 1] = mu * e[k] * dP[0] + (d == 3 ? at->part[i] * (rest[k + 1] - along * e[k]) : 0.0);
      }
      if (slides(c, i))
        for (integer k = 0; k < d - 1; k++) dP[k + 1] = -mu * slip[k] * dP[0];
      for (integer k = 0; k < d; k++)
        rows[k * n + j] = (j == i * d + k ? 1.0 : 0.0) - (at->normal[i] == 0.0 ? 0.0 : dP[k]);
    }
  }
}

/* Goes to where a part of the step makes the merit smaller; 0 where none does. */
static int goes_ahead(Map *map) {
  integer n = map->c->n;
  double part = 1.0, merit = map->now.merit;
  int halvings = merit > MAP_NEAR * MAP_NEAR ? MAP_HALVINGS : 2;
  for (int k = 0; k < halvings; k++, part /= 2.0) {
    for (integer j = 0; j < n; j++) map->ahead.L[j] = map->now.L[j] + part * map->step[j];
    map_values(map, &map->ahead);
    if (map->ahead.merit < (1.0 - MAP_DESCENT * part) * merit) {
      Iterate other = map->now;
      map->now = map->ahead, map->ahead = other;
      return 1;
    }
  }
  return 0;
}

/* One step of Newton's method; of redundant contacts with a ridge, and where that is not exact enough, the least. */
static int map_step(Map *map) {
  integer n = map->c->n;
  map_slope(map);
  memcpy(map->factor, map->slope, (size_t)(n * n) * sizeof(double));
  for (integer j = 0; j < n; j++) {
    map->step[j] = -map->now.F[j];
    if (!map->regular) map->factor[j * n + j] += MAP_RIDGE;
  }
  if (pivoted_solve(map->factor, map->step, n) > 0.0 && goes_ahead(map)) return 1;
  if (!map->regular && largest(map->now.F, n) > MAP_NEAR) return 0;
  least_squares(map->slope, map->now.F, n, MAP_RANK, map->factor, map->turns, map->step);
  for (integer j = 0; j < n; j++) map->step[j] = -map->step[j];
  return goes_ahead(map);
}

/* P: what parts has not even round-off left. */
static void projected(const Map *map, const Iterate *at, double *L) {
  for (integer j = 0; j < map->c->n; j++) L[j] = at->L[j] - at->F[j];
}

/* Where the iteration from map->now.L ends, projected. */
static void map_newton(Map *map, double *L) {
  integer n = map->c->n;
  map_values(map, &map->now);
  for (integer k = 0; k < MAP_STEPS; k++) {
    if (map->now.merit <= MAP_ROUND_OFF * MAP_ROUND_OFF * (0.01 + dot(map->now.L, map->now.L, n))) break;
    if (!map_step(map)) break;
  }
  projected(map, &map->now, L);
}

/* What a whole step makes of impulses that are nearly an answer, none larger than round-off asks for: to map->now and L. */
static void map_refine(Map *map, double rank, double *L) {
  integer n = map->c->n;
  map_values(map, &map->now);
  map_slope(map);
  least_squares(map->slope, map->now.F, n, rank, map->factor, map->turns, map->step);
  for (integer j = 0; j < n; j++) map->now.L[j] -= map->step[j];
  map_values(map, &map->now);
  projected(map, &map->now, L);
}
