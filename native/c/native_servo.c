/* Accelerations of all joints, and orders and inputs that depend on where driven ones are. */
#include "native_inside.h"
#include "tables.h"

const double* cutjoint_accelerations(cutjoint_mechanism* m)
{
    cj_instance* s = &m->core;
    cj_call(s, cj_joint_accelerations, CJ_IN(s->now.at.q, s->now.at.v, s->now.z, s->now.u, s->now.p, m->joints[0]), CJ_OUT(m->rates));
    return m->rates;
}

/* Positions and velocities of what each input drives, 0 for what drives nothing. */
static void read_driven(cutjoint_mechanism* m, double* position, double* velocity)
{
    const double* values = cutjoint_joints(m);
    for (int k = 0; k < NU; ++k) {
        const int at = cutjoint_items(CUTJOINT_INPUT)[k].joint;
        position[k] = at < 0 ? 0 : values[at];
        velocity[k] = at < 0 ? 0 : values[NJOINTS + at];
    }
}

void cutjoint_stop_order(cutjoint_mechanism* m, int brake, double* order)
{
    double position[CJ_ROOM(NU)], velocity[CJ_ROOM(NU)];
    const double brakes = brake;
    read_driven(m, position, velocity);
    cj_call(&m->core, cj_stop_order, CJ_IN(position, &brakes), CJ_OUT(order, order + NU, order + 2 * NU, order + 3 * NU));
}

void cutjoint_follow_order(cutjoint_mechanism* m, const double* order, double frequency, double* inputs)
{
    cj_instance* s = &m->core;
    double position[CJ_ROOM(NU)], velocity[CJ_ROOM(NU)];
    read_driven(m, position, velocity);
    if (m->stiffness != frequency) {
        m->stiffness = frequency;
        cj_call(s, cj_ample, CJ_IN(s->now.at.q, s->now.z, s->now.u, s->now.p, &frequency), CJ_OUT(m->bounds[0], m->bounds[1]));
    }
    cj_call(s, cj_follow_order,
            CJ_IN(s->now.at.q, s->now.at.v, s->now.z, s->now.u, s->now.p, order, order + NU, order + 2 * NU, order + 3 * NU, position, velocity, &frequency,
                  m->bounds[0], m->bounds[1]),
            CJ_OUT(inputs));
}
