/* Derivatives along directions and along rows, exact, from the engine's traced ones. */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <string.h>

#define IN(slot, first, count) ((count) > 0 && (slot) >= (unsigned)(first) && (slot) < (unsigned)((first) + (count)))

void cj_sigma(cj_instance* s)
{
    if (s->known_sigma || !NSIGMA) return;
#if RANK > 0
    s->arg[0] = s->now.q; s->arg[1] = s->now.p;
    s->res[0] = s->G;
    cj_jacobian(s->arg, s->res, s->iw, s->w, 0);
    s->sigma = cj_singular(s->G, NM, NV, RANK, s->copy, s->U, s->left, s->right);
    s->rank = cj_longer(s->copy, NM, NV, CJ_RANK_TOLERANCE);
#else
    s->sigma = INFINITY; /* no loop, so no singularity */
    s->rank = 0;
#endif
    s->known_sigma = 1;
}

static void point(cj_instance* s)
{
    cj_state* x = &s->now;
    s->arg[0] = x->r; s->arg[1] = x->d; s->arg[2] = x->v; s->arg[3] = x->dependent; s->arg[4] = x->u; s->arg[5] = x->p;
}

static void tangent(cj_instance* s, int with_sigma)
{
    point(s);
    s->arg[6] = s->seed_d; s->arg[7] = s->seed_v; s->arg[8] = s->seed_u; s->arg[9] = s->seed_p;
    s->res[0] = s->seed_rate; s->res[1] = s->seed_dv; s->res[2] = s->seed_y; s->res[3] = s->seed_q;
    cj_tangent(s->arg, s->res, s->iw, s->w, 0);
#if RANK > 0
    if (with_sigma) {
        cj_sigma(s);
        s->arg[0] = s->now.q; s->arg[1] = s->now.p; s->arg[2] = s->left; s->arg[3] = s->right;
        s->arg[4] = s->seed_q; s->arg[5] = s->seed_p;
        s->res[0] = &s->seed_sigma;
        cj_sigma_tangent(s->arg, s->res, s->iw, s->w, 0);
    }
#else
    (void)with_sigma;
#endif
}

static cj_status unknown_known(cj_instance* s, const char* what, unsigned slot)
{
    cj_say(s, CJ_ERROR, "logStatusError", "value reference %u can't be %s of a derivative", slot, what);
    return CJ_ERROR;
}

static double* seed_of_known(cj_instance* s, unsigned slot)
{
    const cj_state* x = &s->now;
    if (IN(slot, SLOT_X, NF)) return s->seed_d + x->independent[slot - SLOT_X];
    if (IN(slot, SLOT_X + NF, NF)) return s->seed_v + x->independent[slot - SLOT_X - NF];
    if (IN(slot, SLOT_U, NU)) return s->seed_u + (slot - SLOT_U);
    if (IN(slot, SLOT_P, NP)) return s->seed_p + (slot - SLOT_P);
    return NULL;
}

static double* seed_of_unknown(cj_instance* s, unsigned slot)
{
    const cj_state* x = &s->now;
    if (IN(slot, SLOT_Y, NY)) return s->seed_y + (slot - SLOT_Y);
    if (IN(slot, SLOT_DX, NF)) return s->seed_rate + x->independent[slot - SLOT_DX];
    if (IN(slot, SLOT_DX + NF, NF)) return s->seed_dv + x->independent[slot - SLOT_DX - NF];
    if (IN(slot, SLOT_SIGMA, NSIGMA)) return sigma_is_rank[slot - SLOT_SIGMA] ? &s->seed_rank : &s->seed_sigma;
    return NULL;
}

static void clear_seeds(cj_instance* s)
{
    memset(s->seed_d, 0, sizeof s->seed_d);
    memset(s->seed_v, 0, sizeof s->seed_v);
    memset(s->seed_u, 0, sizeof s->seed_u);
    memset(s->seed_p, 0, sizeof s->seed_p);
    memset(s->seed_rate, 0, sizeof s->seed_rate);
    memset(s->seed_dv, 0, sizeof s->seed_dv);
    memset(s->seed_y, 0, sizeof s->seed_y);
    memset(s->seed_q, 0, sizeof s->seed_q);
    s->seed_sigma = s->seed_rank = 0; /* a rank has no slope: its seed leads nowhere */
}

static cj_status ready(cj_instance* s, const unsigned* unknowns, size_t nu, const unsigned* knowns, size_t nk)
{
    cj_status status = cj_assemble(s);
    if (status == CJ_OK) status = cj_in_chart(s);
    if (status != CJ_OK) return status;
    for (size_t k = 0; k < nk; ++k)
        if (!seed_of_known(s, knowns[k])) return unknown_known(s, "a known", knowns[k]);
    for (size_t k = 0; k < nu; ++k)
        if (!seed_of_unknown(s, unknowns[k])) return unknown_known(s, "an unknown", unknowns[k]);
    clear_seeds(s);
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
    for (size_t k = 0; k < nu; ++k) *seed_of_unknown(s, unknowns[k]) += seed[k];
    memset(s->out_p, 0, sizeof s->out_p);
#if RANK > 0
    if (s->seed_sigma != 0) {
        cj_sigma(s);
        s->arg[0] = s->now.q; s->arg[1] = s->now.p; s->arg[2] = s->left; s->arg[3] = s->right; s->arg[4] = &s->seed_sigma;
        s->res[0] = s->seed_q; s->res[1] = s->out_p;
        cj_sigma_adjoint(s->arg, s->res, s->iw, s->w, 0);
    }
#endif
    point(s);
    s->arg[6] = s->seed_rate; s->arg[7] = s->seed_dv; s->arg[8] = s->seed_y; s->arg[9] = s->seed_q;
    s->res[0] = s->seed_d; s->res[1] = s->seed_v; s->res[2] = s->seed_u; s->res[3] = s->seed_p;
    cj_adjoint_kernel(s->arg, s->res, s->iw, s->w, 0);
    for (int k = 0; k < NP; ++k) s->seed_p[k] += s->out_p[k];
    for (size_t k = 0; k < nk; ++k) result[k] = *seed_of_known(s, knowns[k]);
    return CJ_OK;
#else
    (void)unknowns; (void)nu; (void)knowns; (void)nk; (void)seed; (void)result;
    cj_say(s, CJ_ERROR, "logStatusError", "adjoint derivatives are not part of this FMU");
    return CJ_ERROR;
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
        clear_seeds(s);
        *seed_of_known(s, (unsigned)(j < nx ? SLOT_X + j : SLOT_U + j - nx)) = 1;
        tangent(s, 0);
        const int width = j < nx ? nx : NU, column = j < nx ? j : j - nx;
        double *top = j < nx ? A : B, *bottom = j < nx ? C : D;
        for (int i = 0; i < nx; ++i) top[i * width + column] = *seed_of_unknown(s, (unsigned)(SLOT_DX + i));
        for (int i = 0; i < NLINEAR_ROWS; ++i) bottom[i * width + column] = s->seed_y[linear_rows[i]];
    }
    s->known_linear = 1;
#else
    (void)s;
#endif
    return CJ_OK;
}
