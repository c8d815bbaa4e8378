//! What the paper compares with: trace, multivariate and reduced-rank regression, HOPLS, tensor networks, imputation, CVKT.
