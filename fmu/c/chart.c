/* The chart that makes independent coordinates states of closed loops.
 *
 * The equations are in model/manifold/lift.py; here they are iterated and charts are chosen.
 */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <string.h>

#define NEWTON_MOST 12 /* iterations of a lift; two or three are usual */
#define CLOSED 1e-13   /* residual at which a lift ends, metres or radians */
#define NEAR 0.5       /* longest displacement that the start of a lift is moved by */
#define POOR 0.7       /* a chart is left when its smallest pivot is this share of the best one's */
#define FAR 1.0        /* a ball is given a new reference beyond this displacement (about 53 degrees) */
#define ROUGHLY 0.02   /* of a margin: events are located only so well */
#define SINGULAR 1e-7  /* no chart is made where the smallest pivot is this share of the Jacobian's entries */
#define JUMP 0.05      /* of the speeds: a change that accelerations don't explain */

double cj_largest(const double* x, int n)
{
    double most = 0;
    for (int i = 0; i < n; ++i)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]); /* NaN wins */
    return most;
}

/* d_next = d + one Newton step of the dependent entries; g = residual at r (+) d */
void cj_newton(cj_instance* s, const double* r, const double* d, const double* dependent, double* d_next)
{
    s->arg[0] = r; s->arg[1] = d; s->arg[2] = dependent; s->arg[3] = s->now.p;
    s->res[0] = d_next; s->res[1] = s->g;
    cj_chart_step(s->arg, s->res, s->iw, s->w, 0);
}

void cj_move(cj_instance* s, const double* r, const double* d, double* q)
{
    s->arg[0] = r; s->arg[1] = d;
    s->res[0] = q;
    cj_place(s->arg, s->res, s->iw, s->w, 0);
}

void cj_speeds(cj_instance* s, const double* q, const double* v, const double* dependent, double* v_next)
{
    s->arg[0] = q; s->arg[1] = v; s->arg[2] = dependent; s->arg[3] = s->now.p;
    s->res[0] = v_next;
    cj_chart_speed(s->arg, s->res, s->iw, s->w, 0);
}

/* d' from d and v, at the present time */
static void place_rates(cj_instance* s)
{
    s->arg[0] = s->now.d; s->arg[1] = s->now.v;
    s->res[0] = s->now.rate;
    cj_chart_rates(s->arg, s->res, s->iw, s->w, 0);
    s->now.lift_time = s->now.time;
}

static cj_status singular(cj_instance* s)
{
    cj_say(s, CJ_ERROR, "logStatusError",
           "the mechanism is in or passes a singular pose near %.9g s, where no independent coordinates exist; %s", s->now.time,
           s->exchange ? "take smaller steps around it, or use co-simulation, which needs none"
                       : "there are no states and no derivatives here, but steps go on");
    return CJ_ERROR;
}

/* Dependent displacements by Newton's method from d on; whether the loops are closed then. */
static int close_loops(cj_instance* s, double* d)
{
    const cj_state* x = &s->now;
    int closed = NM == 0;
    for (int k = 0; k < NEWTON_MOST && !closed; ++k) {
        cj_newton(s, x->r, d, x->dependent, s->hv);
        const double gap = cj_largest(s->g, NM);
        if (!(gap < 10)) return 0;
        closed = gap < CLOSED;
        memcpy(d, s->hv, sizeof s->hv);
    }
    if (NM && !closed) {
        cj_newton(s, x->r, d, x->dependent, s->hv);
        closed = cj_largest(s->g, NM) < 100 * CLOSED; /* round-off of large mechanisms */
    }
    return closed && isfinite(cj_largest(d, NV));
}

/* q and v from the states: dependent displacements, then dependent speeds.
 *
 * Newton's method starts where the last speeds lead by now. Near a singular pose two branches of closed
 * poses lie side by side, and this start is what leads on to the one that momentum takes. */
