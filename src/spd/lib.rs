//! SPD matrices: kernels, covariances, Riemannian geometry, MDM, optimal transport.
