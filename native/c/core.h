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

/* What the compiler holds for us, in C99 too: an array of a negative length is refused. */
#define CJ_HOLDS(name, fact) typedef char cj_holds_##name[(fact) ? 1 : -1]
#define CJ_LENGTH(array) (sizeof(array) / sizeof *(array))

typedef enum { CJ_OK, CJ_WARNING, CJ_DISCARD, CJ_ERROR } cj_status; /* as FMI counts them */
typedef enum { CJ_CREATED, CJ_INITIALIZING, CJ_EVENT, CJ_CONTINUOUS, CJ_STEPPING, CJ_BETWEEN, CJ_TERMINATED } cj_phase;

/* A pose and its speeds; displacements from the chart's reference and their rates. */
typedef struct { double q[CJ_ROOM(NQ)], v[CJ_ROOM(NV)], d[CJ_ROOM(NV)], rate[CJ_ROOM(NV)]; } cj_motion;

/* What a step moves. */
typedef struct { double q[CJ_ROOM(NQ)], v[CJ_ROOM(NV)], z[CJ_ROOM(NI)], work; } cj_place;

/* All that the future depends on. A saved state is a copy of it, byte by byte. */
typedef struct {
    double time, work, stop, tries; /* tries: of the last communication step */
    cj_motion at, seen; /* now, and when it was watched last */
    double z[CJ_ROOM(NI)]; /* internal states of drives and friction */
    double seen_dv[CJ_ROOM(NV)], u[CJ_ROOM(2 * NU)], p[CJ_ROOM(NP)]; /* inputs, and their rates in co-simulation */
    double start_q[CJ_ROOM(NQ)], start_v[CJ_ROOM(NV)];
    double r[CJ_ROOM(NQ)], dependent_d[CJ_ROOM(NV)], dependent_v[CJ_ROOM(NV)]; /* the chart: model/manifold */
    double state_d[CJ_ROOM(NV)], state_v[CJ_ROOM(NV)]; /* states that the host has set, at independent places */
    double sensed[CJ_ROOM(NSENSED)], told_at; /* what sampled sensors remember; the time whose readings they tell */
    int independent[CJ_ROOM(NF)]; /* coordinates; the first NS are those whose speeds are independent too */
    int side[CJ_ROOM(NKINKS)]; /* on which of a kink's sides the state was at the last event: 1, -1, or 0 before the first */
    int ticks[CJ_ROOM(NCLOCKS)]; /* clocks that the host has activated in this event */
    int phase;
    int assembled; /* q, v follow from parameters and start values */
    int followed;  /* q, v are where driven motions are told to be */
    int charted;   /* there is a chart */
    int singular;  /* it was taken, in co-simulation, where there is none: states can be read, derivatives can't */
    int placed;    /* d belongs to q */
    int lifted;    /* q and v belong to the states */
} cj_state;

CJ_HOLDS(numbers_first, offsetof(cj_state, independent) % sizeof(double) == 0); /* saved states are looked through so */
CJ_HOLDS(states, NX == NF + NS + NI);
CJ_HOLDS(starts, SLOT_START_V == SLOT_START_Q + NQ && SLOT_OUTPUT == SLOT_START_V + NV);
CJ_HOLDS(inputs, SLOT_PARAMETER == SLOT_INPUT + NU && SLOT_START_Q == SLOT_PARAMETER + NP);

typedef int (*cj_function)(const double**, double**, long long int*, double*, int);
typedef void (*cj_logger)(void* host, cj_status status, const char* category, const char* message);