cj_status cj_lift(cj_instance* s)
{
    cj_state* x = &s->now;
    if (x->lifted) return CJ_OK;
    double d[CJ_ROOM(NV)];
    const double since = x->time - x->lift_time;
    memcpy(d, x->d, sizeof d);
    for (int j = 0; j < NV; ++j)
        if (x->dependent[j] != 0 && fabs(since * x->rate[j]) < NEAR) d[j] += since * x->rate[j];
    int closed = close_loops(s, d);
    if (!closed) {
        memcpy(d, x->d, sizeof d);
        closed = close_loops(s, d);
    }
    if (!closed) {
        cj_say(s, CJ_DISCARD, "logStatusDiscard",
               "no closed pose was found at the given states at %.9g s; take a smaller step", x->time);
        return CJ_DISCARD;
    }
    cj_move(s, x->r, d, s->next_q);
    cj_speeds(s, s->next_q, x->v, x->dependent, s->hv2);
    memcpy(x->d, d, sizeof d);
    memcpy(x->q, s->next_q, sizeof x->q);
    memcpy(x->v, s->hv2, sizeof x->v);
    place_rates(s);
    x->lifted = x->placed = 1;
    return CJ_OK;
}

static void jacobian(cj_instance* s, const double* q)
{
    s->arg[0] = q; s->arg[1] = s->now.p;
    s->res[0] = s->g; s->res[1] = s->G;
    cj_closure(s->arg, s->res, s->iw, s->w, 0);
}

/* A new chart at the present pose, by QR with column pivoting: the chosen columns are dependent. */
cj_status cj_new_chart(cj_instance* s)
{
    cj_state* x = &s->now;
    cj_status status = cj_lift(s);
    if (status != CJ_OK) return status;
    jacobian(s, x->q);
    const double scale = cj_largest(s->G, NM * NV);
    if (cj_pivots(s->G, NM, NV, RANK, NULL, s->hv) < SINGULAR * scale) return singular(s);
    memcpy(x->dependent, s->hv, sizeof x->dependent);
    for (int j = 0, k = 0; j < NV && k < NF; ++j)
        if (x->dependent[j] == 0) x->independent[k++] = j;
    memcpy(x->r, x->q, sizeof x->r);
    memset(x->d, 0, sizeof x->d);
    x->charted = x->placed = 1;
    place_rates(s);
    cj_forget(s);
    cj_say(s, CJ_OK, "logDynamicStateSelection", "new states chosen at %.9g s", x->time);
    return CJ_OK;
}

/* How far the chart is from being left; negative beyond. The pose is in the chart already. */
double cj_margin(cj_instance* s)
{
    const cj_state* x = &s->now;
    double room = 1;
    if (RANK > 0) {
        jacobian(s, x->q);
        memcpy(s->copy, s->G, sizeof s->copy);
        const double best = cj_pivots(s->copy, NM, NV, RANK, NULL, s->hv);
        memcpy(s->copy, s->G, sizeof s->copy);
        const double mine = cj_pivots(s->copy, NM, NV, RANK, x->dependent, s->hv);
        room = mine / best - POOR;
    }
    for (int j = 0; j < NV; ++j)
        if (q_of_v[j] < 0 && !(FAR - fabs(x->d[j]) >= room)) room = FAR - fabs(x->d[j]);
    return room;
}

/* The margin of the chart, at a state that the host's solver has come to; `fresh`: not by integrating.
 *
 * At a singular pose two branches of closed poses meet, and a solver may leave on the wrong one, with speeds
 * that jump. It can have passed one only if the dependent columns of the Jacobian have changed by more than
 * they were from linear dependence. If so, the speeds must be what the accelerations at both ends make
 * of them. */
