"""The extension module. Use the package's own names; these take arrays that were checked already."""

from collections.abc import Callable
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_F = NDArray[np.float64]
_Path = str | PathLike[str]
_Callback = Callable[[str, float], Any] | None

@final
class Model:
    @staticmethod
    def load(path: _Path) -> Model: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def save(self, path: _Path) -> None: ...
    def to_bytes(self) -> bytes: ...
    @property
    def p(self) -> int: ...
    @property
    def q(self) -> int: ...
    @property
    def layers(self) -> list[_F]: ...
    @property
    def signs(self) -> list[float] | None: ...
    @property
    def intercept(self) -> _F | None: ...
    @property
    def positivity(self) -> str: ...
    @property
    def clamp(self) -> float | None: ...
    @property
    def history(self) -> dict[str, Any]: ...
    def apply(self, x: _F, single: bool, threads: int) -> tuple[_F, int]: ...

def fit(
    x: _F,
    y: _F,
    *,
    single: tuple[bool, bool],
    positivity: str,
    solver: str,
    hidden: list[int],
    clamp: float | None,
    max_iter: int | None,
    batch_size: int,
    learning_rate: float,
    restarts: int,
    seed: int,
    rank: int | None,
    ranks: list[int] | None,
    noise_free: bool,
    folds: int,
    memory: int,
    threads: int,
    callback: _Callback,
) -> dict[str, Any]: ...
def bound(l: int, p: int, q: int, rank: int, gamma: float, delta: float, version: str) -> tuple[float, float, float]: ...
def complete(
    m: _F,
    views: list[_F],
    *,
    tolerance: float,
    psd: bool | None,
    denoise: bool,
    seed: int,
    threads: int,
    callback: _Callback,
) -> dict[str, Any]: ...
def complete_blocks(
    m: _F,
    *,
    tolerance: float,
    blocks: tuple[int, int] | None,
    rank: int | None,
    depth: int,
    clamp: float | None,
    psd: bool | None,
    denoise: bool,
    seed: int,
    threads: int,
    callback: _Callback,
) -> dict[str, Any]: ...
def cvkt(kernels: list[_F], observed: list[list[bool]], seed: int, threads: int) -> list[_F]: ...
def adapt(
    source: _F,
    target: _F,
    labels: list[int] | None,
    *,
    single: tuple[bool, bool],
    common: list[tuple[int, int]] | None,
    paper: bool,
    neighbours: int,
    relative: float | None,
    regularisation: float | None,
    iterations: int,
    rank: int | None,
    auto: bool,
    kept: list[int] | None,
    epochs: int,
    whitened: bool,
    seed: int,
    threads: int,
    callback: _Callback,
) -> dict[str, Any]: ...
def apply_map(operators: _F, answers: _F, measures: _F, x: _F, single: bool, threads: int) -> _F: ...
def distances(a: _F, b: _F, metric: str, threads: int) -> _F: ...
def means(
    x: _F,
    weights: list[float] | None,
    groups: list[int],
    metric: str,
    tolerance: float,
    max_iterations: int,
    threads: int,
) -> tuple[_F, list[bool]]: ...
def sinkhorn(
    cost: _F, a: _F, b: _F, regularisation: float, iterations: int, tolerance: float, threads: int
) -> tuple[_F, dict[str, Any]]: ...
def kernel(
    kind: str, train: _F, x: _F | None, rule: str, value: float, threads: int
) -> tuple[_F, float | None]: ...
def partial_trace(matrix: _F, m: int) -> _F: ...
def choi(operators: _F, signs: _F | None) -> _F: ...
def kraus_from_choi(matrix: _F, p: int, rank: int | None, tolerance: float) -> _F: ...
def read_gdf(path: _Path, channels: list[str] | None) -> dict[str, Any]: ...
def read_mat(path: _Path) -> dict[str, Any]: ...