typedef struct cj_instance cj_instance;
struct cj_instance {
    cj_state now, before; /* and before a call that may be refused */
    int remembered;       /* whether the latter is worth going back to */
    int exchange; /* model exchange, not co-simulation */
    int events, early; /* co-simulation: there is an event mode, and a step may end early */
    int event, returns_early, shortened; /* of the last step: it ended at an event, or before its time, or is made to */
    int holds;                           /* it leaves samples, which are due at its end at the earliest, to the event */
    cj_status (*hold)(cj_instance*);                      /* of model exchange: cj_hold and cj_set_state */
    void (*put_state)(cj_instance*, int k, double value);
    double (*until_change)(cj_instance*, double time, double length); /* what looks for events, if anything does */
    int (*until_kink)(cj_instance*, const cj_place* from, const double* w, double* h, cj_place* to);
    unsigned logging; /* a bit for each category that the host wants to hear of */
    cj_logger log;
    void* host;
    cj_function step;                            /* inputs go along a line */
    cj_function sampling;
    void (*ask)(cj_instance*, double time); /* for the inputs of that time, if the host likes to be asked */
    int known_y, known_rates, known_sigma, known_linear, known_kinks; /* which of the results below are up to date */
    double y[CJ_ROOM(NY)], dv[CJ_ROOM(NV)], dz[CJ_ROOM(NI)];
    int rank;
    double sigma, left[CJ_ROOM(NM)], right[CJ_ROOM(NV)];
    double linear[CJ_ROOM(NLINEAR)], kinks[CJ_ROOM(NKINKS)];
    double g[CJ_ROOM(NM)], G[CJ_ROOM(NM * NV)], copy[CJ_ROOM(NM * NV)], U[CJ_ROOM(NM * NM)];
    cj_motion next;
    cj_place step_to[3]; /* the third: to look */
    double verdict[NSTEP_INFO];
    double sensed[2][CJ_ROOM(NSENSED)];
    struct {
        double d[CJ_ROOM(NV)], v[CJ_ROOM(NV)], z[CJ_ROOM(NI)], u[CJ_ROOM(NU)], p[CJ_ROOM(NP)];
        double rate[CJ_ROOM(NV)], dv[CJ_ROOM(NV)], dz[CJ_ROOM(NI)], y[CJ_ROOM(NY + NKINKS)], theta[CJ_ROOM(NV)];
        double start_q[CJ_ROOM(NQ)], start_v[CJ_ROOM(NV)];
        double sigma, rank; /* a rank has no slope: its seed leads nowhere */
    } seed, wanted;     /* `wanted`: what is still to be gone along */
    int moved;          /* the pose goes along, and with it the chart's reference, which rates are then those of */
    cj_state aside;
    double guess[CJ_ROOM(NQ)], free_v[CJ_ROOM(NV)], held_v[CJ_ROOM(NV)], column[CJ_ROOM(SLOT_END)];
    double out_p[CJ_ROOM(NP)], new_p[CJ_ROOM(NP)], motions[CJ_ROOM(NMOTION)], motions_dot[CJ_ROOM(NMOTION)];
    unsigned slots[2][SLOT_END]; /* room to write out arrays */
    const double* arg[CJ_ROOM(SIZE_ARG)];
    double* res[CJ_ROOM(SIZE_RES)];
    long long int iw[CJ_ROOM(SIZE_IW)];
    double w[CJ_ROOM(SIZE_W)];
};

void cj_begin(cj_instance*, int exchange);   /* defaults; fill log and host before */
void cj_reset(cj_instance*);
cj_status cj_do_step(cj_instance*, double time, double length);
cj_status cj_check_input_rate(cj_instance*, unsigned slot, int order, double rate);
cj_status cj_output_rates(cj_instance*, const unsigned* slots, const int* orders, size_t n, double* result);
/* What is worked out when it is asked for changes the state: a call that is refused gives it back as it was, to the byte. */
void cj_remember(cj_instance*);
cj_status cj_undo(cj_instance*, cj_status status); /* returns the status */
int cj_readable(unsigned slot);
cj_status cj_get(cj_instance*, unsigned slot, double* value);
void cj_read(cj_instance*);              /* y of the present state */
double cj_next_change(cj_instance*); /* when sampled sensors tell something new; NEVER without */
cj_status cj_set(cj_instance*, const unsigned* slots, size_t n, const double* values);
cj_status cj_directional(cj_instance*, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk,
                         const double* seed, double* result);
cj_status cj_adjoint(cj_instance*, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk,
                     const double* seed, double* result);
