"""The examples of the README, and those of the docstrings."""

import doctest
import os
import re
from pathlib import Path

import kraus
from kraus import _completer, _regressor


def test_readme(tmp_path, monkeypatch):
    text = (Path(__file__).parent.parent / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 3
    monkeypatch.chdir(tmp_path)
    for block in blocks:  # each stands alone, as people copy them
        exec(compile(block, "README.md", "exec"), {})
    assert os.path.exists("model.npz")


def test_docstrings():
    for module in (_regressor, _completer):
        assert doctest.testmod(module).failed == 0
    undocumented = [n for n in kraus.__all__ if "Parameters" not in (getattr(kraus, n).__doc__ or "")]
    assert not undocumented


def test_stubs_name_what_there_is():
    import ast
    import inspect

    stub = ast.parse((Path(kraus.__file__).parent / "__init__.pyi").read_text())
    named = {n.name: n for n in stub.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    assert set(named) == set(kraus.__all__)
    for name, node in named.items():
        if isinstance(node, ast.FunctionDef):
            functions = [(node, getattr(kraus, name))]
        else:
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef) and not m.decorator_list]
            functions = [(m, getattr(getattr(kraus, name), m.name)) for m in methods]
        for written, real in functions:
            arguments = written.args
            listed = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
            assert listed == list(inspect.signature(real).parameters), f"{name}.{written.name}"
