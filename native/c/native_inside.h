/* What an instance of native.h holds. */
#include "native.h"
#include "core.h"
#include "native_sizes.h"

struct cutjoint_mechanism {
    cj_instance core;
    cutjoint_say say;
    void* host;
    double since, h; /* steps of one length count from here, so that time does not drift */
    unsigned long long count;
    double joints[3][CJ_ROOM(NJOINTS)], near[CJ_ROOM(NJOINTS)], rates[CJ_ROOM(NJOINTS)];
    double stiffness, bounds[2][CJ_ROOM(NU)]; /* of forces that follow at this frequency; 0: not known yet */
};
