/* Start, states and charts of an instance. What closes loops and what chooses coordinates is traced
 * (model/manifold); here its results are kept and its verdicts become statuses.
 */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <string.h>

/* -- start --------------------------------------------------------------------------------------- */

/* What a start is looked for from: the description's pose, and what the host has changed, which is held. */
void cj_choose_start(cj_instance* s)
{
    const cj_state* x = &s->now;
    memcpy(s->guess, guess_q, sizeof s->guess);
    for (int j = 0; j < NV; ++j) {
        s->free_v[j] = 1;
        s->held_v[j] = given_speed[j] || x->start_v[j] != default_speed[j];
    }
    for (int i = 0; i < NQ; ++i)
        if (x->start_q[i] != initial_q[i])
            for (int j = 0; j < NV; ++j)
                if (joint_of_v[j] == joint_of_q[i]) s->free_v[j] = 0;
    for (int i = 0; i < NQ; ++i)
        for (int j = 0; j < NV; ++j)
            if (s->free_v[j] == 0 && joint_of_v[j] == joint_of_q[i]) s->guess[i] = x->start_q[i];
}

/* Pose and speeds from parameters and start values; values that the host has changed are held. */
cj_status cj_assemble(cj_instance* s)
{
    cj_state* x = &s->now;
    if (x->assembled) return CJ_OK;
    if (cj_check_parameters(s, x->p, 1) != CJ_OK) return CJ_ERROR;
    double steps = 0, closed = 0, fits = 0, gap;
    cj_choose_start(s);
    cj_call(s, cj_assembly, CJ_IN(s->guess, s->free_v, cj_motions(s, x->u), x->p), CJ_OUT(s->next.q, s->g, &steps, &closed));
    if (closed == 0) {
        const char* loop = cj_widest(s, &gap);
        return cj_refuse(s, "the mechanism can't be assembled: %s stays open by %.3g m or rad; "
                         "check the geometry parameters and the start coordinates of the joints in this loop", loop, gap);
    }
    cj_call(s, cj_start_speeds, CJ_IN(s->next.q, x->start_v, s->held_v, cj_motions(s, x->u), x->p), CJ_OUT(s->next.v, &fits));
    if (!isfinite(cj_largest(s->next.q, NQ)) || !isfinite(cj_largest(s->next.v, NV)))
        return cj_refuse(s, "the start is not finite; give start values and parameters that make sense");
    cj_call(s, cj_mass_pivots, CJ_IN(s->next.q, x->p), CJ_OUT(s->next.rate));
    for (int j = 0; j < NV; ++j)
        if (!isgreater(s->next.rate[j], 0))
            return cj_refuse(s, "the mass matrix is singular at the start; give every body that can turn freely an inertia");
    if (fits == 0) return cj_refuse(s, "the loops do not allow the start speeds together; give fewer of them");
    memcpy(x->at.q, s->next.q, sizeof x->at.q);
    memcpy(x->at.v, s->next.v, sizeof x->at.v);
    memcpy(x->z, initial_z, NI * sizeof(double));
    x->assembled = x->lifted = x->followed = 1;
    x->placed = x->charted = 0;
    cj_forget(s);
    cj_say(s, CJ_OK, "logNonlinearSystems", "assembled in %.0f steps; residual %.2g", steps, cj_largest(s->g, NM));
    return CJ_OK;
}

/* -- charts -------------------------------------------------------------------------------------- */

cj_status cj_singular_pose(cj_instance* s)
{
    return cj_refuse(s, "the mechanism is in or passes a singular pose near %.9g s, where no independent coordinates exist; %s",
                     s->now.time,
                     s->exchange ? "take smaller steps around it, or use co-simulation, which needs none"
                                 : "there are no derivatives here, but steps go on");
}

