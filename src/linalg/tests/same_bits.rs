//! Every kernel gives the same bits at every instruction set of this machine, over thousands of random shapes: those of
//! the definition at the head of `linalg::simd`, written here as plain loops. The file is long because it writes out every kernel.

use linalg::Real;
use linalg::batch::{Clamp, LANES, Store, lane_gemm, lane_gradient, lane_put, lane_residual};
use linalg::simd::{levels, set_level};
use linalg::small::{AdamStep, adam_step, add_to, residual, row_dots, small_gemm};
use std::sync::{Mutex, MutexGuard};

/// The level belongs to the process, and tests run in threads.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Random numbers, shapes and choices.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11
    }
    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }
    /// Numbers of very different sizes, so that another order of a sum shows in its last bits. Some are zero.
    fn number<T: Real>(&mut self) -> T {
        let x = (self.next() as f64 / (1u64 << 53) as f64 - 0.5) * 10f64.powi(self.below(7) as i32 - 3);
        T::of(if self.below(40) == 0 { 0.0 } else { x })
    }
    fn numbers<T: Real>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| self.number()).collect()
    }
    fn lanes<T: Real>(&mut self, n: usize) -> Vec<[T; LANES]> {
        (0..n).map(|_| std::array::from_fn(|_| self.number())).collect()
    }
}

fn assert_bits<T: Real>(what: &str, got: &[T], want: &[T]) {
    let same = |a: &T, b: &T| a.as_f64().to_bits() == b.as_f64().to_bits();
    let wrong = got.iter().zip(want).position(|(a, b)| !same(a, b));
    assert!(got.len() == want.len() && wrong.is_none(), "{what}: number {wrong:?} differs");
}

/// The tree that adds sixteen numbers.
fn tree<T: Real>(mut s: [T; 16]) -> T {
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            s[l] += s[l + half];
        }
    }
    s[0]
}

fn mul_add<T: Real>(a: T, b: T, c: T) -> T {
    num_traits::Float::mul_add(a, b, c)
}

/// A shape: mostly small, sometimes long in one direction.
fn shape(r: &mut Bits) -> (usize, usize, usize) {
    match r.below(8) {
        0 => (1 + r.below(4), 1 + r.below(150), r.below(700)),
        1 => (1 + r.below(60), 1 + r.below(4), r.below(400)),
        _ => (1 + r.below(24), 1 + r.below(60), r.below(70)),
    }
}

fn small_products<T: Real>(seed: u64, rounds: usize) {
    let mut r = Bits(seed);
    for _ in 0..rounds {
        let ((m, n, k), off) = (shape(&mut r), r.below(5));
        let (b_row, c_row, add) = (n + r.below(4), n + r.below(4), r.below(2) == 0);
        let (a_row, a_col) = if r.below(2) == 0 { (k + r.below(3), 1) } else { (1, m + r.below(3)) };
        let a = r.numbers::<T>(off + m * a_row.max(1) + k * a_col);
        let (b, c) = (r.numbers::<T>(off + k * b_row + n), r.numbers::<T>(off + m * c_row));
        let mut want = c.clone();
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let at = off + i * c_row + j;
            let start = if add { want[at] } else { T::of(0.0) };
            want[at] = (0..k).fold(start, |s, x| mul_add(a[off + i * a_row + x * a_col], b[off + x * b_row + j], s));
        }
        let long = r.numbers::<T>(off + n * (k + 1));
        let mut dots = vec![T::of(0.0); m * n];
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let mut sums = [T::of(0.0); 16];
            for x in 0..k.next_multiple_of(16) {
                let both = if x < k { (a[off + i * k + x], long[off + j * (k + 1) + x]) } else { Default::default() };
                sums[x % 16] = mul_add(both.0, both.1, sums[x % 16]);
            }
            dots[i * n + j] = tree(sums);
        }
        for level in levels() {
            assert!(set_level(level));
            let mut got = c.clone();
            small_gemm((m, n, k), &a[off..], (a_row, a_col), &b[off..], b_row, &mut got[off..], c_row, add);
            assert_bits(&format!("small_gemm {m} {n} {k} {level:?}"), &got, &want);
            let mut got = vec![T::of(0.0); m * n];
            row_dots((m, n, k), &a[off..], k, &long[off..], k + 1, &mut got, n);
            assert_bits(&format!("row_dots {m} {n} {k} {level:?}"), &got, &dots);
        }
    }
}

#[test]
fn products_and_dots_are_those_of_the_definition_at_every_level() {
    let _alone = alone();
    small_products::<f32>(1, 600);
    small_products::<f64>(2, 600);
}

