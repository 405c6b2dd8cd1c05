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
    cj_call(s, cj_tangent, CJ_IN(x->r, x->at.d, x->at.v, x->free_d, x->free_v, x->u, x->p, s->seed.d, s->seed.v, s->seed.z, s->seed.u, s->seed.p),
            CJ_OUT(s->seed.rate, s->seed.dv, s->seed.dz, s->seed.y, s->seed.q));
    if (!with_sigma) return;
    cj_sigma(s);
    cj_call(s, cj_sigma_tangent, CJ_IN(x->at.q, x->p, s->left, s->right, s->seed.q, s->seed.p), CJ_OUT(&s->seed.sigma));
}

static double* seed_of_known(cj_instance* s, unsigned slot)
{
    const cj_state* x = &s->now;
    if (IN(slot, SLOT_STATE, NF)) return s->seed.d + x->independent[slot - SLOT_STATE];
    if (IN(slot, SLOT_STATE + NF, NS)) return s->seed.v + x->independent[slot - SLOT_STATE - NF];
    if (IN(slot, SLOT_STATE + NF + NS, NI)) return s->seed.z + (slot - SLOT_STATE - NF - NS);
    if (IN(slot, SLOT_INPUT, NU)) {
        const int motion = motion_of_input[slot - SLOT_INPUT];
        return motion < 0 ? s->seed.u + (slot - SLOT_INPUT) : s->seed.p + NPARAMETER + motion;
    }
    if (IN(slot, SLOT_PARAMETER, NPARAMETER)) return s->seed.p + (slot - SLOT_PARAMETER);
    return NULL;
}

static double* seed_of_unknown(cj_instance* s, unsigned slot)
{
    const cj_state* x = &s->now;
    if (IN(slot, SLOT_OUTPUT, NY)) return s->seed.y + (slot - SLOT_OUTPUT);
    if (IN(slot, SLOT_DERIVATIVE, NF)) return s->seed.rate + x->independent[slot - SLOT_DERIVATIVE];
    if (IN(slot, SLOT_DERIVATIVE + NF, NS)) return s->seed.dv + x->independent[slot - SLOT_DERIVATIVE - NF];
    if (IN(slot, SLOT_DERIVATIVE + NF + NS, NI)) return s->seed.dz + (slot - SLOT_DERIVATIVE - NF - NS);
    if (IN(slot, SLOT_SIGMA, NSIGMA)) return sigma_is_rank[slot - SLOT_SIGMA] ? &s->seed.rank : &s->seed.sigma;
    if (slot == SLOT_EFFORT) return &s->seed.rank; /* a count has no slope either */
    return NULL;
}

static cj_status ready(cj_instance* s, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk)
{
    cj_status status = cj_assemble(s);
    if (status == CJ_OK) status = cj_in_chart(s);
    if (status != CJ_OK) return status;
    for (size_t k = 0; k < nk; ++k)
        if (!seed_of_known(s, knowns[k])) return cj_refuse(s, "value reference %u can't be a known of a derivative", knowns[k]);
    for (size_t k = 0; k < nu; ++k)
        if (!seed_of_unknown(s, unknowns[k])) return cj_refuse(s, "value reference %u can't be an unknown of a derivative", unknowns[k]);
    memset(&s->seed, 0, sizeof s->seed);
    return CJ_OK;
}

cj_status cj_directional(cj_instance* s, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk,
                         const double* seed, double* result)
{
    cj_status status = ready(s, unknowns, nu, knowns, nk);
    if (status != CJ_OK) return status;
    int with_sigma = 0;
    for (size_t k = 0; k < nk; ++k) *seed_of_known(s, knowns[k]) += seed[k];
    for (size_t k = 0; k < nu; ++k) with_sigma |= IN(unknowns[k], SLOT_SIGMA, NSIGMA);
    tangent(s, with_sigma);
    for (size_t k = 0; k < nu; ++k) result[k] = *seed_of_unknown(s, unknowns[k]);
    return CJ_OK;
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
    for (int k = 0; k < NX; ++k) *seed_of_known(s, (unsigned)(SLOT_STATE + k)) = dx[k];
    memcpy(s->seed.u, s->now.u + NU, NU * sizeof(double));
    for (int k = 0; k < NMOTION; ++k) /* the rate of a motion is the input beside it */
        s->seed.p[NPARAMETER + k] = motion_rate[k] < 0 ? s->now.u[NU + motion_input[k]] : s->now.u[motion_rate[k]];
    tangent(s, with_sigma);
    for (int k = 0; k < NSAMPLED; ++k) s->seed.y[sampled_y[k]] = 0; /* what is held has no rate */
    for (size_t k = 0; k < n; ++k) result[k] = *seed_of_unknown(s, slots[k]);
    return CJ_OK;
}

#if HAS_ADJOINT /* FMI 3.0 */
cj_status cj_adjoint(cj_instance* s, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk,
                     const double* seed, double* result)
{
    cj_status status = ready(s, unknowns, nu, knowns, nk);
    if (status != CJ_OK) return status;
    const cj_state* x = &s->now;
    for (size_t k = 0; k < nu; ++k) *seed_of_unknown(s, unknowns[k]) += seed[k];
    memset(s->out_p, 0, sizeof s->out_p);
    if (s->seed.sigma != 0) {
        cj_sigma(s);
        cj_call(s, cj_sigma_adjoint, CJ_IN(x->at.q, x->p, s->left, s->right, &s->seed.sigma), CJ_OUT(s->seed.q, s->out_p));
    }
    cj_call(s, cj_adjoint_kernel,
            CJ_IN(x->r, x->at.d, x->at.v, x->free_d, x->free_v, x->u, x->p, s->seed.rate, s->seed.dv, s->seed.dz, s->seed.y, s->seed.q),
            CJ_OUT(s->seed.d, s->seed.v, s->seed.z, s->seed.u, s->seed.p));
    for (int k = 0; k < NP; ++k) s->seed.p[k] += s->out_p[k];
    for (size_t k = 0; k < nk; ++k) result[k] = *seed_of_known(s, knowns[k]);
    return CJ_OK;
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
        *seed_of_known(s, (unsigned)(j < nx ? SLOT_STATE + j : SLOT_INPUT + j - nx)) = 1;
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