/* q and v where driven motions have been told to be, in co-simulation: there states follow them */
static cj_status follow(cj_instance* s)
{
#if NMOTION > 0
    cj_state* x = &s->now;
    double open, gap, work;
    if (x->followed) return CJ_OK;
    const double* to = cj_motions(s, x->u);
    cj_call(s, cj_project_to_motion, CJ_IN(x->at.q, x->at.v, x->z, &x->work, to, x->p), CJ_OUT(s->next.q, s->next.v, &work));
    cj_call(s, cj_open_loops, CJ_IN(s->next.q, to, x->p), CJ_OUT(s->g, &open));
    if (open != 0) {
        const char* loop = cj_widest(s, &gap);
        return cj_refuse(s, "the mechanism can't follow the driven motions that were set: %s stays open by %.3g m or rad; "
                         "let them go there in smaller steps", loop, gap);
    }
    memcpy(x->at.q, s->next.q, sizeof x->at.q);
    memcpy(x->at.v, s->next.v, sizeof x->at.v);
    x->work = work;
    x->followed = 1;
    x->placed = 0;
#else
    (void)s;
#endif
    return CJ_OK;
}

/* The states as they are now become those that the host has set. */
cj_status cj_hold(cj_instance* s)
{
    cj_state* x = &s->now;
    if (!s->exchange || !x->charted || !x->lifted) return CJ_OK;
    const cj_status status = cj_in_chart(s);
    if (status != CJ_OK) return status;
    memcpy(x->state_d, x->at.d, sizeof x->state_d);
    memcpy(x->state_v, x->at.v, sizeof x->state_v);
    x->lifted = 0;
    return CJ_OK;
}

/* q and v from the states that the host has set */
cj_status cj_lift(cj_instance* s)
{
    cj_state* x = &s->now;
    double closed = 0;
    if (x->lifted) return follow(s);
    cj_call(s, cj_lifted, CJ_IN(x->r, x->at.d, x->at.rate, x->state_d, x->state_v, x->dependent_d, x->dependent_v, cj_motions(s, x->u), x->p),
            CJ_OUT(s->next.d, s->next.q, s->next.v, s->next.rate, &closed));
    if (closed == 0)
        return cj_say(s, CJ_DISCARD, "logStatusDiscard",
                      "no closed pose was found at the given states at %.9g s; take a smaller step", x->time);
    x->at = s->next;
    x->lifted = x->placed = 1;
    return CJ_OK;
}

/* The present pose becomes the reference of the chart: d = 0, and its rate is v. */
static void refer(cj_state* x)
{
    memcpy(x->r, x->at.q, sizeof x->r);
    memset(x->at.d, 0, sizeof x->at.d);
    memcpy(x->at.rate, x->at.v, sizeof x->at.rate);
    x->placed = 1;
}

/* A new chart at the present pose. */
cj_status cj_new_chart(cj_instance* s)
{
    cj_state* x = &s->now;
    double regular = 0;
    cj_status status = cj_lift(s);
    if (status != CJ_OK) return status;
    cj_call(s, cj_partition, CJ_IN(x->at.q, x->p), CJ_OUT(s->next.d, s->next.v, &regular));
    if (regular == 0 && s->exchange) return cj_singular_pose(s);
    x->singular = regular == 0;
    if (regular != 0 || !x->charted) { /* else the last one */
        memcpy(x->dependent_d, s->next.d, sizeof x->dependent_d);
        memcpy(x->dependent_v, s->next.v, sizeof x->dependent_v);
    }
    for (int alone = 0, k = 0; alone < 2; ++alone)
        for (int j = 0; j < NV && k < NF; ++j)
            if (x->dependent_d[j] == 0 && (x->dependent_v[j] != 0) == alone) x->independent[k++] = j;
    refer(x);
    x->charted = 1;
    cj_forget(s);
    cj_say(s, CJ_OK, "logDynamicStateSelection", "new states chosen at %.9g s", x->time);
    return CJ_OK;
}

/* How far the chart is from being left; negative beyond, NaN where there is none. The pose is in the chart already. */
double cj_room(cj_instance* s)
{
    double room;
    cj_call(s, cj_margin, CJ_IN(s->now.at.q, s->now.at.d, s->now.dependent_d, s->now.dependent_v, s->now.p), CJ_OUT(&room));
    return room;
}

/* Whether the way from the state seen last leads over a singular pose onto a wrong branch. */
static int jumped(cj_instance* s)
{
    const cj_state* x = &s->now;
    double found = 0;
    cj_call(s, cj_passes_singularity,
            CJ_IN(x->at.q, x->at.d, x->at.rate, x->at.v, s->dv, x->seen.q, x->seen.d, x->seen.rate, x->seen.v, x->seen_dv, x->dependent_v, x->p),
            CJ_OUT(&found));
    return found != 0;
}

