/* Closed loops: assembly at the start, and the chart that makes independent coordinates states.
 *
 * The equations are in model/local.py; here they are iterated and charts are chosen.
 */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <string.h>

#define NEWTON_MOST 12    /* iterations of a lift; two or three are usual */
#define CLOSED 1e-13      /* residual at which a lift ends, metres or radians */
#define ASSEMBLY_MOST 200 /* as in model/assemble.py, from here on */
#define ASSEMBLED 1e-12
#define OPEN 1e-9
#define LONGEST 0.5
#define POOR 0.4    /* a chart is left when its smallest pivot is this share of the best one's */
#define FAR 1.0     /* a ball is given a new reference beyond this displacement (about 53 degrees) */

static double largest(const double* x, int n)
{
    double most = 0;
    for (int i = 0; i < n; ++i)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]); /* NaN wins */
    return most;
}

/* d_next = d + one Newton step of the dependent entries; g = residual at r (+) d */
static void newton(cj_instance* s, const double* r, const double* d, const double* dependent, double* d_next)
{
    s->arg[0] = r; s->arg[1] = d; s->arg[2] = dependent; s->arg[3] = s->now.p;
    s->res[0] = d_next; s->res[1] = s->g;
    cj_chart_step(s->arg, s->res, s->iw, s->w, 0);
}

static void place(cj_instance* s, const double* r, const double* d, double* q)
{
    s->arg[0] = r; s->arg[1] = d;
    s->res[0] = q;
    cj_place(s->arg, s->res, s->iw, s->w, 0);
}

static void speeds(cj_instance* s, const double* q, const double* v, const double* dependent, double* v_next)
{
    s->arg[0] = q; s->arg[1] = v; s->arg[2] = dependent; s->arg[3] = s->now.p;
    s->res[0] = v_next;
    cj_chart_speed(s->arg, s->res, s->iw, s->w, 0);
}

static double norm(const double* x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * x[i];
    return sqrt(sum);
}

/* Newton's method with steps of least length, shortened until they help. Start values the host has
 * changed are held, as `start` is in model/simulation.py. */
cj_status cj_assemble(cj_instance* s)
{
    cj_state* x = &s->now;
    if (x->assembled) return CJ_OK;
    double q[CJ_ROOM(NQ)], free_[CJ_ROOM(NV)], zero[CJ_ROOM(NV)], held[CJ_ROOM(NV)];
    int speeds_held = 0;
    memset(zero, 0, sizeof zero);
    memcpy(q, guess_q, NQ * sizeof(double));
    for (int j = 0; j < NV; ++j) {
        free_[j] = 1;
        held[j] = x->start_v[j] != default_speed[j] ? 0 : 1;
        if (held[j] == 0) speeds_held = 1;
        for (int i = 0; i < NQ; ++i)
            if (joint_of_q[i] == joint_of_v[j] && x->start_q[i] != initial_q[i]) free_[j] = 0;
    }
    for (int j = 0; j < NV; ++j)
        for (int i = 0; i < NQ; ++i)
            if (free_[j] == 0 && joint_of_q[i] == joint_of_v[j]) q[i] = x->start_q[i];
    place(s, q, zero, q); /* Euler parameters of any length become unit ones */
    newton(s, q, zero, free_, s->hv);
    double before = norm(s->g, NM);
    int iteration = 0;
    for (; iteration < ASSEMBLY_MOST && largest(s->g, NM) >= ASSEMBLED; ++iteration) {
        double longest = largest(s->hv, NV), share = longest > LONGEST ? LONGEST / longest : 1, after = before;
        int better = 0;
        double step[CJ_ROOM(NV)];
        const double size = largest(s->g, NM);
        memcpy(step, s->hv, sizeof step);
        for (int half = 0; half < 30 && !better; ++half, share /= 2) {
            for (int j = 0; j < NV; ++j) s->hv2[j] = share * step[j];
            place(s, q, s->hv2, s->next_q);
            newton(s, s->next_q, zero, free_, s->hv);
            after = norm(s->g, NM);
            better = after < before;
        }
        if (!better) {
            newton(s, q, zero, free_, s->hv);
            if (size < 100 * ASSEMBLED) break;
            iteration = ASSEMBLY_MOST;
            break;
        }
        before = after;
        memcpy(q, s->next_q, sizeof q);
    }
    int worst = 0;
    double gap = 0;
    for (int k = 0; k < NLOOPS; ++k) {
        const double here = largest(s->g + loop_first[k], loop_rows[k]);
        if (!(here <= gap)) { gap = here; worst = k; }
    }
    if (NLOOPS && !(gap < OPEN)) {
        cj_say(s, CJ_ERROR, "logStatusError",
               "the mechanism can't be assembled: the loop closed by %s stays open by %.3g m or rad; "
               "check the geometry parameters and the start coordinates of the joints in this loop",
               loop_names[worst], gap);
        return CJ_ERROR;
    }
    s->arg[0] = q; s->arg[1] = x->start_v;
    s->res[0] = s->hv;
    cj_start_speed(s->arg, s->res, s->iw, s->w, 0);
    if (speeds_held) {
        speeds(s, q, s->hv, held, s->hv2);
        memcpy(s->hv, s->hv2, sizeof s->hv);
    }
    s->arg[0] = q; s->arg[1] = s->hv; s->arg[2] = x->p;
    s->res[0] = s->hv2;
    cj_project_velocity(s->arg, s->res, s->iw, s->w, 0);
    if (!isfinite(largest(q, NQ)) || !isfinite(largest(s->hv2, NV))) {
        cj_say(s, CJ_ERROR, "logStatusError", "the mass matrix is singular at the start; give masses and inertias that are positive");
        return CJ_ERROR;
    }
    memcpy(x->q, q, sizeof x->q);
    memcpy(x->v, s->hv2, sizeof x->v);
    x->assembled = x->lifted = 1;
    x->placed = x->charted = 0;
    cj_forget(s);
    cj_say(s, CJ_OK, "logNonlinearSystems", "assembled in %d iterations; residual %.2g", iteration, gap);
    return CJ_OK;
}

