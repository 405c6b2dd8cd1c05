/* Events: where what acts has a kink, and where sampled sensors tell something new. Model exchange leaves it to the
 * host's solver to land there; co-simulation with an event mode does so itself. */
#include "core.h"
#include "tables.h"
#include <math.h>

double cj_kink(cj_instance* s, int k)
{
    const cj_state* x = &s->now;
    if (!s->known_kinks) cj_call(s, cj_kinks, CJ_IN(x->at.q, x->at.v, x->z, x->u, x->p), CJ_OUT(s->kinks));
    s->known_kinks = 1;
    return s->kinks[k] + x->side[k] * kink_width[k]; /* beyond it by so much it counts as crossed */
}

void cj_take_sides(cj_instance* s)
{
    for (int k = 0; k < NKINKS; ++k) s->now.side[k] = cj_kink(s, k) < 0 ? -1 : 1;
}

cj_status cj_indicators(cj_instance* s, double* z)
{
    double room;
    const cj_status status = cj_watch(s, 0, &room);
    if (status != CJ_OK) return status;
    if (NCHART) z[0] = room;
    for (int k = 0; k < NKINKS; ++k) z[NCHART + k] = cj_kink(s, k);
    return CJ_OK;
}

/* How long a step is until a sensor tells something new, if that may end it; what it tells changes at the event. */
double cj_until_change(cj_instance* s, double time, double length)
{
    const double change = cj_next_change(s), same = SAME_TIME * CJ_STEP + ROUNDED * fabs(time);
    const int inside = change < time + length - same;
    s->event = change <= time + length + same;
    s->shortened = inside && s->early;
    s->holds = !inside || s->early;
    return s->shortened ? change - time : length;
}

/* Whether a place is on the other side of a kink than the last event was. */
static int crossed(cj_instance* s, const cj_place* at, const double* u)
{
    cj_call(s, cj_kinks, CJ_IN(at->q, at->v, at->z, u, s->now.p), CJ_OUT(s->kinks));
    s->known_kinks = 0;
    for (int k = 0; k < NKINKS; ++k)
        if (s->now.side[k] * s->kinks[k] < -kink_width[k]) return 1;
    return 0;
}

/* Shorten a step of length h to where it crosses a kink, if it does and may; says whether it was. */
int cj_until_kink(cj_instance* s, const cj_place* from, const double* w, double* h, cj_place* to)
{
    if (!NKINKS || !crossed(s, to, w)) return 0;
    double low = 0, high = *h;
    s->event = 1;
    if (!s->early) return 0;
    while (high - low > SAME_TIME * CJ_STEP) { /* thirty halvings */
        const double middle = low + (high - low) / 2;
        cj_step_from(s, from, w, middle, to, s->verdict);
        if (crossed(s, to, w)) high = middle;
        else low = middle;
    }
    cj_step_from(s, from, w, high, to, s->verdict);
    *h = high;
    s->returns_early = 1;
    return 1;
}

/* Discrete values become those of now. */
cj_status cj_event_between(cj_instance* s)
{
    const cj_status status = cj_lift(s);
    if (status != CJ_OK) return status;
    cj_sample(s);
    cj_take_sides(s);
    return CJ_OK;
}