/* The margin of the chart, at a state that the host's solver has come to; `fresh`: not by integrating. */
cj_status cj_watch(cj_instance* s, int fresh, double* room)
{
    cj_state* x = &s->now;
    double rates[CJ_ROOM(NX)];
    cj_status status = cj_rates(s, rates);
    if (status != CJ_OK) return status;
    *room = cj_room(s);
    if (!(*room == *room) || (!fresh && jumped(s))) return cj_singular_pose(s);
    x->seen = x->at;
    memcpy(x->seen_dv, s->dv, sizeof x->seen_dv);
    return CJ_OK;
}

/* What an event is for: other states if the present ones are about to degrade, and a fresh look at the motion,
 * since the host may have changed states and inputs. */
cj_status cj_event(cj_instance* s, int* changed)
{
    double room;
    cj_status status = cj_watch(s, 1, &room);
    if (status == CJ_OK) cj_sample(s);
    if (status == CJ_OK) cj_take_sides(s);
    *changed = status == CJ_OK && room < ROUGHLY;
    if (*changed) status = cj_new_chart(s);
    return *changed && status == CJ_OK ? cj_watch(s, 1, &room) : status;
}

/* A pose with its chart. In co-simulation the pose moves on by itself and the reference with it. */
cj_status cj_in_chart(cj_instance* s)
{
    cj_state* x = &s->now;
    cj_status status = cj_lift(s);
    if (status != CJ_OK || (x->charted && x->placed)) return status;
    if (!x->charted || x->singular) return cj_new_chart(s);
    refer(x);
    return isgreaterequal(cj_room(s), 0) ? CJ_OK : cj_new_chart(s);
}

/* -- states -------------------------------------------------------------------------------------- */

/* A state of position is the coordinate itself where there is one, else the displacement. */
static double base(const cj_state* x, int j) { return q_of_v[j] < 0 ? 0 : x->r[q_of_v[j]]; }

cj_status cj_get_states(cj_instance* s, double* out)
{
    const cj_state* x = &s->now;
    if (x->lifted) {
        cj_status status = cj_in_chart(s);
        if (status != CJ_OK) return status;
    }
    const double *d = x->lifted ? x->at.d : x->state_d, *v = x->lifted ? x->at.v : x->state_v;
    for (int k = 0; k < NF; ++k) out[k] = base(x, x->independent[k]) + d[x->independent[k]];
    for (int k = 0; k < NS; ++k) out[NF + k] = v[x->independent[k]];
    for (int k = 0; k < NI; ++k) out[NF + NS + k] = x->z[k];
    return CJ_OK;
}

void cj_set_state(cj_instance* s, int k, double value)
{
    cj_state* x = &s->now;
    if (k < NF) x->state_d[x->independent[k]] = value - base(x, x->independent[k]);
    else if (k < NF + NS) x->state_v[x->independent[k - NF]] = value;
    else x->z[k - NF - NS] = value;
    cj_forget(s);
}

cj_status cj_set_states(cj_instance* s, const double* in)
{
    const cj_status status = cj_hold(s);
    for (int k = 0; status == CJ_OK && k < NX; ++k) cj_set_state(s, k, in[k]);
    return status;
}

cj_status cj_rates(cj_instance* s, double* out)
{
    cj_state* x = &s->now;
    cj_status status = cj_in_chart(s);
    if (status != CJ_OK) return status;
    if (!s->known_rates) {
        cj_call(s, cj_dynamics, CJ_IN(x->at.q, x->at.v, x->z, x->u, x->p), CJ_OUT(s->dv));
        if (NI) cj_call(s, cj_internal_rates, CJ_IN(x->at.q, x->at.v, x->z, x->u, x->p), CJ_OUT(s->dz));
        s->known_rates = 1;
    }
    for (int k = 0; k < NF; ++k) out[k] = x->at.rate[x->independent[k]];
    for (int k = 0; k < NS; ++k) out[NF + k] = s->dv[x->independent[k]];
    for (int k = 0; k < NI; ++k) out[NF + NS + k] = s->dz[k];
    return CJ_OK;
}

int cj_coordinate(cj_instance* s, unsigned k)
{
    if (k >= (unsigned)NF || cj_in_chart(s) != CJ_OK) return 0;
    return s->now.independent[k] + 1;
}