void cj_set_state(cj_instance*, int k, double value); /* after cj_hold */
cj_status cj_set_states(cj_instance*, const double* x);
cj_status cj_get_states(cj_instance*, double* x);
cj_status cj_rates(cj_instance*, double* dx);
cj_status cj_watch(cj_instance*, int fresh, double* room); /* how far the chart is from being left */
double cj_kink(cj_instance*, int k);                       /* an indicator of an element */
void cj_take_sides(cj_instance*);                          /* of kinks, at an event */
cj_status cj_indicators(cj_instance*, double* z);          /* that of the chart, if there is one, and those of elements */
cj_status cj_event(cj_instance*, int* changed);            /* a new chart if the present one is poor */
cj_status cj_new_chart(cj_instance*);
int cj_coordinate(cj_instance*, unsigned k); /* which speed state k stands for, from 1; 0 if out of range */
void cj_forget(cj_instance*);                /* results are out of date */

/* Tell the host, if it wants to know; returns the status. */
unsigned cj_category(const char* name); /* its bit, 0 if there is none */
cj_status cj_say(cj_instance*, cj_status status, const char* category, const char* format, ...);
#define cj_refuse(s, ...) cj_say((cj_instance*)(s), CJ_ERROR, "logStatusError", __VA_ARGS__)

/* Call a traced function with lists of its arguments and results in order; tables.h says how many it has. */
void cj_evaluate(cj_instance*, cj_function f, const double* const* in, size_t n_in, double* const* out, size_t n_out);
#define CJ_IN(...) __VA_ARGS__
#define CJ_OUT(...) __VA_ARGS__
#define cj_call(s, f, in, out) cj_call_as(s, f, f##_n_in, f##_n_out, CJ_IN(in), CJ_OUT(out))
#define cj_call_as(s, f, n_in, n_out, in, out) \
    do { \
        const double* const in_[] = {in}; \
        double* const out_[] = {out}; \
        (void)sizeof(char[CJ_LENGTH(in_) == (n_in) && CJ_LENGTH(out_) == (n_out) ? 1 : -1]); \
        cj_evaluate(s, f, in_, CJ_LENGTH(in_), out_, CJ_LENGTH(out_)); \
    } while (0)

/* between the files of the core */
void cj_later(cj_instance*, const double* u, double t, double* w);
void cj_tell(cj_instance*);   /* what is told from now on; samples that are due are looked at */
void cj_sample(cj_instance*); /* samples that are due now, and what is told from now on */
void cj_sample_start(cj_instance*, const double* u, double time);
void cj_sample_inside(cj_instance*, const cj_place* from, const double* w, double begin, double end, const cj_place* to);
double cj_until_change(cj_instance*, double time, double length);
int cj_until_kink(cj_instance*, const cj_place* from, const double* w, double* h, cj_place* to);
cj_status cj_event_between(cj_instance*); /* in co-simulation */
void cj_now(const cj_state*, cj_place* place);
void cj_step_from(cj_instance*, const cj_place* from, const double* w, double h, cj_place* to, double* verdict);
void cj_choose_start(cj_instance*);
cj_status cj_assemble(cj_instance*);
int cj_sampling_now(cj_instance*); /* whether what sensors tell is a sample of this very state */
cj_status cj_check_parameters(cj_instance*, const double* p, int together);
cj_status cj_lift(cj_instance*);
cj_status cj_hold(cj_instance*); /* the states as they are, although inputs move what depends on them */
const double* cj_motions(cj_instance*, const double* u); /* driven motions among inputs, as what closes loops takes them */
cj_status cj_in_chart(cj_instance*);
double cj_room(cj_instance*);
cj_status cj_singular_pose(cj_instance*); /* says so */
double cj_largest(const double* x, int n);
const char* cj_widest(cj_instance*, double* gap);
void cj_sigma(cj_instance*);
cj_status cj_linearize(cj_instance*);

double cj_singular(const double* G, int m, int n, int rank, double part, int* found, double* R, double* U, double* a, double* b);

#endif