fn batches<T: Real>(seed: u64, rounds: usize) {
    let mut r = Bits(seed);
    for _ in 0..rounds {
        let (m, n, k) = (1 + r.below(24), 1 + r.below(24), r.below(24));
        let (a, b, c) = (r.numbers::<T>(m * k), r.lanes::<T>(k * n), r.lanes::<T>(m * n));
        let (b_stride, c_stride) = if r.below(2) == 0 { ((n, 1), (n, 1)) } else { ((1, k), (1, m)) };
        let add = r.below(2) == 0;
        let lower = m == n && r.below(2) == 0;
        let store =
            [[Store::Set, Store::Add], [Store::SetLower, Store::AddLower]][usize::from(lower)][usize::from(add)];
        let mut want = c.clone();
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let at = i * c_stride.0 + j * c_stride.1;
            for l in 0..LANES {
                let start = if add { want[at][l] } else { T::of(0.0) };
                let b = |x: usize| b[x * b_stride.0 + j * b_stride.1][l];
                want[at][l] = (0..k).fold(start, |s, x| mul_add(a[i * k + x], b(x), s));
            }
        }
        let (d, g) = (r.lanes::<T>(m * k), r.numbers::<T>(m * n));
        let mut gradient = g.clone();
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let b = |x: usize| &b[x * b_stride.0 + j * b_stride.1];
            let lane = |l: usize| (0..k).fold(T::of(0.0), |s, x| mul_add(d[i * k + x][l], b(x)[l], s));
            gradient[i * n + j] += tree(std::array::from_fn(lane));
        }
        for level in levels() {
            assert!(set_level(level));
            let mut got = c.clone();
            lane_gemm((m, n, k), &a, (k, 1), &b, b_stride, &mut got, c_stride, store);
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| !lower || j <= i) {
                let at = i * c_stride.0 + j * c_stride.1;
                assert_bits(&format!("lane_gemm {m} {n} {k} {level:?}"), &got[at], &want[at]);
            }
            let mut got = g.clone();
            lane_gradient((m, n, k), &d, (k, 1), &b, b_stride, &mut got, n);
            assert_bits(&format!("lane_gradient {m} {n} {k} {level:?}"), &got, &gradient);
        }
    }
}

#[test]
fn products_over_samples_are_those_of_the_definition_at_every_level() {
    let _alone = alone();
    batches::<f32>(3, 500);
    batches::<f64>(4, 500);
}

/// What a function computes at the plain level, and that every other level computes the same.
fn same<T: Real>(what: &str, compute: impl Fn() -> Vec<T>) {
    let all = levels();
    assert!(set_level(all[0]));
    let want = compute();
    for level in all {
        assert!(set_level(level));
        assert_bits(&format!("{what} {level:?}"), &compute(), &want);
    }
}

fn loops<T: Real>(seed: u64) {
    let mut r = Bits(seed);
    for round in 0..300 {
        let n = r.below(200);
        let [w, m, g, y, mask] = std::array::from_fn(|_| r.numbers::<T>(n));
        let v = g.iter().map(|&x| x * x).collect::<Vec<_>>();
        let step = AdamStep {
            rate: T::of(0.01),
            beta1: T::of(0.9),
            beta2: T::of(0.999),
            epsilon: T::of(1e-7),
            scale: T::of(0.3),
        };
        same("adam_step", || {
            let [mut w, mut m, mut v] = [w.clone(), m.clone(), v.clone()];
            adam_step(step, &mut w, &mut m, &mut v, &g);
            [w, m, v].concat()
        });
        same("residual", || {
            let mut out = w.clone();
            let sum = residual(&mut out, &y, (round % 2 == 0).then_some(&mask));
            out.push(sum);
            out
        });
        same("add_to", || {
            let mut out = w.clone();
            add_to(&mut out, &y);
            out
        });
        let (rows, y) = (r.lanes::<T>(n / 8), r.lanes::<T>(n / 8));
        same("lane_residual", || {
            let mut out = rows.clone();
            let sums = lane_residual(&mut out, &y, None);
            [out.as_flattened(), &sums].concat()
        });
        same("lane_put", || {
            let mut to = vec![[T::of(0.0); LANES]; n];
            lane_put(1 + n % LANES, |l| if l % 2 == 0 { &w } else { &m }, &mut to);
            to.into_flattened()
        });
    }
}

#[test]
fn loops_give_the_same_bits_at_every_level() {
    let _alone = alone();
    loops::<f32>(5);
    loops::<f64>(6);
}

/// Clamped spectra and their derivatives: Jacobi's iterations for eigenvalues and for singular values.
fn clamps<T: Real>(seed: u64) {
    let mut r = Bits(seed);
    for round in 0..60 {
        let (n, count, symmetric) = (1 + r.below(18), 1 + r.below(LANES), round % 2 == 0);
        let inputs = (0..count).map(|_| r.numbers::<T>(n * n)).collect::<Vec<_>>();
        let gradients = (0..count).map(|_| r.numbers::<T>(n * n)).collect::<Vec<_>>();
        same("clamp", || {
            let mut clamp = Clamp::new(n, count, T::of(0.1));
            let mut all = Vec::new();
            for pass in [&inputs, &gradients] {
                (0..clamp.lanes()).for_each(|l| clamp.put(l, &pass[l % count]));
                if std::ptr::eq(pass, &inputs) {
                    clamp.forward(symmetric)
                } else {
                    clamp.backward()
                }
                let mut out = vec![T::of(0.0); n * n];
                for l in 0..count {
                    clamp.take(l, &mut out);
                    all.extend_from_slice(&out);
                }
            }
            all
        });
    }
}

