/* Bodies by sweeps over the nodes of their trees, each after the one it moves on.
 *
 * From the roots outwards: poses, twists, and accelerations at nudot = 0. Back: what a joint carries as one body (mass,
 * first moment, inertia) and the force and moment that this needs, of which the joint's own columns give M and h
 * (Featherstone 2008, sections 5.3 and 6.2). All vectors are in world axes; unit twists, moments and inertias of a tree
 * are about one point, the origin of its first node that velocities move, so that nothing is shifted from node to node.
 *
 * What a joint does is a kernel for each kind of joint. Angular vectors have k entries, 1 in the plane and 3 in space;
 * in the plane the first entries of each array count. The structs mirror `trundle.simulate.engine.sweep`.
 */
#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 3")

enum { HELD, JOINTED, FREE };

/* A body that moves, with all that is welded to it.
 *
 * The joint's kernel maps its configuration, its velocities and its inputs (or the time) to R, p, al, a and twists, in
 * the joint's axes and on a parent that rests: of a joint the motion subspace, by columns, of a body that is told how to
 * move its twist. That of a free body gives R and p. */
typedef struct {
  integer kind, parent;        /* parent: the node it moves on; -1: the world */
  integer up;                  /* the nearest one on the way from there to the world that has columns; -1: none */
  integer root;                /* the first node of its tree; -1: no velocity moves it */
  integer size, column, own;   /* its velocities in nu, and its first column in its tree */
  integer width, M;            /* columns of its tree, and where the tree's M is */
  integer q, nq, v, nv;        /* its configuration and velocities in x */
  integer u, timed;            /* where its inputs are in u; whether the time, in x, stands for them */
  integer turned, turned_on;   /* whether `axes` and `on` turn */
  integer plain;               /* q' = v, and a step is added to q */
  integer weighs, carries;     /* whether it has mass; whether it or what moves on it has, in a tree */
  integer ball;                /* its M and h are constants */
  double at[3], axes[9];       /* the joint's place and axes in the parent's frame */
  double on[9];                /* the body's axes in those that the joint moves */
  double mass, com[3], inertia[9];
  Kernel joint, rate, moved;
} Node;

/* A side of contacts that moves: `place` and `axes` place it on its node; J: where its Jacobian is, -1: that is constant. */
typedef struct {
  integer node, at, J, offset, turned;
  double place[3], axes[9];
} Side;

/* A point over a flat that a joint moves along an axis: by side (q - end), for the end of its range; q < 0: the place
 * does not matter, for dry friction. */
typedef struct {
  integer at, q, v, axis;
  double side, end;
} Stop;

/* What a coordinate of a joint resists with; q < 0: it has no spring. */
typedef struct {
  integer column, q, v;
  double damping, dry, width, stiffness, rest;
} Resistance;

typedef struct {
  integer column, u;
} Motor;

typedef struct {
  integer d, n, nv, inputs, idle;              /* idle: whether u is zero */
  integer nodes, sides, stops, resistances, motors;
  integer size, top_at;                        /* of what is told, and where S u - h is */
  integer coordinates_at, coordinates, time_at; /* of all contacts, in x; time_at: -1 where the time is none of x */
  integer told;                                /* most numbers that a joint's kernel gives */
  integer n_arg, n_res, n_iw, n_w;
  const Node *node;
  const Side *side;
  const Stop *stop;
  const Resistance *resistance;
  const Motor *motor;
  const double *constants;                     /* what is told before the first sweep */
  double gravity[3];
  Kernel inputs_of, force;                     /* (t, p) -> u, and (x) -> Q of external forces; eval 0: u = p, none */
} Sweep;

/* Work memory of kernels. */
typedef struct {
  const double **arg;
  double **res;
  integer *iw;
  double *w;
} Memory;

typedef struct { double R[9], p[3], w[3], v[3], al[3], a[3]; } Pose;
typedef struct { double w[3], v[3]; } Twist;
typedef struct { double m, s[3], I[9], n[3], f[3]; } Carried;

