/* Many mechanisms of one kind move on by many steps, as many at a time as the processor has lanes.
 *
 * No physics is here: `single`, `step` and `outputs` are traced functions. A block of lanes takes a plain
 * step together; a lane that finds its own too rough, or starts from rest, takes the refined step by
 * itself. Several threads may call `rollout` with one job: each takes the next block that nobody has. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef long long integer;
typedef int (*code)(const double **, double **, integer *, double *, int);
typedef struct {
  code run;  /* 0: there is none */
  integer arg, res, iw, w, lanes;  /* sizes of what it works in, and numbers side by side */
} kernel;

typedef struct {
  kernel single, step, outputs;
  integer nq, nv, nz, nu, np, ny, nverdict, left_open, has_loops;
  integer n, steps, every;
  double h;
  double *q, *v, *z, *work;  /* a row a run, from the start to the end */
  const double *u, *p, *gain, *reference;
  integer u_run, u_step, p_run, gain_run, reference_run, reference_step;  /* from one to the next */
  double *series, *works, *last, *least, *most, *counters;  /* what is recorded; 0 if not wanted */
  integer *taken, *status;
  integer next, done, stop;  /* shared by the threads */
} job;

enum { FINE, INFINITE, OPEN };
#define LINE 64 /* bytes: memory starts where vectors may */
#define TELL 64 /* steps between looks at `stop` */

typedef struct {
  const double **arg;
  double **res;
  integer *iw;
  double *w;
} room;

