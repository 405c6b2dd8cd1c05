/* Numbers in lanes (SIMD): what CasADi writes for one mechanism, for as many as a vector of the processor holds.
 *
 * `casadi_real` is a vector; + - * / are the compiler's own, lane by lane, and everything else is below.
 * No lane ever sees another one. Truth is 1 and falsehood 0, as CasADi has it. */
#include <math.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t bits __attribute__((vector_size(8 * LANES)));
#define casadi_real lanes
#define casadi_int long long int
#define ONLY_HERE static inline __attribute__((unused))

ONLY_HERE lanes spread(double x) { return x - (lanes){0}; }
ONLY_HERE lanes truth(bits m) { return (lanes)(m & (bits)spread(1.0)); }
ONLY_HERE lanes either(bits m, lanes x, lanes y) { return (lanes)((m & (bits)x) | (~m & (bits)y)); }

ONLY_HERE lanes lanes_lt(lanes x, lanes y) { return truth(x < y); }
ONLY_HERE lanes lanes_le(lanes x, lanes y) { return truth(x <= y); }
ONLY_HERE lanes lanes_eq(lanes x, lanes y) { return truth(x == y); }
ONLY_HERE lanes lanes_ne(lanes x, lanes y) { return truth(x != y); }
ONLY_HERE lanes lanes_not(lanes x) { return truth(x == spread(0.0)); }
ONLY_HERE lanes lanes_and(lanes x, lanes y) { return truth((x != spread(0.0)) & (y != spread(0.0))); }
ONLY_HERE lanes lanes_or(lanes x, lanes y) { return truth((x != spread(0.0)) | (y != spread(0.0))); }
ONLY_HERE lanes lanes_where(lanes c, lanes x) { return (lanes)((c != spread(0.0)) & (bits)x); }

ONLY_HERE lanes lanes_sq(lanes x) { return x * x; }
ONLY_HERE lanes lanes_fabs(lanes x) { return (lanes)((bits)x & ~(bits)spread(-0.0)); }
ONLY_HERE lanes lanes_fmax(lanes x, lanes y) { return either((x > y) | (y != y), x, y); }
ONLY_HERE lanes lanes_fmin(lanes x, lanes y) { return either((x < y) | (y != y), x, y); }
ONLY_HERE lanes lanes_sign(lanes x) {
  return either(x < spread(0.0), spread(-1.0), either(x > spread(0.0), spread(1.0), x));
}
ONLY_HERE lanes lanes_sqrt(lanes x) {
#if defined(__AVX512F__)
  return (lanes)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX__)
  return (lanes)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
  return (lanes)_mm_sqrt_pd((__m128d)x);
#else
  for (int k = 0; k < LANES; ++k) x[k] = sqrt(x[k]);
  return x;
#endif
}

/* Functions of the vector library of glibc where it has them (within 4 units of the last place), else
 * those of libm, one lane after the other. */
#define EACH(name) \
  ONLY_HERE lanes lanes_##name(lanes x) { \
    for (int k = 0; k < LANES; ++k) x[k] = name(x[k]); \
    return x; \
  }
#define EACH_OF_TWO(name) \
  ONLY_HERE lanes lanes_##name(lanes x, lanes y) { \
    for (int k = 0; k < LANES; ++k) x[k] = name(x[k], y[k]); \
    return x; \
  }
#if defined(__AVX512F__)
#define VECTOR(name, v) _ZGVeN8##v##_##name
#elif defined(__AVX2__)
#define VECTOR(name, v) _ZGVdN4##v##_##name
#elif defined(__AVX__)
#define VECTOR(name, v) _ZGVcN4##v##_##name
#else
#define VECTOR(name, v) _ZGVbN2##v##_##name
#endif
#define TOGETHER(name) \
  extern lanes VECTOR(name, v)(lanes); \
  ONLY_HERE lanes lanes_##name(lanes x) { return VECTOR(name, v)(x); }
#define TWO_TOGETHER(name) \
  extern lanes VECTOR(name, vv)(lanes, lanes); \
  ONLY_HERE lanes lanes_##name(lanes x, lanes y) { return VECTOR(name, vv)(x, y); }