typedef struct {
  Pose *pose;
  Carried *carried;
  Twist *twist; /* of each velocity */
  double *u, *Q, *told;
} Room;

static const Pose WORLD;

static integer sweep_room(const Sweep *s) {
  integer doubles = s->nodes * (integer)(sizeof(Pose) + sizeof(Carried)) + s->nv * (integer)sizeof(Twist);
  return doubles / (integer)sizeof(double) + s->inputs + s->nv + s->told;
}

static Room divided(const Sweep *s, double *room) {
  Room r;
  r.pose = (Pose *)room, r.carried = (Carried *)(r.pose + s->nodes), r.twist = (Twist *)(r.carried + s->nodes);
  r.u = (double *)(r.twist + s->nv), r.Q = r.u + s->inputs, r.told = r.Q + s->nv;
  return r;
}

static int run(const Kernel *f, const Memory *at, const double *a0, const double *a1, const double *a2, const double *a3, double *out) {
  const double *given[4] = {a0, a1, a2, a3};
  integer i = 0;
  for (; i < 4 && given[i]; i++) at->arg[i] = given[i];
  at->arg[i] = f->numbers;
  at->res[0] = out;
  return f->eval(at->arg, at->res, at->iw, at->w, (int)f->mem);
}

/* ---- vectors ---- */

INLINE int angular(int d) { return d == 2 ? 1 : 3; }

INLINE void copy(int n, const double *from, double *to) {
  UNROLLED for (int i = 0; i < n; i++) to[i] = from[i];
}

INLINE void add(int n, const double *more, double *to) {
  UNROLLED for (int i = 0; i < n; i++) to[i] += more[i];
}