static size_t padded(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

static void *take(char **memory, size_t bytes) {
  void *found = *memory;
  *memory += padded(bytes);
  return found;
}

static size_t room_size(const kernel *k) {
  return padded(k->arg * sizeof(void *)) + padded(k->res * sizeof(void *)) + padded(k->iw * sizeof(integer)) +
         padded(k->w * k->lanes * sizeof(double));
}

static room room_for(const kernel *k, char **memory) {
  room r;
  r.arg = take(memory, k->arg * sizeof(void *));
  r.res = take(memory, k->res * sizeof(void *));
  r.iw = take(memory, k->iw * sizeof(integer));
  r.w = take(memory, k->w * k->lanes * sizeof(double));
  return r;
}

/* Arguments and results follow each other in memory; the code may overwrite the lists of them. */
static void call(const kernel *k, const room *r, const double *const *in, int n, double *const *out, int m) {
  memcpy(r->arg, in, n * sizeof(*in));
  memcpy(r->res, out, m * sizeof(*out));
  k->run(r->arg, r->res, r->iw, r->w, 0);
}

static void into_lane(double *to, const double *from, integer n, integer lanes, integer lane) {
  for (integer i = 0; i < n; ++i) to[i * lanes + lane] = from[i];
}

static void out_of_lane(double *to, const double *from, integer n, integer lanes, integer lane) {
  for (integer i = 0; i < n; ++i) to[i] = from[i * lanes + lane];
}

/* A state x = (q, v, z, work) with its inputs, parameters and outputs; `lanes` numbers for each entry. */
typedef struct {
  double *x, *u, *p, *h, *y;
} place;

/* Numbers of a state, and where its parts begin. */
static integer moving(const job *j) { return j->nq + j->nv + j->nz + 1; }

typedef struct {
  integer v, z, work;
} parts;

static parts parts_of(const job *j) {
  parts at = {j->nq, j->nq + j->nv, j->nq + j->nv + j->nz};
  return at;
}

static place place_for(const job *j, integer lanes, char **memory) {
  place s;
  s.x = take(memory, moving(j) * lanes * sizeof(double));
  s.u = take(memory, (j->nu + 1) * lanes * sizeof(double));
  s.p = take(memory, (j->np + 1) * lanes * sizeof(double));
  s.h = take(memory, lanes * sizeof(double));
  s.y = take(memory, (j->ny + 1) * lanes * sizeof(double));
  for (integer i = 0; i < lanes; ++i) s.h[i] = j->h;
  return s;
}

static size_t place_size(const job *j, integer lanes) {
  integer sizes[] = {moving(j), j->nu + 1, j->np + 1, 1, j->ny + 1};
  size_t total = 0;
  for (int i = 0; i < 5; ++i) total += padded(sizes[i] * lanes * sizeof(double));
  return total;
}

/* Inputs of step k: as given, less a gain on where the state is beside where it should be. */
static void inputs(const job *j, const place *s, integer lanes, integer lane, integer run, integer k) {
  integer nx = parts_of(j).work;
  const double *u = j->u + run * j->u_run + k * j->u_step;
  into_lane(s->u, u, j->nu, lanes, lane);
  if (!j->gain) return;
  const double *K = j->gain + run * j->gain_run;
  const double *x0 = j->reference + run * j->reference_run + k * j->reference_step;
  for (integer i = 0; i < j->nu; ++i) {
    double sum = 0;
    for (integer c = 0; c < nx; ++c) sum += K[i * nx + c] * (s->x[c * lanes + lane] - x0[c]);
    s->u[i * lanes + lane] -= sum;
  }
}

static void step(const kernel *k, const room *r, const job *j, const place *s, integer lanes, double *new) {
  const parts at = parts_of(j);
  double *x = s->x, *end = new + at.work * lanes;
  const double *in[] = {x, x + at.v * lanes, x + at.z * lanes, x + at.work * lanes, s->u, s->p, s->h};
  double *out[] = {new, new + at.v * lanes, new + at.z * lanes, end, end + lanes};
  call(k, r, in, 7, out, 5);
}

static void record(const job *j, const double *y, double work, integer run, integer sample) {
  integer samples = 1 + j->steps / j->every;
  if (j->works) j->works[run * samples + sample] = work;
  for (integer i = 0; i < j->ny; ++i) {
    if (j->series) j->series[(run * samples + sample) * j->ny + i] = y[i];
    integer at = run * j->ny + i;
    if (j->last) j->last[at] = y[i];
    if (j->least && !(j->least[at] <= y[i])) j->least[at] = y[i];
    if (j->most && !(j->most[at] >= y[i])) j->most[at] = y[i];
  }
}

/* A block of runs from `first` on, to their ends. 1 if it was stopped. The compiler makes one for every
 * number of lanes that it is called with. */
static inline __attribute__((always_inline)) int move_block(job *j, integer first, const integer lanes,
                                                            char *memory) {
  const parts at = parts_of(j);
  const integer nx = moving(j), left = j->n - first, count = left < lanes ? left : lanes;
  const int together = j->single.run != 0;
  room fast = room_for(&j->single, &memory), slow = room_for(&j->step, &memory), read = {0};
  if (j->outputs.run) read = room_for(&j->outputs, &memory);
  place all = place_for(j, lanes, &memory), one = place_for(j, 1, &memory);
  double *new = take(&memory, (nx + 1) * lanes * sizeof(double));
  double *alone = take(&memory, (nx + j->nverdict) * sizeof(double));
  double *speed = take(&memory, lanes * sizeof(double)), *sum = take(&memory, lanes * sizeof(double));
  double *row = take(&memory, (j->ny + 1) * sizeof(double));
  char *alive = take(&memory, lanes);
  integer living = count, told = 0;
  for (integer lane = 0; lane < lanes; ++lane) {
    integer run = first + (lane < count ? lane : count - 1);  /* the last one fills what is left over */
    alive[lane] = lane < count && j->status[run] == FINE;
    living -= lane < count && !alive[lane];
    into_lane(all.x, j->q + run * j->nq, j->nq, lanes, lane);
    into_lane(all.x + at.v * lanes, j->v + run * j->nv, j->nv, lanes, lane);
    into_lane(all.x + at.z * lanes, j->z + run * j->nz, j->nz, lanes, lane);
    into_lane(all.x + at.work * lanes, j->work + run, 1, lanes, lane);
    into_lane(all.p, j->p + run * j->p_run, j->np, lanes, lane);
    inputs(j, &all, lanes, lane, run, 0);
  }
  for (integer k = 0; living && k <= j->steps; ++k) {
    if (k) {
      if (together) step(&j->single, &fast, j, &all, lanes, new);
      const double *error = new + nx * lanes, *v = all.x + at.v * lanes;
      memset(speed, 0, lanes * sizeof(double));
      memset(sum, 0, lanes * sizeof(double));
      for (integer i = 0; i < j->nv; ++i)
        for (integer lane = 0; lane < lanes; ++lane) speed[lane] += fabs(v[i * lanes + lane]);
      if (together)
        for (integer i = 0; i < nx; ++i)  /* 0, or NaN if something is infinite */
          for (integer lane = 0; lane < lanes; ++lane) sum[lane] += 0.0 * new[i * lanes + lane];
      int mixed = living < lanes;
      for (integer lane = 0; lane < count; ++lane) {
        integer run = first + lane;
        if (!alive[lane]) continue;
        if (!together || !(error[lane] <= 1) || sum[lane] != 0 || (j->has_loops && speed[lane] == 0)) {
          out_of_lane(one.x, all.x, nx, lanes, lane);
          out_of_lane(one.u, all.u, j->nu, lanes, lane);
          out_of_lane(one.p, all.p, j->np, lanes, lane);
          step(&j->step, &slow, j, &one, 1, alone);
          double total = 0, *verdict = alone + nx;
          for (integer i = 0; i < nx + j->nverdict; ++i) total += 0.0 * alone[i];
          if (total != 0 || verdict[j->left_open] != 0) {
            j->status[run] = total != 0 ? INFINITE : OPEN;
            alive[lane] = 0, living--, mixed = 1;
            continue;
          }
          for (integer i = 0; i < j->nverdict; ++i) j->counters[run * j->nverdict + i] += verdict[i];
          into_lane(new, alone, nx, lanes, lane);
        }
        j->taken[run] = k;
      }
      if (!mixed)
        memcpy(all.x, new, nx * lanes * sizeof(double));
      else
        for (integer lane = 0; lane < count; ++lane)
          if (alive[lane])
            for (integer i = 0; i < nx; ++i) all.x[i * lanes + lane] = new[i * lanes + lane];
      if (k % TELL == 0) {
        __atomic_add_fetch(&j->done, TELL * count, __ATOMIC_RELAXED);
        told += TELL;
        if (__atomic_load_n(&j->stop, __ATOMIC_RELAXED)) return 1;
      }
    }
    if (j->outputs.run && k % j->every == 0 && living) {
      integer width = j->outputs.lanes;
      for (integer lane = 0; lane < lanes; lane += width) {
        const place *here = width == lanes ? &all : &one;
        if (here == &one) {
          if (lane >= count || !alive[lane]) continue;
          out_of_lane(one.x, all.x, nx, lanes, lane);
          out_of_lane(one.u, all.u, j->nu, lanes, lane);
          out_of_lane(one.p, all.p, j->np, lanes, lane);
        }
        const double *x = here->x, *in[] = {x, x + at.v * width, x + at.z * width, here->u, here->p};
        call(&j->outputs, &read, in, 5, &here->y, 1);
        for (integer c = 0; c < width && lane + c < count; ++c)
          if (alive[lane + c]) {
            out_of_lane(row, here->y, j->ny, width, c);
            record(j, row, all.x[at.work * lanes + lane + c], first + lane + c, k / j->every);
          }
      }
    }
    if ((j->u_step || j->gain) && k && k < j->steps)
      for (integer lane = 0; lane < lanes; ++lane)
        inputs(j, &all, lanes, lane, first + (lane < count ? lane : count - 1), k);
  }
  for (integer lane = 0; lane < count; ++lane) {
    integer run = first + lane;
    out_of_lane(j->q + run * j->nq, all.x, j->nq, lanes, lane);
    out_of_lane(j->v + run * j->nv, all.x + at.v * lanes, j->nv, lanes, lane);
    out_of_lane(j->z + run * j->nz, all.x + at.z * lanes, j->nz, lanes, lane);
    out_of_lane(j->work + run, all.x + at.work * lanes, 1, lanes, lane);
  }
  __atomic_add_fetch(&j->done, (j->steps - told) * count, __ATOMIC_RELAXED);
  return 0;
}

/* Blocks of a job until none is left: 0 done, 1 stopped, 2 no memory. */
int rollout(job *j) {
  integer lanes = j->single.run ? j->single.lanes : 1, nx = moving(j);
  size_t size = room_size(&j->single) + room_size(&j->step) + room_size(&j->outputs) + place_size(j, lanes) +
                place_size(j, 1) + padded((nx + 1) * lanes * sizeof(double)) +
                padded((nx + j->nverdict) * sizeof(double)) + 2 * padded(lanes * sizeof(double)) +
                padded((j->ny + 1) * sizeof(double)) + padded(lanes);
  char *memory = calloc(1, size + LINE);
  if (!memory) return 2;
  char *aligned = memory + (LINE - (size_t)memory % LINE) % LINE;
  int stopped = 0;
  while (!stopped && !__atomic_load_n(&j->stop, __ATOMIC_RELAXED)) {
    integer block = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED);
    if (block * lanes >= j->n) break;
    switch (lanes) {
      case 8: stopped = move_block(j, block * 8, 8, aligned); break;
      case 4: stopped = move_block(j, block * 4, 4, aligned); break;
      case 2: stopped = move_block(j, block * 2, 2, aligned); break;
      default: stopped = move_block(j, block, 1, aligned);
    }
  }
  free(memory);
  return stopped;
}