cj_status cj_watch(cj_instance* s, int fresh, double* room)
{
    cj_state* x = &s->now;
    double rates[CJ_ROOM(2 * NF)];
    cj_status status = cj_rates(s, rates);
    if (status != CJ_OK) return status;
    *room = cj_margin(s);
    if (!(*room == *room)) return singular(s);
    const double length = x->time - x->seen_time;
    if (RANK > 0 && !fresh && length != 0) {
        double changed = 0;
        memcpy(s->copy, s->G, sizeof s->copy);
        jacobian(s, x->seen_q);
        for (int j = 0; j < NV; ++j)
            for (int i = NM * j; i < NM * (j + 1) && x->dependent[j] != 0; ++i)
                changed += (s->copy[i] - s->G[i]) * (s->copy[i] - s->G[i]);
        const double after = cj_pivots(s->copy, NM, NV, RANK, x->dependent, s->hv);
        const double before = cj_pivots(s->G, NM, NV, RANK, x->dependent, s->hv);
        if (fmin(before, after) < sqrt(changed)) {
            double jump = 0, size = 0;
            for (int j = 0; j < NV; ++j) {
                const double miss = x->v[j] - x->seen_v[j] - 0.5 * length * (s->dv[j] + x->seen_dv[j]);
                jump += miss * miss;
                size += x->v[j] * x->v[j] + x->seen_v[j] * x->seen_v[j];
            }
            if (!(jump <= JUMP * JUMP * size)) return singular(s);
        }
    }
    x->seen_time = x->time;
    memcpy(x->seen_q, x->q, sizeof x->q);
    memcpy(x->seen_v, x->v, sizeof x->v);
    memcpy(x->seen_dv, s->dv, sizeof x->seen_dv);
    return CJ_OK;
}

/* What an event is for: other states if the present ones are about to degrade, and a fresh look at the motion,
 * since the host may have changed states and inputs. */
cj_status cj_event(cj_instance* s, int* changed)
{
    double room;
    cj_status status = cj_watch(s, 1, &room);
    *changed = status == CJ_OK && room < ROUGHLY;
    return *changed ? cj_new_chart(s) : status;
}

/* In co-simulation the pose moves on by itself: find its place in the chart, or take a new chart. */
cj_status cj_in_chart(cj_instance* s)
{
    cj_state* x = &s->now;
    cj_status status = cj_lift(s);
    if (status != CJ_OK || (x->charted && x->placed)) return status;
    if (!x->charted) return cj_new_chart(s);
    s->arg[0] = x->r; s->arg[1] = x->q;
    s->res[0] = x->d;
    cj_displacement(s->arg, s->res, s->iw, s->w, 0);
    x->placed = 1;
    return cj_margin(s) < 0 ? cj_new_chart(s) : CJ_OK;
}

/* -- states ------------------------------------------------------------------------------------ */

/* A state of position is the coordinate itself where there is one, else the displacement. */
static double base(const cj_state* x, int j) { return q_of_v[j] < 0 ? 0 : x->r[q_of_v[j]]; }

cj_status cj_get_states(cj_instance* s, double* out)
{
    cj_state* x = &s->now;
    if (!x->charted || (x->lifted && !x->placed)) {
        cj_status status = cj_in_chart(s);
        if (status != CJ_OK) return status;
    }
    for (int k = 0; k < NF; ++k) {
        out[k] = base(x, x->independent[k]) + x->d[x->independent[k]];
        out[NF + k] = x->v[x->independent[k]];
    }
    return CJ_OK;
}

void cj_set_states(cj_instance* s, const double* in)
{
    cj_state* x = &s->now;
    for (int k = 0; k < NF; ++k) {
        x->d[x->independent[k]] = in[k] - base(x, x->independent[k]);
        x->v[x->independent[k]] = in[NF + k];
    }
    x->lifted = 0;
    cj_forget(s);
}

cj_status cj_rates(cj_instance* s, double* out)
{
    cj_state* x = &s->now;
    cj_status status = cj_in_chart(s);
    if (status != CJ_OK) return status;
    if (!s->known_rates) {
        s->arg[0] = x->q; s->arg[1] = x->v; s->arg[2] = x->u; s->arg[3] = x->p;
        s->res[0] = s->dv; s->res[1] = NULL;
        cj_dynamics(s->arg, s->res, s->iw, s->w, 0);
        place_rates(s);
        s->known_rates = 1;
    }
    for (int k = 0; k < NF; ++k) {
        out[k] = x->rate[x->independent[k]];
        out[NF + k] = s->dv[x->independent[k]];
    }
    return CJ_OK;
}

int cj_coordinate(cj_instance* s, unsigned k)
{
    if (k >= (unsigned)NF || cj_in_chart(s) != CJ_OK) return 0;
    return s->now.independent[k] + 1;
}
