/* Derivatives along directions and along rows, exact, from the engine's traced ones. */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <string.h>

void cj_sigma(cj_instance* s)
{
    if (s->known_sigma) return;
    cj_call(s, cj_jacobian, CJ_IN(s->now.at.q, s->now.p), CJ_OUT(s->G));
    s->sigma = INFINITY; /* no loop, no singularity */
    if (NR) s->sigma = cj_singular(s->G, NM, NV, NR, RANK, &s->rank, s->copy, s->U, s->left, s->right);
    s->known_sigma = 1;
}

static void tangent(cj_instance* s, int with_sigma)
{
    const cj_state* x = &s->now;
    cj_call(s, cj_tangent, CJ_IN(x->at.q, x->at.d, x->at.v, x->z, x->dependent_d, x->dependent_v, x->u, x->p, s->seed.d, s->seed.v, s->seed.z, s->seed.u, s->seed.p),
            CJ_OUT(s->seed.rate, s->seed.dv, s->seed.dz, s->seed.y, s->seed.theta));
    if (!with_sigma) return;
    cj_sigma(s);
    cj_call(s, cj_sigma_tangent, CJ_IN(x->at.q, x->p, s->left, s->right, s->seed.theta, s->seed.p), CJ_OUT(&s->seed.sigma));
}

static int starting(const cj_instance* s) { return s->now.phase == CJ_INITIALIZING; }

static double* seed_of_state(cj_instance* s, int k)
{
    const cj_state* x = &s->now;
    if (k < NF) return s->seed.d + x->independent[k];
    return k < NF + NS ? s->seed.v + x->independent[k - NF] : s->seed.z + (k - NF - NS);
}

/* Where the direction of a known is kept. At the start these are what pose and speeds follow from. */
static double* seed_of_known(cj_instance* s, unsigned slot)
{
    if (IN(slot, SLOT_INPUT, NU)) return s->seed.u + (slot - SLOT_INPUT);
    if (IN(slot, SLOT_PARAMETER, NP)) return s->seed.p + (slot - SLOT_PARAMETER);
    if (starting(s)) {
        if (IN(slot, SLOT_START_Q, NQ)) return s->seed.start_q + (slot - SLOT_START_Q);
        return IN(slot, SLOT_START_V, NV) ? s->seed.start_v + (slot - SLOT_START_V) : NULL;
    }
    return IN(slot, SLOT_STATE, NX) ? seed_of_state(s, (int)(slot - SLOT_STATE)) : NULL;
}

/* Where that of an unknown is found. A state is one at the start: a coordinate, or the displacement of a ball from
 * where it stands, which stays zero. */
static double* seed_of_unknown(cj_instance* s, unsigned slot)
{
    const cj_state* x = &s->now;
    double* rate = s->moved ? s->seed.v : s->seed.rate;
    if (IN(slot, SLOT_OUTPUT, NY)) return s->seed.y + (slot - SLOT_OUTPUT);
    if (IN(slot, SLOT_KINK, NKINKS)) return s->seed.y + NY + (slot - SLOT_KINK);
    if (IN(slot, SLOT_DERIVATIVE, NF)) return rate + x->independent[slot - SLOT_DERIVATIVE];
    if (IN(slot, SLOT_DERIVATIVE + NF, NS)) return s->seed.dv + x->independent[slot - SLOT_DERIVATIVE - NF];
    if (IN(slot, SLOT_DERIVATIVE + NF + NS, NI)) return s->seed.dz + (slot - SLOT_DERIVATIVE - NF - NS);
    if (IN(slot, SLOT_SIGMA, NSIGMA)) return sigma_is_rank[slot - SLOT_SIGMA] ? &s->seed.rank : &s->seed.sigma;
    if (slot == SLOT_EFFORT) return &s->seed.rank; /* a count has no slope either */
    if (!starting(s)) return NULL;
    if (IN(slot, SLOT_STATE, NF)) {
        const int j = x->independent[slot - SLOT_STATE];
        return q_of_v[j] < 0 ? &s->seed.rank : s->seed.theta + j;
    }
    if (IN(slot, SLOT_STATE + NF, NS)) return s->seed.v + x->independent[slot - SLOT_STATE - NF];
    return IN(slot, SLOT_STATE + NF + NS, NI) ? s->seed.z + (slot - SLOT_STATE - NF - NS) : NULL;
}

