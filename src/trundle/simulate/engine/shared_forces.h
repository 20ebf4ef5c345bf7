/* Forces that constraints leave open: of dependent contacts those that Coulomb's law allows.
 *
 * The multipliers of an island are known but for those that no constraint feels, S N c = 0. Of all that lie in the cones
 * of their laws the ones with the least sum of squares act: where friction slides the motion is theirs, too. Margins are
 * those of the ones that are farthest inside, so that a mode ends where no allowed force is left.
 */

static const double DEPENDENT = 1e-13; /* rest of a row of S beside others, in parts of the row: it follows from them */
static const double ROOM = 0.1;        /* of the largest multiplier: how far inside the cones is far enough */
static const double BOUNDED = 1e-9;    /* weight of the squares of c beside how far inside: of wedges it could grow without end */
static const double INNER = 1e-7;      /* of the largest multiplier: least room in which the least squares are looked for */

enum { FOR_MARGINS, FOR_RECORDS };
enum { UNBOUNDED = -2 }; /* in place of the number of a kernel of cones: of a pin */

/* The largest entries of the rows and of the columns of S (n, n). */
static void sizes_of(const double *S, integer n, double *of_row, double *of_column) {
  memset(of_row, 0, (size_t)n * sizeof(double)), memset(of_column, 0, (size_t)n * sizeof(double));
  for (integer i = 0; i < n; i++) {
    for (integer j = 0; j < n; j++) {
      double size = fabs(S[i * n + j]);
      of_row[i] = fmax(of_row[i], size), of_column[j] = fmax(of_column[j], size);
    }
  }
}

/* S (n, n) <- U, of which `rank` rows are left by elimination with pivots of whole rows and columns; the columns' places. */
static integer eliminate(double *S, integer n, integer *place) {
  integer rank = 0;
  double of_row[n], of_column[n];
  sizes_of(S, n, of_row, of_column);
  for (integer j = 0; j < n; j++) place[j] = j;
  for (; rank < n; rank++) {
    integer row = rank, column = rank;
    double most = -1.0;
    for (integer i = rank; i < n; i++) {
      for (integer j = rank; j < n; j++) {
        double of = of_row[i] * of_column[j], part = of > 0.0 ? S[i * n + j] * S[i * n + j] / of : 0.0;
        if (part > most) most = part, row = i, column = j;
      }
    }
    if (!(most > DEPENDENT * DEPENDENT)) break;
    for (integer j = 0; j < n; j++) swap(S + rank * n + j, S + row * n + j);
    for (integer i = 0; i < n; i++) swap(S + i * n + rank, S + i * n + column);
    swap(of_row + rank, of_row + row), swap(of_column + rank, of_column + column);
    integer other = place[rank];
    place[rank] = place[column], place[column] = other;
    for (integer i = rank + 1; i < n; i++) {
      double part = S[i * n + rank] / S[rank * n + rank];
      for (integer j = rank; j < n; j++) S[i * n + j] -= part * S[rank * n + j];
    }
  }
  return rank;
}

/* Orthonormal columns (n each) that S (n, n) takes to zero; S is lost. */
static integer null_space(double *S, integer n, double *Z) {
  integer place[n], count = 0, rank = eliminate(S, n, place);
  for (integer free = rank; free < n; free++, count++) {
    double *z = Z + count * n, x[n];
    memset(z, 0, (size_t)n * sizeof(double));
    for (integer i = rank - 1; i >= 0; i--) {
      x[i] = -S[i * n + free];
      for (integer q = i + 1; q < rank; q++) x[i] -= S[i * n + q] * x[q];
      x[i] /= S[i * n + i], z[place[i]] = x[i];
    }
    z[place[free]] = 1.0;
    for (int twice = 0; twice < 2; twice++) {
      for (integer q = 0; q < count; q++) {
        double along = dot(Z + q * n, z, n);
        for (integer i = 0; i < n; i++) z[i] -= along * Z[q * n + i];
      }
      double size = sqrt(dot(z, z, n));
      for (integer i = 0; i < n; i++) z[i] /= size;
    }
  }
  return count;
}

/* Coefficients of the cones of an island's contacts, one contact after the other; entries in all, -1: one has no cones,
 * -2: a kernel failed. */
