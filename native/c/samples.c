/* Sensors that take samples. When, and what of it is told, is traced (model/equations/sampling.py); here they are asked. */
#include "core.h"
#include "tables.h"
#include <string.h>

/* Into `memory`, the samples that are due at a time, at a state with these inputs. */
void cj_sample_at(cj_instance* s, const double* q, const double* v, const double* u, double time, double* memory)
{
#if NSENSED > 0
    double next, change, p[CJ_ROOM(NP)];
    cj_call(s, cj_upcoming, CJ_IN(memory, &time), CJ_OUT(&next, &change));
    if (next > time) return;
    memcpy(p, s->now.p, sizeof p);
    for (int k = 0; k < NMOTION; ++k) p[NPARAMETER + k] = u[motion_input[k]];
    memcpy(s->sensed[1], memory, sizeof s->sensed[1]);
    cj_call(s, s->sampling, CJ_IN(q, v, u, p, s->sensed[1], &time), CJ_OUT(memory));
#else
    (void)s; (void)q; (void)v; (void)u; (void)time; (void)memory;
#endif
}

/* Samples that are due before a step, at the state that follows driven motions as they are told. */
void cj_sample_start(cj_instance* s, const double* u, double time)
{
    const cj_state* x = &s->now;
    const double *q = x->at.q, *v = x->at.v;
    memcpy(s->sensed[0], x->sensed, sizeof x->sensed);
#if NSENSED > 0 && NMOTION > 0
    if (!x->followed) {
        cj_call(s, cj_seated, CJ_IN(q, v, &x->work, x->p), CJ_OUT(s->step_q[2], s->step_v[2], s->step_work + 2));
        q = s->step_q[2];
        v = s->step_v[2];
    }
#endif
    cj_sample_at(s, q, v, u, time, s->sensed[0]);
}

/* Samples of a step that leads from (q, v) at `begin`, with inputs w, to (q1, v1) at `end`: sensing moves nothing,
 * so that those inside are looked at by shorter steps. */
void cj_sample_inside(cj_instance* s, const double* q, const double* v, const double* work, const double* w, double begin, double end,
                          const double* q1, const double* v1)
{
#if NSENSED > 0
    double next, change, then[CJ_ROOM(2 * NU)], verdict[NVERDICT];
    for (;;) {
        cj_call(s, cj_upcoming, CJ_IN(s->sensed[0], &end), CJ_OUT(&next, &change));
        if (next > end) return;
        double h = next - begin;
        cj_later(s, w, h, then);
        if (next < end)
            cj_call(s, s->step, CJ_IN(q, v, work, w, s->now.p, &h), CJ_OUT(s->step_q[2], s->step_v[2], s->step_work + 2, verdict));
        cj_sample_at(s, next < end ? s->step_q[2] : q1, next < end ? s->step_v[2] : v1, then, next, s->sensed[0]);
    }
#else
    (void)s; (void)q; (void)v; (void)work; (void)w; (void)begin; (void)end; (void)q1; (void)v1;
#endif
}

void cj_sample(cj_instance* s)
{
    cj_state* x = &s->now;
    cj_sample_at(s, x->at.q, x->at.v, x->u, x->time, x->sensed);
    x->told_at = x->time;
    cj_forget(s);
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
    cj_call(s, cj_outputs, CJ_IN(x->at.q, x->at.v, x->u, x->p), CJ_OUT(s->y));
#if NSENSED > 0
    double told[CJ_ROOM(NTOLD)];
    memcpy(s->sensed[0], x->sensed, sizeof x->sensed); /* a start is looked at, not kept */
    cj_sample_at(s, x->at.q, x->at.v, x->u, x->told_at, s->sensed[0]);
    cj_call(s, cj_told_samples, CJ_IN(s->sensed[0], &x->told_at), CJ_OUT(told));
    for (int k = 0; k < NSAMPLED; ++k) s->y[sampled_y[k]] = told[sampled_from[k]];
#endif
    s->known_y = 1;
}
