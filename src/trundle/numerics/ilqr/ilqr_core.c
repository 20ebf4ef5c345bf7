/* Stages, Riccati recursion and roll-out of the iterative linear-quadratic regulator.
 *
 * Stage functions in CasADi's calling convention and all buffers come from outside through one struct that mirrors
 * `trundle.numerics.ilqr.native.CoreStruct` field by field; nothing is allocated here. Where this is compiled for one
 * problem NX, NU and NP are numbers, so that inner loops have constant lengths. Matrices are row-major.
 */
#include <math.h>
#include <string.h>

typedef long long integer;
typedef int (*Eval)(const double **, double **, integer *, double *, int);
typedef struct {
  Eval eval;
  const double **arg;
  double **res;
  integer *iw;
  double *w;
  integer mem;
} Call;

typedef struct {
  Call step, slope, end, end_slope;
  integer stages, nx, nu, np;
  double *p;                       /* (N + 1, NP) */
  double *x, *u, *gap;             /* the iterate: (N + 1, NX), (N, NU), (N, NX) */
  double *M, *g, *H, *g_end, *H_end;
  double *k, *K;                   /* feed-forward (N, NU) and gains (N, NU, NX) */
  double *dx, *du;                 /* the linear step */
  double *x_new, *u_new;
  double slope_along, curvature, gradient, cost;
} Core;

integer trundle_ilqr_size(void) { return (integer)sizeof(Core); }

#ifndef NX
#define NX ((int)c->nx)
#define NU ((int)c->nu)
#define NP ((int)c->np)
#endif
#define NZ (NX + NU)
#define LD ((NZ + 7) / 8 * 8) /* padded rows: whole vectors */

static int call(Call *f, int n_in, const double **in, int n_out, double **out) {
  memcpy(f->arg, in, (size_t)n_in * sizeof *in);
  memcpy(f->res, out, (size_t)n_out * sizeof *out);
  return f->eval(f->arg, f->res, f->iw, f->w, (int)f->mem);
}

static int step(Core *c, integer k, const double *x, const double *u, double *next, double *cost) {
  const double *in[] = {x, u, c->p + k * NP};
  double *out[] = {next, cost};
  return call(&c->step, 3, in, 2, out);
}

static int end(Core *c, const double *x, double *cost) {
  const double *in[] = {x, c->p + c->stages * NP};
  return call(&c->end, 2, in, 1, &cost);
}

/* Gaps and cost of the iterate as it stands; 0 if a value is not finite. */
int trundle_ilqr_measure(Core *c) {
  double total = 0.0, cost;
  for (integer k = 0; k < c->stages; k++) {
    double *gap = c->gap + k * NX;
    if (step(c, k, c->x + k * NX, c->u + k * NU, gap, &cost)) return 0;
    for (int i = 0; i < NX; i++) {
      gap[i] -= c->x[(k + 1) * NX + i];
      if (!isfinite(gap[i])) return 0;
    }
    total += cost;
  }
  if (end(c, c->x + c->stages * NX, &cost)) return 0;
  c->cost = total + cost;
  return isfinite(c->cost);
}

/* u = u + alpha k + K (x_new - x), x_new+ = F - (1 - alpha) gap; 0 if a value is not finite. */
int trundle_ilqr_roll(Core *c, double alpha) {
  double total = 0.0, cost;
  for (integer k = 0; k < c->stages; k++) {
    const double *x = c->x_new + k * NX, *K = c->K + k * NU * NX, *gap = c->gap + k * NX;
    double *u = c->u_new + k * NU, *next = c->x_new + (k + 1) * NX, dx[NX];
    for (int i = 0; i < NX; i++) dx[i] = x[i] - c->x[k * NX + i];
    for (int a = 0; a < NU; a++) {
      double sum = c->u[k * NU + a] + alpha * c->k[k * NU + a];
      for (int i = 0; i < NX; i++) sum += K[a * NX + i] * dx[i];
      u[a] = sum;
    }
    if (step(c, k, x, u, next, &cost)) return 0;
    for (int i = 0; i < NX; i++) {
      next[i] -= (1.0 - alpha) * gap[i];
      if (!isfinite(next[i])) return 0;
    }
    total += cost;
    if (!isfinite(total)) return 0;
  }
  if (end(c, c->x_new + c->stages * NX, &cost)) return 0;
  c->cost = total + cost;
  return isfinite(c->cost);
}