static integer make_cones(Mode *m, const double *p, integer island) {
  const Engine *e = m->e;
  double *coefficients = m->cone;
  integer entries = 0;
  for (integer i = m->island_at[island]; i < m->island_at[island + 1]; i++) {
    integer c = m->act[i], own = 0;
    if (!m->rows[c] || m->cones_kernel[c] == UNBOUNDED) continue;
    if (m->cones_kernel[c] < 0) return -1;
    for (integer j = m->cone_at[c]; j < m->cone_at[c + 1]; j++) own += m->cone_size[j];
    if (call(m, e->kernel + m->cones_kernel[c], m->touch + c * m->touch_width, onset(e, p, c), 0, 0, coefficients)) return -2;
    coefficients += own * (m->rows[c] + 1), entries += own;
  }
  return entries;
}

/* Calls `each` entry of the cones of an island: its coefficients (R + 1), the first of its rows there, whether it is a load. */
typedef struct { const double *a; integer row, rows; int load; } Entry;

static integer entries_of(const Mode *m, integer island, Entry *entry) {
  const double *a = m->cone;
  integer count = 0, r0 = m->row_at[m->island_at[island]];
  for (integer i = m->island_at[island]; i < m->island_at[island + 1]; i++) {
    integer c = m->act[i], R = m->rows[c];
    for (integer j = R ? m->cone_at[c] : 0; R && j < m->cone_at[c + 1]; j++)
      for (integer q = 0; q < m->cone_size[j]; q++, a += R + 1, count++) entry[count] = (Entry){a, m->row_at[i] - r0, R, q == 0};
  }
  return count;
}

/* How far the multipliers are inside all cones, at least. */
static double least_slack(const Entry *entry, integer count, const double *lam) {
  double least = INFINITY;
  for (integer i = 0; i < count;) {
    double load = dot(entry[i].a, lam + entry[i].row, entry[i].rows) + entry[i].a[entry[i].rows], square = 0.0;
    for (i++; i < count && !entry[i].load; i++) {
      double across = dot(entry[i].a, lam + entry[i].row, entry[i].rows) + entry[i].a[entry[i].rows];
      square += across * across;
    }
    least = fmin(least, load - sqrt(square));
  }
  return least;
}

