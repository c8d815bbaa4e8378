//! Getting data: sources, download, checksums, zip, GDF, MATLAB v5, Multiple Features, BCI, simulated EEG, filtering.
