"""Forks, threads and Ctrl-C. Each test runs a small program of its own, with a limit of time: what hangs fails."""

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

HEAD = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import os, threading, time
import numpy as np
from conftest import pairs, spd
from kraus import KrausRegressor, PSDCompleter, riemann_mean
def gaps(n):
    w = np.random.default_rng(0).standard_normal((n, 60))
    m = w @ w.T
    gone = np.triu(np.random.default_rng(1).random(m.shape) < 0.4, 1)
    m[gone | gone.T] = np.nan
    return m
"""


def program(text, **options):
    code = HEAD + textwrap.dedent(text)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def output(process, seconds=120):
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail("it hangs")
    return out, err, process.returncode


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system does not fork")
def test_fork_after_use():
    out, err, code = output(
        program("""
        x, y, _ = pairs(noise=0.05)
        first = KrausRegressor(rank=2, n_jobs=2).fit(x, y).operators_
        for round in range(3):
            child = os.fork()
            if child == 0:
                again = KrausRegressor(rank=2, n_jobs=2).fit(x, y).operators_
                os._exit(0 if np.array_equal(first, again) else 1)
            assert os.waitpid(child, 0)[1] == 0
        print("done", np.array_equal(first, KrausRegressor(rank=2, n_jobs=2).fit(x, y).operators_))
        """)
    )
    assert code == 0 and out.strip() == "done True", err


def test_fork_while_another_thread_computes():
    out, err, code = output(
        program("""
        import warnings; warnings.simplefilter("ignore")
        x, y, _ = pairs(count=400, p=8, q=6, noise=0.3)
        busy = threading.Thread(target=lambda: KrausRegressor(rank=6, solver="lbfgs", n_jobs=2, folds=0).fit(x, y))
        busy.start()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                riemann_mean(spd(20, 4), n_jobs=2)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            time.sleep(0.02)
        busy.join()
        print("done")
        """)
    )
    assert code == 0 and out.strip() == "done", err


def test_joblib_of_both_kinds():
    out, err, code = output(
        program("""
        from joblib import Parallel, delayed
        x, y, _ = pairs(noise=0.05)
        def one(r): return KrausRegressor(rank=r).fit(x, y).score(x, y)
        here = [one(r) for r in (1, 2, 3)]
        for backend in ("loky", "multiprocessing", "threading"):
            assert Parallel(n_jobs=2, backend=backend)(delayed(one)(r) for r in (1, 2, 3)) == here, backend
        print("done")
        """)
    )
    assert code == 0 and out.strip() == "done", err


def test_threads_at_once_and_other_threads_go_on():
    out, err, code = output(
        program("""
        import warnings; warnings.simplefilter("ignore")
        x, y, _ = pairs(count=400, p=8, q=6, noise=0.3)
        fit = lambda: KrausRegressor(rank=6, solver="lbfgs", folds=0, n_jobs=1, max_iter=1500, restarts=2).fit(x, y).operators_
        found = [None] * 4
        def work(k): found[k] = fit()
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        ticks, began = 0, time.monotonic()
        for t in threads: t.start()
        while any(t.is_alive() for t in threads):
            time.sleep(0.005); ticks += 1
        took = time.monotonic() - began
        assert all(np.array_equal(f, found[0]) for f in found)
        # Without the release of the lock the main thread would tick about four times: once after each fit.
        assert ticks > 10, (ticks, took)
        print("done")
        """)
    )
    assert code == 0 and out.strip() == "done", err


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize(
    "work",
    [
        'KrausRegressor(rank=40, solver="lbfgs", folds=0, max_iter=10**7, restarts=1000).fit(x, y)',
        'KrausRegressor(rank=10, solver="adam", folds=0, max_iter=10**7).fit(x, y)',
        'KrausRegressor(rank=3, depth=2, folds=0, max_iter=10**7, restarts=1000).fit(x, y)',
        'KrausRegressor(rank="cv", solver="adam", max_iter=10**7).fit(x, y)',
        'KrausRegressor(positivity="complete", folds=40).fit(*pairs(count=2000, p=30, q=30, noise=0.5)[:2])',
        "PSDCompleter(blocks=(30, 20), rank=20, depth=2).fit(gaps(600))",
        "PSDCompleter().fit(gaps(1500))",
    ],
    ids=["lbfgs", "adam", "deep", "cv", "families", "blocks", "completion"],
)
def test_ctrl_c_stops_a_fit(work):
    # A process whose parent ignores Ctrl-C, as under nohup or in a job of CI, inherits that, and Python then rightly ignores it, too.
    process = program(f"""
        import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
        x, y, _ = pairs(count=2000, p=10, q=8, noise=0.5)
        print("ready", flush=True)
        try:
            {work}
            print("finished")
        except KeyboardInterrupt:
            print("interrupted")
        print(KrausRegressor(rank=1, folds=0).fit(x[:50], y[:50]).rank_)  # the pool is free again
        """)
    assert process.stdout.readline() == "ready\n"
    time.sleep(2.5)
    assert process.poll() is None, process.stderr.read()
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err, code = output(process, 60)
    assert code == 0 and out.split() == ["interrupted", "1"], (out, err)
    print(f"{work[:40]}: stopped after {time.monotonic() - began:.2f} s")
