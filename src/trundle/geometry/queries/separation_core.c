/* The distance of two convex bodies: the point of their difference that is nearest to zero (Gilbert; Wolfe 1976).
 *
 * A body is told by the point that is farthest along a direction: of a function in CasADi's calling convention, or of a
 * few points whose hull it is. `Body` mirrors `trundle.geometry.queries.convex.BodyStruct` field by field.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long long integer;
typedef int (*casadi_function)(const double **, double **, integer *, double *, int);

enum { D = 3, MOST = 8 }; /* dimensions; corners kept, of which D + 1 are enough but for round-off */

typedef struct {
  casadi_function eval; /* null: the hull of points */
  integer memory, n_arg, n_res, n_iw, n_w, count;
  const double *points;
} Body;

typedef struct {
  const Body *A, *B;
  integer d;
  const double *R, *p; /* the pose of A in the frame of B */
  double size;
  const double **arg;
  double **res, *w;
  integer *iw;
} Pair;

/* The points of one normal: the lowest of A and the highest of B, in B's frame, and their difference. */
typedef struct {
  double a[D], b[D], apart[D];
} Ends;

typedef struct {
  double gap, normal[D], x_A[D], x_B[D]; /* the points in B's frame */
} Apart;

static const double OVERLAP = 1e-12;  /* distance, in sizes, under which bodies overlap */
static const double EXACT = 1e-14;    /* error of a distance, in sizes, at which the search ends */
static const double SHARPEST = 1e-15; /* the same where the normal counts: a distance is right to the square of it */
static const double THIN = 1e-6;      /* gap, in sizes, whose direction has more round-off than that of a wider one */
static const double DRAWN = 1e-3;     /* how far, in sizes, bodies are drawn apart for a normal */
static const double NOTHING = 1e-15;  /* a weight that is round-off */
static const double FLAT = 1e-13;     /* of the widest corner: how far one that adds a direction is beside the others */
static const double BESIDE = 1e-12;   /* how far a direction on a kink is turned */
enum { ITERATIONS = 200, DRAWS = 20 };

integer separation_body_size(void) { return (integer)sizeof(Body); }

static double dot(const double *a, const double *b, integer d) {
  double sum = 0.0;
  for (integer i = 0; i < d; i++) sum += a[i] * b[i];
  return sum;
}

static int evaluate(const Pair *o, const Body *body, const double *n, double *x) {
  o->arg[0] = n;
  o->res[0] = x;
  if (body->eval(o->arg, o->res, o->iw, o->w, (int)body->memory)) return 0;
  for (integer i = 0; i < o->d; i++)
    if (!isfinite(x[i])) return 0;
  return 1;
}

/* The point of a body that is farthest along n. */
static int farthest(const Pair *o, const Body *body, const double *n, double *x) {
  integer d = o->d;
  if (body->eval) {
    double beside[D];
    if (evaluate(o, body, n, x)) return 1;
    for (integer i = 0; i < d; i++) beside[(i + 1) % d] = (i == 0 ? 1.0 : 0.0) - n[i];
    for (integer i = 0; i < d; i++) beside[i] = n[i] + BESIDE * beside[i];
    return evaluate(o, body, beside, x);
  }
  const double *best = body->points;
  double most = dot(best, n, d);
  for (integer k = 1; k < body->count; k++) {
    double height = dot(body->points + k * d, n, d);
    if (!(height > most)) continue;
    most = height;
    best = body->points + k * d;
  }
  memcpy(x, best, (size_t)d * sizeof(double));
  return 1;
}

static int ends_along(const Pair *o, const double *n, Ends *e) {
  integer d = o->d;
  double back[D], x[D];
  for (integer i = 0; i < d; i++) {
    back[i] = 0.0;
    for (integer j = 0; j < d; j++) back[i] -= o->R[j * d + i] * n[j];
  }
  if (!farthest(o, o->A, back, x) || !farthest(o, o->B, n, e->b)) return 0;
  for (integer i = 0; i < d; i++) {
    e->a[i] = o->p[i] + dot(o->R + i * d, x, d);
    e->apart[i] = e->a[i] - e->b[i];
  }
  return 1;
}

/* The distance between the planes across n that touch the bodies; NaN on failure. */
static double between(const Pair *o, const double *n) {
  Ends e;
  return ends_along(o, n, &e) ? dot(n, e.apart, o->d) : NAN;
}