#if defined(VECTOR_LIBRARY) && defined(__x86_64__) && defined(__GLIBC__)
#define IF_THERE TOGETHER
#if __GLIBC_PREREQ(2, 35)
#define IF_NEW TOGETHER
#define IF_NEW_OF_TWO TWO_TOGETHER
#endif
#endif
#ifndef IF_THERE
#define IF_THERE EACH
#endif
#ifndef IF_NEW
#define IF_NEW EACH
#define IF_NEW_OF_TWO EACH_OF_TWO
#endif
IF_THERE(exp) IF_THERE(log)
IF_NEW(tan) IF_NEW(asin) IF_NEW(acos) IF_NEW(atan) IF_NEW(sinh) IF_NEW(cosh) IF_NEW(tanh)
IF_NEW(asinh) IF_NEW(acosh) IF_NEW(atanh) IF_NEW(log1p) IF_NEW(expm1) IF_NEW_OF_TWO(atan2)
EACH(floor) EACH(ceil) EACH(erf) EACH_OF_TWO(fmod) EACH_OF_TWO(pow) EACH_OF_TWO(copysign)
EACH_OF_TWO(hypot) EACH_OF_TWO(remainder)

/* Sine and cosine together, as joints want them. The angle less the nearest multiple of a right angle,
 * whose first two parts have 33 bits, so that up to 2^20 of them are exact; then Taylor's series, of which
 * less than 5e-17 is left out. Angles beyond are libm's. */
typedef struct {
  lanes sin, cos;
} pair;
#define MOST_TURNED 1.5e6
ONLY_HERE int any(bits m) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)m, (__m512i)m) != 0;
#elif defined(__AVX__)
  return _mm256_movemask_pd((__m256d)m) != 0;
#else
  int64_t found = 0;
  for (int k = 0; k < LANES; ++k) found |= m[k];
  return found != 0;
#endif
}
static __attribute__((noinline, unused)) void far_away(const lanes *x, pair *y) {
  for (int k = 0; k < LANES; ++k)
    if (fabs((*x)[k]) > MOST_TURNED) y->sin[k] = sin((*x)[k]), y->cos[k] = cos((*x)[k]);
}
ONLY_HERE pair lanes_turned(lanes x) {
  const double rounding = 6755399441055744.0; /* 1.5 * 2^52: numbers there are whole */
  lanes shifted = x * 0.63661977236758134308 + rounding, n = shifted - rounding;
  lanes r = x - n * 1.57079632673412561417;
  r = (r - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
  lanes z = r * r, h = 0.5 * z, w = 1.0 - h;
  lanes s = z * (-1 / 1307674368000.0) + 1 / 6227020800.0, c = z * (1 / 20922789888000.0) - 1 / 87178291200.0;
  s = z * s - 1 / 39916800.0, c = z * c + 1 / 479001600.0;
  s = z * s + 1 / 362880.0, c = z * c - 1 / 3628800.0;
  s = z * s - 1 / 5040.0, c = z * c + 1 / 40320.0;
  s = z * s + 1 / 120.0, c = z * c - 1 / 720.0;
  s = z * s - 1 / 6.0, c = z * c + 1 / 24.0;
  s = r + r * (z * s), c = w + (((1.0 - w) - h) + z * z * c);
  bits quarter = (bits)shifted, odd = -(quarter & 1);
  pair y = {either(odd, c, s), either(odd, s, c)};
  y.sin = (lanes)((bits)y.sin ^ ((quarter & 2) << 62));
  y.cos = (lanes)((bits)y.cos ^ (((quarter + 1) & 2) << 62));
  if (__builtin_expect(any(lanes_fabs(x) > MOST_TURNED), 0)) {
    pair far = y;
    far_away(&x, &far);
    y = far;
  }
  return y;
}

ONLY_HERE void casadi_copy(const lanes *x, casadi_int n, lanes *y) {
  if (y)
    for (casadi_int i = 0; i < n; ++i) y[i] = x ? x[i] : spread(0.0);
}
ONLY_HERE void casadi_fill(lanes *x, casadi_int n, lanes value) {
  if (x)
    for (casadi_int i = 0; i < n; ++i) x[i] = value;
}
ONLY_HERE void casadi_clear(lanes *x, casadi_int n) { casadi_fill(x, n, spread(0.0)); }
