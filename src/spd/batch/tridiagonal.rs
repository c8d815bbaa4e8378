//! Eight symmetric matrices at once to tridiagonal form and back: A = Q T Q^T, Q = H_0 H_1 ..., H_k = I - tau_k v_k v_k^T.
//!
//! Matrices are lower triangles by columns: column j at `a[j * n ..]`, of which entries j .. n count. Columns go in pairs, so that
//! each vector read serves two of them and two sums are under way at once.

use crate::batch::V;

/// B <- H B H for a symmetric block of the size of `v`, whose column j starts with its diagonal at `b[j * n + j]`;
/// H = I - t v v^T. With w = B v: B - v x^T - x v^T, x = t w - 1/2 t^2 (w^T v) v. `w` is scratch.
#[inline(always)]
fn reflect_both(n: usize, b: &mut [V], v: &[V], t: V, w: &mut [V]) {
    let m = v.len();
    let w = &mut w[..m];
    w.fill(V::ZERO);
    let mut j = 0;
    while j + 2 <= m {
        let (c0, c1) = (&b[j * n + j..j * n + m], &b[(j + 1) * n + j + 1..(j + 1) * n + m]);
        let (v0, v1) = (v[j], v[j + 1]);
        let mut s0 = c0[0].fma(v0, c0[1] * v1);
        let mut s1 = c0[1].fma(v0, c1[0] * v1);
        for (((x0, x1), vi), wi) in c0[2..].iter().zip(&c1[1..]).zip(&v[j + 2..]).zip(&mut w[j + 2..]) {
            s0 = x0.fma(*vi, s0);
            s1 = x1.fma(*vi, s1);
            *wi = x1.fma(v1, x0.fma(v0, *wi));
        }
        w[j] = w[j] + s0;
        w[j + 1] = w[j + 1] + s1;
        j += 2;
    }
    if j < m {
        w[j] = b[j * n + j].fma(v[j], w[j]);
    }
    let mut dot = V::ZERO;
    for (x, y) in w.iter().zip(v) {
        dot = x.fma(*y, dot);
    }
    let half = V::splat(-0.5) * t * t * dot;
    for (x, y) in w.iter_mut().zip(v) {
        *x = half.fma(*y, t * *x);
    }
    let w = &*w;
    let mut j = 0;
    while j + 2 <= m {
        let (left, right) = b.split_at_mut((j + 1) * n);
        let (c0, c1) = (&mut left[j * n + j..j * n + m], &mut right[j + 1..m]);
        let (v0, w0, v1, w1) = (-v[j], -w[j], -v[j + 1], -w[j + 1]);
        c0[0] = v[j].fma(w0, w[j].fma(v0, c0[0]));
        for (((x0, x1), vi), wi) in c0[1..].iter_mut().zip(c1).zip(&v[j + 1..]).zip(&w[j + 1..]) {
            *x0 = vi.fma(w0, wi.fma(v0, *x0));
            *x1 = vi.fma(w1, wi.fma(v1, *x1));
        }
        j += 2;
    }
    if j < m {
        let x = &mut b[j * n + j];
        *x = v[j].fma(-w[j], w[j].fma(-v[j], *x));
    }
}

/// C <- H C for W columns, which lie n entries apart; entry `from + i` of a column is multiplied with entry i of v.
#[inline(always)]
fn reflect_left<const W: usize>(n: usize, c: &mut [V], from: usize, v: &[V], t: V) {
    let mut dot = [V::ZERO; W];
    for (i, y) in v.iter().enumerate() {
        for w in 0..W {
            dot[w] = c[w * n + from + i].fma(*y, dot[w]);
        }
    }
    for d in &mut dot {
        *d = -(t * *d);
    }
    for (i, y) in v.iter().enumerate() {
        for w in 0..W {
            let x = &mut c[w * n + from + i];
            *x = dot[w].fma(*y, *x);
        }
    }
}

/// The columns of `c` in tiles of four.
#[inline(always)]
fn reflect_columns(n: usize, c: &mut [V], from: usize, v: &[V], t: V) {
    let mut tiles = c.chunks_exact_mut(4 * n);
    for tile in &mut tiles {
        reflect_left::<4>(n, tile, from, v, t);
    }
    for column in tiles.into_remainder().chunks_exact_mut(n) {
        reflect_left::<1>(n, column, from, v, t);
    }
}

/// T into d and e, and v_k below the diagonal of column k of `a`, its first entry 1.
#[inline(always)]
pub(crate) fn tridiagonalise(n: usize, a: &mut [V], d: &mut [V], e: &mut [V], tau: &mut [V], w: &mut [V]) {
    for k in 0..n.saturating_sub(1) {
        let (head, tail) = a.split_at_mut((k + 1) * n);
        let column = &mut head[k * n..];
        d[k] = column[k];
        let v = &mut column[k + 1..];
        let mut ss = V::ZERO;
        for x in &v[1..] {
            ss = x.fma(*x, ss);
        }
        let alpha = v[0];
        let norm = alpha.fma(alpha, ss).sqrt();
        let beta = alpha.map2(norm, |a, r| if a > 0.0 { -r } else { r });
        // A lane whose column is already zero below the subdiagonal is not reflected.
        let t = ss.if_zero(V::ZERO, (beta - alpha) / beta);
        let scale = ss.if_zero(V::ZERO, V::ONE / (alpha - beta));
        e[k] = ss.if_zero(alpha, beta);
        tau[k] = t;
        v[0] = V::ONE;
        for x in &mut v[1..] {
            *x = *x * scale;
        }
        reflect_both(n, &mut tail[k + 1..], v, t, w);
    }
    d[n - 1] = a[n * n - 1];
    e[n - 1] = V::ZERO;
}

/// Z = Q from the reflectors that [`tridiagonalise`] left in `a`.
#[inline(always)]
pub(crate) fn accumulate(n: usize, a: &[V], tau: &[V], z: &mut [V]) {
    z.fill(V::ZERO);
    for j in 0..n {
        z[j * n + j] = V::ONE;
    }
    for k in (0..n.saturating_sub(1)).rev() {
        reflect_columns(n, &mut z[(k + 1) * n..], k + 1, &a[k * n + k + 1..(k + 1) * n], tau[k]);
    }
}

/// F <- Q F Q^T for the symmetric F in `f`.
#[inline(always)]
pub(crate) fn restore(n: usize, a: &[V], tau: &[V], w: &mut [V], f: &mut [V]) {
    for k in (0..n.saturating_sub(1)).rev() {
        let v = &a[k * n + k + 1..(k + 1) * n];
        let (left, right) = f.split_at_mut((k + 1) * n);
        reflect_columns(n, left, k + 1, v, tau[k]);
        reflect_both(n, &mut right[k + 1..], v, tau[k], w);
    }
}
