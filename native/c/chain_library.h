/* Kinematics of MECHANISM: TARGETS.
 *
 * Nothing is allocated, and nothing is shared: an instance belongs to one thread at a time, several are
 * independent. Lengths are metres, angles radians, orientations Euler parameters (w, x, y, z).
 * Calls that fail leave the instance as it was. */
#ifndef MECHANISM_CHAIN_H
#define MECHANISM_CHAIN_H

#if defined(_WIN32)
#define MECHANISM_API __declspec(dllexport)
#elif defined(__GNUC__)
#define MECHANISM_API __attribute__((visibility("default")))
#else
#define MECHANISM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

SIZES

typedef struct MECHANISM_chain {
    double q[MECHANISM_NQ];   /* coordinates of the tree's joints, in the order of MECHANISM_joints */
    double v[MECHANISM_NV];   /* their speeds */
    double dv[MECHANISM_NV];  /* and accelerations */
    double p[MECHANISM_NP + 1]; /* parameters, in the order of MECHANISM_parameters */
    double w[MECHANISM_SIZE_W];
    const double* arg[MECHANISM_SIZE_ARG];
    double* res[MECHANISM_SIZE_RES];
    long long int iw[MECHANISM_SIZE_IW];
} MECHANISM_chain;

/* What each number is, in order. */
MECHANISM_API extern const char* const MECHANISM_joints[];
MECHANISM_API extern const char* const MECHANISM_actuators[];
MECHANISM_API extern const char* const MECHANISM_measured[];
MECHANISM_API extern const char* const MECHANISM_rows[];
MECHANISM_API extern const char* const MECHANISM_parameters[];

/* What a code says. */
MECHANISM_API const char* MECHANISM_says(int code);

/* How large an instance is, for hosts that can't ask the compiler. */
MECHANISM_API unsigned long MECHANISM_chain_size(void);

/* The assembled start. */
MECHANISM_API void MECHANISM_start(MECHANISM_chain* chain);

/* Put the frames where `pose` says: x, y, z and Euler parameters of each; `twist` and `acceleration` are
 * along the rows, or null for rest. Results, each a number for every actuator, may be null. */
MECHANISM_API int MECHANISM_inverse(MECHANISM_chain* chain, const double* pose, const double* twist,
                                    const double* acceleration, double* positions, double* speeds,
                                    double* accelerations);

/* All joints of what is measured; `rates` may be null for rest. `slack`, or null, is what each measurement is
 * off by where more is measured than needed; `most` is what it may be. */
MECHANISM_API int MECHANISM_complete(MECHANISM_chain* chain, const double* measured, const double* rates,
                                     double most, double* slack);

/* Where the frames are, and their twists along the rows, which may be null. */
MECHANISM_API int MECHANISM_pose(MECHANISM_chain* chain, double* pose, double* twist);

/* Rows by actuators, column after column: twist = J speeds; and the inertia that actuators feel, or null. */
MECHANISM_API int MECHANISM_jacobian(MECHANISM_chain* chain, double* jacobian, double* inertia);

/* What actuators give for the present motion; `wrench` acts along the rows, null for none. */
MECHANISM_API int MECHANISM_efforts(MECHANISM_chain* chain, const double* wrench, double* efforts);

#ifdef __cplusplus
}
#endif
#endif
