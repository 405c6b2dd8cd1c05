/* One instance of a mechanism, independent of the FMI version that wraps it.
 *
 * sizes.h and tables.h are written at export; everything the mechanism computes is in step.c,
 * kernels.c and derivatives.c, generated from the engine's traced functions. Nothing is allocated
 * but the instance itself and the states that a host asks to keep; nothing is global.
 */
#ifndef CUTJOINT_CORE_H
#define CUTJOINT_CORE_H

#include <float.h>
#include <stddef.h>
#include "names.h"
#include "sizes.h"

#if defined(__cplusplus)
#define CJ_C extern "C"
#else
#define CJ_C
#endif
#if defined(_WIN32)
#define CJ_EXPORT CJ_C __declspec(dllexport)
#elif defined(__GNUC__)
#define CJ_EXPORT CJ_C __attribute__((visibility("default")))
#else
#define CJ_EXPORT CJ_C
#endif

#define NEVER DBL_MAX
#define CJ_ROOM(n) ((n) > 0 ? (n) : 1) /* C has no arrays of length zero */
#define IN(slot, first, count) ((count) > 0 && (slot) >= (unsigned)(first) && (slot) < (unsigned)((first) + (count)))

typedef enum { CJ_OK, CJ_WARNING, CJ_DISCARD, CJ_ERROR } cj_status; /* as FMI counts them */
typedef enum { CJ_CREATED, CJ_INITIALIZING, CJ_EVENT, CJ_CONTINUOUS, CJ_STEPPING, CJ_BETWEEN, CJ_TERMINATED } cj_phase;

/* A pose and its speeds; displacements from the chart's reference and their rates. */
typedef struct { double q[CJ_ROOM(NQ)], v[CJ_ROOM(NV)], d[CJ_ROOM(NV)], rate[CJ_ROOM(NV)]; } cj_motion;

/* All that the future depends on. A saved state is a copy of it, byte by byte. */
typedef struct {
    double time, work, stop, tries; /* tries: of the last communication step */
    cj_motion at, seen; /* now, and when it was watched last */
    double seen_dv[CJ_ROOM(NV)], u[CJ_ROOM(2 * NU)], p[CJ_ROOM(NP)]; /* inputs, and their rates in co-simulation */
    double start_q[CJ_ROOM(NQ)], start_v[CJ_ROOM(NV)];
    double r[CJ_ROOM(NQ)], free_d[CJ_ROOM(NV)], free_v[CJ_ROOM(NV)]; /* the chart: model/manifold */
    double state_d[CJ_ROOM(NV)], state_v[CJ_ROOM(NV)]; /* states that the host has set, at independent places */
    double sensed[CJ_ROOM(NSENSED)], told_at; /* what sampled sensors remember; the time whose readings they tell */
    int independent[CJ_ROOM(NF)]; /* coordinates; the first NS are those whose speeds are independent too */
    int phase;
    int assembled; /* q, v follow from parameters and start values */
    int followed;  /* q, v are where driven motions are told to be */
    int charted;   /* there is a chart */
    int placed;    /* d belongs to q */
    int lifted;    /* q and v belong to the states */
} cj_state;

typedef int (*cj_function)(const double**, double**, long long int*, double*, int);
typedef void (*cj_logger)(void* host, cj_status status, const char* category, const char* message);

typedef struct cj_instance cj_instance;
struct cj_instance {
    cj_state now;
    int exchange; /* model exchange, not co-simulation */
    unsigned logging; /* a bit for each category that the host wants to hear of */
    cj_logger log;
    void* host;
    cj_function step;                            /* inputs go along a line */
    cj_function sampling;
    void (*ask)(cj_instance*, double time); /* for the inputs of that time, if the host likes to be asked */
    int known_y, known_rates, known_sigma, known_linear; /* which of the results below are up to date */
    double y[CJ_ROOM(NY)], dv[CJ_ROOM(NV)], dz[CJ_ROOM(NI)];
    int rank;
    double sigma, left[CJ_ROOM(NM)], right[CJ_ROOM(NV)];
    double linear[CJ_ROOM(NLINEAR)];
    double g[CJ_ROOM(NM)], G[CJ_ROOM(NM * NV)], copy[CJ_ROOM(NM * NV)], U[CJ_ROOM(NM * NM)];
    cj_motion next;
    double step_q[3][CJ_ROOM(NQ)], step_v[3][CJ_ROOM(NV)], step_work[3], verdict[NVERDICT]; /* the third: to look */
    double sensed[2][CJ_ROOM(NSENSED)];
    struct {
        double d[CJ_ROOM(NV)], v[CJ_ROOM(NV)], z[CJ_ROOM(NI)], u[CJ_ROOM(NU)], p[CJ_ROOM(NP)];
        double rate[CJ_ROOM(NV)], dv[CJ_ROOM(NV)], dz[CJ_ROOM(NI)], y[CJ_ROOM(NY)], q[CJ_ROOM(NQ)];
        double sigma, rank; /* a rank has no slope: its seed leads nowhere */
    } seed;
    double out_p[CJ_ROOM(NP)], new_p[CJ_ROOM(NP)];
    unsigned slots[2][SLOT_END]; /* room to write out arrays */
    const double* arg[CJ_ROOM(SIZE_ARG)];
    double* res[CJ_ROOM(SIZE_RES)];
    long long int iw[CJ_ROOM(SIZE_IW)];
    double w[CJ_ROOM(SIZE_W)];
};