/* Weights of the point nearest to zero of the flat through corners: least squares by Gram and Schmidt, the widest first. */
static void weights_on_flat(const double (*X)[D], integer k, integer d, double *weight) {
  double Q[MOST][D], r[MOST][MOST], along[MOST], rest[D], first = 0.0;
  integer order[MOST], rank = 0;
  for (integer j = 1; j < k; j++) {
    order[j - 1] = j;
    for (integer i = 0; i < d; i++) Q[j - 1][i] = X[j][i] - X[0][i];
  }
  for (integer i = 0; i < d; i++) rest[i] = -X[0][i];
  for (; rank < k - 1; rank++) {
    integer widest = rank;
    for (integer j = rank + 1; j < k - 1; j++)
      if (dot(Q[j], Q[j], d) > dot(Q[widest], Q[widest], d)) widest = j;
    double length = sqrt(dot(Q[widest], Q[widest], d));
    if (rank == 0) first = length;
    if (!(length > FLAT * first)) break;
    if (widest != rank) {
      for (integer i = 0; i < d; i++) {
        double other = Q[rank][i];
        Q[rank][i] = Q[widest][i];
        Q[widest][i] = other;
      }
      for (integer m = 0; m < rank; m++) {
        double other = r[m][rank];
        r[m][rank] = r[m][widest];
        r[m][widest] = other;
      }
      integer other = order[rank];
      order[rank] = order[widest];
      order[widest] = other;
    }
    r[rank][rank] = length;
    for (integer i = 0; i < d; i++) Q[rank][i] /= length;
    for (integer j = rank + 1; j < k - 1; j++) {
      r[rank][j] = dot(Q[rank], Q[j], d);
      for (integer i = 0; i < d; i++) Q[j][i] -= r[rank][j] * Q[rank][i];
    }
    along[rank] = dot(Q[rank], rest, d);
    for (integer i = 0; i < d; i++) rest[i] -= along[rank] * Q[rank][i];
  }
  double left = 1.0;
  for (integer j = 0; j < k; j++) weight[j] = 0.0;
  for (integer j = rank - 1; j >= 0; j--) {
    for (integer m = j + 1; m < rank; m++) along[j] -= r[j][m] * along[m];
    along[j] /= r[j][j];
    weight[order[j]] = along[j];
    left -= along[j];
  }
  weight[0] = left;
}

/* Wolfe's minor cycle: the weights of the point of the hull of corners that is nearest to zero, from those of a point of it;
 * the last corner is a new one. */
static void nearest_to_zero(const double (*X)[D], integer k, integer d, double *w) {
  integer active[MOST], count = 0;
  for (integer j = 0; j < k; j++)
    if (w[j] > 0.0 || j == k - 1) active[count++] = j;
  for (integer turn = 0; turn < 2 * k + 2 && count > 0; turn++) {
    double corners[MOST][D], ideal[MOST], step = 1.0;
    int inside = 1;
    for (integer j = 0; j < count; j++) memcpy(corners[j], X[active[j]], sizeof corners[j]);
    weights_on_flat((const double(*)[D])corners, count, d, ideal);
    for (integer j = 0; j < count; j++) inside = inside && ideal[j] > NOTHING;
    if (inside) {
      for (integer j = 0; j < k; j++) w[j] = 0.0;
      for (integer j = 0; j < count; j++) w[active[j]] = ideal[j];
      return;
    }
    double ratio[MOST];
    for (integer j = 0; j < count; j++) {
      double now = w[active[j]];
      ratio[j] = ideal[j] <= NOTHING && now > ideal[j] ? now / (now - ideal[j]) : INFINITY;
      step = fmin(step, ratio[j]);
    }
    integer left = 0, stay[MOST];
    for (integer j = 0; j < count; j++) {
      double now = w[active[j]] + step * (ideal[j] - w[active[j]]);
      if (now < 0.0 || (ideal[j] <= NOTHING && ratio[j] <= step)) now = 0.0;
      w[active[j]] = now;
      if (now > 0.0) stay[left++] = active[j];
    }
    if (left == count || left == 0) break;
    memcpy(active, stay, sizeof active);
    count = left;
  }
  double total = 0.0;
  for (integer j = 0; j < k; j++) total += w[j];
  if (total > 0.0)
    for (integer j = 0; j < k; j++) w[j] /= total;
}

/* On lines and faces the points of one normal are many: the nearest may be those of the hull's point. */
static void choose_points(const Pair *o, const Ends *ends, const double *w, integer count, Apart *found) {
  integer d = o->d;
  double total = 0.0, a[D] = {0.0, 0.0, 0.0}, b[D] = {0.0, 0.0, 0.0}, own = 0.0, beside = 0.0;
  for (integer j = 0; j < count; j++) total += w[j];
  for (integer i = 0; i < d; i++) {
    for (integer j = 0; j < count; j++) {
      a[i] += w[j] / total * ends[j].a[i];
      b[i] += w[j] / total * ends[j].b[i];
    }
    own += pow(found->x_A[i] - found->x_B[i] - found->gap * found->normal[i], 2.0);
    beside += pow(a[i] - b[i] - found->gap * found->normal[i], 2.0);
  }
  if (!(beside < own)) return;
  memcpy(found->x_A, a, sizeof a);
  memcpy(found->x_B, b, sizeof b);
}