/* Derivatives of every stage; 0 if one is not finite. */
int trundle_ilqr_slope(Core *c) {
  double sum = 0.0; /* a NaN or an infinity anywhere makes 0 * sum a NaN */
  for (integer k = 0; k < c->stages; k++) {
    double *M = c->M + k * NX * NZ, *g = c->g + k * NZ, *H = c->H + k * NZ * NZ;
    const double *in[] = {c->x + k * NX, c->u + k * NU, c->p + k * NP};
    double *out[] = {M, g, H};
    if (call(&c->slope, 3, in, 3, out)) return 0;
    for (int i = 0; i < NX * NZ; i++) sum += 0.0 * M[i];
    for (int i = 0; i < NZ; i++) sum += 0.0 * g[i];
    for (int i = 0; i < NZ * NZ; i++) sum += 0.0 * H[i];
  }
  const double *in[] = {c->x + c->stages * NX, c->p + c->stages * NP};
  double *out[] = {c->g_end, c->H_end};
  if (call(&c->end_slope, 2, in, 2, out)) return 0;
  for (int i = 0; i < NX; i++) sum += 0.0 * c->g_end[i];
  for (int i = 0; i < NX * NX; i++) sum += 0.0 * c->H_end[i];
  return sum == 0.0;
}

typedef double Lanes __attribute__((vector_size(8 * sizeof(double)), may_alias)); /* compilers split what is too wide */

#define BLOCKS(n) (((n) + 7) / 8)
#define BX BLOCKS(NX)
#define BZ BLOCKS(NZ)
#define BT BLOCKS(NU + 8 * BX + 1)

/* One stage of the recursion: V, v of k + 1 become those of k. 0 if Q_uu + rho |diag| is not positive definite. */
static int riccati(Core *c, integer k, double rho, double V[NX][NX], double *v) {
  Lanes M[NX][BZ], W[NX][BZ], Q[NZ][BZ], T[NU][BT];
  const double *H = c->H + k * NZ * NZ, *g = c->g + k * NZ, *gap = c->gap + k * NX;
  double q[NZ], s[NX], inverse[NU];
  memset(M, 0, sizeof M), memset(T, 0, sizeof T);
  for (int i = 0; i < NX; i++) {
    memcpy(M[i], c->M + (k * NX + i) * NZ, NZ * sizeof(double));
    s[i] = v[i];
    for (int j = 0; j < NX; j++) s[i] += V[i][j] * gap[j];
  }
  for (int i = 0; i < NX; i++) { /* W = V M */
    Lanes row[BZ];
    memset(row, 0, sizeof row);
    for (int j = 0; j < NX; j++)
      for (int b = 0; b < BZ; b++) row[b] += V[i][j] * M[j][b];
    memcpy(W[i], row, sizeof row);
  }
  for (int z = 0; z < NZ; z++) { /* the lower triangle of Q = H + M' W, in whole blocks */
    Lanes row[BZ];
    memset(row, 0, sizeof row);
    memcpy(row, H + z * NZ, NZ * sizeof(double)), q[z] = g[z];
    for (int i = 0; i < NX; i++) {
      double a = ((const double *)M[i])[z];
      if (a == 0.0) continue; /* the pattern is the same at every stage: well predicted */
      q[z] += a * s[i];
      for (int b = 0; b < BZ; b++)
        if (b <= z / 8) row[b] += a * W[i][b];
    }
    memcpy(Q[z], row, sizeof row);
  }
  for (int a = 0; a < NU; a++) { /* rows [Q_uu Q_ux q_u] */
    double *row = (double *)T[a];
    const double *from = (const double *)Q[NX + a];
    memcpy(row + NU, from, NX * sizeof(double)), row[NU + NX] = q[NX + a];
    for (int b = 0; b <= a; b++) row[b] = ((double *)T[b])[a] = from[NX + b];
    row[a] += rho * (fabs(row[a]) + 1e-12);
  }
  for (int a = 0; a < NU; a++) { /* elimination: T becomes L^-1 [Q_uu Q_ux q_u] with Q_uu = L D L' */
    const double *pivot = (const double *)T[a];
    if (!(pivot[a] > 0.0)) return 0;
    inverse[a] = 1.0 / pivot[a];
    for (int b = a + 1; b < NU; b++) {
      double share = pivot[b] * inverse[a];
      for (int e = 0; e < BT; e++)
        if (e >= (a + 1) / 8) T[b][e] -= share * T[a][e];
    }
  }
  for (int i = 0; i < NX; i++) { /* V = Q_xx - Y' D^-1 Y, Y the right part of T */
    Lanes row[BX];
    double sum = q[i];
    memcpy(row, Q[i], sizeof row);
    for (int a = 0; a < NU; a++) {
      const double *y = (const double *)T[a] + NU;
      double share = y[i] * inverse[a];
      sum -= share * y[NX];
      for (int b = 0; b < BX; b++) {
        Lanes part;
        memcpy(&part, y + 8 * b, sizeof part);
        row[b] -= share * part;
      }
    }
    v[i] = sum;
    for (int j = 0; j <= i; j++) V[i][j] = V[j][i] = ((const double *)row)[j];
  }
  for (int a = NU - 1; a >= 0; a--) { /* gains: back substitution */
    double *y = (double *)T[a] + NU, *K = c->K + (k * NU + a) * NX, row[NX + 1];
    for (int j = 0; j <= NX; j++) row[j] = -y[j];
    for (int b = a + 1; b < NU; b++) {
      double share = ((const double *)T[a])[b];
      const double *gain = c->K + (k * NU + b) * NX;
      for (int j = 0; j < NX; j++) row[j] -= share * gain[j];
      row[NX] -= share * c->k[k * NU + b];
    }
    for (int j = 0; j < NX; j++) K[j] = row[j] * inverse[a];
    c->k[k * NU + a] = row[NX] * inverse[a];
  }
  return 1;
}

