/* A mechanism as a library: no headers but this one, no sizes known beforehand, nothing allocated after `cutjoint_new`.
 *
 * Made by `cutjoint realtime`, from the same generated step and core as the FMU. Functions that can fail
 * return 0 when all is well; what was wrong is told to `say`. One instance belongs to one thread at a time.
 */
#ifndef CUTJOINT_NATIVE_H
#define CUTJOINT_NATIVE_H
#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif
#if defined(__GNUC__)
#define CUTJOINT_API __attribute__((visibility("default")))
#else
#define CUTJOINT_API
#endif

#define CUTJOINT_NATIVE 4 /* version of these functions */

typedef enum {
    CUTJOINT_INPUT,     /* the table of inputs: of motors, cylinders, wrenches, others */
    CUTJOINT_PARAMETER, /* numbers that the description marks */
    CUTJOINT_START,     /* coordinates held, and speeds wanted, at the start */
    CUTJOINT_OUTPUT,    /* what was chosen when the library was made */
    CUTJOINT_JOINT      /* every joint as turns and slides of one coordinate, passive and cut ones too; then cylinders */
} cutjoint_kind;

typedef struct {
    const char *name, *unit;
    double low, high, value; /* bounds and start value */
    double range;            /* inputs: no drive gives more, it is an error */
    int joint;               /* inputs: which of the joints is driven; joints: the input, or -1 */
    const char* role;        /* inputs: torque, force, voltage, position, speed, velocity, acceleration, or another */
} cutjoint_item;

typedef struct cutjoint_mechanism cutjoint_mechanism;
typedef void (*cutjoint_say)(void* host, const char* message);

CUTJOINT_API int cutjoint_native(void); /* CUTJOINT_NATIVE of the library */
CUTJOINT_API const char* cutjoint_name(void);
CUTJOINT_API size_t cutjoint_count(cutjoint_kind kind);
CUTJOINT_API const cutjoint_item* cutjoint_items(cutjoint_kind kind);
CUTJOINT_API int cutjoint_most_tries(void); /* sub-steps that one step may try after the plain one */

CUTJOINT_API cutjoint_mechanism* cutjoint_new(cutjoint_say say, void* host);
CUTJOINT_API void cutjoint_free(cutjoint_mechanism*);
/* Parameters and start values, before `cutjoint_begin`, which closes the loops. */
CUTJOINT_API int cutjoint_set(cutjoint_mechanism*, cutjoint_kind kind, size_t k, double value);
CUTJOINT_API int cutjoint_begin(cutjoint_mechanism*);
CUTJOINT_API void cutjoint_reset(cutjoint_mechanism*); /* to before `cutjoint_set` */
/* All inputs; refused if one is not finite. */
CUTJOINT_API int cutjoint_drive(cutjoint_mechanism*, const double* inputs);
/* One step of length h, seconds; where it can't be done the state stays as it was. */
CUTJOINT_API int cutjoint_step(cutjoint_mechanism*, double h);
CUTJOINT_API double cutjoint_time(const cutjoint_mechanism*);
CUTJOINT_API double cutjoint_tries(const cutjoint_mechanism*); /* sub-steps of the last step */
/* Values of the present state; the arrays stay where they are. */
CUTJOINT_API const double* cutjoint_outputs(cutjoint_mechanism*);
/* Positions, then velocities, then efforts, of all joints. */
CUTJOINT_API const double* cutjoint_joints(cutjoint_mechanism*);
CUTJOINT_API const double* cutjoint_accelerations(cutjoint_mechanism*);

/* Commands, as model/control/command_law.py has them. An order tells every input what (`cutjoint_told`), how much, and
 * of a motion its rate and acceleration: four arrays one after another, each as long as there are inputs. */
typedef enum { CUTJOINT_FORCE, CUTJOINT_TO_POSITION, CUTJOINT_TO_VELOCITY } cutjoint_told;
/* One value for each input becomes an order. */
CUTJOINT_API void cutjoint_order_of_values(cutjoint_mechanism*, const double* values, double* order);
/* So do efforts, positions, velocities, accelerations, one array after another; where all are NaN the order stays. */
CUTJOINT_API void cutjoint_order_of_fields(cutjoint_mechanism*, const double* fields, double* order);
/* The number of the first input that can't obey, counted from 1, or 0. Ranges: those of the items if NULL. */
CUTJOINT_API size_t cutjoint_check_order(cutjoint_mechanism*, const double* order, const double* ranges, int* saturated);
/* The watchdog: relaxes an order older than `timeout` seconds (0: never), forces `stay` or vanish; 1 if it did. */
CUTJOINT_API int cutjoint_relax_order(cutjoint_mechanism*, double age, double timeout, int stay, double* order);
/* The order of an emergency stop: no force, or with `brake` drives hold where they are. */
CUTJOINT_API void cutjoint_stop_order(cutjoint_mechanism*, int brake, double* order);
CUTJOINT_API double cutjoint_timeout(void);                      /* of the watchdog, unless you know better */
CUTJOINT_API double cutjoint_frequency(void);                    /* at which motions are followed, rad/s; the same */
CUTJOINT_API double cutjoint_longest_hold(double frequency);     /* seconds that forces may be held which follow */
/* Inputs of an order in which no force follows a motion. */
CUTJOINT_API void cutjoint_give_inputs(cutjoint_mechanism*, const double* order, double* inputs);
/* Inputs of any order: where a force follows a motion, it is computed torque; `frequency` in rad/s. */
CUTJOINT_API void cutjoint_follow_order(cutjoint_mechanism*, const double* order, double frequency, double* inputs);

#if defined(__cplusplus)
}
#endif
#endif
