/* The impulses of contacts by Coulomb's law: what costs little, and of redundant contacts the least. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long long integer;

#include "dense.h"
#include "natural_map.h"
#include "least_impulses.h"
#include "resisted.h"

static const double EXACT = 1e-10;    /* largest residual of an answer, of the largest speed there is */
static const double CONTENT = 2e-11;  /* residual with which a search ends: a part of what is called exact */
static const double NEARLY = 1e-6;    /* residual (scaled) of impulses that are refined */
static const double OF_TERMS = 1e-5;  /* of the terms of D L that counts as a speed: with EXACT some units in the last place */
static const double REGULAR = 1e-10;  /* of the largest pivot of D: contacts below it are redundant */
static const double STUCK_SAME = 1e-13; /* of the largest impulse: where those of contacts that all stick are what was found */
static const double SMALLEST = 1e-300;

/* What the tangential parts miss, m/s, with friction up to `room`, N s. */
static double rubs(const double *L, const double *v, integer d, double mobility, double room) {
  double trial[2], missing[2];
  for (integer k = 0; k < d - 1; k++) trial[k] = L[k + 1] - v[k + 1] / mobility;
  double size = length(trial, d - 1), part = size > room ? room / size : 1.0;
  for (integer k = 0; k < d - 1; k++) missing[k] = L[k + 1] - part * trial[k];
  return mobility * length(missing, d - 1);
}

/* What is missing of Coulomb's law at a contact, m/s. */
static double missing_of(const Contacts *c, integer i, double mobility, const double *L, const double *v) {
  integer d = c->d;
  double normal = fmin(v[0], mobility * (L[0] - c->least[i])), push = fmax(L[0], 0.0), across;
  if (slides(c, i)) {
    double off[2];
    for (integer k = 0; k < d - 1; k++) off[k] = L[k + 1] + finite_friction(c, i) * push * c->slips[i * (d - 1) + k];
    across = mobility * length(off, d - 1);
  } else across = rubs(L, v, d, mobility, push > 0.0 ? c->friction[i] * push : 0.0);
  double missing = hypot(normal, across);
  if (!isinf(c->friction[i]) || c->least[i] != 0.0) return missing;
  /* Without a limit friction may jam: it pushes against a slip that is left although the normal does not push. */
  double pressed = hypot(mobility * (L[0] - c->least[i]), v[0]);
  return fmin(missing, hypot(pressed, rubs(L, v, d, mobility, length(L + 1, d - 1))));
}

/* Each contact's own 1/mass, 1/kg: its largest eigenvalue; one where nothing moves. */
static void mobilities(const Contacts *c, double *mobility) {
  for (integer i = 0; i < c->m; i++) {
    double own = largest_eigenvalue(c->D + i * c->d * c->n + i * c->d, c->d, c->n);
    mobility[i] = own > 0.0 ? own : 1.0;
  }
}

/* The residual of impulses L (n), of the largest speed there is or `speed`; their velocities v (n). A pair (L_n, v_n) or
 * (L_t, v_t) is as far from the law as from the pair that L - v/D_i gives by projection, which obeys it. */
static double residual_of(const Contacts *c, const double *mobility, const double *L, double speed, double *v) {
  integer d = c->d, n = c->n;
  double missing[c->m], most = 0.0, residual;
  multiply(c->D, L, n, n, v);
  for (integer j = 0; j < n; j++) v[j] += c->before[j];
  speed = fmax(fmax(speed, SMALLEST), fmax(largest(c->before, n), largest(v, n)));
  for (integer i = 0; i < c->m; i++) {
    missing[i] = missing_of(c, i, mobility[i], L + i * d, v + i * d);
    if (!(missing[i] <= most)) most = missing[i]; /* also what is no number */
  }
  residual = most / speed;
  if (!(residual > EXACT)) return residual;
  residual = 0.0;
  for (integer i = 0; i < c->m; i++) {
    double terms = 0.0;
    for (integer k = i * d; k < i * d + d; k++) {
      double sum = 0.0;
      for (integer j = 0; j < n; j++) sum += fabs(c->D[k * n + j]) * fabs(L[j]);
      terms = fmax(terms, sum);
    }
    double part = missing[i] / fmax(speed, OF_TERMS * terms);
    if (!(part <= residual)) residual = part;
  }
  return residual;
}

typedef struct {
  Contacts own, scaled;
  Map map;
  integer rank, *place;
  double *mobility, *ones, *unit, *D, *before, *least, *factor, *stuck, *work, *L, *best, *best_v;
} Problem;

/* Every contact's mobility and the largest speed one: L_i = unit_i L'_i, so that each cone stays what it is. */
static void scale(Problem *p) {
  const Contacts *c = &p->own;
  integer d = c->d, n = c->n;
  double speed = 0.0, root[c->m];
  mobilities(c, p->mobility);
  for (integer i = 0; i < c->m; i++) root[i] = sqrt(p->mobility[i]), speed = fmax(speed, largest(c->before + i * d, d) / root[i]);
  if (!(speed > 0.0)) speed = 1.0;
  for (integer i = 0; i < n; i++) {
    p->before[i] = c->before[i] / root[i / d] / speed;
    for (integer j = 0; j < n; j++) p->D[i * n + j] = c->D[i * n + j] / (root[i / d] * root[j / d]);
  }
  for (integer i = 0; i < c->m; i++) p->unit[i] = speed / root[i], p->least[i] = c->least[i] / p->unit[i], p->ones[i] = 1.0;
  p->scaled = (Contacts){c->m, d, n, p->D, p->before, c->friction, p->least, c->slips};
}