void cj_begin(cj_instance*, int exchange);   /* defaults; fill log and host before */
void cj_reset(cj_instance*);
cj_status cj_do_step(cj_instance*, double time, double length);
cj_status cj_set_input_rate(cj_instance*, unsigned slot, int order, double rate);
cj_status cj_output_rates(cj_instance*, const unsigned* slots, const int* orders, size_t n, double* result);
cj_status cj_get(cj_instance*, unsigned slot, double* value);
void cj_read(cj_instance*);              /* y of the present state */
double cj_next_change(cj_instance*); /* when sampled sensors tell something new; NEVER without */
cj_status cj_set(cj_instance*, const unsigned* slots, size_t n, const double* values);
cj_status cj_directional(cj_instance*, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk,
                         const double* seed, double* result);
cj_status cj_adjoint(cj_instance*, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk,
                     const double* seed, double* result);
void cj_set_states(cj_instance*, const double* x);
cj_status cj_get_states(cj_instance*, double* x);
cj_status cj_rates(cj_instance*, double* dx);
cj_status cj_watch(cj_instance*, int fresh, double* room); /* how far the chart is from being left */
cj_status cj_event(cj_instance*, int* changed);            /* a new chart if the present one is poor */
cj_status cj_new_chart(cj_instance*);
int cj_coordinate(cj_instance*, unsigned k); /* which speed state k stands for, from 1; 0 if out of range */
void cj_forget(cj_instance*);                /* results are out of date */

/* Tell the host, if it wants to know; returns the status. */
unsigned cj_category(const char* name); /* its bit, 0 if there is none */
cj_status cj_say(cj_instance*, cj_status status, const char* category, const char* format, ...);
#define cj_refuse(s, ...) cj_say((cj_instance*)(s), CJ_ERROR, "logStatusError", __VA_ARGS__)

/* Call a traced function with lists of its arguments and results in order. */
void cj_evaluate(cj_instance*, cj_function f, const double* const* in, size_t n_in, double* const* out, size_t n_out);
#define CJ_IN(...) __VA_ARGS__
#define CJ_OUT(...) __VA_ARGS__
#define cj_call(s, f, in, out) \
    do { \
        const double* const in_[] = {in}; \
        double* const out_[] = {out}; \
        cj_evaluate(s, f, in_, sizeof in_ / sizeof *in_, out_, sizeof out_ / sizeof *out_); \
    } while (0)

/* between the files of the core */
void cj_later(cj_instance*, const double* u, double t, double* w);
void cj_sample(cj_instance*); /* samples that are due now, and what is told from now on */
void cj_sample_at(cj_instance*, const double* q, const double* v, const double* u, double time, double* memory);
void cj_sample_start(cj_instance*, const double* u, double time);
void cj_sample_inside(cj_instance*, const double* q, const double* v, const double* work, const double* w, double begin, double end,
                      const double* q1, const double* v1);
cj_status cj_assemble(cj_instance*);
cj_status cj_check_parameters(cj_instance*, const double* p, int together);
cj_status cj_lift(cj_instance*);
void cj_hold(cj_instance*); /* the states as they are, although inputs move what depends on them */
void cj_tell(cj_state*, const double* u); /* driven motions among inputs, to where loops look for them */
cj_status cj_in_chart(cj_instance*);
double cj_room(cj_instance*);
double cj_largest(const double* x, int n);
const char* cj_widest(cj_instance*, double* gap);
void cj_sigma(cj_instance*);
cj_status cj_linearize(cj_instance*);

double cj_singular(const double* G, int m, int n, int rank, double part, int* found, double* R, double* U, double* a, double* b);

#endif
