/* Margins over a step: whether one leaves its range, and when. Included by ode_core.c. */

/* Margins at t + h into g_trial, the state into x_new by a step of that size (h_dense = 0),
 * or into x_dense by the dense output of a step of size h_dense. */
static int probe(Ode *o, double h, double h_dense) {
  double *x = h_dense > 0.0 ? o->x_dense : o->x_new;
  int good = h_dense > 0.0 ? interpolate(o, h / h_dense, o->t + h, x) : attempt(o, h) && project(o, o->t + h, x);
  return good && margins(o, o->t + h, x, o->g_trial);
}

/* Time step in (low, high] where margin j reaches zero, by Chandrupatla's method; the side with margin <= 0.
 * Negative where a probe fails or not margin(low) > 0 >= margin(high). */
static double locate(Ode *o, integer j, double low, double high, double h_dense) {
  if (!probe(o, low, h_dense)) return -1.0;
  double b = low, gb = o->g_trial[j];
  if (!probe(o, high, h_dense)) return -1.0;
  double a = high, ga = o->g_trial[j], c = b, gc = gb, part = 0.5;
  double resolution = 4.5e-16 * (fabs(o->t) + high);
  if (!(gb > 0.0 && ga <= 0.0)) return -1.0;
  for (int k = 0; k < 120 && fabs(b - a) > resolution && ga != 0.0; k++) {
    double h = a + part * (b - a);
    if (h <= fmin(a, b) || h >= fmax(a, b)) break;
    if (!probe(o, h, h_dense)) return -1.0;
    double g = o->g_trial[j];
    if ((g <= 0.0) == (ga <= 0.0)) {
      c = a, gc = ga;
    } else {
      c = b, gc = gb, b = a, gb = ga;
    }
    a = h, ga = g;
    double xi = (a - b) / (c - b), phi = (ga - gb) / (gc - gb), edge = 0.5 * resolution / fabs(b - a);
    part = 0.5;
    if (phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi)
      part = ga / (gb - ga) * gc / (gb - gc) + (c - a) / (b - a) * ga / (gc - ga) * gb / (gc - gb);
    part = isfinite(part) ? fmin(fmax(part, fmin(edge, 0.5)), 1.0 - fmin(edge, 0.5)) : 0.5;
  }
  return ga <= 0.0 ? a : b;
}

/* Search a dip of margin j below zero between three dense points, the middle one lowest (times after t in s,
 * margins in g). Returns a time after t with margin <= 0, else a negative number; s[0] is then before it. */
static double dip(Ode *o, integer j, double *s, double *g, double h) {
  for (int k = 0; k < 8 && g[1] > 0.0 && g[1] <= g[0] && g[1] <= g[2]; k++) {
    double left = (g[0] - g[1]) / (s[1] - s[0]), right = (g[2] - g[1]) / (s[2] - s[1]);
    double bend = (left + right) / (s[2] - s[0]), slope = right - bend * (s[2] - s[1]);
    double shift = -0.5 * slope / bend, bottom = g[1] - 0.25 * slope * slope / bend;
    if (!(bottom <= 0.5 * g[1]) || !(fabs(shift) > 1e-9 * h)) return -1.0;
    double tip = s[1] + shift;
    if (!(tip > s[0] && tip < s[2]) || !probe(o, tip, h)) return -1.0;
    double value = o->g_trial[j];
    int before = tip < s[1], lower = value < g[1];
    if (value <= 0.0) {
      if (!before) s[0] = s[1];
      return tip;
    }
    if (before && lower) s[2] = s[1], g[2] = g[1], s[1] = tip, g[1] = value;
    else if (before) s[0] = tip, g[0] = value;
    else if (lower) s[0] = s[1], g[0] = g[1], s[1] = tip, g[1] = value;
    else s[2] = tip, g[2] = value;
  }
  return -1.0;
}

