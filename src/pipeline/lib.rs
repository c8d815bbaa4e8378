//! The DAG engine: config, keys, store, locks, scheduler, executors, reasons. Knows nothing of the paper.
