/* Two FMUs of FMI 2.0 linked into this program under the prefixes FIRST and SECOND.
 *
 * Both are run together, a step of one after a step of the other, with inputs that move; what they show at the
 * end is printed to the last bit, first all of the first, then all of the second. */
#include <math.h>
#include <stdio.h>

#ifndef STEPS
#define STEPS 200
#endif
#define H 1e-3

typedef struct {
    void *logger, *allocate, *release, *finished, *environment; /* none of them is needed */
} callbacks;

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define DECLARED(prefix) \
    void* PASTE(prefix, fmi2Instantiate)(const char*, int, const char*, const char*, const callbacks*, int, int); \
    int PASTE(prefix, fmi2SetupExperiment)(void*, int, double, double, int, double); \
    int PASTE(prefix, fmi2EnterInitializationMode)(void*); \
    int PASTE(prefix, fmi2ExitInitializationMode)(void*); \
    int PASTE(prefix, fmi2SetReal)(void*, const unsigned[], size_t, const double[]); \
    int PASTE(prefix, fmi2GetReal)(void*, const unsigned[], size_t, double[]); \
    int PASTE(prefix, fmi2DoStep)(void*, double, double, int); \
    void PASTE(prefix, fmi2FreeInstance)(void*);
DECLARED(FIRST)
DECLARED(SECOND)

/* inputs are `in` value references from `in_at` on, outputs `out` from `out_at` on */
#define START(prefix, guid) \
    PASTE(prefix, fmi2Instantiate)("it", 1, guid, NULL, &host, 0, 0)
#define BEGIN(prefix, c) \
    (PASTE(prefix, fmi2SetupExperiment)(c, 0, 0, 0, 1, STEPS * H) | PASTE(prefix, fmi2EnterInitializationMode)(c) \
     | PASTE(prefix, fmi2ExitInitializationMode)(c))
#define PUSH(prefix, c, ...) PUSH_(prefix, c, __VA_ARGS__)
#define PUSH_(prefix, c, in_at, in) \
    for (unsigned k = 0; k < (in); ++k) { \
        const unsigned at = (in_at) + k; \
        const double u = 0.25 * ((n + 7 * (int)k) % 40 - 20) / 20.0; /* a saw: no library has a part in it */ \
        status |= PASTE(prefix, fmi2SetReal)(c, &at, 1, &u); \
    }
#define SHOW(prefix, c, ...) SHOW_(prefix, c, __VA_ARGS__)
#define SHOW_(prefix, c, out_at, out) \
    for (unsigned k = 0; k < (out); ++k) { \
        const unsigned at = (out_at) + k; \
        double y; \
        status |= PASTE(prefix, fmi2GetReal)(c, &at, 1, &y); \
        printf("%a\n", y); \
    }

int main(void)
{
    const callbacks host = {0};
    void *a = START(FIRST, FIRST_GUID), *b = START(SECOND, SECOND_GUID);
    if (!a || !b) return 2;
    int status = BEGIN(FIRST, a) | BEGIN(SECOND, b);
    for (int n = 0; n < STEPS; ++n) {
        PUSH(FIRST, a, FIRST_IN)
        PUSH(SECOND, b, SECOND_IN)
        status |= PASTE(FIRST, fmi2DoStep)(a, n * H, H, 1) | PASTE(SECOND, fmi2DoStep)(b, n * H, H, 1);
    }
    SHOW(FIRST, a, FIRST_OUT)
    SHOW(SECOND, b, SECOND_OUT)
    PASTE(FIRST, fmi2FreeInstance)(a);
    PASTE(SECOND, fmi2FreeInstance)(b);
    return status;
}
