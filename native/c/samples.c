/* Sensors that take samples. When, and what of it is told, is traced (model/equations/sampled_sensors.py); here they are asked. */
#include "core.h"
#include "tables.h"
#include <string.h>

/* Into `memory`, the samples that are due at a time, at a state with these inputs. */
static void sample_at(cj_instance* s, const cj_place* at, const double* u, double time, double* memory)
{
#if NSENSED > 0
    double next, change;
    cj_call(s, cj_upcoming, CJ_IN(memory, &time), CJ_OUT(&next, &change));
    if (next > time) return;
    memcpy(s->sensed[1], memory, sizeof s->sensed[1]);
    cj_call_as(s, s->sampling, cj_sampling_n_in, cj_sampling_n_out, CJ_IN(at->q, at->v, at->z, u, s->now.p, s->sensed[1], &time), CJ_OUT(memory));
#else
    (void)s; (void)at; (void)u; (void)time; (void)memory;
#endif
}

/* Samples that are due before a step, at the state that follows driven motions as they are told. */
void cj_sample_start(cj_instance* s, const double* u, double time)
{
    const cj_state* x = &s->now;
    cj_place* at = &s->step_to[2];
    memcpy(s->sensed[0], x->sensed, sizeof x->sensed);
    cj_now(x, at);
#if NSENSED > 0 && NMOTION > 0
    if (!x->followed)
        cj_call(s, cj_project_to_motion, CJ_IN(x->at.q, x->at.v, x->z, &x->work, cj_motions(s, u), x->p), CJ_OUT(at->q, at->v, &at->work));
#endif
    sample_at(s, at, u, time, s->sensed[0]);
}

/* Samples of a step that leads from a place at `begin`, with inputs w, to another at `end`: sensing moves nothing,
 * so that those inside are looked at by shorter steps. */
void cj_sample_inside(cj_instance* s, const cj_place* from, const double* w, double begin, double end, const cj_place* to)
{
#if NSENSED > 0
    double next, change, then[CJ_ROOM(2 * NU)], verdict[NSTEP_INFO];
    for (;;) {
        cj_call(s, cj_upcoming, CJ_IN(s->sensed[0], &end), CJ_OUT(&next, &change));
        if (next > end) return;
        double h = next - begin;
        cj_later(s, w, h, then);
        if (next < end) cj_step_from(s, from, w, h, &s->step_to[2], verdict);
        sample_at(s, next < end ? &s->step_to[2] : to, then, next, s->sensed[0]);
    }
#else
    (void)s; (void)from; (void)w; (void)begin; (void)end; (void)to;
#endif
}

void cj_tell(cj_instance* s)
{
    s->now.told_at = s->now.time;
    cj_forget(s);
}

void cj_sample(cj_instance* s)
{
    cj_state* x = &s->now;
    cj_now(x, &s->step_to[2]);
    sample_at(s, &s->step_to[2], x->u, x->time, x->sensed);
    cj_tell(s);
}

int cj_sampling_now(cj_instance* s)
{
#if NSENSED > 0
    double next, change;
    cj_call(s, cj_upcoming, CJ_IN(s->now.sensed, &s->now.told_at), CJ_OUT(&next, &change));
    return next <= s->now.told_at;
#else
    (void)s;
    return 0;
#endif
}

double cj_next_change(cj_instance* s)
{
#if NSENSED > 0
    double next, change;
    cj_call(s, cj_upcoming, CJ_IN(s->now.sensed, &s->now.time), CJ_OUT(&next, &change));
    return change;
#else
    (void)s;
    return NEVER;
#endif
}

void cj_read(cj_instance* s)
{
    const cj_state* x = &s->now;
    cj_call(s, cj_outputs, CJ_IN(x->at.q, x->at.v, x->z, x->u, x->p), CJ_OUT(s->y));
#if NSENSED > 0
    double told[CJ_ROOM(NTOLD)];
    memcpy(s->sensed[0], x->sensed, sizeof x->sensed); /* a start is looked at, not kept */
    cj_now(x, &s->step_to[2]);
    sample_at(s, &s->step_to[2], x->u, x->told_at, s->sensed[0]);
    cj_call(s, cj_sample_values, CJ_IN(s->sensed[0], &x->told_at), CJ_OUT(told));
    for (int k = 0; k < NSAMPLED; ++k) s->y[sampled_y[k]] = told[sampled_from[k]];
#endif
    s->known_y = 1;
}