INLINE double product(int n, const double *a, const double *b) {
  double sum = a[0] * b[0];
  UNROLLED for (int i = 1; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* out = w x r */
INLINE void cross(int d, const double *w, const double *r, double *out) {
  if (d == 2) {
    out[0] = -w[0] * r[1], out[1] = w[0] * r[0];
    return;
  }
  out[0] = w[1] * r[2] - w[2] * r[1], out[1] = w[2] * r[0] - w[0] * r[2], out[2] = w[0] * r[1] - w[1] * r[0];
}

/* out = r x f, (k,) */
INLINE void moment(int d, const double *r, const double *f, double *out) {
  if (d == 2) out[0] = r[0] * f[1] - r[1] * f[0];
  else cross(3, r, f, out);
}

/* out += w x r */
INLINE void add_cross(int d, const double *w, const double *r, double *out) {
  double more[3];
  cross(d, w, r, more);
  add(d, more, out);
}

INLINE void turn(int d, const double *R, const double *r, double *out) {
  UNROLLED for (int i = 0; i < d; i++) {
    out[i] = R[i] * r[0];
    UNROLLED for (int j = 1; j < d; j++) out[i] += R[j * d + i] * r[j];
  }
}

INLINE void turn_angular(int d, const double *R, const double *w, double *out) {
  if (d == 2) out[0] = w[0];
  else turn(3, R, w, out);
}

INLINE void multiply(int d, const double *A, const double *B, double *out) {
  UNROLLED for (int j = 0; j < d; j++) turn(d, A, B + j * d, out + j * d);
}

/* The point `r` of a frame: its acceleration there, from those of the frame. */
INLINE void accelerate(int d, const Pose *F, const double *r, double *a) {
  double speed[3];
  copy(d, F->a, a);
  add_cross(d, F->al, r, a);
  cross(d, F->w, r, speed);
  add_cross(d, F->w, speed, a);
}

/* ---- outwards: poses and what each body needs ---- */

/* A node's unit twists about its tree's point, at `arm` from its origin; its twist (w, v) on its parent. */
INLINE void find_twists(int d, const Node *b, const double *axes, const double *S, const double *arm, const double *x, Twist *Z, double *w, double *v) {
  int k = angular(d);
  integer count = b->kind == HELD ? 1 : b->size;
  for (integer j = 0; j < count; j++, S += k + d) {
    double rate = b->kind == HELD ? 1.0 : x[b->v + j];
    turn_angular(d, axes, S, Z[j].w);
    turn(d, axes, S + k, Z[j].v);
    UNROLLED for (int i = 0; i < k; i++) w[i] += rate * Z[j].w[i];
    UNROLLED for (int i = 0; i < d; i++) v[i] += rate * Z[j].v[i];
    add_cross(d, Z[j].w, arm, Z[j].v);
  }
}

/* How a node moves, at r from its parent's origin: with the parent, and by (w, v), (al, a) on it. */
INLINE void move_on(int d, const Pose *P, const double *r, const double *w, const double *v, const double *al, const double *a, Pose *F) {
  int k = angular(d);
  double more[3];
  copy(d, P->v, F->v), add_cross(d, P->w, r, F->v), add(d, v, F->v);
  accelerate(d, P, r, F->a), add(d, a, F->a);
  cross(d, P->w, v, more);
  UNROLLED for (int i = 0; i < d; i++) F->a[i] += 2.0 * more[i];
  copy(k, P->al, F->al), add(k, al, F->al);
  if (d == 3) add_cross(3, P->w, w, F->al);
  copy(k, P->w, F->w), add(k, w, F->w);
}

/* Where a node is and how it moves, and its unit twists, from what its joint does. */
INLINE void place_jointed(int d, const Sweep *s, const Node *b, const double *x, Room *room) {
  int k = angular(d);
  const double *R = room->told, *p = R + d * d, *of_al = p + d, *of_a = of_al + k, *S = of_a + d;
  const Pose *P = b->parent < 0 ? &WORLD : room->pose + b->parent;
  Pose *F = room->pose + (b - s->node);
  const double *axes = b->parent < 0 ? b->axes : P->R;
  double turned[9], r[3], arm[3], w[3] = {0.0}, v[3] = {0.0}, al[3], a[3];
  if (b->parent >= 0 && b->turned) multiply(d, P->R, b->axes, turned), axes = turned;
  if (b->parent >= 0) turn(d, P->R, b->at, r);
  else copy(d, b->at, r);
  turn(d, axes, p, arm), add(d, arm, r);
  copy(d, P->p, F->p), add(d, r, F->p);
  multiply(d, axes, R, F->R);
  if (b->turned_on) {
    double between[9];
    copy(d * d, F->R, between);
    multiply(d, between, b->on, F->R);
  }
  const double *o = b->root < 0 ? F->p : room->pose[b->root].p;
  UNROLLED for (int i = 0; i < d; i++) arm[i] = o[i] - F->p[i];
  Twist own;
  find_twists(d, b, axes, S, arm, x, b->kind == HELD ? &own : room->twist + b->column, w, v);
  turn_angular(d, axes, of_al, al), turn(d, axes, of_a, a);
  if (b->parent >= 0) {
    move_on(d, P, r, w, v, al, a, F);
    return;
  }
  copy(k, w, F->w), copy(d, v, F->v), copy(k, al, F->al), copy(d, a, F->a);
}

INLINE void place_free(int d, const Sweep *s, const Node *b, const double *x, Room *room) {
  int k = angular(d);
  Pose *F = room->pose + (b - s->node);
  copy(d * d, room->told, F->R), copy(d, room->told + d * d, F->p);
  copy(k, x + b->v, F->w), copy(d, x + b->v + k, F->v);
  UNROLLED for (int i = 0; i < k; i++) F->al[i] = 0.0;
  UNROLLED for (int i = 0; i < d; i++) F->a[i] = 0.0;
}

/* Inertia of a body in world axes: R I R'. */
INLINE void resolve_inertia(int d, const double *R, const double *I, double *out) {
  if (d == 2) {
    out[0] = I[0];
    return;
  }
  double T[9];
  multiply(3, R, I, T);
  UNROLLED for (int i = 0; i < 3; i++) {
    UNROLLED for (int j = 0; j <= i; j++) {
      out[3 * i + j] = out[3 * j + i] = T[i] * R[j] + T[3 + i] * R[3 + j] + T[6 + i] * R[6 + j];
    }
  }
}

/* Mass, first moment and inertia of one node about its tree's point, and the force and moment that it needs there. */
INLINE void weigh(int d, const Sweep *s, const Node *b, Room *room) {
  int k = angular(d);
  const Pose *F = room->pose + (b - s->node);
  const double *o = room->pose[b->root].p;
  Carried *c = room->carried + (b - s->node);
  double r[3], a[3], spin[3], gyration[3], arm[3];
  turn(d, F->R, b->com, r);
  accelerate(d, F, r, a);
  UNROLLED for (int i = 0; i < d; i++) {
    arm[i] = F->p[i] - o[i] + r[i];
    c->s[i] = b->mass * arm[i];
    c->f[i] = b->mass * (a[i] - s->gravity[i]);
  }
  c->m = b->mass;
  resolve_inertia(d, F->R, b->inertia, c->I);
  moment(d, arm, c->f, c->n);
  if (d == 2) {
    c->n[0] += c->I[0] * F->al[0];
  } else {
    turn(3, c->I, F->al, gyration), add(3, gyration, c->n);
    turn(3, c->I, F->w, spin), add_cross(3, F->w, spin, c->n);
  }
  double far = product(d, arm, c->s);
  UNROLLED for (int i = 0; i < k; i++) {
    UNROLLED for (int j = 0; d == 3 && j < k; j++) c->I[3 * i + j] -= arm[i] * c->s[j];
    c->I[4 * i] += far;
  }
}

static const double *given_to(const Sweep *s, const Node *b, const double *x, const Room *room) {
  if (b->timed) return x + s->time_at;
  return b->u < 0 ? x : room->u + b->u;
}

INLINE int outwards(int d, const Sweep *s, const Memory *at, const double *x, Room *room) {
  for (integer i = 0; i < s->nodes; i++) {
    const Node *b = s->node + i;
    if (run(&b->joint, at, x + b->q, x + b->v, given_to(s, b, x, room), 0, room->told)) return 1;
    if (b->kind == FREE) place_free(d, s, b, x, room);
    else place_jointed(d, s, b, x, room);
    if (!b->carries || b->ball) continue;
    if (b->weighs) weigh(d, s, b, room);
    else memset(room->carried + i, 0, sizeof(Carried));
  }
  return 0;
}

/* ---- back: M and S u - h ---- */

static void put(double *M, integer n, integer i, integer j, double value) { M[i * n + j] = M[j * n + i] = value; }

/* Rows of M that a column of a node has with those before it: those of its momentum l and its moment of momentum K. */
INLINE void couple(int d, const Sweep *s, const Node *b, integer column, const double *K, const double *l, const Room *room, double *M) {
  int k = angular(d);
  for (integer up = b->up; up >= 0;) {
    const Node *a = s->node + up;
    if (a->kind == FREE) {
      UNROLLED for (int i = 0; i < k; i++) put(M, b->width, column, a->own + i, K[i]);
      UNROLLED for (int i = 0; i < d; i++) put(M, b->width, column, a->own + k + i, l[i]);
    } else {
      const Twist *Z = room->twist + a->column;
      for (integer e = 0; e < a->size; e++) {
        put(M, b->width, column, a->own + e, product(k, Z[e].w, K) + product(d, Z[e].v, l));
      }
    }
    up = a->up;
  }
}

INLINE void collect_jointed(int d, const Sweep *s, const Node *b, const Room *room, double *M, double *top) {
  int k = angular(d);
  const Carried *c = room->carried + (b - s->node);
  const Twist *Z = room->twist + b->column;
  for (integer i = 0; i < b->size; i++) {
    double l[3], K[3], more[3];
    cross(d, Z[i].w, c->s, l);
    UNROLLED for (int j = 0; j < d; j++) l[j] += c->m * Z[i].v[j];
    moment(d, c->s, Z[i].v, K);
    if (d == 2) more[0] = c->I[0] * Z[i].w[0];
    else turn(3, c->I, Z[i].w, more);
    add(k, more, K);
    for (integer j = 0; j <= i; j++) {
      put(M, b->width, b->own + i, b->own + j, product(k, Z[j].w, K) + product(d, Z[j].v, l));
    }
    couple(d, s, b, b->own + i, K, l, room, M);
    top[b->column + i] = -product(k, Z[i].w, c->n) - product(d, Z[i].v, c->f);
  }
}

/* The unit twists of a free body are those of the axes about its own origin. */
INLINE void collect_free(int d, const Sweep *s, const Node *b, const Room *room, double *M, double *top) {
  int k = angular(d);
  const Carried *c = room->carried + (b - s->node);
  integer n = b->width, w = b->own, v = b->own + k;
  UNROLLED for (int i = 0; i < k; i++) {
    top[b->column + i] = -c->n[i];
    UNROLLED for (int j = 0; j <= i; j++) put(M, n, w + i, w + j, c->I[3 * i + j]);
  }
  UNROLLED for (int i = 0; i < d; i++) {
    top[b->column + k + i] = -c->f[i];
    M[(v + i) * (n + 1)] = c->m;
  }
  if (d == 2) {
    put(M, n, v, w, -c->s[1]), put(M, n, v + 1, w, c->s[0]);
    return;
  }
  put(M, n, v, w + 1, c->s[2]), put(M, n, v, w + 2, -c->s[1]);
  put(M, n, v + 1, w, -c->s[2]), put(M, n, v + 1, w + 2, c->s[0]);
  put(M, n, v + 2, w, c->s[1]), put(M, n, v + 2, w + 1, -c->s[0]);
}

INLINE void backwards(int d, const Sweep *s, const Room *room, double *out) {
  int k = angular(d);
  double *top = out + s->top_at;
  memset(top, 0, (size_t)s->nv * sizeof(double));
  for (integer i = s->nodes - 1; i >= 0; i--) {
    const Node *b = s->node + i;
    if (b->ball) {
      UNROLLED for (int j = 0; j < d; j++) top[b->column + k + j] = b->mass * s->gravity[j];
    }
    if (!b->carries || b->ball) continue;
    if (b->kind == FREE) collect_free(d, s, b, room, out + b->M, top);
    if (b->kind == JOINTED) collect_jointed(d, s, b, room, out + b->M, top);
    if (b->parent < 0 || !s->node[b->parent].carries) continue;
    const Carried *own = room->carried + i;
    Carried *to = room->carried + b->parent;
    to->m += own->m;
    add(d, own->s, to->s), add(k, own->n, to->n), add(d, own->f, to->f);
    if (d == 2) to->I[0] += own->I[0];
    else for (int j = 0; j < 9; j++) to->I[j] += own->I[j];
  }
}

/* ---- what is told: sides of contacts, and what acts beside inertia ---- */

INLINE double *write_frame(int d, const double *R, const double *p, const double *w, const double *v, const double *al, const double *a, double *out) {
  int k = angular(d);
  copy(d * d, R, out), out += d * d;
  copy(d, p, out), out += d;
  copy(k, w, out), out += k;
  copy(d, v, out), out += d;
  copy(k, al, out), out += k;
  copy(d, a, out);
  return out + d;
}

/* What is constant in the columns of a free body was there before the first sweep. */
INLINE void write_jacobian(int d, const Sweep *s, integer node, const double *p, const Room *room, double *J) {
  int k = angular(d), rows = k + d;
  const double *o = room->pose[s->node[node].root].p;
  double arm[3];
  UNROLLED for (int i = 0; i < d; i++) arm[i] = p[i] - o[i];
  for (integer up = s->node[node].size ? node : s->node[node].up; up >= 0; up = s->node[up].up) {
    const Node *a = s->node + up;
    double *own = J + a->own * rows;
    if (a->kind == FREE) {
      UNROLLED for (int i = 0; i < k; i++) {
        double unit[3] = {0.0};
        unit[i] = 1.0;
        cross(d, unit, arm, own + i * rows + k);
      }
      continue;
    }
    const Twist *Z = room->twist + a->column;
    for (integer j = 0; j < a->size; j++, own += rows) {
      copy(k, Z[j].w, own), copy(d, Z[j].v, own + k);
      add_cross(d, Z[j].w, arm, own + k);
    }
  }
}

INLINE void write_sides(int d, const Sweep *s, const double *x, const Room *room, double *out) {
  int k = angular(d);
  for (integer i = 0; i < s->sides; i++) {
    const Side *side = s->side + i;
    const Pose *F = room->pose + side->node;
    double *to = out + side->at;
    if (!side->offset && !side->turned) {
      write_frame(d, F->R, F->p, F->w, F->v, F->al, F->a, to);
      if (side->J >= 0) write_jacobian(d, s, side->node, F->p, room, out + side->J);
      continue;
    }
    double R[9], r[3], p[3], v[3], a[3];
    if (side->turned) multiply(d, F->R, side->axes, R);
    turn(d, F->R, side->place, r);
    UNROLLED for (int j = 0; j < d; j++) p[j] = F->p[j] + r[j];
    copy(d, F->v, v), add_cross(d, F->w, r, v);
    accelerate(d, F, r, a);
    write_frame(d, side->turned ? R : F->R, p, F->w, v, F->al, a, to);
    if (side->J >= 0) write_jacobian(d, s, side->node, p, room, out + side->J);
  }
  for (integer i = 0; i < s->stops; i++) {
    const Stop *stop = s->stop + i;
    double *to = out + stop->at + d * d;
    if (stop->q >= 0) to[stop->axis] = stop->side * (x[stop->q] - stop->end);
    to[d + k + stop->axis] = stop->side * x[stop->v];
  }
}

static int add_forces(const Sweep *s, const Memory *at, const double *x, const double *u, double *Q, double *top) {
  for (integer i = 0; i < s->motors; i++) top[s->motor[i].column] += u[s->motor[i].u];
  for (integer i = 0; i < s->resistances; i++) {
    const Resistance *r = s->resistance + i;
    double sum = r->damping * x[r->v];
    if (r->dry != 0.0) sum += r->dry * tanh(x[r->v] / r->width);
    if (r->q >= 0) sum += r->stiffness * (x[r->q] - r->rest);
    top[r->column] -= sum;
  }
  if (!s->force.eval) return 0;
  if (run(&s->force, at, x, 0, 0, 0, Q)) return 1;
  for (integer i = 0; i < s->nv; i++) top[i] += Q[i];
  return 0;
}

/* ---- what modes call ---- */

/* The inputs u: those that p begins with, or what motions make of them at the time t. */
static int find_inputs(const Sweep *s, const Memory *at, const double *t, const double *p, Room *room) {
  if (s->inputs_of.eval) return run(&s->inputs_of, at, t, p, 0, 0, room->u);
  if (s->idle) memset(room->u, 0, (size_t)s->inputs * sizeof(double));
  else memcpy(room->u, p, (size_t)s->inputs * sizeof(double));
  return 0;
}

INLINE int sweep(int d, const Sweep *s, const Memory *at, const double *x, Room *room, double *out) {
  if (outwards(d, s, at, x, room)) return 1;
  backwards(d, s, room, out);
  write_sides(d, s, x, room, out);
  return add_forces(s, at, x, room->u, room->Q, out + s->top_at);
}

/* Frames of the sides of contacts with their Jacobians, M by trees, S u - h, where `tables` say. */
static int sweep_bodies(const Sweep *s, const Memory *at, double *memory, const double *t, const double *x, const double *p, double *out) {
  Room room = divided(s, memory);
  if (find_inputs(s, at, t, p, &room)) return 1;
  return s->d == 2 ? sweep(2, s, at, x, &room, out) : sweep(3, s, at, x, &room, out);
}

/* x' from nudot and the rates of the contacts' coordinates. */
static int sweep_rate(const Sweep *s, const Memory *at, double *memory, const double *t, const double *x, const double *p, const double *nudot, const double *s_rate, double *out) {
  Room room = divided(s, memory);
  if (find_inputs(s, at, t, p, &room)) return 1;
  for (integer i = 0; i < s->nodes; i++) {
    const Node *b = s->node + i;
    if (b->plain) {
      for (integer j = 0; j < b->size; j++) out[b->q + j] = x[b->v + j], out[b->v + j] = nudot[b->column + j];
    } else if (b->rate.eval) {
      if (run(&b->rate, at, x + b->q, x + b->v, given_to(s, b, x, &room), nudot + b->column, room.told)) return 1;
      for (integer j = 0; j < b->nq; j++) out[b->q + j] = room.told[j];
      for (integer j = 0; j < b->nv; j++) out[b->v + j] = room.told[b->nq + j];
    }
  }
  memcpy(out + s->coordinates_at, s_rate, (size_t)s->coordinates * sizeof(double));
  if (s->time_at >= 0) out[s->time_at] = 1.0;
  return 0;
}

/* x with poses and joints displaced by `step` = nu dt, to first order. */
static int sweep_moved(const Sweep *s, const Memory *at, const double *x, const double *step, double *out) {
  memcpy(out, x, (size_t)s->n * sizeof(double));
  for (integer i = 0; i < s->nodes; i++) {
    const Node *b = s->node + i;
    for (integer j = 0; b->plain && j < b->size; j++) out[b->q + j] += step[b->column + j];
    if (b->moved.eval && run(&b->moved, at, x + b->q, step + b->column, 0, 0, out + b->q)) return 1;
  }
  return 0;
}

/* x with velocities changed by `step`. */
static int sweep_nudge(const Sweep *s, const double *x, const double *step, double *out) {
  memcpy(out, x, (size_t)s->n * sizeof(double));
  for (integer i = 0; i < s->nodes; i++) {
    const Node *b = s->node + i;
    for (integer j = 0; j < b->size; j++) out[b->v + j] += step[b->column + j];
  }
  return 0;
}

enum { BODIES, RATE, MOVED, NUDGE };

/* One of the four, `times` over, with memory of its own: for tests and measurements. */
int sweep_alone(const Sweep *s, integer what, integer times, const double *const *given, double *out) {
  Memory at;
  double *memory = calloc((size_t)sweep_room(s), sizeof(double));
  int failed = 0;
  at.arg = calloc((size_t)s->n_arg, sizeof(double *)), at.res = calloc((size_t)s->n_res, sizeof(double *));
  at.iw = calloc((size_t)s->n_iw, sizeof(integer)), at.w = calloc((size_t)s->n_w, sizeof(double));
  if (what == BODIES) memcpy(out, s->constants, (size_t)s->size * sizeof(double));
  for (integer i = 0; i < times; i++) {
    if (what == BODIES) failed |= sweep_bodies(s, &at, memory, given[0], given[1], given[2], out);
    if (what == RATE) failed |= sweep_rate(s, &at, memory, given[0], given[1], given[2], given[3], given[4], out);
    if (what == MOVED) failed |= sweep_moved(s, &at, given[0], given[1], out);
    if (what == NUDGE) failed |= sweep_nudge(s, given[0], given[1], out);
  }
  free((void *)at.arg), free((void *)at.res), free(at.iw), free(at.w), free(memory);
  return failed;
}

integer sweep_size(void) { return (integer)sizeof(Sweep); }
integer sweep_node_size(void) { return (integer)sizeof(Node); }
integer sweep_side_size(void) { return (integer)sizeof(Side); }
integer sweep_stop_size(void) { return (integer)sizeof(Stop); }
integer sweep_resistance_size(void) { return (integer)sizeof(Resistance); }
integer sweep_motor_size(void) { return (integer)sizeof(Motor); }