/* D = factor factor' by pivots, and the least impulses, N s, of contacts that all stick. */
static void make_stuck(Problem *p) {
  const Contacts *c = &p->scaled;
  integer n = c->n, d = c->d, r;
  double *copy = p->work, y[n], along[n];
  memcpy(copy, c->D, (size_t)(n * n) * sizeof(double));
  r = p->rank = factor(copy, n, LEAST_RANK, p->place, p->factor);
  /* L_1 L_1' x = -before of the pivots, then the part of x that D does not lose. */
  memset(p->stuck, 0, (size_t)n * sizeof(double));
  for (integer i = 0; i < r; i++) {
    y[i] = -c->before[p->place[i]];
    for (integer j = 0; j < i; j++) y[i] -= p->factor[p->place[i] * n + j] * y[j];
    y[i] /= p->factor[p->place[i] * n + i];
  }
  for (integer i = r - 1; i >= 0; i--) {
    for (integer j = i + 1; j < r; j++) y[i] -= p->factor[p->place[j] * n + i] * y[j];
    y[i] /= p->factor[p->place[i] * n + i];
    p->stuck[p->place[i]] = y[i] * p->unit[p->place[i] / d];
  }
  if (r == n) return;
  for (integer row = 0; row < r; row++)
    for (integer j = 0; j < n; j++) copy[row * n + j] = p->factor[j * n + row] / p->unit[j / d];
  onto(copy, orthonormal(copy, r, n, sqrt(LEAST_RANK)), n, p->stuck, along);
}

/* Whether the pivots of D tell contacts that do not depend on each other. */
static int is_regular(const Problem *p) {
  integer n = p->own.n;
  if (p->rank < n) return 0;
  double first = p->factor[p->place[0] * n], last = p->factor[p->place[n - 1] * n + n - 1];
  return last * last > REGULAR * first * first;
}

/* Takes the impulses p->L, scaled, if they are the best so far. */
static void offer(Problem *p, double speed, double *residual) {
  integer n = p->own.n, d = p->own.d;
  double L[n], v[n];
  for (integer j = 0; j < n; j++) L[j] = p->unit[j / d] * p->L[j];
  double found = residual_of(&p->own, p->mobility, L, speed, v);
  if (!(found < *residual)) return;
  *residual = found;
  memcpy(p->best, L, sizeof(L)), memcpy(p->best_v, v, sizeof(v));
}

/* What Newton's method makes of impulses `start`, and what refines them where they are nearly an answer. */
static void polish(Problem *p, const double *start, double speed, double *residual) {
  integer n = p->own.n;
  double v[n];
  memcpy(p->map.now.L, start, (size_t)n * sizeof(double));
  map_newton(&p->map, p->L);
  offer(p, speed, residual);
  if (!(residual_of(&p->scaled, p->ones, p->L, 0.0, v) < NEARLY)) return;
  memcpy(p->map.now.L, p->L, (size_t)n * sizeof(double));
  for (int k = 0; k < MAP_REFINED && *residual > CONTENT; k++) {
    map_refine(&p->map, MAP_REFINING[k], p->L);
    offer(p, speed, residual);
  }
}

static integer problem_size(integer m, integer n) { return 4 * m + 5 * n * n + 5 * n + map_size(m, n); }

static void problem_memory(Problem *p, double *w) {
  integer m = p->own.m, n = p->own.n;
  p->mobility = w, p->ones = w + m, p->unit = w + 2 * m, p->least = w + 3 * m, w += 4 * m;
  p->D = w, p->factor = w + n * n, w += 2 * n * n;
  p->before = w, p->stuck = w + n, p->L = w + 2 * n, p->best = w + 3 * n, p->best_v = w + 4 * n, w += 5 * n;
  p->work = w, w += 3 * n * n;
  p->scaled = p->own, p->map.c = &p->scaled;
  map_memory(&p->map, w);
}

/* The impulses of an answer replaced by the least with the same velocities, if contacts are redundant. */
static void choose_least(Problem *p, double speed, double *residual) {
  const Contacts *c = &p->own;
  integer n = c->n;
  double off = 0.0, chosen[n], v[n];
  for (integer j = 0; j < n; j++) off = fmax(off, fabs(p->best[j] - p->stuck[j]));
  if (p->map.regular || largest(c->least, c->m) > 0.0 || off <= STUCK_SAME * largest(p->stuck, n)) return;
  speed = fmax(speed, largest(c->before, n));
  if (!least_impulses(c, p->unit, p->factor, p->rank, p->best, p->best_v, speed, p->work, chosen)) return;
  double found = residual_of(c, p->mobility, chosen, speed, v);
  if (found <= EXACT) memcpy(p->best, chosen, sizeof(chosen)), memcpy(p->best_v, v, sizeof(v)), *residual = found;
}