/* First watched margin that leaves its range in the step, with its bracket; -1 for none. Arms the waiting ones. */
static integer first_crossing(Ode *o, double h, double *low, double *high) {
  integer m = o->m, count = o->points + 1;
  for (integer i = 0; i < count; i++) {
    const double *ga = o->g + i * m, *gb = ga + m;
    *low = h * (double)i / (double)count;
    *high = i + 1 == count ? h : h * (double)(i + 1) / (double)count;
    for (integer j = 0; j < m; j++) {
      if (o->armed[j] == WAITING && ga[j] > o->arming_tolerance[j]) o->armed[j] = ARMED;
      if (i == 0 || o->armed[j] != ARMED || !(ga[j - m] > 0.0)) continue;
      double s[3] = {h * (double)(i - 1) / (double)count, *low, *high}, g[3] = {ga[j - m], ga[j], gb[j]};
      double tip = dip(o, j, s, g, h);
      if (tip >= 0.0) {
        *low = s[0], *high = tip;
        return j;
      }
    }
    for (integer j = 0; j < m; j++)
      if (o->armed[j] == ARMED && ga[j] > 0.0 && gb[j] <= 0.0) return j;
  }
  for (integer j = 0; j < m; j++) /* a waiting margin that is up at the end of the step */
    if (o->armed[j] == WAITING && o->g[count * m + j] > o->arming_tolerance[j]) o->armed[j] = ARMED;
  return -1;
}

/* Exact time after t of event *j, whose dense bracket is given; *j becomes an earlier one if there is.
 * Leaves the state of the event in x_new, and in F a dense output over *h_whole. Negative on failure. */
static double settle(Ode *o, integer *j, double low, double high, double h, double *h_whole) {
  double h_dense = 0.0, width = h / (double)(o->points + 1), h_event = locate(o, *j, low, high, h_dense);
  for (double up = high; h_event < 0.0 && up < h; ) /* the dense output is a little early */
    up = fmin(up + width, h), h_event = locate(o, *j, low, up, h_dense);
  if (h_event < 0.0) h_event = locate(o, *j, 0.0, high, h_dense); /* or a little late */
  if (h_event < 0.0) h_dense = h, h_event = locate(o, *j, low, high, h_dense);
  if (h_event < 0.0 || !probe(o, h_event, h_dense)) return -1.0;
  for (integer k = 0; k < o->m; k++) {
    if (k == *j || o->armed[k] != ARMED || o->g_trial[k] >= 0.0) continue;
    double earlier = locate(o, k, low, h_event, h_dense);
    if (earlier < 0.0) earlier = locate(o, k, 0.0, h_event, h_dense);
    if (earlier >= 0.0) h_event = earlier, *j = k;
    if (!probe(o, h_event, h_dense)) return -1.0;
  }
  *h_whole = h_dense > 0.0 ? h_dense : h_event;
  if (h_dense > 0.0) {
    memcpy(o->x_new, o->x_dense, (size_t)o->n * sizeof(double));
    return h_event;
  }
  double t_event = o->t + h_event;
  return rate(o, t_event, o->x_new, o->K + o->stages * o->n) && densify(o, h_event) ? h_event : -1.0;
}

/* Margins over the step just made: -1 none left its range, -2 failure, else the event; *h becomes its time. */
static integer watch(Ode *o, double t_new, double *h, int *dense, double *h_dense) {
  integer m = o->m, count = o->points + 1, watched = 0, event = -1;
  for (integer j = 0; j < m; j++) watched += o->armed[j] != UNWATCHED;
  if (!margins(o, t_new, o->x_new, o->g + count * m)) return -2;
  if (watched) {
    if (!*dense && !densify(o, *h)) return -2;
    *dense = 1;
    for (integer i = 1; i < count; i++) {
      double s = *h * (double)i / (double)count;
      if (!interpolate(o, s / *h, o->t + s, o->x_dense)) return -2;
      if (!margins(o, o->t + s, o->x_dense, o->g + i * m)) return -2;
    }
    double low = 0.0, high = *h;
    event = first_crossing(o, *h, &low, &high);
    if (event >= 0) {
      double h_event = settle(o, &event, low, high, *h, h_dense);
      if (h_event < 0.0) return -2;
      *h = h_event;
      memcpy(o->g + count * m, o->g_trial, (size_t)m * sizeof(double));
    }
  }
  for (integer j = 0; j < m; j++) {
    double value = o->g[count * m + j];
    if (!(value >= o->g_min[j]) && !isnan(o->g_min[j])) o->g_min[j] = value;
  }
  return event;
}
