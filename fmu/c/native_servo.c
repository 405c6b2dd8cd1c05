/* What only the library of native.h has, and no loop of ours needs: accelerations of all joints, and inputs that
 * make driven ones accelerate as wanted. */
#include "native_inside.h"
#include "tables.h"
#include <math.h>
#include <string.h>

const double* cutjoint_accelerations(cutjoint_mechanism* m)
{
    cj_instance* s = &m->core;
    cj_call(s, cj_joint_accelerations, CJ_IN(s->now.at.q, s->now.at.v, s->now.u, s->now.p, m->joints[0]), CJ_OUT(m->rates));
    return m->rates;
}

int cutjoint_servo(cutjoint_mechanism* m, const double* given, const double* wanted, const double* follows, double* inputs)
{
    cj_instance* s = &m->core;
    double u[CJ_ROOM(NU)];
    cj_call(s, cj_driving, CJ_IN(s->now.at.q, s->now.at.v, given, s->now.p, wanted, follows), CJ_OUT(u));
    if (!isfinite(cj_largest(u, NU))) return 1;
    memcpy(inputs, u, NU * sizeof *u);
    return 0;
}