/* q and v from the states: dependent displacements by Newton's method, then dependent speeds. */
cj_status cj_lift(cj_instance* s)
{
    cj_state* x = &s->now;
    if (x->lifted) return CJ_OK;
    double d[CJ_ROOM(NV)];
    int closed = NM == 0;
    memcpy(d, x->d, sizeof d);
    for (int k = 0; k < NEWTON_MOST && !closed; ++k) {
        newton(s, x->r, d, x->dependent, s->hv);
        const double gap = largest(s->g, NM);
        if (!(gap < 10)) break;
        closed = gap < CLOSED;
        memcpy(d, s->hv, sizeof d);
    }
    if (NM && !closed) {
        newton(s, x->r, d, x->dependent, s->hv);
        closed = largest(s->g, NM) < 100 * CLOSED; /* round-off of large mechanisms */
    }
    if (!closed || !isfinite(largest(d, NV))) {
        cj_say(s, CJ_DISCARD, "logStatusDiscard",
               "no closed pose was found at the given states at %.9g s; take a smaller step", x->time);
        return CJ_DISCARD;
    }
    place(s, x->r, d, s->next_q);
    speeds(s, s->next_q, x->v, x->dependent, s->hv2);
    memcpy(x->d, d, sizeof d);
    memcpy(x->q, s->next_q, sizeof x->q);
    memcpy(x->v, s->hv2, sizeof x->v);
    x->lifted = x->placed = 1;
    return CJ_OK;
}

static void jacobian(cj_instance* s)
{
    s->arg[0] = s->now.q; s->arg[1] = s->now.p;
    s->res[0] = s->g; s->res[1] = s->G;
    cj_closure(s->arg, s->res, s->iw, s->w, 0);
}

/* A new chart at the present pose, by QR with column pivoting: the chosen columns are dependent. */
cj_status cj_new_chart(cj_instance* s)
{
    cj_state* x = &s->now;
    cj_status status = cj_lift(s);
    if (status != CJ_OK) return status;
    jacobian(s);
    cj_pivots(s->G, NM, NV, RANK, NULL, x->dependent);
    for (int j = 0, k = 0; j < NV && k < NF; ++j)
        if (x->dependent[j] == 0) x->independent[k++] = j;
    memcpy(x->r, x->q, sizeof x->r);
    memset(x->d, 0, sizeof x->d);
    x->charted = x->placed = 1;
    cj_forget(s);
    cj_say(s, CJ_OK, "logDynamicStateSelection", "new states chosen at %.9g s", x->time);
    return CJ_OK;
}

cj_status cj_chart_is_poor(cj_instance* s, int* poor)
{
    cj_state* x = &s->now;
    cj_status status = cj_lift(s);
    *poor = 0;
    if (status != CJ_OK) return status;
    jacobian(s);
    memcpy(s->copy, s->G, sizeof s->copy);
    const double best = cj_pivots(s->copy, NM, NV, RANK, NULL, s->hv);
    const double mine = cj_pivots(s->G, NM, NV, RANK, x->dependent, s->hv);
    *poor = RANK > 0 && mine < POOR * best;
    for (int j = 0; j < NV; ++j)
        if (q_of_v[j] < 0 && !(fabs(x->d[j]) < FAR)) *poor = 1;
    return CJ_OK;
}

/* In co-simulation the pose moves on by itself: find its place in the chart, or take a new chart. */
cj_status cj_in_chart(cj_instance* s)
{
    cj_state* x = &s->now;
    cj_status status = cj_lift(s);
    int poor = 0;
    if (status != CJ_OK || (x->charted && x->placed)) return status;
    if (!x->charted) return cj_new_chart(s);
    s->arg[0] = x->r; s->arg[1] = x->q;
    s->res[0] = x->d;
    cj_displacement(s->arg, s->res, s->iw, s->w, 0);
    x->placed = 1;
    status = cj_chart_is_poor(s, &poor);
    return status == CJ_OK && poor ? cj_new_chart(s) : status;
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
        s->arg[0] = x->d; s->arg[1] = x->v;
        s->res[0] = s->rate;
        cj_chart_rates(s->arg, s->res, s->iw, s->w, 0);
        s->known_rates = 1;
    }
    for (int k = 0; k < NF; ++k) {
        out[k] = s->rate[x->independent[k]];
        out[NF + k] = s->dv[x->independent[k]];
    }
    return CJ_OK;
}

void cj_nominals(cj_instance* s, double* out)
{
    (void)s;
    for (int k = 0; k < 2 * NF; ++k) out[k] = 1; /* radians, metres and their rates */
}

int cj_coordinate(cj_instance* s, unsigned k)
{
    if (k >= (unsigned)NF || cj_in_chart(s) != CJ_OK) return 0;
    return s->now.independent[k] + 1;
}
