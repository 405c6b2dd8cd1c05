/* Values of an instance: what a host may read and set, and when. */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <string.h>

/* Where a value is kept that a host may set; NULL for all others. */
static double* settable(cj_state* x, unsigned slot)
{
    if (IN(slot, SLOT_INPUT, NU)) return x->u + (slot - SLOT_INPUT);
    if (IN(slot, SLOT_PARAMETER, NP)) return x->p + (slot - SLOT_PARAMETER);
    if (IN(slot, SLOT_START_Q, NQ)) return x->start_q + (slot - SLOT_START_Q);
    if (IN(slot, SLOT_START_V, NV)) return x->start_v + (slot - SLOT_START_V);
    return NULL;
}

cj_status cj_check_input_rate(cj_instance* s, unsigned slot, int order, double rate)
{
    if (!IN(slot, SLOT_INPUT, NU)) return cj_refuse(s, "there is no input with value reference %u", slot);
    if (order != 1) return cj_refuse(s, "inputs go along straight lines: a derivative of order %d was given", order);
    if (!isfinite(rate)) return cj_refuse(s, "the derivative of value reference %u was given as %g", slot, rate);
    return CJ_OK;
}

int cj_readable(unsigned slot)
{
    return slot < SLOT_END && !IN(slot, SLOT_COORDINATE, NF);
}

cj_status cj_get(cj_instance* s, unsigned slot, double* value)
{
    const double* given = settable(&s->now, slot);
    double all[CJ_ROOM(NX)];
    if (slot == SLOT_TIME) given = &s->now.time;
    if (slot == SLOT_EFFORT) given = &s->now.tries;
    if (given) {
        *value = *given;
        return CJ_OK;
    }
    cj_status status = cj_assemble(s);
    if (status == CJ_OK) status = cj_lift(s);
    if (status != CJ_OK) return status;
    if (IN(slot, SLOT_OUTPUT, NY)) {
        if (!s->known_y) cj_read(s);
        *value = s->y[slot - SLOT_OUTPUT];
    } else if (IN(slot, SLOT_SIGMA, NSIGMA)) {
        cj_sigma(s);
        *value = sigma_is_rank[slot - SLOT_SIGMA] ? s->rank : s->sigma;
    } else if (IN(slot, SLOT_STATE, NX)) {
        status = cj_get_states(s, all);
        if (status == CJ_OK) *value = all[slot - SLOT_STATE];
    } else if (IN(slot, SLOT_DERIVATIVE, NX)) {
        status = cj_rates(s, all);
        if (status == CJ_OK) *value = all[slot - SLOT_DERIVATIVE];
    } else if (IN(slot, SLOT_KINK, NKINKS)) {
        *value = cj_kink(s, (int)(slot - SLOT_KINK));
    } else if (IN(slot, SLOT_MARGIN, NCHART)) {
        status = cj_in_chart(s);
        if (status == CJ_OK) *value = cj_room(s);
        if (status == CJ_OK && !(*value == *value)) *value = 0; /* nothing is left of it */
    } else if (IN(slot, SLOT_LINEAR, NLINEAR)) {
        status = cj_linearize(s);
        *value = s->linear[slot - SLOT_LINEAR];
        if (status != CJ_OK && !s->exchange)
            status = cj_say(s, CJ_WARNING, "logStatusWarning", "the linear model is that of the last regular pose");
    }
    return status;
}

static int starting(const cj_instance* s) { return s->now.phase == CJ_CREATED || s->now.phase == CJ_INITIALIZING; }

static cj_status check_value(cj_instance* s, unsigned slot, double value)
{
    const int state = IN(slot, SLOT_STATE, NX);
    if (!state && !settable(&s->now, slot)) return cj_refuse(s, "there is no input or parameter with value reference %u", slot);
    if (!isfinite(value))
        return cj_refuse(s, "value reference %u was given %g; NaN and infinity are refused and nothing was set", slot, value);
    if (state && (s->now.phase == CJ_EVENT || s->now.phase == CJ_CONTINUOUS) && s->put_state) return CJ_OK;
    if (state) return cj_refuse(s, "value reference %u is a state; states can be set in event mode and continuous-time mode only", slot);
    if (s->now.phase == CJ_BETWEEN && !IN(slot, SLOT_INPUT, NU))
        return cj_refuse(s, "value reference %u is no input and can't be set during a step", slot);
    if (IN(slot, SLOT_START_Q, NQ)) { /* but the start that is assembled anyway */
        const unsigned k = slot - SLOT_START_Q;
        if ((value < lowest_q[k] || value > highest_q[k]) && value != initial_q[k])
            return cj_refuse(s, "value reference %u, a start, was given %g, which is beyond the limits of its joint, %g to %g", slot,
                             value, lowest_q[k], highest_q[k]);
    }
    const int tunable = IN(slot, SLOT_INPUT, NU) || (IN(slot, SLOT_PARAMETER, NP) && !fixed_p[slot - SLOT_PARAMETER]);
    if (tunable || starting(s)) return CJ_OK;
    return cj_refuse(s, "value reference %u shapes the mechanism or its start and can be set before the end of initialization only",
                     slot);
}

/* Whether a description could have the parameters p: each by itself, and `together`. */
cj_status cj_check_parameters(cj_instance* s, const double* p, int together)
{
    double alone[CJ_ROOM(NP)], all[CJ_ROOM(NP)];
    cj_call(s, cj_allowed, CJ_IN(p), CJ_OUT(alone, all));
    for (int k = 0; k < NP; ++k) {
        if (alone[k] == 0) return cj_refuse(s, "%s must be %s, not %g", names_p[k], alone_p[k], p[k]);
        if (together && all[k] == 0)
            return cj_refuse(s, "%s, here %g, and what goes with it must be %s; set them in one call", names_p[k], p[k], together_p[k]);
    }
    return CJ_OK;
}

/* Whether a driven motion is set, which takes the mechanism along. */
static int moves_pose(unsigned slot) { return IN(slot, SLOT_INPUT, NU) && motion_of_input[slot - SLOT_INPUT] >= 0; }

/* Set values, all or none. Numbers that only make sense together may come one by one until initialization ends. */
cj_status cj_set(cj_instance* s, const unsigned* slots, size_t n, const double* values)
{
    cj_status status = CJ_OK;
    int parameters = 0, held = 0; /* by their own values: states beside those that are set, or that driven motions would move */
    memcpy(s->new_p, s->now.p, sizeof s->new_p);
    for (size_t k = 0; k < n && status == CJ_OK; ++k) {
        status = check_value(s, slots[k], values[k]);
        held |= IN(slots[k], SLOT_STATE, NX) || moves_pose(slots[k]);
        if (!IN(slots[k], SLOT_PARAMETER, NP)) continue;
        s->new_p[slots[k] - SLOT_PARAMETER] = values[k];
        parameters = 1;
    }
    if (status == CJ_OK && parameters) status = cj_check_parameters(s, s->new_p, !starting(s));
    if (status == CJ_OK && held && s->hold) status = s->hold(s);
    if (status != CJ_OK) return status;
    for (size_t k = 0; k < n; ++k) {
        double* place = settable(&s->now, slots[k]);
        if (!place) s->put_state(s, (int)(slots[k] - SLOT_STATE), values[k]);
        if (!place || *place == values[k]) continue;
        *place = values[k];
        if (starting(s) && (moves_pose(slots[k]) || !IN(slots[k], SLOT_INPUT, NU))) s->now.assembled = 0;
        if (moves_pose(slots[k]) && !s->exchange) s->now.followed = 0;
        cj_forget(s);
    }
    return CJ_OK;
}