static cj_status ready(cj_instance* s, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk)
{
    for (size_t k = 0; k < nk; ++k)
        if (!seed_of_known(s, knowns[k])) return cj_refuse(s, "value reference %u can't be a known of a derivative now", knowns[k]);
    for (size_t k = 0; k < nu; ++k)
        if (!seed_of_unknown(s, unknowns[k])) return cj_refuse(s, "value reference %u can't be an unknown of a derivative now", unknowns[k]);
    cj_status status = cj_assemble(s);
    if (status == CJ_OK) status = cj_in_chart(s);
    if (status == CJ_OK && s->now.singular) status = cj_singular_pose(s);
    s->moved = 0;
    memset(&s->seed, 0, sizeof s->seed);
    return status;
}

/* What is held between samples has no slope; a sample that is taken now has its reading's, unless that is rounded. */
static void sampled_slopes(cj_instance* s)
{
    if (!NSAMPLED) return;
    const int now = cj_sampling_now(s);
    for (int k = 0; k < NSAMPLED; ++k)
        if (!now || sampled_rounds[k]) s->seed.y[sampled_y[k]] = 0;
}

/* One direction, and what the unknowns change by along it is added to the result. */
static cj_status add_direction(cj_instance* s, const unsigned* unknowns, size_t nu, double* result)
{
    int with_sigma = 0;
    for (size_t k = 0; k < nu; ++k) with_sigma |= IN(unknowns[k], SLOT_SIGMA, NSIGMA);
    tangent(s, with_sigma);
    sampled_slopes(s);
    for (size_t k = 0; k < nu; ++k) result[k] += *seed_of_unknown(s, unknowns[k]);
    for (size_t k = 0; k < nu; ++k)
        if (!isfinite(result[k])) return cj_singular_pose(s);
    return CJ_OK;
}

static const double* motion_seeds(cj_instance* s)
{
    for (int k = 0; k < NMOTION; ++k) s->motions_dot[k] = s->seed.u[motion_input[k]];
    return s->motions_dot;
}

/* The pose goes along with driven motions that are told anew, in co-simulation. */
static cj_status along_motions(cj_instance* s, const unsigned* unknowns, size_t nu, double* result)
{
#if NMOTION > 0
    const cj_state* x = &s->now;
    s->moved = 1;
    cj_call(s, cj_motion_tangent, CJ_IN(x->at.q, x->at.v, x->z, cj_motions(s, x->u), x->p, motion_seeds(s)), CJ_OUT(s->seed.d, s->seed.v));
    return add_direction(s, unknowns, nu, result);
#else
    (void)s; (void)unknowns; (void)nu; (void)result;
    return CJ_OK;
#endif
}

/* The start goes along with what it is assembled from. */
static cj_status along_start(cj_instance* s, const unsigned* unknowns, size_t nu, double* result)
{
    const cj_state* x = &s->now;
    cj_status status = cj_assemble(s);
    if (status == CJ_OK) status = cj_in_chart(s);
    if (status == CJ_OK && x->singular) status = cj_singular_pose(s);
    if (status != CJ_OK) return status;
    s->moved = 1;
    cj_choose_start(s);
    cj_call(s, cj_start_tangent,
            CJ_IN(s->guess, s->free_v, x->start_v, s->held_v, cj_motions(s, x->u), x->p, s->seed.start_q, s->seed.start_v, motion_seeds(s), s->seed.p),
            CJ_OUT(s->seed.d, s->seed.v));
    return add_direction(s, unknowns, nu, result);
}

/* Start values, one joint's position or one speed at a time. One that the host has not changed has no effect, and any
 * other would be held: its slope is that of a start which holds it, at the number next to it. */
