/* Small dense matrices, by rows: what Coulomb's law asks of linear algebra. */

static double dot(const double *a, const double *b, integer n) {
  double sum = 0.0;
  for (integer i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static double length(const double *a, integer n) { return sqrt(dot(a, a, n)); }

static double largest(const double *a, integer n) {
  double most = 0.0;
  for (integer i = 0; i < n; i++) most = fmax(most, fabs(a[i]));
  return most;
}

/* y (rows) <- A (rows, n) x */
static void multiply(const double *A, const double *x, integer rows, integer n, double *y) {
  for (integer i = 0; i < rows; i++) y[i] = dot(A + i * n, x, n);
}

/* b <- A^-1 b, A (n, n) is lost, by elimination with pivots of rows; the least pivot over the largest, 0: there is no answer. */
static double pivoted_solve(double *A, double *b, integer n) {
  double most = 0.0, least = INFINITY;
  for (integer k = 0; k < n; k++) {
    integer row = k;
    for (integer i = k + 1; i < n; i++)
      if (fabs(A[i * n + k]) > fabs(A[row * n + k])) row = i;
    if (!(fabs(A[row * n + k]) > 0.0)) return 0.0;
    most = fmax(most, fabs(A[row * n + k])), least = fmin(least, fabs(A[row * n + k]));
    if (row != k) {
      for (integer j = k; j < n; j++) {
        double other = A[k * n + j];
        A[k * n + j] = A[row * n + j], A[row * n + j] = other;
      }
      double other = b[k];
      b[k] = b[row], b[row] = other;
    }
    for (integer i = k + 1; i < n; i++) {
      double part = A[i * n + k] / A[k * n + k];
      if (part == 0.0) continue;
      for (integer j = k + 1; j < n; j++) A[i * n + j] -= part * A[k * n + j];
      b[i] -= part * b[k];
    }
  }
  for (integer k = n - 1; k >= 0; k--) {
    for (integer j = k + 1; j < n; j++) b[k] -= A[k * n + j] * b[j];
    b[k] /= A[k * n + k];
  }
  return least / most;
}

/* x <- the least x with the least |A x - b|, singular values under `rank` of the largest left out: by rotations of pairs of
 * columns until all are orthogonal (Hestenes 1958). Work: C (n, n) columns of A, V (n, n) those of the rotations. */
static void least_squares(const double *A, const double *b, integer n, double rank, double *C, double *V, double *x) {
  enum { SWEEPS = 40 };
  memset(V, 0, (size_t)(n * n) * sizeof(double));
  for (integer j = 0; j < n; j++) {
    for (integer i = 0; i < n; i++) C[j * n + i] = A[i * n + j];
    V[j * n + j] = 1.0;
  }
  for (int sweep = 0, turned = 1; sweep < SWEEPS && turned; sweep++) {
    turned = 0;
    for (integer p = 0; p < n; p++) {
      for (integer q = p + 1; q < n; q++) {
        double *cp = C + p * n, *cq = C + q * n, *vp = V + p * n, *vq = V + q * n;
        double pp = dot(cp, cp, n), qq = dot(cq, cq, n), pq = dot(cp, cq, n);
        if (!(fabs(pq) > 1e-15 * sqrt(pp * qq))) continue;
        turned = 1;
        double zeta = (qq - pp) / (2.0 * pq), t = (zeta < 0.0 ? -1.0 : 1.0) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
        double c = 1.0 / sqrt(1.0 + t * t), s = c * t;
        for (integer i = 0; i < n; i++) {
          double a = cp[i], e = cq[i], f = vp[i], g = vq[i];
          cp[i] = c * a - s * e, cq[i] = s * a + c * e, vp[i] = c * f - s * g, vq[i] = s * f + c * g;
        }
      }
    }
  }
  double most = 0.0;
  for (integer j = 0; j < n; j++) most = fmax(most, length(C + j * n, n));
  memset(x, 0, (size_t)n * sizeof(double));
  for (integer j = 0; j < n; j++) {
    double square = dot(C + j * n, C + j * n, n);
    if (!(sqrt(square) > rank * most)) continue;
    double along = dot(C + j * n, b, n) / square;
    for (integer i = 0; i < n; i++) x[i] += along * V[j * n + i];
  }
}

/* L (n, n), of which `rank` columns are made, with A = L L' on what is more than `small` of the largest diagonal entry of A
 * (positive semidefinite, lost): by pivots of the diagonal, whose order is `place`. */
static integer factor(double *A, integer n, double small, integer *place, double *L) {
  double first = 0.0;
  integer rank = 0;
  memset(L, 0, (size_t)(n * n) * sizeof(double));
  for (integer i = 0; i < n; i++) place[i] = i, first = fmax(first, A[i * n + i]);
  for (; rank < n; rank++) {
    integer at = rank;
    for (integer i = rank + 1; i < n; i++)
      if (A[place[i] * n + place[i]] > A[place[at] * n + place[at]]) at = i;
    integer pivot = place[at];
    double size = A[pivot * n + pivot];
    if (!(size > small * first)) break;
    place[at] = place[rank], place[rank] = pivot;
    double root = sqrt(size);
    L[pivot * n + rank] = root;
    for (integer i = rank + 1; i < n; i++) L[place[i] * n + rank] = A[place[i] * n + pivot] / root;
    for (integer i = rank + 1; i < n; i++) {
      double *row = A + place[i] * n, own = L[place[i] * n + rank];
      for (integer j = rank + 1; j < n; j++) row[place[j]] -= own * L[place[j] * n + rank];
    }
  }
  return rank;
}

/* W (rows, n) <- orthonormal rows of the same span, how many: those that have more than `small` of the longest one left. */
static integer orthonormal(double *W, integer rows, integer n, double small) {
  double first = 0.0;
  integer rank = 0;
  for (; rank < rows; rank++) {
    integer at = rank;
    double most = -1.0;
    for (integer i = rank; i < rows; i++) {
      double size = length(W + i * n, n);
      if (size > most) most = size, at = i;
    }
    if (rank == 0) first = most;
    if (!(most > small * first)) break;
    double *q = W + rank * n;
    for (integer j = 0; j < n; j++) {
      double kept = q[j];
      q[j] = W[at * n + j] / most;
      if (at != rank) W[at * n + j] = kept;
    }
    for (int twice = 0; twice < 2; twice++) { /* the second time for what round-off has left */
      for (integer i = 0; i < rank; i++) {
        double along = dot(W + i * n, q, n);
        for (integer j = 0; j < n; j++) q[j] -= along * W[i * n + j];
      }
    }
    double size = length(q, n);
    for (integer j = 0; j < n; j++) q[j] /= size;
    for (integer i = rank + 1; i < rows; i++) {
      double along = dot(q, W + i * n, n);
      for (integer j = 0; j < n; j++) W[i * n + j] -= along * q[j];
    }
  }
  return rank;
}

/* x <- its part in the span of `rank` orthonormal rows */
static void onto(const double *Q, integer rank, integer n, double *x, double *along) {
  multiply(Q, x, rank, n, along);
  memset(x, 0, (size_t)n * sizeof(double));
  for (integer i = 0; i < rank; i++)
    for (integer j = 0; j < n; j++) x[j] += along[i] * Q[i * n + j];
}

/* The largest eigenvalue of a symmetric matrix: A (d, d) with rows `step` apart, d 2 or 3. */
static double largest_eigenvalue(const double *A, integer d, integer step) {
  if (d == 2) {
    double middle = 0.5 * (A[0] + A[step + 1]), half = 0.5 * (A[0] - A[step + 1]);
    return middle + hypot(half, A[1]);
  }
  double a = A[0], b = A[step + 1], c = A[2 * step + 2], x = A[1], y = A[2], z = A[step + 2];
  double q = (a + b + c) / 3.0, p2 = (a - q) * (a - q) + (b - q) * (b - q) + (c - q) * (c - q) + 2.0 * (x * x + y * y + z * z);
  double p = sqrt(p2 / 6.0);
  if (!(p > 0.0)) return q;
  a = (a - q) / p, b = (b - q) / p, c = (c - q) / p, x /= p, y /= p, z /= p;
  double r = 0.5 * (a * (b * c - z * z) - x * (x * c - z * y) + y * (x * z - b * y));
  return q + 2.0 * p * cos(acos(fmin(fmax(r, -1.0), 1.0)) / 3.0);
}
