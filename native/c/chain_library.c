/* Calls of the traced functions; numbers are copied, and nothing is decided here. */
#include "MECHANISM_chain.h"
#include <string.h>
#include "chain_tables.h"

static const char mark[] = "written by cutjoint";

static const double nothing[MECHANISM_MOST + 1];

const char* MECHANISM_says(int code)
{
    return code >= 0 && code < MECHANISM_NCODES ? codes[code] : mark;
}

unsigned long MECHANISM_chain_size(void)
{
    return (unsigned long)sizeof(MECHANISM_chain);
}

void MECHANISM_start(MECHANISM_chain* chain)
{
    memset(chain, 0, sizeof *chain);
    memcpy(chain->q, start_q, sizeof chain->q);
    memcpy(chain->p, start_p, sizeof chain->p);
}

static const double* or_nothing(const double* given)
{
    return given ? given : nothing;
}

int MECHANISM_inverse(MECHANISM_chain* chain, const double* pose, const double* twist, const double* acceleration,
                      double* positions, double* speeds, double* accelerations)
{
    double q[MECHANISM_NQ], v[MECHANISM_NV + 1], dv[MECHANISM_NV + 1], code = MECHANISM_NOT_MET;
    const double* in[] = {chain->q, pose, or_nothing(twist), or_nothing(acceleration), chain->p};
    double* out[] = {q, v, dv, positions, speeds, accelerations, &code};
    memcpy(chain->arg, in, sizeof in);
    memcpy(chain->res, out, sizeof out);
    cj_chain_inverse(chain->arg, chain->res, chain->iw, chain->w, 0);
    if (code == MECHANISM_MET) {
        memcpy(chain->q, q, sizeof chain->q);
        memcpy(chain->v, v, sizeof chain->v);
        memcpy(chain->dv, dv, sizeof chain->dv);
    }
    return (int)code;
}

int MECHANISM_complete(MECHANISM_chain* chain, const double* measured, const double* rates, double most,
                       double* slack)
{
    double q[MECHANISM_NQ], v[MECHANISM_NV + 1], code = MECHANISM_NOT_MET;
    const double* in[] = {chain->q, measured, or_nothing(rates), &most, chain->p};
    double* out[] = {q, v, slack, &code};
    memcpy(chain->arg, in, sizeof in);
    memcpy(chain->res, out, sizeof out);
    cj_chain_complete(chain->arg, chain->res, chain->iw, chain->w, 0);
    if (code == MECHANISM_MET) {
        memcpy(chain->q, q, sizeof chain->q);
        memcpy(chain->v, v, sizeof chain->v);
        memset(chain->dv, 0, sizeof chain->dv);
    }
    return (int)code;
}

int MECHANISM_pose(MECHANISM_chain* chain, double* pose, double* twist)
{
    const double* in[] = {chain->q, chain->v, chain->p};
    double* out[] = {pose, twist, 0, 0};
    memcpy(chain->arg, in, sizeof in);
    memcpy(chain->res, out, sizeof out);
    return cj_chain_pose(chain->arg, chain->res, chain->iw, chain->w, 0);
}

int MECHANISM_jacobian(MECHANISM_chain* chain, double* jacobian, double* inertia)
{
    const double* in[] = {chain->q, chain->p};
    double* out[] = {jacobian, inertia};
    memcpy(chain->arg, in, sizeof in);
    memcpy(chain->res, out, sizeof out);
    return cj_chain_jacobian(chain->arg, chain->res, chain->iw, chain->w, 0);
}

int MECHANISM_efforts(MECHANISM_chain* chain, const double* wrench, double* efforts)
{
    const double* in[] = {chain->q, chain->v, chain->dv, or_nothing(wrench), chain->p};
    double* out[] = {efforts};
    memcpy(chain->arg, in, sizeof in);
    memcpy(chain->res, out, sizeof out);
    return cj_chain_efforts(chain->arg, chain->res, chain->iw, chain->w, 0);
}