static cj_status along_held(cj_instance* s, int which, const unsigned* unknowns, size_t nu, double* result)
{
    cj_state* x = &s->now;
    cj_status status = CJ_OK;
    int any = 0;
    memset(&s->seed, 0, sizeof s->seed);
    s->aside = *x;
    for (int i = 0; i < NQ; ++i)
        if (joint_of_q[i] == which && s->wanted.start_q[i] != 0) {
            s->seed.start_q[i] = s->wanted.start_q[i];
            if (x->start_q[i] == initial_q[i]) x->start_q[i] = nextafter(x->start_q[i], INFINITY);
            any = 1;
        }
    const int j = which - NTREE;
    if (j >= 0 && s->wanted.start_v[j] != 0) {
        s->seed.start_v[j] = s->wanted.start_v[j];
        if (x->start_v[j] == default_speed[j]) x->start_v[j] = nextafter(x->start_v[j], INFINITY);
        any = 1;
    }
    if (!any) return CJ_OK;
    x->assembled = 0;
    status = along_start(s, unknowns, nu, result);
    *x = s->aside;
    cj_forget(s);
    return status;
}

/* The parts of a direction that what is set moves differently, one after another. */
static cj_status along_all(cj_instance* s, const unsigned* unknowns, size_t nu, double* result)
{
    cj_status status;
    memset(result, 0, nu * sizeof *result);
    s->wanted = s->seed;
    if (starting(s)) {
        memset(s->seed.start_q, 0, sizeof s->seed.start_q);
        memset(s->seed.start_v, 0, sizeof s->seed.start_v);
        status = along_start(s, unknowns, nu, result);
        for (int k = 0; k < NTREE + NV && status == CJ_OK; ++k) status = along_held(s, k, unknowns, nu, result);
        return status;
    }
    int motions = 0;
    for (int k = 0; k < NMOTION && !s->exchange; ++k) {
        motions |= s->seed.u[motion_input[k]] != 0;
        s->seed.u[motion_input[k]] = 0;
    }
    status = add_direction(s, unknowns, nu, result);
    if (status != CJ_OK || !motions) return status;
    memset(&s->seed, 0, sizeof s->seed);
    for (int k = 0; k < NMOTION; ++k) s->seed.u[motion_input[k]] = s->wanted.u[motion_input[k]];
    return along_motions(s, unknowns, nu, result);
}

cj_status cj_directional(cj_instance* s, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk,
                         const double* seed, double* result)
{
    const cj_status status = ready(s, unknowns, nu, knowns, nk);
    if (status != CJ_OK) return status;
    for (size_t k = 0; k < nk; ++k) *seed_of_known(s, knowns[k]) += seed[k];
    return along_all(s, unknowns, nu, result);
}

/* How fast outputs change: their derivatives along the motion and along the inputs' own rates. */
cj_status cj_output_rates(cj_instance* s, const unsigned* slots, const int* orders, size_t n, double* result)
{
    double dx[CJ_ROOM(NX)];
    int with_sigma = 0;
    cj_status status = ready(s, slots, n, NULL, 0);
    for (size_t k = 0; status == CJ_OK && k < n; ++k) {
        if (orders[k] != 1) status = cj_refuse(s, "derivatives of outputs are of order 1, not %d", orders[k]);
        else if (IN(slots[k], SLOT_DERIVATIVE, NX)) status = cj_refuse(s, "value reference %u is no output", slots[k]);
        with_sigma |= IN(slots[k], SLOT_SIGMA, NSIGMA);
    }
    if (status == CJ_OK) status = cj_rates(s, dx);
    if (status != CJ_OK) return status;
    for (int k = 0; k < NX; ++k) *seed_of_state(s, k) = dx[k];
    memcpy(s->seed.u, s->now.u + NU, NU * sizeof(double));
    for (int k = 0; k < NMOTION; ++k) /* the rate of a motion is the input beside it */
        if (motion_rate[k] >= 0) s->seed.u[motion_input[k]] = s->now.u[motion_rate[k]];
    tangent(s, with_sigma);
    for (int k = 0; k < NSAMPLED; ++k) s->seed.y[sampled_y[k]] = 0; /* what is held has no rate */
    for (size_t k = 0; k < n; ++k) result[k] = *seed_of_unknown(s, slots[k]);
    return CJ_OK;
}