/* c (k,) of the program: all cones moved inward by `inside`, or, with one more unknown, by as much as there is room. */
static int solve_shares(const Entry *entry, integer count, const double *lam, double size, const double *N, integer n, integer k,
                        int farthest, double *x) {
  integer unknowns = k + farthest, rows = count + farthest, cones = 0;
  integer *at = calloc((size_t)(count + 2), sizeof(integer));
  double *A = calloc((size_t)(rows * unknowns + rows + 2 * unknowns + program_size(unknowns, rows, rows)), sizeof(double));
  double *b = A + rows * unknowns, *P = b + rows, *q = P + unknowns;
  for (integer i = 0; i < count; i++) {
    const Entry *of = entry + i;
    if (of->load) at[cones++] = i;
    for (integer j = 0; j < k; j++) A[i * unknowns + j] = dot(of->a, N + j * n + of->row, of->rows);
    if (farthest && of->load) A[i * unknowns + k] = -sqrt(dot(of->a, of->a, of->rows));
    b[i] = (dot(of->a, lam + of->row, of->rows) + of->a[of->rows]) / size;
  }
  for (integer j = 0; j < k; j++) P[j] = farthest ? BOUNDED : 1.0;
  if (farthest) at[cones++] = count, A[count * unknowns + k] = -1.0, b[count] = ROOM, q[k] = -1.0;
  at[cones] = rows;
  Program program = {unknowns, rows, cones, at, A, b, P, q, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  program_memory(&program, q + unknowns);
  int failed = solve_program(&program, x);
  free(at), free(A);
  return failed;
}

/* share <- lam + size N c */
static void add_shares(const double *lam, double size, const double *N, const double *c, integer n, integer k, double *share) {
  memcpy(share, lam, (size_t)n * sizeof(double));
  for (integer j = 0; j < k; j++)
    for (integer i = 0; i < n; i++) share[i] += size * c[j] * N[j * n + i];
}

/* Square of the force of a multiplier of one: what a row weighs in the sum of squares. */
static double row_weight(const Mode *m, integer slot, integer row) {
  integer c = m->act[slot], d = m->e->d, s = m->e->k + d, R = m->rows[c], at = m->row_at[slot] + row;
  if (!m->pushed[c]) return m->soft[at] / m->proximal;
  const double *force = m->row + c * m->row_width + (2 * s + 3) * R + row * s + m->e->k;
  double square = dot(force, force, d);
  return square > 0.0 ? square : 1.0;
}

/* How hard dry friction of joints is pressed on is no force to share: rows of S along which nothing moves hold. */
static void hold_loads(Mode *m, integer island) {
  integer first = m->island_at[island], end = m->island_at[island + 1], r0 = m->row_at[first], n = m->row_at[end] - r0;
  double largest_entry = largest_of(m->S, n * n, 0.0);
  for (integer i = first; i < end; i++) {
    for (integer r = m->row_at[i] - r0; m->e->rubs[m->act[i]] && r < m->row_at[i + 1] - r0; r++) {
      if (!(largest_of(m->S + r * n, n, 0.0) > 0.0)) m->S[r * n + r] = fmax(largest_entry, m->soft[r0 + r]);
    }
  }
}

/* Multipliers of dependent contacts as they share them, from some that keep the same constraints. */
static void share_among(Mode *m, integer island, const Entry *entry, integer count, int what, double *lam, double *N, double *root) {
  integer r0 = m->row_at[m->island_at[island]], n = m->row_at[m->island_at[island + 1]] - r0;
  schur(m, island, 0, 1);
  hold_loads(m, island);
  for (integer i = m->island_at[island]; i < m->island_at[island + 1]; i++)
    for (integer r = 0; r < m->rows[m->act[i]]; r++) root[m->row_at[i] - r0 + r] = sqrt(row_weight(m, i, r));
  for (integer i = 0; i < n; i++) lam[i] = m->lam[r0 + i] * root[i];
  for (integer i = 0; i < n; i++)
    for (integer j = 0; j < n; j++) m->S[i * n + j] /= root[j];
  integer k = null_space(m->S, n, N);
  for (integer j = 0; j < k; j++) {
    double along = dot(N + j * n, lam, n);
    for (integer i = 0; i < n; i++) lam[i] -= along * N[j * n + i];
  }
  double size = largest_of(lam, n, 0.0), *share = m->share + r0;
  for (integer i = 0; i < n; i++) {
    lam[i] /= root[i];
    for (integer j = 0; j < k; j++) N[j * n + i] /= root[i];
  }
  memcpy(share, lam, (size_t)n * sizeof(double));
  if (!k || !(size > 0.0) || least_slack(entry, count, lam) >= 0.0) return;
  double c[k + 1];
  int failed = solve_shares(entry, count, lam, size, N, n, k, 1, c);
  if (!isfinite(c[k])) return;
  add_shares(lam, size, N, c, n, k, share);
  if (what == FOR_MARGINS || failed || c[k] < INNER) return;
  solve_shares(entry, count, lam, size, N, n, k, 0, c);
  double closest[n];
  add_shares(lam, size, N, c, n, k, closest);
  if (least_slack(entry, count, closest) > -INNER * size) memcpy(share, closest, (size_t)n * sizeof(double));
}

/* Multipliers as the contacts of an island share them; `anew`, where they need not be those with the least squares. */
static int share_island(Mode *m, const double *p, integer island, int what, int anew) {
  integer first = m->row_at[m->island_at[island]], n = m->row_at[m->island_at[island + 1]] - first;
  if (!m->shares[island] || !n) return 0;
  integer count = make_cones(m, p, island);
  if (count == -2) return 1;
  if (count < 0) return 0;
  Entry *entry = malloc((size_t)(count + 1) * sizeof(Entry));
  entries_of(m, island, entry);
  if (anew || !(least_slack(entry, count, m->lam + first) >= 0.0)) {
    double *memory = room(n * n + 2 * n);
    share_among(m, island, entry, count, what, memory + n * n, memory, memory + n * n + n);
    free(memory);
  }
  free(entry);
  return 0;
}

/* Multipliers as contacts share them, of all islands; those that move their bodies are shared already. */
static int share(Mode *m, const double *p, int what) {
  memcpy(m->share, m->lam, (size_t)m->rows_total * sizeof(double));
  for (integer s = 0; s < m->islands; s++)
    if ((m->symmetric[s] || what == FOR_MARGINS) && share_island(m, p, s, what, !m->symmetric[s])) return 1;
  return 0;
}

/* Of an island whose friction slides the multipliers that act: their motions differ. */
static int share_motion(Mode *m, const double *p, integer island) {
  integer first = m->row_at[m->island_at[island]], n = m->row_at[m->island_at[island + 1]] - first;
  memcpy(m->share + first, m->lam + first, (size_t)n * sizeof(double));
  if (share_island(m, p, island, FOR_RECORDS, 1)) return 1;
  memcpy(m->lam + first, m->share + first, (size_t)n * sizeof(double));
  return 0;
}