/* A kernel at many places: rows of arguments to rows of results; a distance of 0 is one row for all. */
typedef struct {
  kernel kernel;
  integer n, n_in, n_out;
  const integer *in_size, *out_size, *in_run;
  const double *const *in;
  double *const *out;
  integer next, stop;
} places;

int evaluate(places *j) {
  integer lanes = j->kernel.lanes;
  size_t size = room_size(&j->kernel);
  for (integer k = 0; k < j->n_in; ++k) size += padded((j->in_size[k] + 1) * lanes * sizeof(double));
  for (integer k = 0; k < j->n_out; ++k) size += padded((j->out_size[k] + 1) * lanes * sizeof(double));
  size += padded(j->n_in * sizeof(void *)) + padded(j->n_out * sizeof(void *));
  char *memory = calloc(1, size + LINE);
  if (!memory) return 2;
  char *free_from = memory + (LINE - (size_t)memory % LINE) % LINE;
  room r = room_for(&j->kernel, &free_from);
  double **in = take(&free_from, j->n_in * sizeof(void *)), **out = take(&free_from, j->n_out * sizeof(void *));
  for (integer k = 0; k < j->n_in; ++k) in[k] = take(&free_from, (j->in_size[k] + 1) * lanes * sizeof(double));
  for (integer k = 0; k < j->n_out; ++k) out[k] = take(&free_from, (j->out_size[k] + 1) * lanes * sizeof(double));
  while (!__atomic_load_n(&j->stop, __ATOMIC_RELAXED)) {
    integer first = lanes * __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED);
    if (first >= j->n) break;
    integer count = j->n - first < lanes ? j->n - first : lanes;
    for (integer lane = 0; lane < lanes; ++lane)
      for (integer k = 0; k < j->n_in; ++k) {
        integer run = first + (lane < count ? lane : count - 1);
        into_lane(in[k], j->in[k] + run * j->in_run[k], j->in_size[k], lanes, lane);
      }
    call(&j->kernel, &r, (const double *const *)in, (int)j->n_in, out, (int)j->n_out);
    for (integer lane = 0; lane < count; ++lane)
      for (integer k = 0; k < j->n_out; ++k)
        out_of_lane(j->out[k] + (first + lane) * j->out_size[k], out[k], j->out_size[k], lanes, lane);
  }
  free(memory);
  return 0;
}