/* The linear step dx, du: its slope and curvature, and the largest |dJ/du| from the adjoint. */
static void look_along(Core *c) {
  double *x = c->dx, along = 0.0, curve = 0.0, lam[NX], largest = 0.0;
  memset(x, 0, NX * sizeof(double));
  for (integer k = 0; k < c->stages; k++, x += NX) {
    double *u = c->du + k * NU, z[LD];
    const double *M = c->M + k * NX * NZ, *H = c->H + k * NZ * NZ, *g = c->g + k * NZ;
    for (int a = 0; a < NU; a++) {
      u[a] = c->k[k * NU + a];
      for (int i = 0; i < NX; i++) u[a] += c->K[(k * NU + a) * NX + i] * x[i];
    }
    memset(z, 0, sizeof z);
    memcpy(z, x, NX * sizeof(double)), memcpy(z + NX, u, NU * sizeof(double));
    for (int i = 0; i < NX; i++) {
      x[NX + i] = c->gap[k * NX + i];
      for (int j = 0; j < NZ; j++) x[NX + i] += M[i * NZ + j] * z[j];
    }
    for (int i = 0; i < NZ; i++) {
      double sum = 0.0;
      for (int j = 0; j < NZ; j++) sum += H[i * NZ + j] * z[j];
      along += g[i] * z[i], curve += z[i] * sum;
    }
  }
  for (int i = 0; i < NX; i++) {
    lam[i] = c->g_end[i], along += c->g_end[i] * x[i];
    for (int j = 0; j < NX; j++) curve += x[i] * c->H_end[i * NX + j] * x[j];
  }
  for (integer k = c->stages - 1; k >= 0; k--) {
    double sum[LD];
    memset(sum, 0, sizeof sum);
    memcpy(sum, c->g + k * NZ, NZ * sizeof(double));
    for (int i = 0; i < NX; i++)
      for (int j = 0; j < NZ; j++) sum[j] += c->M[(k * NX + i) * NZ + j] * lam[i];
    memcpy(lam, sum, sizeof lam);
    for (int a = 0; a < NU; a++) largest = fmax(largest, fabs(sum[NX + a]));
  }
  c->slope_along = along, c->curvature = curve, c->gradient = largest;
}

/* Gains, feed-forward and the linear step; 0 if a stage is not convex with this rho. */
int trundle_ilqr_backward(Core *c, double rho) {
  double V[NX][NX], v[NX];
  memcpy(V, c->H_end, sizeof V), memcpy(v, c->g_end, sizeof v);
  for (integer k = c->stages - 1; k >= 0; k--)
    if (!riccati(c, k, rho, V, v)) return 0;
  look_along(c);
  return isfinite(c->slope_along) && isfinite(c->curvature);
}