/* Impulses L (n), N s, and velocities v (n) with the least residual of those that some starts lead to: `guess` (n), if there
 * is one, contacts that all stick, no impulses; of redundant contacts the least. Returned is whether they are an answer:
 * 1, or 0; -1: there is no memory. `speed`, m/s, is there elsewhere. */
static int of_island(const Contacts *c, const double *guess, double speed, double *L, double *v, double *residual) {
  integer m = c->m, n = c->n;
  Problem p = {.own = *c};
  double *memory = malloc((size_t)problem_size(m, n) * sizeof(double) + (size_t)n * sizeof(integer)), start[n];
  if (!memory) return -1;
  problem_memory(&p, memory);
  p.place = (integer *)(memory + problem_size(m, n));
  scale(&p);
  make_stuck(&p);
  p.map.regular = is_regular(&p);
  *residual = INFINITY;
  memset(p.best, 0, sizeof(start)), memset(p.best_v, 0, sizeof(start));
  for (int k = guess ? 0 : 1; k < 3 && !(*residual <= CONTENT); k++) {
    for (integer j = 0; j < n; j++) start[j] = k == 2 ? 0.0 : (k ? p.stuck[j] : guess[j]) / p.unit[j / c->d];
    polish(&p, start, speed, residual);
  }
  int answered = *residual <= CONTENT;
  if (answered) choose_least(&p, speed, residual);
  memcpy(L, p.best, sizeof(start)), memcpy(v, p.best_v, sizeof(start));
  free(memory);
  return answered;
}

/* The numbers of the islands (m) of contacts that moving bodies couple, each that of its first contact; how many there are. */
static integer islands_of(const Contacts *c, integer *island) {
  integer m = c->m, d = c->d, n = c->n, count = m;
  for (integer i = 0; i < m; i++) island[i] = i;
  for (integer i = 0; i < m; i++) {
    for (integer k = 0; k < i; k++) {
      if (island[i] == island[k]) continue;
      int coupled = 0;
      for (integer a = 0; a < d && !coupled; a++)
        for (integer b = 0; b < d; b++) coupled |= c->D[(i * d + a) * n + k * d + b] != 0.0;
      if (!coupled) continue;
      integer low = island[i] < island[k] ? island[i] : island[k], high = island[i] + island[k] - low;
      for (integer j = 0; j <= i; j++)
        if (island[j] == high) island[j] = low;
      count--;
    }
  }
  return count;
}

/* The same of the contacts of one island, put beside each other. */
static int of_part(const Contacts *c, const integer *island, integer own, const double *guess, double speed, double *L) {
  integer d = c->d, w = d - 1, at[c->m], m = 0, n;
  for (integer i = 0; i < c->m; i++)
    if (island[i] == own) at[m++] = i;
  n = m * d;
  double *memory = malloc((size_t)(n * n + 4 * n + 2 * m + m * w) * sizeof(double)), residual;
  if (!memory) return -1;
  double *D = memory, *before = D + n * n, *first = before + n, *pushes = first + n, *v = pushes + n, *friction = v + n;
  double *least = friction + m, *slips = least + m;
  for (integer i = 0; i < m; i++) {
    memcpy(before + i * d, c->before + at[i] * d, (size_t)d * sizeof(double));
    memcpy(slips + i * w, c->slips + at[i] * w, (size_t)w * sizeof(double));
    if (guess) memcpy(first + i * d, guess + at[i] * d, (size_t)d * sizeof(double));
    friction[i] = c->friction[at[i]], least[i] = c->least[at[i]];
    for (integer a = 0; a < d; a++)
      for (integer k = 0; k < m; k++)
        memcpy(D + (i * d + a) * n + k * d, c->D + (at[i] * d + a) * c->n + at[k] * d, (size_t)d * sizeof(double));
  }
  Contacts part = {m, d, n, D, before, friction, least, slips};
  int answered = of_island(&part, guess ? first : NULL, speed, pushes, v, &residual);
  for (integer i = 0; i < m; i++) memcpy(L + at[i] * d, pushes + i * d, (size_t)d * sizeof(double));
  free(memory);
  return answered;
}

/* Impulses L (n), N s, and velocities v (n) of contacts, with their residual: see `of_island`, island by island. */
int coulomb_impulses(integer m, integer d, const double *D, const double *before, const double *friction, const double *least,
                     const double *slips, const double *guess, double speed, double *L, double *v, double *residual) {
  Contacts c = {m, d, m * d, D, before, friction, least, slips};
  integer island[m];
  int answered = 1;
  if (islands_of(&c, island) == 1) return of_island(&c, guess, speed, L, v, residual);
  speed = fmax(speed, largest(before, c.n));
  for (integer i = 0; i < m; i++) {
    if (island[i] != i) continue;
    int part = of_part(&c, island, i, guess, speed, L);
    if (part < 0) return part;
    answered &= part;
  }
  double mobility[m];
  mobilities(&c, mobility);
  *residual = residual_of(&c, mobility, L, speed, v);
  return answered;
}
