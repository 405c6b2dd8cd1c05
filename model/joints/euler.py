"""Euler parameters as plain coordinates: matrices of papers 000, 001 and 003, over arrays.

p = (e0, e) is a column of four numbers of any length; |p| = 1 is a constraint of its own.
All functions broadcast over leading axes: p (..., 4) and u (..., 3), so that ten thousand
poses cost one call. A = E Gᵀ is *not* normalised: AᵀA = |p|⁴ 1.
"""

import numpy as np

Array = np.ndarray


def tilde(u: Array) -> Array:
    """ũ with ũ w = u × w, (..., 3, 3)."""
    u = np.asarray(u)
    m = np.zeros((*u.shape[:-1], 3, 3), np.result_type(u, float))  # complex steps pass
    m[..., 0, 1], m[..., 0, 2], m[..., 1, 2] = -u[..., 2], u[..., 1], -u[..., 0]
    m[..., 1, 0], m[..., 2, 0], m[..., 2, 1] = u[..., 2], -u[..., 1], u[..., 0]
    return m


def world_matrix(p: Array) -> Array:
    """E = [−e, ẽ + e0 1], (..., 3, 4): ω = 2 E ṗ in world axes where |p| = 1."""
    return _half(p, 1.0)


def body_matrix(p: Array) -> Array:
    """G = [−e, −ẽ + e0 1], (..., 3, 4): ω' = 2 G ṗ in body axes where |p| = 1 (000, Eq. 3)."""
    return _half(p, -1.0)


def _half(p: Array, sign: float) -> Array:
    p = np.asarray(p, float)
    m = np.empty((*p.shape[:-1], 3, 4))
    m[..., 0] = -p[..., 1:]
    m[..., 1:] = sign * tilde(p[..., 1:])
    for k in range(3):
        m[..., k, k + 1] = p[..., 0]
    return m


def rotation(p: Array) -> Array:
    """A = E Gᵀ = e eᵀ + ẽẽ + 2 e0 ẽ + e0² 1, (..., 3, 3); a rotation where |p| = 1."""
    p = np.asarray(p, float)
    w, x, y, z = (p[..., k] for k in range(4))
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    A = np.empty((*p.shape[:-1], 3, 3))
    A[..., 0, 0], A[..., 1, 1], A[..., 2, 2] = ww + xx - yy - zz, ww - xx + yy - zz, ww - xx - yy + zz
    A[..., 0, 1], A[..., 1, 0] = 2 * (xy - wz), 2 * (xy + wz)
    A[..., 0, 2], A[..., 2, 0] = 2 * (xz + wy), 2 * (xz - wy)
    A[..., 1, 2], A[..., 2, 1] = 2 * (yz - wx), 2 * (yz + wx)
    return A


def derivative(u: Array, p: Array) -> Array:
    """K(u, p) = ∂(A(p) u)/∂p, (..., 3, 4), exact at every p, of length one or not (000, Eq. 7).

    K = [2(ẽ + e0 1)u, (eᵀu)1 + e uᵀ − ẽũ − tilde(ẽu) − 2 e0 ũ]. The double tilde that is printed
    is the tilde of ẽu; reading it as another −ẽũ is wrong by O(1). K(u, p) p = 2 A u.
    """
    u, p = np.asarray(u, float), np.asarray(p, float)
    e0, e = p[..., :1], p[..., 1:]
    eu = np.cross(e, u)
    along = (e * u).sum(-1)
    K = np.empty((*np.broadcast_shapes(u.shape[:-1], p.shape[:-1]), 3, 4))
    K[..., 0] = 2 * (eu + e0 * u)
    # −ẽũ = (e·u)1 − u eᵀ; its first term and (eᵀu)1 are the diagonal below.
    K[..., 1:] = e[..., :, None] * u[..., None, :] - u[..., :, None] * e[..., None, :]
    K[..., 1:] -= tilde(eu) + 2 * e0[..., None] * tilde(u)
    for k in range(3):
        K[..., k, k + 1] += 2 * along
    return K


def multiply(a: Array, b: Array) -> Array:
    """a ⊗ b (001, Eq. 10)."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    w = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(-1, keepdims=True)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w, v], axis=-1)


def conjugate(q: Array) -> Array:
    """q⁻¹ of a unit q."""
    return np.asarray(q, float) * [1.0, -1.0, -1.0, -1.0]
