/* Derivatives along directions and along rows, exact, from the engine's traced ones. */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <string.h>

void cj_sigma(cj_instance* s)
{
    if (s->known_sigma || !NSIGMA) return;
#if RANK > 0
    cj_call(s, cj_jacobian, CJ_IN(s->now.q, s->now.p), CJ_OUT(s->G));
    s->sigma = cj_singular(s->G, NM, NV, RANK, s->copy, s->U, s->left, s->right);
    s->rank = cj_longer(s->copy, NM, NV, CJ_RANK_TOLERANCE);
#else
    s->sigma = INFINITY; /* no loop, so no singularity */
    s->rank = 0;
#endif
    s->known_sigma = 1;
}

static void tangent(cj_instance* s, int with_sigma)
{
    const cj_state* x = &s->now;
    cj_call(s, cj_tangent, CJ_IN(x->r, x->d, x->v, x->dependent, x->u, x->p, s->seed.d, s->seed.v, s->seed.u, s->seed.p),
            CJ_OUT(s->seed.rate, s->seed.dv, s->seed.y, s->seed.q));
#if RANK > 0
    if (with_sigma) {
        cj_sigma(s);
        cj_call(s, cj_sigma_tangent, CJ_IN(x->q, x->p, s->left, s->right, s->seed.q, s->seed.p), CJ_OUT(&s->seed.sigma));
    }
#else
    (void)with_sigma;
#endif
}

static double* seed_of_known(cj_instance* s, unsigned slot)
{
    const cj_state* x = &s->now;
    if (IN(slot, SLOT_X, NF)) return s->seed.d + x->independent[slot - SLOT_X];
    if (IN(slot, SLOT_X + NF, NF)) return s->seed.v + x->independent[slot - SLOT_X - NF];
    if (IN(slot, SLOT_U, NU)) return s->seed.u + (slot - SLOT_U);
    if (IN(slot, SLOT_P, NP)) return s->seed.p + (slot - SLOT_P);
    return NULL;
}

static double* seed_of_unknown(cj_instance* s, unsigned slot)
{
    const cj_state* x = &s->now;
    if (IN(slot, SLOT_Y, NY)) return s->seed.y + (slot - SLOT_Y);
    if (IN(slot, SLOT_DX, NF)) return s->seed.rate + x->independent[slot - SLOT_DX];
    if (IN(slot, SLOT_DX + NF, NF)) return s->seed.dv + x->independent[slot - SLOT_DX - NF];
    if (IN(slot, SLOT_SIGMA, NSIGMA)) return sigma_is_rank[slot - SLOT_SIGMA] ? &s->seed.rank : &s->seed.sigma;
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

cj_status cj_adjoint(cj_instance* s, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk,
                     const double* seed, double* result)
{
#if HAS_ADJOINT
    cj_status status = ready(s, unknowns, nu, knowns, nk);
    if (status != CJ_OK) return status;
    const cj_state* x = &s->now;
    for (size_t k = 0; k < nu; ++k) *seed_of_unknown(s, unknowns[k]) += seed[k];
    memset(s->out_p, 0, sizeof s->out_p);
#if RANK > 0
    if (s->seed.sigma != 0) {
        cj_sigma(s);
        cj_call(s, cj_sigma_adjoint, CJ_IN(x->q, x->p, s->left, s->right, &s->seed.sigma), CJ_OUT(s->seed.q, s->out_p));
    }
#endif
    cj_call(s, cj_adjoint_kernel,
            CJ_IN(x->r, x->d, x->v, x->dependent, x->u, x->p, s->seed.rate, s->seed.dv, s->seed.y, s->seed.q),
            CJ_OUT(s->seed.d, s->seed.v, s->seed.u, s->seed.p));
    for (int k = 0; k < NP; ++k) s->seed.p[k] += s->out_p[k];
    for (size_t k = 0; k < nk; ++k) result[k] = *seed_of_known(s, knowns[k]);
    return CJ_OK;
#else
    (void)unknowns; (void)nu; (void)knowns; (void)nk; (void)seed; (void)result;
    return cj_absent(s, "adjoint derivatives");
#endif
}

/* A (2F x 2F), B (2F x U), C (L x 2F), D (L x U), one after another, each row by row. */
cj_status cj_linearize(cj_instance* s)
{
#if NLINEAR > 0
    cj_status status = ready(s, NULL, 0, NULL, 0);
    if (status != CJ_OK || s->known_linear) return status;
    const int nx = 2 * NF;
    double *A = s->linear, *B = A + nx * nx, *C = B + nx * NU, *D = C + NLINEAR_ROWS * nx;
    for (int j = 0; j < nx + NU; ++j) {
        memset(&s->seed, 0, sizeof s->seed);
        *seed_of_known(s, (unsigned)(j < nx ? SLOT_X + j : SLOT_U + j - nx)) = 1;
        tangent(s, 0);
        const int width = j < nx ? nx : NU, column = j < nx ? j : j - nx;
        double *top = j < nx ? A : B, *bottom = j < nx ? C : D;
        for (int i = 0; i < nx; ++i) top[i * width + column] = *seed_of_unknown(s, (unsigned)(SLOT_DX + i));
        for (int i = 0; i < NLINEAR_ROWS; ++i) bottom[i * width + column] = s->seed.y[linear_rows[i]];
    }
    s->known_linear = 1;
#else
    (void)s;
#endif
    return CJ_OK;
}
