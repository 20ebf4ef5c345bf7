/* Contact modes as data: one assembly and one solver for every tuple of laws of a model.
 *
 * What depends on shapes and laws are kernels, compiled expressions in CasADi's calling convention; here they are called
 * for each contact of a mode, their rows are assembled, and M a - G'lam = top, J a = bottom is solved: M = L'D L along
 * the branches of each tree (Featherstone 2008, section 6.5), then the Schur complement J M^-1 G of each island, the
 * contacts that moving trees join. The structs mirror `trundle.simulate.engine.tables` field by field. An `Engine` is
 * made once for a model and only read; a `Mode` belongs to one thread.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long long integer;
typedef int (*function)(const double **, double **, integer *, double *, int);

#include "cone_program.h"

enum { REFINEMENTS = 3, MODES = 65536 };
enum { PLAIN, SLIPPING, DISTANT, VARIANTS }; /* of kinematics */
enum { BRIEF, WHOLE, MARGINS, KINDS };        /* what a touch gives */

/* A compiled expression, and the constants that tell contacts and models of one kind apart: its last argument. */
typedef struct {
  function eval;
  integer mem, n_arg, n_res, n_iw, n_w;
  const double *numbers;
} Kernel;

#include "bodies_core.h"

/* Results of a touch, see kernels.py: kinematics, then the rates of its coordinates, the coordinates restored, the
 * points in the bodies' frames, and margins. */
typedef struct { integer kinematics, rates, restored, on_A, on_B, margins, size; } Layout;

typedef struct {
  integer d, k, n, nv, trees, contacts, pins, bodies_size, top_at, onset_at, sign_at, parameters, total_s, kernels;
  const integer *frame_at, *frame_J, *frame_tree, *frame_free;
  const integer *tree_n, *tree_at, *tree_cols, *tree_M;
  const integer *parent;         /* of each column in its tree, -1: none */
  const integer *path_at, *path; /* columns that move side s of contact c: path[path_at[2 c + s] : path_at[2 c + s + 1]] */
  const integer *A, *B, *s_at, *s_size, *rate_at, *margins;
  const integer *touch;          /* of each contact and variant (plain, slipping, distant): its kernels, brief, whole and of margins */
  const integer *near;           /* of each contact: whether it is that of two balls, whose nearest points are known */
  const integer *jointed, *rubs; /* of each contact: whether it is one of a joint, and whether it is dry friction */
  double proximal;               /* size of the term that makes multipliers unique, in parts of 1/mass */
  const double *ball;            /* of each contact of two balls: the middle of A's in its frame (3), both radii together */
  const Kernel *kernel;
  const Sweep *sweep;            /* 0: the next four */
  Kernel bodies, rate, moved, nudge;
  integer at_frame, at_vrel, at_gap, at_rB; /* in the kinematics */
} Engine;

enum { OF_LAW, OF_TOUCH, SIGNED, NEAREST };

/* Scale times a value of a contact, plus an offset. */
typedef struct { integer contact, code, index; double scale, offset; } Term;

typedef struct {
  const Engine *e;
  integer rows_total, active, islands, margin_count, whole, have, kernels;
  integer *rows, *variant, *touching, *pushed, *applies, *rows_kernel, *after_kernel, *cones_kernel, *after_size, *hidden; /* of each contact */
  integer *cone_at, *cone_size;  /* cones of contact c: cone_size[cone_at[c] : cone_at[c + 1]], their entries */
  integer *act, *row_at, *island_at, *block_at, *symmetric, *tree_A, *tree_B, *slot, *after_at, *L_at;
  integer *dependent, *shares;   /* of each island: whether rows may depend on others, and whether forces are left open */
  double proximal;               /* term of a row of a force */
  integer *margin_at, *group_at; /* a margin is the least of its groups, a group the largest of its terms */
  Term *term;
  integer *seen;                 /* contacts without rows whose touch is known at this state */
  Layout *at;
  double baumgarte;
  double *bodies, *touch, *row, *after, *L, *Y, *YG, *S, *S0, *rhs, *lam, *r0, *top, *z, *a, *s_rate, *xs, *xt, *step, *near_s, *last, *soft;
  double *share, *cone; /* multipliers as contacts share them, and coefficients of the cones of a contact */
  integer touch_width, row_width;
  integer *pivot;
  const double **arg;
  double **res;
  integer *iw;
  double *w, *room;              /* of kernels, and of the sweep */
} Mode;

static Mode *modes[MODES];
static integer latest;

static const double SINGULAR = 1e-13; /* pivot, in parts of the largest diagonal entry, that is round-off */
static const double STILL = 1e-12; /* row of S, in parts of the largest entry of all, along which nothing can move */

static integer largest(integer a, integer b) { return a > b ? a : b; }

