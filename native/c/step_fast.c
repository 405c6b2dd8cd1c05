/* The step a second time, for x86-64 processors with AVX2 and FMA (2013 and later): nearly twice as
 * fast. core.c asks the processor at instantiation which one it can run. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(CJ_PLAIN_STEP)
#include <math.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "names.h"
#undef cj_step
#undef cj_dynamics
#undef cj_sampling
#define cj_step cj_step_fast
#define cj_dynamics cj_dynamics_fast
#define cj_sampling cj_sampling_fast
#include "step.c"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int cj_no_fast_step; /* a file must hold something */
#endif
