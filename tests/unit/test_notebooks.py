"""The examples are notebooks as well: jupytext converts each, and loses nothing."""

import ast
from pathlib import Path

import jupytext
import nbformat
import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_becomes_a_notebook_and_back(path: Path) -> None:
    notebook = jupytext.read(path)
    nbformat.validate(notebook)
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds[1] == "markdown", "its title follows the licence"
    assert kinds.count("code") >= 2
    for cell in notebook.cells:
        if cell.cell_type == "code":
            ast.parse(cell.source)  # a cell stands alone: none is cut within a statement
    again = jupytext.writes(notebook, fmt="py:percent")
    assert again.removeprefix("# %%\n") == path.read_text()
