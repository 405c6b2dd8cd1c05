/* Closing the loops at the start, as model/manifold/assemble.py does it. */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <string.h>

#define ASSEMBLY_MOST 200
#define ASSEMBLED 1e-12
#define OPEN 1e-9
#define LONGEST 0.5

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
    cj_move(s, q, zero, q); /* Euler parameters of any length become unit ones */
    cj_newton(s, q, zero, free_, s->hv);
    double before = norm(s->g, NM);
    int iteration = 0;
    for (; iteration < ASSEMBLY_MOST && cj_largest(s->g, NM) >= ASSEMBLED; ++iteration) {
        double longest = cj_largest(s->hv, NV), share = longest > LONGEST ? LONGEST / longest : 1, after = before;
        int better = 0;
        double step[CJ_ROOM(NV)];
        const double size = cj_largest(s->g, NM);
        memcpy(step, s->hv, sizeof step);
        for (int half = 0; half < 30 && !better; ++half, share /= 2) {
            for (int j = 0; j < NV; ++j) s->hv2[j] = share * step[j];
            cj_move(s, q, s->hv2, s->next_q);
            cj_newton(s, s->next_q, zero, free_, s->hv);
            after = norm(s->g, NM);
            better = after < before;
        }
        if (!better) {
            cj_newton(s, q, zero, free_, s->hv);
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
        const double here = cj_largest(s->g + loop_first[k], loop_rows[k]);
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
        cj_speeds(s, q, s->hv, held, s->hv2);
        memcpy(s->hv, s->hv2, sizeof s->hv);
    }
    s->arg[0] = q; s->arg[1] = s->hv; s->arg[2] = x->p;
    s->res[0] = s->hv2;
    cj_project_velocity(s->arg, s->res, s->iw, s->w, 0);
    if (!isfinite(cj_largest(q, NQ)) || !isfinite(cj_largest(s->hv2, NV))) {
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