#if HAS_ADJOINT /* FMI 3.0 */
/* An entry of a row from the column of a known with which the pose moves. */
static cj_status by_column(cj_instance* s, const unsigned* unknowns, size_t nu, unsigned known, const double* seed, double* result)
{
    memset(&s->seed, 0, sizeof s->seed);
    *seed_of_known(s, known) = 1;
    const cj_status status = along_all(s, unknowns, nu, s->column);
    *result = 0;
    for (size_t i = 0; i < nu; ++i) *result += seed[i] * s->column[i];
    return status;
}

cj_status cj_adjoint(cj_instance* s, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk,
                     const double* seed, double* result)
{
    cj_status status = ready(s, unknowns, nu, knowns, nk);
    if (status != CJ_OK) return status;
    const cj_state* x = &s->now;
    for (size_t k = 0; k < nu; ++k) *seed_of_unknown(s, unknowns[k]) += seed[k];
    sampled_slopes(s);
    memset(s->out_p, 0, sizeof s->out_p);
    if (s->seed.sigma != 0) {
        cj_sigma(s);
        cj_call(s, cj_sigma_adjoint, CJ_IN(x->at.q, x->p, s->left, s->right, &s->seed.sigma), CJ_OUT(s->seed.theta, s->out_p));
    }
    cj_call(s, cj_adjoint_kernel,
            CJ_IN(x->at.q, x->at.d, x->at.v, x->z, x->dependent_d, x->dependent_v, x->u, x->p, s->seed.rate, s->seed.dv, s->seed.dz, s->seed.y, s->seed.theta),
            CJ_OUT(s->seed.d, s->seed.v, s->seed.z, s->seed.u, s->seed.p));
    for (int k = 0; k < NP; ++k) s->seed.p[k] += s->out_p[k];
    for (size_t k = 0; k < nk; ++k) result[k] = *seed_of_known(s, knowns[k]);
    for (size_t k = 0; k < nk && status == CJ_OK; ++k) {
        const int moves = !s->exchange && IN(knowns[k], SLOT_INPUT, NU) && motion_of_input[knowns[k] - SLOT_INPUT] >= 0;
        if (starting(s) || moves) status = by_column(s, unknowns, nu, knowns[k], seed, result + k);
        if (status == CJ_OK && !isfinite(result[k])) status = cj_singular_pose(s);
    }
    return status;
}
#endif

/* A (X x X), B (X x U), C (L x X), D (L x U), one after another, each row by row. */
cj_status cj_linearize(cj_instance* s)
{
#if NLINEAR > 0
    cj_status status = ready(s, NULL, 0, NULL, 0);
    if (status != CJ_OK || s->known_linear) return status;
    const int nx = NX;
    double *A = s->linear, *B = A + nx * nx, *C = B + nx * NU, *D = C + NLINEAR_ROWS * nx;
    for (int j = 0; j < nx + NU; ++j) {
        memset(&s->seed, 0, sizeof s->seed);
        *(j < nx ? seed_of_state(s, j) : s->seed.u + (j - nx)) = 1;
        tangent(s, 0);
        const int width = j < nx ? nx : NU, column = j < nx ? j : j - nx;
        double *top = j < nx ? A : B, *bottom = j < nx ? C : D;
        for (int i = 0; i < nx; ++i) top[i * width + column] = *seed_of_unknown(s, (unsigned)(SLOT_DERIVATIVE + i));
        for (int i = 0; i < NLINEAR_ROWS; ++i) bottom[i * width + column] = s->seed.y[linear_rows[i]];
    }
    s->known_linear = 1;
#else
    (void)s;
#endif
    return CJ_OK;
}
