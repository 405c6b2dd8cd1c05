/* Singular values: the one numeric routine that can't be straight-line code. Its counterpart in
 * Python is numpy.linalg.svd; a test holds it against that. Matrices are column-major, as CasADi writes them. No memory is allocated.
 */
#include "core.h"
#include <math.h>

static double dot(const double* a, const double* b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

/* The rank-th singular value of G (m x n) with its vectors a (m) and b (n), by one-sided Jacobi rotations of
 * the rows; `found` is how many are more than a part of the largest. R (n x m, rows of G as columns) and
 * U (m x m) are work space. */
double cj_singular(const double* G, int m, int n, int rank, double part, int* found, double* R, double* U, double* a, double* b)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) R[i * n + j] = G[j * m + i];
    for (int i = 0; i < m * m; ++i) U[i] = 0;
    for (int i = 0; i < m; ++i) U[i * m + i] = 1;
    for (int sweep = 0; sweep < 30; ++sweep) { /* 6 to 10 suffice; the bound keeps the work bounded */
        int rotated = 0;
        for (int i = 0; i < m; ++i) {
            for (int k = i + 1; k < m; ++k) {
                double *x = R + i * n, *y = R + k * n;
                const double xx = dot(x, x, n), yy = dot(y, y, n), xy = dot(x, y, n);
                if (!(fabs(xy) > 1e-15 * sqrt(xx * yy)) || !(fabs(xy) > 1e-290)) continue;
                rotated = 1;
                const double zeta = (yy - xx) / (2 * xy);
                const double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
                const double c = 1 / sqrt(1 + t * t), s = c * t;
                for (int j = 0; j < n; ++j) {
                    const double p = x[j], q = y[j];
                    x[j] = c * p - s * q;
                    y[j] = s * p + c * q;
                }
                for (int j = 0; j < m; ++j) {
                    const double p = U[i * m + j], q = U[k * m + j];
                    U[i * m + j] = c * p - s * q;
                    U[k * m + j] = s * p + c * q;
                }
            }
        }
        if (!rotated) break;
    }
    double longest = 0;
    *found = 0;
    for (int i = 0; i < m; ++i) longest = fmax(longest, a[i] = dot(R + i * n, R + i * n, n));
    for (int i = 0; i < m; ++i) *found += a[i] > part * part * longest;
    for (int i = 0; i < m; ++i) { /* the row that has exactly rank-1 rows longer than itself (ties by index) */
        int longer = 0;
        for (int k = 0; k < m; ++k) longer += a[k] > a[i] || (a[k] == a[i] && k < i);
        if (longer != rank - 1) continue;
        const double sigma = sqrt(a[i]);
        for (int j = 0; j < m; ++j) a[j] = U[i * m + j];
        for (int j = 0; j < n; ++j) b[j] = sigma > 0 ? R[i * n + j] / sigma : 0;
        return sigma;
    }
    return NAN; /* only if G holds NaN */
}