static double dot(const double *a, const double *b, integer n) {
  double sum = 0.0;
  for (integer i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static Memory memory_of(const Mode *m) {
  Memory at = {m->arg, m->res, m->iw, m->w};
  return at;
}

static int call(Mode *m, const Kernel *f, const double *a0, const double *a1, const double *a2, const double *a3, double *out) {
  Memory at = memory_of(m);
  return run(f, &at, a0, a1, a2, a3, out);
}

/* ---- bodies: a sweep by kinds of joints, else kernels of the model ---- */

static int find_bodies(Mode *m, const double *t, const double *x, const double *p) {
  const Engine *e = m->e;
  Memory at = memory_of(m);
  return e->sweep ? sweep_bodies(e->sweep, &at, m->room, t, x, p, m->bodies) : call(m, &e->bodies, t, x, p, 0, m->bodies);
}

static int find_rate(Mode *m, const double *t, const double *x, const double *p, const double *nudot, const double *s_rate, double *out) {
  const Engine *e = m->e;
  Memory at = memory_of(m);
  if (e->sweep) return sweep_rate(e->sweep, &at, m->room, t, x, p, nudot, s_rate, out);
  const double *given[6] = {t, x, p, nudot, s_rate, e->rate.numbers};
  for (integer i = 0; i < 6; i++) m->arg[i] = given[i];
  m->res[0] = out;
  return e->rate.eval(m->arg, m->res, m->iw, m->w, (int)e->rate.mem);
}

static int find_moved(Mode *m, const double *x, const double *step, double *out) {
  const Engine *e = m->e;
  Memory at = memory_of(m);
  return e->sweep ? sweep_moved(e->sweep, &at, x, step, out) : call(m, &e->moved, x, step, 0, 0, out);
}

static int find_nudged(Mode *m, const double *x, const double *step, double *out) {
  const Engine *e = m->e;
  return e->sweep ? sweep_nudge(e->sweep, x, step, out) : call(m, &e->nudge, x, step, 0, 0, out);
}

/* ---- making a mode ---- */

static integer find(integer *parent, integer i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void *copied(const void *from, integer count, integer size) {
  void *to = calloc((size_t)largest(count, 1), (size_t)size);
  if (count > 0 && from) memcpy(to, from, (size_t)(count * size));
  return to;
}

static double *room(integer count) { return calloc((size_t)largest(count, 1), sizeof(double)); }
static integer *places(integer count) { return calloc((size_t)largest(count, 1), sizeof(integer)); }

static Layout layout(const Engine *e, integer contact, integer kinematics) {
  Layout at;
  integer size = e->s_size[contact];
  at.kinematics = 0, at.rates = kinematics, at.restored = at.rates + size, at.on_A = at.restored + size;
  at.on_B = at.on_A + e->d, at.margins = at.on_B + e->d, at.size = at.margins + e->margins[contact];
  return at;
}

/* The contacts that have rows, island by island: islands are joined by the trees that contacts share. */
static void order(Mode *m) {
  const Engine *e = m->e;
  integer *parent = places(e->trees + 1), *name = places(e->trees + 1);
  for (integer t = 0; t <= e->trees; t++) parent[t] = t, name[t] = -1;
  for (integer c = 0; c < e->contacts; c++) {
    integer a = e->frame_tree[e->A[c]], b = e->frame_tree[e->B[c]];
    m->tree_A[c] = a, m->tree_B[c] = b == a ? -1 : b;
    if (m->rows_kernel[c] >= 0 && a >= 0 && b >= 0) parent[find(parent, a)] = find(parent, b);
  }
  integer at = 0, row = 0;
  m->islands = 0;
  for (integer first = 0; first < e->contacts; first++) {
    integer tree = m->tree_A[first] >= 0 ? m->tree_A[first] : m->tree_B[first];
    if (m->rows_kernel[first] < 0 || tree < 0) continue;
    integer root = find(parent, tree);
    if (name[root] >= 0) continue;
    name[root] = m->islands;
    m->island_at[m->islands++] = at;
    for (integer c = first; c < e->contacts; c++) {
      integer t = m->tree_A[c] >= 0 ? m->tree_A[c] : m->tree_B[c];
      if (m->rows_kernel[c] < 0 || t < 0 || find(parent, t) != root) continue;
      m->slot[c] = at, m->act[at] = c, m->row_at[at] = row, row += m->rows[c], at++;
    }
  }
  m->island_at[m->islands] = at, m->row_at[at] = row, m->active = at, m->rows_total = row;
  free(parent), free(name);
}

/* Work memory for the kernels that the engine has by now. */
static void kernel_memory(Mode *m) {
  const Engine *e = m->e;
  integer args = 8, results = 2, iw = 1, w = 1;
  const Kernel *fixed[4] = {&e->bodies, &e->rate, &e->moved, &e->nudge};
  if (m->kernels == e->kernels) return;
  for (integer i = 0; i < 4 + e->kernels; i++) {
    const Kernel *f = i < 4 ? fixed[i] : e->kernel + i - 4;
    args = largest(args, f->n_arg), results = largest(results, f->n_res), iw = largest(iw, f->n_iw), w = largest(w, f->n_w);
  }
  free((void *)m->arg), free((void *)m->res), free(m->iw), free(m->w), free(m->room);
  if (e->sweep) {
    const Sweep *f = e->sweep;
    args = largest(args, f->n_arg), results = largest(results, f->n_res), iw = largest(iw, f->n_iw), w = largest(w, f->n_w);
    m->room = room(sweep_room(f));
  }
  m->arg = calloc((size_t)args, sizeof(double *)), m->res = calloc((size_t)results, sizeof(double *));
  m->iw = places(iw), m->w = room(w), m->kernels = e->kernels;
}

static void work_memory(Mode *m) {
  const Engine *e = m->e;
  integer big = 0, blocks = 0, after = 0, C = e->contacts, factors = 0, coefficients = 0;
  kernel_memory(m);
  for (integer c = 0; c < C; c++) {
    integer s = e->k + e->d, R = m->rows[c];
    m->touch_width = largest(m->touch_width, m->at[c].size);
    m->row_width = largest(m->row_width, R * (4 * s + 3) + 2 * s + 1);
    m->after_at[c] = after, after += m->after_size[c];
    for (integer j = m->cone_at[c]; j < m->cone_at[c + 1]; j++) coefficients += m->cone_size[j] * (R + 1);
  }
  for (integer i = 0; i < m->active; i++) {
    integer c = m->act[i], R = m->rows[c];
    m->block_at[2 * i] = blocks, blocks += m->tree_A[c] >= 0 ? R * e->tree_n[m->tree_A[c]] : 0;
    m->block_at[2 * i + 1] = blocks, blocks += m->tree_B[c] >= 0 ? R * e->tree_n[m->tree_B[c]] : 0;
  }
  for (integer s = 0; s < m->islands; s++) {
    m->symmetric[s] = 1;
    big = largest(big, m->row_at[m->island_at[s + 1]] - m->row_at[m->island_at[s]]);
    for (integer i = m->island_at[s]; i < m->island_at[s + 1]; i++) m->symmetric[s] &= !m->pushed[m->act[i]];
  }
  m->cone = room(coefficients);
  for (integer t = 0; t < e->trees; t++) m->L_at[t] = factors, factors += e->tree_n[t] * e->tree_n[t];
  m->bodies = copied(e->sweep ? e->sweep->constants : 0, e->bodies_size, sizeof(double)), m->touch = room(C * m->touch_width), m->row = room(C * m->row_width);
  m->after = room(after), m->L = room(factors), m->Y = room(blocks), m->YG = room(blocks);
  m->S = room(big * big), m->S0 = room(big * big), m->pivot = places(big), m->r0 = room(big);
  m->rhs = room(m->rows_total), m->lam = room(m->rows_total), m->share = room(m->rows_total), m->soft = room(m->rows_total);
  m->top = room(e->nv), m->z = room(e->nv), m->a = room(e->nv), m->step = room(e->nv);
  m->s_rate = room(e->total_s), m->xs = room(e->n), m->xt = room(e->n), m->near_s = room(8 * C);
  m->last = room(e->n + 1 + e->parameters);
}

static void release(Mode *m) {
  void *all[] = {m->rows, m->variant, m->touching, m->pushed, m->applies, m->rows_kernel, m->after_kernel, m->cones_kernel, m->after_size, m->hidden, m->cone_at, m->cone_size, m->share, m->cone, m->act,
                 m->row_at, m->island_at, m->block_at, m->symmetric, m->tree_A, m->tree_B, m->slot, m->after_at, m->L_at,
                 m->dependent, m->shares, m->margin_at, m->group_at, m->term, m->seen, m->at, m->bodies, m->touch, m->row, m->after,
                 m->L, m->Y, m->YG, m->S, m->S0, m->rhs, m->lam, m->r0, m->top, m->z, m->a, m->s_rate, m->xs,
                 m->xt, m->step, m->near_s, m->last, m->soft, m->pivot, (void *)m->arg, (void *)m->res, m->iw, m->w, m->room};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  free(m);
}

/* A mode: of each contact rows, variant of its kinematics, whether it touches, whether its push is not along its rows,
 * whether the state alone gives it a force, its kernels and their results, and whether records leave it out; the term of
 * rows that may depend on others. */
integer mode_new(const Engine *e, const integer *given, const integer *cone_at, const integer *cone_size, integer margins, const integer *margin_at, const integer *group_at,
                 const Term *terms, double proximal, const integer *independent,
                 const integer *carrier, integer kinematics, double baumgarte) {
  Mode *m = calloc(1, sizeof(Mode));
  integer C = e->contacts, trees = e->trees;
  m->e = e, m->kernels = -1, m->margin_count = margins, m->baumgarte = baumgarte, m->proximal = proximal;
  integer **columns[10] = {&m->rows, &m->variant, &m->touching, &m->pushed, &m->applies, &m->rows_kernel, &m->after_kernel, &m->cones_kernel, &m->after_size, &m->hidden};
  for (integer i = 0; i < 10; i++) *columns[i] = copied(given + i * C, C, sizeof(integer));
  integer groups = margin_at[margins], count = group_at[groups];
  m->cone_at = copied(cone_at, C + 1, sizeof(integer)), m->cone_size = copied(cone_size, cone_at[C], sizeof(integer));
  m->margin_at = copied(margin_at, margins + 1, sizeof(integer)), m->group_at = copied(group_at, groups + 1, sizeof(integer));
  m->term = copied(terms, count, sizeof(Term)), m->seen = places(C);
  m->act = places(C), m->row_at = places(C + 1), m->island_at = places(C + 2), m->block_at = places(2 * C + 2);
  m->symmetric = places(C + 1), m->tree_A = places(C), m->tree_B = places(C), m->slot = places(C), m->after_at = places(C);
  m->L_at = places(trees), m->at = calloc((size_t)largest(C, 1), sizeof(Layout)), m->dependent = places(C + 1), m->shares = places(C + 1);
  for (integer c = 0; c < C; c++) m->slot[c] = -1, m->at[c] = layout(e, c, kinematics);
  order(m);
  work_memory(m);
  for (integer s = 0; s < m->islands; s++) {
    integer first = m->island_at[s], end = m->island_at[s + 1], alone = end - first <= *independent;
    for (integer i = first; i < end; i++) {
      for (integer q = first; q < i; q++) alone &= carrier[m->act[i]] != carrier[m->act[q]];
    }
    m->dependent[s] = !alone;
    for (integer r = m->row_at[first]; r < m->row_at[end]; r++) m->soft[r] = proximal;
  }
  for (integer i = 0; i < count; i++) m->whole |= terms[i].code != OF_LAW && m->slot[terms[i].contact] >= 0;
  for (integer i = 1; i < MODES; i++) {
    integer at = (latest + i) % MODES;
    if (at && !modes[at]) {
      modes[at] = m, latest = at;
      return at;
    }
  }
  release(m);
  return 0;
}

void mode_free(integer handle) {
  if (modes[handle]) release(modes[handle]);
  modes[handle] = 0;
}

/* ---- kinematics and rows ---- */

static const double *frame_of(const Mode *m, integer frame) { return m->bodies + m->e->frame_at[frame]; }

static int touch(Mode *m, integer c, integer variant, int what, const double *s, double *out) {
  const Engine *e = m->e;
  integer number = e->touch[KINDS * (VARIANTS * c + variant) + what];
  static const double none = 0.0;
  if (number < 0) return 1;
  return call(m, e->kernel + number, frame_of(m, e->A[c]), frame_of(m, e->B[c]), e->s_size[c] ? s : &none, 0, out);
}

static int kinematics(Mode *m, const double *t, const double *x, const double *p, int whole) {
  const Engine *e = m->e;
  if (find_bodies(m, t, x, p)) return 1;
  for (integer i = 0; i < m->active; i++) {
    integer c = m->act[i];
    if (touch(m, c, m->variant[c], whole, x + e->s_at[c], m->touch + c * m->touch_width)) return 1;
  }
  return 0;
}

/* Rows of all contacts: LA, LB (R, s), b, velocity, position (R), then GA, GB (R, s) if pushed, then what is applied at
 * the frames of A and B (s each) and the stored energy. */
static const double *onset(const Engine *e, const double *p, integer c) {
  return p + e->onset_at + (c < e->contacts - e->pins ? c * (e->d + e->k) : 0);
}

static int make_rows(Mode *m, const double *p) {
  const Engine *e = m->e;
  for (integer i = 0; i < m->active; i++) {
    integer c = m->act[i];
    if (call(m, e->kernel + m->rows_kernel[c], m->touch + c * m->touch_width, onset(e, p, c), 0, 0, m->row + c * m->row_width)) return 1;
  }
  return 0;
}

static const double *part(const Mode *m, integer c, integer which) { /* 0 b, 1 velocity, 2 position */
  return m->row + c * m->row_width + (2 * (m->e->k + m->e->d) + which) * m->rows[c];
}

/* Y (column, row) += sign W J over the columns that move a frame; W (R, s). */
static void add_block(const Mode *m, integer c, integer side, const double *W, double sign, double *Y) {
  const Engine *e = m->e;
  integer s = e->k + e->d, R = m->rows[c], frame = side ? e->B[c] : e->A[c];
  if (e->frame_free[frame]) {
    for (integer j = 0; j < s; j++)
      for (integer q = 0; q < R; q++) Y[j * R + q] += sign * W[q * s + j];
    return;
  }
  const double *J = m->bodies + e->frame_J[frame];
  integer slot = 2 * c + (side && m->tree_B[c] >= 0 ? 1 : 0);
  for (integer at = e->path_at[slot]; at < e->path_at[slot + 1]; at++) {
    integer j = e->path[at];
    for (integer q = 0; q < R; q++) Y[j * R + q] += sign * dot(W + q * s, J + j * s, s);
  }
}

/* Y <- L^-T Y over columns that are closed under parents */
static void half_solve(const double *L, integer n, const integer *parent, const integer *path, integer count, integer R, double *Y) {
  for (integer at = count - 1; at >= 0; at--) {
    integer i = path[at];
    const double *Li = L + i * n, *y = Y + i * R;
    for (integer j = parent[i]; j >= 0; j = parent[j]) {
      double v = Li[j], *yj = Y + j * R;
      for (integer q = 0; q < R; q++) yj[q] -= v * y[q];
    }
  }
}

/* The proximal term of the rows (R) of a joint's contact, which have a unit of their own, is in parts of what they move,
 * J (diag M)^-1 J', or of one where they move nothing. */
static void set_joint_term(Mode *m, integer i, integer tree, const double *J, integer R) {
  integer n = m->e->tree_n[tree];
  const double *M = m->bodies + m->e->tree_M[tree];
  for (integer r = 0; r < R; r++) {
    double sum = 0.0;
    for (integer j = 0; j < n; j++) sum += J[j * R + r] * J[j * R + r] / M[j * n + j];
    m->soft[m->row_at[i] + r] = m->e->proximal * (sum > 0.0 ? sum : 1.0);
  }
}

/* Blocks of J and, where pushes are meant, of G, half solved: L^-T J'. */
static void make_blocks(Mode *m, int push) {
  const Engine *e = m->e;
  integer s = e->k + e->d;
  for (integer i = 0; i < m->active; i++) {
    integer c = m->act[i], R = m->rows[c];
    const double *row = m->row + c * m->row_width;
    for (int g = 0; g < (push && m->pushed[c] ? 2 : 1); g++) {
      const double *WA = row + g * (2 * s + 3) * R, *WB = WA + s * R;
      double *Y = g ? m->YG : m->Y;
      for (integer side = 0; side < 2; side++) {
        integer tree = side ? m->tree_B[c] : m->tree_A[c], slot = 2 * c + side;
        if (tree < 0) continue;
        double *block = Y + m->block_at[2 * i + side];
        memset(block, 0, (size_t)(e->tree_n[tree] * R) * sizeof(double));
        add_block(m, c, side, side ? WB : WA, side ? -1.0 : 1.0, block);
        if (!side && e->frame_tree[e->B[c]] == tree) add_block(m, c, 1, WB, -1.0, block);
        if (!g && e->jointed[c]) set_joint_term(m, i, tree, block, R);
        half_solve(m->L + m->L_at[tree], e->tree_n[tree], e->parent + e->tree_at[tree], e->path + e->path_at[slot],
                   e->path_at[slot + 1] - e->path_at[slot], R, block);
      }
    }
  }
}

/* What the state alone gives at the frames of A and B, then what is stored. */
static const double *applied(const Mode *m, integer c) {
  integer s = m->e->k + m->e->d;
  return m->row + c * m->row_width + m->rows[c] * (m->pushed[c] ? 4 * s + 3 : 2 * s + 3);
}

/* f (nv) += J_A' w_A - J_B' w_B of what the state alone gives at the frames of a contact (s each) */
static void apply_force(const Mode *m, integer c, const double *w, double *f) {
  const Engine *e = m->e;
  integer s = e->k + e->d;
  for (integer side = 0; side < 2; side++, w += s) {
    integer frame = side ? e->B[c] : e->A[c], tree = e->frame_tree[frame];
    if (tree < 0) continue;
    const integer *cols = e->tree_cols + e->tree_at[tree];
    const double *J = m->bodies + e->frame_J[frame];
    for (integer j = 0; j < e->tree_n[tree]; j++) f[cols[j]] += (side ? -1.0 : 1.0) * dot(w, J + j * s, s);
  }
}

static void apply_forces(Mode *m) {
  for (integer i = 0; i < m->active; i++)
    if (m->applies[m->act[i]]) apply_force(m, m->act[i], applied(m, m->act[i]), m->top);
}

/* ---- linear algebra ---- */

/* M = L'D L, leaves first: L has the pattern of the branches and a unit diagonal; in its place stands 1/D. */
static int factor(Mode *m) {
  const Engine *e = m->e;
  for (integer t = 0; t < e->trees; t++) {
    integer n = e->tree_n[t];
    const double *M = m->bodies + e->tree_M[t];
    const integer *parent = e->parent + e->tree_at[t];
    double *L = m->L + m->L_at[t];
    for (integer i = 0; i < n; i++)
      for (integer j = i; j >= 0; j = parent[j]) L[i * n + j] = M[i * n + j];
    for (integer q = n - 1; q >= 0; q--) {
      double *Lq = L + q * n;
      if (!(Lq[q] > 0.0)) return 1;
      double r = Lq[q] = 1.0 / Lq[q];
      for (integer i = parent[q]; i >= 0; i = parent[i]) {
        double v = Lq[i] * r, *Li = L + i * n;
        for (integer j = i; j >= 0; j = parent[j]) Li[j] -= v * Lq[j];
        Lq[i] = v;
      }
    }
  }
  return 0;
}

/* z <- L^-T y */
static void first_half(const Mode *m, const double *y, double *z) {
  const Engine *e = m->e;
  for (integer t = 0; t < e->trees; t++) {
    integer n = e->tree_n[t];
    const integer *cols = e->tree_cols + e->tree_at[t], *parent = e->parent + e->tree_at[t];
    const double *L = m->L + m->L_at[t];
    for (integer j = 0; j < n; j++) z[cols[j]] = y[cols[j]];
    for (integer i = n - 1; i >= 0; i--)
      for (integer j = parent[i]; j >= 0; j = parent[j]) z[cols[j]] -= L[i * n + j] * z[cols[i]];
  }
}

/* a <- L^-1 D^-1 z */
static void second_half(const Mode *m, const double *z, double *a) {
  const Engine *e = m->e;
  for (integer t = 0; t < e->trees; t++) {
    integer n = e->tree_n[t];
    const integer *cols = e->tree_cols + e->tree_at[t], *parent = e->parent + e->tree_at[t];
    const double *L = m->L + m->L_at[t];
    for (integer i = 0; i < n; i++) {
      double v = z[cols[i]] * L[i * n + i];
      for (integer j = parent[i]; j >= 0; j = parent[j]) v -= L[i * n + j] * a[cols[j]];
      a[cols[i]] = v;
    }
  }
}

static void swap(double *a, double *b) {
  double other = *a;
  *a = *b, *b = other;
}

static int lu(double *S, integer n, integer *pivot) {
  for (integer j = 0; j < n; j++) {
    integer best = j;
    for (integer i = j + 1; i < n; i++)
      if (fabs(S[i * n + j]) > fabs(S[best * n + j])) best = i;
    pivot[j] = best;
    if (!(fabs(S[best * n + j]) > 0.0)) return 1;
    for (integer q = 0; best != j && q < n; q++) swap(S + j * n + q, S + best * n + q);
    double r = S[j * n + j] = 1.0 / S[j * n + j];
    for (integer i = j + 1; i < n; i++) {
      double f = S[i * n + j] *= r;
      if (f == 0.0) continue;
      for (integer q = j + 1; q < n; q++) S[i * n + q] -= f * S[j * n + q];
    }
  }
  return 0;
}

static void lu_solve(const double *S, integer n, const integer *pivot, double *y) {
  for (integer j = 0; j < n; j++) swap(y + j, y + pivot[j]);
  for (integer i = 0; i < n; i++) y[i] -= dot(S + i * n, y, i);
  for (integer i = n - 1; i >= 0; i--) y[i] = (y[i] - dot(S + i * n + i + 1, y + i + 1, n - i - 1)) * S[i * n + i];
}

/* S (Ri, Rq), of rows that are n long, += (D^-1 Y)'G over columns; the rows of YD follow each other. */
static void block_product(double *S, integer n, const double *YD, const double *G, const integer *path, integer count, integer Ri, integer Rq) {
  if (Ri == 3 && Rq == 3) { /* points that roll in space: most there are */
    double sum[9] = {0.0};
    for (integer at = 0; at < count; at++, YD += 3) {
      const double *g = G + 3 * path[at];
      for (int r = 0; r < 3; r++)
        for (int w = 0; w < 3; w++) sum[3 * r + w] += YD[r] * g[w];
    }
    for (int r = 0; r < 3; r++)
      for (int w = 0; w < 3; w++) S[r * n + w] += sum[3 * r + w];
    return;
  }
  for (integer at = 0; at < count; at++, YD += Ri) {
    const double *g = G + Rq * path[at];
    for (integer r = 0; r < Ri; r++)
      for (integer w = 0; w < Rq; w++) S[r * n + w] += YD[r] * g[w];
  }
}

static const double *half_block(const Mode *m, integer slot, integer side, int push) {
  return (push && m->pushed[m->act[slot]] ? m->YG : m->Y) + m->block_at[2 * slot + side];
}

/* Rows of S (n, n) along which nothing can move, such as between two wheels on fixed axes, are zero, as their columns
 * where S is symmetric: what round-off leaves there would be divided by itself. */
static void clear_still_rows(double *S, integer n, int symmetric) {
  double largest_entry = largest_of(S, n * n, 0.0);
  for (integer i = 0; i < n; i++) {
    double size = largest_of(S + i * n, n, 0.0);
    if (!(size > 0.0) || size > STILL * largest_entry) continue;
    for (integer j = 0; j < n; j++) S[i * n + j] = 0.0;
    for (integer j = 0; symmetric && j < n; j++) S[j * n + i] = 0.0;
  }
}

/* S = J M^-1 G of an island, without `push` J M^-1 J'; rhs -= J M^-1 (what is half solved, z) where there is such */
static void schur(Mode *m, integer island, const double *z, int push) {
  const Engine *e = m->e;
  integer first = m->island_at[island], end = m->island_at[island + 1], r0 = m->row_at[first], n = m->row_at[end] - r0;
  int symmetric = m->symmetric[island] || !push;
  memset(m->S, 0, (size_t)(n * n) * sizeof(double));
  for (integer i = first; i < end; i++) {
    integer c = m->act[i], trees[2] = {m->tree_A[c], m->tree_B[c]}, ri = m->row_at[i], Ri = m->rows[c];
    for (integer u = 0; u < 2; u++) {
      if (trees[u] < 0) continue;
      integer columns = e->tree_n[trees[u]];
      const double *Y = half_block(m, i, u, 0), *L = m->L + m->L_at[trees[u]];
      const integer *cols = e->tree_cols + e->tree_at[trees[u]];
      const integer *path = e->path + e->path_at[2 * c + u];
      integer count = e->path_at[2 * c + u + 1] - e->path_at[2 * c + u];
      double YD[largest(Ri * count, 1)];
      for (integer at = 0; at < count; at++) {
        integer j = path[at];
        double D = L[j * columns + j], zj = z ? z[cols[j]] : 0.0;
        for (integer r = 0; r < Ri; r++) {
          YD[at * Ri + r] = Y[j * Ri + r] * D;
          m->rhs[ri + r] -= YD[at * Ri + r] * zj;
        }
      }
      for (integer q = symmetric ? i : first; q < end; q++) {
        integer other = m->act[q], Rq = m->rows[other], its[2] = {m->tree_A[other], m->tree_B[other]};
        for (integer v = 0; v < 2; v++) {
          if (its[v] != trees[u]) continue;
          const double *G = half_block(m, q, v, push);
          block_product(m->S + (ri - r0) * n + m->row_at[q] - r0, n, YD, G, path, count, Ri, Rq);
        }
      }
    }
  }
  for (integer r = 1; symmetric && r < n; r++)
    for (integer q = 0; q < r; q++) m->S[r * n + q] = m->S[q * n + r];
  clear_still_rows(m->S, n, symmetric);
}

/* lam of an island: S lam = rhs. Where rows may depend on each other a term makes lam unique, and is taken back by
 * proximal steps; each divides what it left undone by S over the term. */
static int multipliers(Mode *m, integer island) {
  integer r0 = m->row_at[m->island_at[island]], n = m->row_at[m->island_at[island + 1]] - r0;
  double *lam = m->lam + r0, *rhs = m->rhs + r0, largest_row = 0.0;
  int refined = m->dependent[island] != 0;
  memcpy(lam, rhs, (size_t)n * sizeof(double));
  memcpy(m->S0, m->S, (size_t)(n * n) * sizeof(double));
  for (integer j = 0; j < n; j++) largest_row = fmax(largest_row, fabs(m->S[j * n + j]));
  if (!refined) {
    refined = lu(m->S, n, m->pivot); /* a body that cannot move along a row has a pivot of round-off there */
    for (integer j = 0; !refined && j < n; j++) refined = fabs(m->S[j * n + j]) * largest_row * SINGULAR > 1.0;
    if (refined) memcpy(m->S, m->S0, (size_t)(n * n) * sizeof(double));
    else lu_solve(m->S, n, m->pivot, lam);
  }
  m->shares[island] = refined;
  if (!refined) return 0;
  double largest_entry = largest_of(m->S0, n * n, 0.0);
  for (integer j = 0; j < n; j++) {
    /* Nothing can move along a row of zeros: its multiplier is zero, whatever that of others is. */
    int still = !(largest_of(m->S0 + j * n, n, 0.0) > 0.0);
    if (still) rhs[j] = lam[j] = 0.0;
    m->S[j * n + j] += still ? fmax(largest_entry, m->soft[r0 + j]) : m->soft[r0 + j];
  }
  if (lu(m->S, n, m->pivot)) return 1;
  lu_solve(m->S, n, m->pivot, lam);
  for (integer again = 0; again < REFINEMENTS; again++) {
    for (integer j = 0; j < n; j++) m->r0[j] = rhs[j] - dot(m->S0 + j * n, lam, n);
    lu_solve(m->S, n, m->pivot, m->r0);
    for (integer j = 0; j < n; j++) lam[j] += m->r0[j];
  }
  return 0;
}

#include "shared_forces.h"

/* z, half solved, is what there is without contacts; a: J a = rhs with it, pushed along G by the laws of p, if told */
static int solve(Mode *m, const double *p, double *z, double *a) {
  const Engine *e = m->e;
  for (integer s = 0; s < m->islands; s++) {
    schur(m, s, z, p != 0);
    if (multipliers(m, s) || (p && !m->symmetric[s] && share_motion(m, p, s))) return 1;
  }
  for (integer i = 0; i < m->active; i++) {
    integer c = m->act[i], trees[2] = {m->tree_A[c], m->tree_B[c]}, R = m->rows[c];
    for (integer u = 0; u < 2; u++) {
      if (trees[u] < 0) continue;
      const integer *cols = e->tree_cols + e->tree_at[trees[u]];
      const double *G = half_block(m, i, u, p != 0);
      for (integer at = e->path_at[2 * c + u]; at < e->path_at[2 * c + u + 1]; at++) {
        integer j = e->path[at];
        z[cols[j]] += dot(G + j * R, m->lam + m->row_at[i], R);
      }
    }
  }
  second_half(m, z, a);
  return 0;
}

/* ---- what the stepping core calls ---- */

static int dynamics(Mode *m, const double *t, const double *x, const double *p, int whole) {
  const Engine *e = m->e;
  m->have = 0;
  if (kinematics(m, t, x, p, whole) || factor(m) || make_rows(m, p)) return 1;
  memcpy(m->top, m->bodies + e->top_at, (size_t)e->nv * sizeof(double));
  apply_forces(m);
  first_half(m, m->top, m->z);
  make_blocks(m, 1);
  for (integer i = 0; i < m->active; i++) {
    integer c = m->act[i];
    const double *b = part(m, c, 0), *velocity = part(m, c, 1), *position = part(m, c, 2);
    for (integer r = 0; r < m->rows[c]; r++) {
      double beta = m->baumgarte;
      m->rhs[m->row_at[i] + r] = -b[r] - (beta > 0.0 ? 2.0 * beta * velocity[r] + beta * beta * position[r] : 0.0);
    }
  }
  if (solve(m, p, m->z, m->a)) return 1;
  m->have = 1 + whole;
  memcpy(m->last, x, (size_t)e->n * sizeof(double));
  m->last[e->n] = *t;
  memcpy(m->last + e->n + 1, p, (size_t)e->parameters * sizeof(double));
  return 0;
}

/* The same where it is not known from the last call: margins are asked for where the rate was just taken. */
static int known(Mode *m, const double *t, const double *x, const double *p, int whole) {
  const Engine *e = m->e;
  int same = m->have > whole && m->last[e->n] == *t && !memcmp(m->last, x, (size_t)e->n * sizeof(double)) &&
             !memcmp(m->last + e->n + 1, p, (size_t)e->parameters * sizeof(double));
  return same ? 0 : dynamics(m, t, x, p, whole);
}

int mode_rate(const double **arg, double **res, integer *iw, double *w, int mem) {
  Mode *m = modes[mem];
  const Engine *e = m->e;
  (void)iw, (void)w;
  if (known(m, arg[0], arg[1], arg[2], 0)) return 1;
  memset(m->s_rate, 0, (size_t)e->total_s * sizeof(double));
  for (integer i = 0; i < m->active; i++) {
    integer c = m->act[i];
    if (!m->touching[c]) continue;
    memcpy(m->s_rate + e->rate_at[c], m->touch + c * m->touch_width + m->at[c].rates, (size_t)e->s_size[c] * sizeof(double));
  }
  return find_rate(m, arg[0], arg[1], arg[2], m->a, m->s_rate, res[0]);
}

/* The gap of two balls, and where they are nearest: the direction, in B's frame, in which A's middle lies from B. */
static double nearest(Mode *m, integer c) {
  const Engine *e = m->e;
  integer d = e->d;
  const double *A = frame_of(m, e->A[c]), *B = frame_of(m, e->B[c]), *ball = e->ball + 4 * c;
  double away[3], distance = 0.0, *s = m->near_s + 8 * c;
  for (integer i = 0; i < d; i++) {
    away[i] = A[d * d + i] - B[d * d + i];
    for (integer j = 0; j < d; j++) away[i] += A[j * d + i] * ball[j];
    distance += away[i] * away[i];
  }
  distance = sqrt(distance);
  for (integer j = 0; j < d; j++) s[j] = distance > 0.0 ? dot(B + j * d, away, d) / distance : j == d - 1;
  return distance - ball[3];
}

static int after(Mode *m, const double *p, int what) {
  const Engine *e = m->e;
  if (share(m, p, what)) return 1;
  for (integer i = 0; i < m->active; i++) {
    integer c = m->act[i];
    if (call(m, e->kernel + m->after_kernel[c], m->touch + c * m->touch_width, onset(e, p, c), m->share + m->row_at[i], 0, m->after + m->after_at[c])) return 1;
  }
  return 0;
}

/* Of a contact without rows the touch at this state, once an evaluation of the margins */
static int see(Mode *m, integer c, const double *x) {
  if (m->slot[c] >= 0 || m->seen[c]) return 0;
  m->seen[c] = 1;
  return touch(m, c, PLAIN, MARGINS, x + m->e->s_at[c], m->touch + c * m->touch_width + m->at[c].margins);
}

static int term_value(Mode *m, const Term *of, const double *x, const double *p, double *value) {
  integer c = of->contact;
  if (of->code == NEAREST) {
    *value = nearest(m, c);
    return 0;
  }
  if (of->code != OF_LAW && see(m, c, x)) return 1;
  const double *from = of->code == OF_LAW ? m->after + m->after_at[c] + m->e->d + 1 : m->touch + c * m->touch_width + m->at[c].margins;
  double scale = of->code == SIGNED ? of->scale * p[m->e->sign_at + c] : of->scale;
  *value = scale * from[of->index] + of->offset;
  return 0;
}

int mode_margins(const double **arg, double **res, integer *iw, double *w, int mem) {
  Mode *m = modes[mem];
  const double *x = arg[1], *p = arg[2];
  (void)iw, (void)w;
  if (known(m, arg[0], x, p, (int)m->whole) || after(m, p, FOR_MARGINS)) return 1;
  memset(m->seen, 0, (size_t)m->e->contacts * sizeof(integer));
  for (integer i = 0; i < m->margin_count; i++) {
    double least = INFINITY;
    for (integer g = m->margin_at[i]; g < m->margin_at[i + 1] && !isnan(least); g++) {
      double most = -INFINITY, value;
      for (integer k = m->group_at[g]; k < m->group_at[g + 1] && most < least; k++) {
        if (term_value(m, m->term + k, x, p, &value)) return 1;
        most = isnan(value) ? value : fmax(most, value);
      }
      least = isnan(most) ? most : fmin(least, most);
    }
    res[0][i] = least;
  }
  return 0;
}

/* nu or the pose changed by the smallest step, in the metric M, that takes rows to zero */
static int correction(Mode *m, integer which) {
  const Engine *e = m->e;
  if (factor(m)) return 1;
  make_blocks(m, 0);
  for (integer i = 0; i < m->active; i++)
    for (integer r = 0; r < m->rows[m->act[i]]; r++) m->rhs[m->row_at[i] + r] = -part(m, m->act[i], which)[r];
  memset(m->z, 0, (size_t)e->nv * sizeof(double));
  return solve(m, 0, m->z, m->step);
}

/* Whether a line or a face is passed, where contact points jump; a sign of zero: wherever it is. */
static int passes_line(const Mode *m, const double *p) {
  integer count = m->group_at[m->margin_at[m->margin_count]];
  for (const Term *of = m->term; of < m->term + count; of++) {
    double sign = p[m->e->sign_at + of->contact];
    if (of->code != SIGNED || sign == 0.0) continue;
    if (!(sign * m->touch[of->contact * m->touch_width + m->at[of->contact].margins + of->index] + of->offset > 0.0)) return 1;
  }
  return 0;
}

/* The state back on its constraints: coordinates, then poses, then at the new poses velocities. */
int mode_projection(const double **arg, double **res, integer *iw, double *w, int mem) {
  Mode *m = modes[mem];
  const Engine *e = m->e;
  const double *t = arg[0], *p = arg[2];
  int moved = 0;
  (void)iw, (void)w;
  m->have = 0;
  memcpy(m->xs, arg[1], (size_t)e->n * sizeof(double));
  if (kinematics(m, t, m->xs, p, 1)) return 1;
  if (passes_line(m, p)) {
    memcpy(res[0], m->xs, (size_t)e->n * sizeof(double));
    return 0;
  }
  for (integer i = 0; i < m->active; i++) {
    integer c = m->act[i];
    if (!m->touching[c] || !e->s_size[c]) continue;
    memcpy(m->xs + e->s_at[c], m->touch + c * m->touch_width + m->at[c].restored, (size_t)e->s_size[c] * sizeof(double)), moved = 1;
  }
  for (integer i = 0; moved && i < m->active; i++) {
    integer c = m->act[i];
    if (touch(m, c, m->variant[c], 1, m->xs + e->s_at[c], m->touch + c * m->touch_width)) return 1;
  }
  if (make_rows(m, p) || correction(m, 2)) return 1;
  if (find_moved(m, m->xs, m->step, m->xt)) return 1;
  if (kinematics(m, t, m->xt, p, 1) || make_rows(m, p) || correction(m, 1)) return 1;
  return find_nudged(m, m->xt, m->step, res[0]);
}

/* Of `count` samples and every contact, but for pins: point, on A, on B, normal, force (d each), moment, gap, slip (d),
 * energy that it stores. */
int mode_outputs(integer handle, integer count, integer width_p, const double *t, const double *x, const double *p, int forces, double *out) {
  Mode *m = modes[handle];
  const Engine *e = m->e;
  integer d = e->d, width = 6 * d + 3, s = e->k + d;
  for (integer sample = 0; sample < count; sample++, t++, x += e->n, p += width_p) {
    m->have = 0;
    if (forces ? dynamics(m, t, x, p, 1) || after(m, p, FOR_RECORDS) : kinematics(m, t, x, p, 1) || make_rows(m, p)) return 1;
    for (integer c = 0; c < e->contacts - e->pins; c++, out += width) {
      double *K = m->touch + c * m->touch_width;
      const double *B = frame_of(m, e->B[c]), *n = K + e->at_frame + d * (d - 1);
      int near = m->slot[c] < 0 && e->near[c];
      if (m->hidden[c]) continue;
      if (near) nearest(m, c);
      if (m->slot[c] < 0 && touch(m, c, PLAIN, WHOLE, near ? m->near_s + 8 * c : x + e->s_at[c], K)) return 1;
      for (integer j = 0; j < d; j++) {
        out[j] = B[d * d + j] + K[e->at_rB + j], out[d + j] = K[m->at[c].on_A + j], out[2 * d + j] = K[m->at[c].on_B + j];
        out[3 * d + j] = n[j], out[4 * d + j] = 0.0, out[5 * d + 2 + j] = K[e->at_vrel + j];
      }
      out[5 * d] = 0.0, out[5 * d + 1] = dot(n, K + e->at_gap, d);
      out[6 * d + 2] = m->slot[c] >= 0 && m->applies[c] ? applied(m, c)[2 * s] : 0.0;
      if (forces && m->slot[c] >= 0) memcpy(out + 4 * d, m->after + m->after_at[c], (size_t)(d + 1) * sizeof(double));
    }
  }
  return 0;
}

/* J (R, nv) of rows W_A, W_B (R, s) of a contact */
static void dense_rows(const Mode *m, integer c, const double *WA, const double *WB, integer R, double *J) {
  const Engine *e = m->e;
  integer s = e->k + e->d;
  memset(J, 0, (size_t)(R * e->nv) * sizeof(double));
  for (integer side = 0; side < 2; side++) {
    integer frame = side ? e->B[c] : e->A[c], tree = e->frame_tree[frame];
    if (tree < 0) continue;
    const integer *cols = e->tree_cols + e->tree_at[tree];
    const double *of_frame = m->bodies + e->frame_J[frame], *W = side ? WB : WA;
    for (integer j = 0; j < e->tree_n[tree]; j++)
      for (integer r = 0; r < R; r++) J[r * e->nv + cols[j]] += (side ? -1.0 : 1.0) * dot(W + r * s, of_frame + j * s, s);
  }
}

/* The equations of motion at an instant: M (nv, nv), f (nv) of all forces but those of the contacts that are asked for;
 * of each of these, whose R rows a kernel tells, J (R, nv), b, velocity (R) and its frame; J, G (nv) and b of every row
 * of the other contacts. */
int mode_terms(integer handle, const double *t, const double *x, const double *p, integer count, const integer *asked,
               const integer *kernels, integer R, double *M, double *f, double *out, double *others) {
  Mode *m = modes[handle];
  const Engine *e = m->e;
  integer nv = e->nv, d = e->d, s = e->k + d, width = R * nv + 2 * R + d * d;
  double row[R * (2 * s + 3) + 2 * s + 1];
  m->have = 0;
  kernel_memory(m);
  if (kinematics(m, t, x, p, 0) || make_rows(m, p)) return 1;
  memset(M, 0, (size_t)(nv * nv) * sizeof(double));
  memcpy(f, m->bodies + e->top_at, (size_t)nv * sizeof(double));
  for (integer tree = 0; tree < e->trees; tree++) {
    integer n = e->tree_n[tree];
    const integer *cols = e->tree_cols + e->tree_at[tree];
    for (integer i = 0; i < n; i++)
      for (integer j = 0; j < n; j++) M[cols[i] * nv + cols[j]] = m->bodies[e->tree_M[tree] + i * n + j];
  }
  memset(m->seen, 0, (size_t)e->contacts * sizeof(integer));
  for (integer i = 0; i < count; i++, out += width) {
    integer c = asked[i];
    double *K = m->touch + c * m->touch_width;
    m->seen[c] = 1;
    if (touch(m, c, SLIPPING, 0, x + e->s_at[c], K)) return 1;
    if (call(m, e->kernel + kernels[i], K, onset(e, p, c), 0, 0, row)) return 1;
    dense_rows(m, c, row, row + R * s, R, out);
    memcpy(out + R * nv, row + 2 * R * s, (size_t)R * sizeof(double));
    memcpy(out + R * nv + R, row + 2 * R * s + R, (size_t)R * sizeof(double));
    memcpy(out + R * nv + 2 * R, K + e->at_frame, (size_t)(d * d) * sizeof(double));
    apply_force(m, c, row + R * (2 * s + 3), f);
  }
  for (integer c = 0; c < e->contacts; c++) {
    integer own = m->rows[c];
    const double *W = m->row + c * m->row_width;
    if (m->slot[c] < 0 || m->seen[c]) continue;
    if (m->applies[c]) apply_force(m, c, applied(m, c), f);
    dense_rows(m, c, W, W + own * s, own, others), others += own * nv;
    W += m->pushed[c] ? own * (2 * s + 3) : 0;
    dense_rows(m, c, W, W + own * s, own, others), others += own * nv;
    memcpy(others, part(m, c, 0), (size_t)own * sizeof(double)), others += own;
  }
  return 0;
}

/* The coordinates s where the bodies of a contact are nearest, and their distance. */
double mode_nearest(integer handle, integer contact, const double *t, const double *x, const double *p, double *s) {
  Mode *m = modes[handle];
  m->have = 0;
  if (find_bodies(m, t, x, p)) return NAN;
  double distance = nearest(m, contact);
  memcpy(s, m->near_s + 8 * contact, (size_t)m->e->s_size[contact] * sizeof(double));
  return distance;
}

integer mode_engine_size(void) { return (integer)sizeof(Engine); }
integer mode_kernel_size(void) { return (integer)sizeof(Kernel); }
integer mode_term_size(void) { return (integer)sizeof(Term); }