/* Nearest points by a search that begins along a normal out of B. Zero where a body has no point. */
static int search(const Pair *o, const double *guess, double exact, Apart *found) {
  integer d = o->d, count = 1;
  Ends ends[MOST + 1];
  double w[MOST + 1] = {1.0}, v[D], n[D], low, X[MOST + 1][D];
  if (!ends_along(o, guess, &ends[0])) return 0;
  memcpy(v, ends[0].apart, sizeof v);
  low = dot(guess, v, d);
  memcpy(found->normal, guess, (size_t)d * sizeof(double));
  for (integer turn = 0; turn < ITERATIONS && count < MOST; turn++) {
    double length = sqrt(dot(v, v, d)), closer[D] = {0.0, 0.0, 0.0};
    if (length <= OVERLAP * o->size) break;
    for (integer i = 0; i < d; i++) n[i] = v[i] / length;
    Ends *next = &ends[count];
    if (!ends_along(o, n, next)) return 0;
    double height = dot(n, next->apart, d);
    if (height > low) {
      low = height;
      memcpy(found->normal, n, (size_t)d * sizeof(double));
    }
    int known = length - low <= exact * o->size;
    for (integer j = 0; j < count && !known; j++) {
      known = 1;
      for (integer i = 0; i < d; i++) known = known && next->apart[i] == ends[j].apart[i];
    }
    if (known) break;
    w[count++] = 0.0;
    for (integer j = 0; j < count; j++) memcpy(X[j], ends[j].apart, sizeof X[j]);
    nearest_to_zero((const double(*)[D])X, count, d, w);
    integer kept = 0;
    for (integer j = 0; j < count; j++) {
      if (!(w[j] > 0.0)) continue;
      for (integer i = 0; i < d; i++) closer[i] += w[j] * ends[j].apart[i];
      ends[kept] = ends[j];
      w[kept++] = w[j];
    }
    count = kept;
    if (sqrt(dot(closer, closer, d)) >= length * (1.0 - 1e-15)) break;
    memcpy(v, closer, sizeof v);
  }
  double along = between(o, guess);
  if (along > low) {
    low = along;
    memcpy(found->normal, guess, (size_t)d * sizeof(double));
  }
  Ends last;
  if (!ends_along(o, found->normal, &last)) return 0;
  found->gap = low;
  memcpy(found->x_A, last.a, sizeof last.a);
  memcpy(found->x_B, last.b, sizeof last.b);
  if (low > 0.0) choose_points(o, ends, w, count, found);
  return 1;
}

/* The distance of the bodies. The normal of bodies that overlap a little, or hardly miss each other, is that of bodies drawn
 * apart: what is left of a gap has round-off. */
static int of_bodies(Pair *o, const double *guess, Apart *found) {
  integer d = o->d;
  double drawn_to[D];
  const double *p = o->p;
  if (!search(o, guess, EXACT, found)) return 0;
  for (integer turn = 0; turn < DRAWS && !(found->gap > THIN * o->size); turn++) {
    Apart drawn;
    double before = found->gap;
    for (integer i = 0; i < d; i++) drawn_to[i] = p[i] + (DRAWN * o->size - before) * found->normal[i];
    o->p = drawn_to;
    int good = search(o, found->normal, SHARPEST, &drawn);
    o->p = p;
    double gap = good ? between(o, drawn.normal) : NAN;
    if (isnan(gap)) return 0;
    if (gap > before - EXACT * o->size) {
      for (integer i = 0; i < d; i++) drawn.x_A[i] += p[i] - drawn_to[i];
      *found = drawn;
      found->gap = gap;
    }
    if (gap <= before + THIN * o->size) break;
  }
  return 1;
}

static integer most(integer a, integer b) { return a > b ? a : b; }

static int with_memory(Pair *o) {
  const Body *A = o->A, *B = o->B;
  o->arg = malloc((size_t)most(1, most(A->n_arg, B->n_arg)) * sizeof *o->arg);
  o->res = malloc((size_t)most(1, most(A->n_res, B->n_res)) * sizeof *o->res);
  o->iw = malloc((size_t)most(1, most(A->n_iw, B->n_iw)) * sizeof *o->iw);
  o->w = malloc((size_t)most(1, most(A->n_w, B->n_w)) * sizeof *o->w);
  return o->arg && o->res && o->iw && o->w;
}

static void forget(Pair *o) {
  free(o->arg);
  free(o->res);
  free(o->iw);
  free(o->w);
}

/* Gap, normal, and the nearest points in the frames of A and B. 0: there are, 1: a body has no point, 2: no memory. */
int separation_apart(const Body *A, const Body *B, integer d, double size, const double *R, const double *p,
                     const double *guess, double *out) {
  Pair o = {A, B, d, R, p, size, 0, 0, 0, 0};
  Apart found;
  int good = with_memory(&o), answered = good && of_bodies(&o, guess, &found);
  forget(&o);
  if (!answered) return good ? 1 : 2;
  out[0] = found.gap;
  for (integer i = 0; i < d; i++) {
    out[1 + i] = found.normal[i];
    out[1 + d + i] = 0.0;
    for (integer j = 0; j < d; j++) out[1 + d + i] += R[j * d + i] * (found.x_A[j] - p[j]);
    out[1 + 2 * d + i] = found.x_B[i];
  }
  return 0;
}

/* The distance (m) between the planes across `normal` that touch the bodies; NaN where one has no point. */
double separation_along(const Body *A, const Body *B, integer d, const double *R, const double *p, const double *normal) {
  Pair o = {A, B, d, R, p, 1.0, 0, 0, 0, 0};
  double found = with_memory(&o) ? between(&o, normal) : NAN;
  forget(&o);
  return found;
}