#[test]
fn jacobi_and_clamp_give_the_same_bits_at_every_level() {
    let _alone = alone();
    clamps::<f32>(7);
    clamps::<f64>(8);
}

/// A matrix with strides of its own: by rows, by columns, with gaps, or backwards.
fn laid_out<T: Real>(r: &mut Bits, rows: usize, cols: usize) -> ndarray::Array2<T> {
    use ndarray::{Array2, s};
    match r.below(4) {
        0 => Array2::from_shape_vec((rows, cols), r.numbers(rows * cols)).unwrap(),
        1 => Array2::from_shape_vec((cols, rows), r.numbers(rows * cols)).unwrap().reversed_axes(),
        2 => Array2::from_shape_vec((rows, cols + 3), r.numbers(rows * (cols + 3)))
            .unwrap()
            .slice_move(s![.., 1..cols + 1]),
        _ => Array2::from_shape_vec((rows, cols), r.numbers(rows * cols)).unwrap().slice_move(s![..;-1, ..;-1]),
    }
}

fn dense_products<T: Real>(seed: u64, rounds: usize) {
    let mut r = Bits(seed);
    for round in 0..rounds {
        let large = round % 20 == 0;
        let size = |r: &mut Bits| if large { 1 + r.below(230) } else { r.below(30) };
        let (m, n, k) = (size(&mut r), size(&mut r), if large { 200 + r.below(400) } else { r.below(30) });
        let (a, b, c) = (laid_out::<T>(&mut r, m, k), laid_out::<T>(&mut r, k, n), laid_out::<T>(&mut r, m, n));
        let (alpha, beta) = (T::of([1.0, -1.0, 0.3][r.below(3)]), T::of([0.0, 1.0, 0.7][r.below(3)]));
        let mut want = c.clone();
        for ((i, j), w) in want.indexed_iter_mut() {
            let start = if beta == T::of(0.0) {
                beta
            } else if beta == T::of(1.0) {
                *w
            } else {
                *w * beta
            };
            let scaled = |x: T| if alpha == T::of(1.0) { x } else { x * alpha };
            *w = (0..k).fold(start, |s, x| mul_add(scaled(a[[i, x]]), b[[x, j]], s));
        }
        for level in levels() {
            assert!(set_level(level));
            let mut got = c.clone();
            linalg::gemm(alpha, a.view(), b.view(), beta, got.view_mut());
            let flat = |x: &ndarray::Array2<T>| x.iter().copied().collect::<Vec<_>>();
            assert_bits(&format!("gemm {m} {n} {k} {level:?}"), &flat(&got), &flat(&want));
        }
    }
}

#[test]
fn dense_products_are_those_of_the_definition_at_every_level_and_for_all_strides() {
    let _alone = alone();
    dense_products::<f32>(9, 150);
    dense_products::<f64>(10, 150);
}

fn decompositions<T: Real>(seed: u64) {
    use ndarray::Array2;
    let mut r = Bits(seed);
    for n in [1, 2, 3, 5, 8, 15, 22, 40, 64, 97, 130] {
        let a = Array2::from_shape_vec((n + 7, n), r.numbers::<T>(n * (n + 7))).unwrap();
        let mut gram = linalg::matmul(a.t(), a.view());
        gram.diag_mut().mapv_inplace(|x| x + T::of(1.0));
        let flat = |x: Array2<T>| x.into_raw_vec_and_offset().0;
        same(&format!("eigh {n}"), || {
            let e = linalg::eigh(gram.view()).unwrap();
            [e.values.to_vec(), flat(e.vectors)].concat()
        });
        same(&format!("svd {n}"), || {
            let d = linalg::svd(a.view()).unwrap();
            [flat(d.u), d.s.to_vec(), flat(d.vt)].concat()
        });
        same(&format!("cholesky {n}"), || flat(linalg::cholesky(gram.view()).unwrap()));
        same(&format!("pivoted cholesky {n}"), || flat(linalg::pivoted_cholesky(gram.view()).unwrap()));
        same(&format!("solve_spd {n}"), || flat(linalg::solve_spd(gram.view(), a.t()).unwrap()));
        let b = Array2::from_shape_vec((n + 7, 3), r.numbers::<T>((n + 7) * 3)).unwrap();
        same(&format!("lstsq {n}"), || flat(linalg::lstsq(a.view(), b.view(), T::of(1e-12)).unwrap()));
    }
}

#[test]
fn decompositions_give_the_same_bits_at_every_level() {
    let _alone = alone();
    decompositions::<f32>(11);
    decompositions::<f64>(12);
}
