"""The notebook runs to its end, and makes its picture."""

import pathlib

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = pathlib.Path(__file__).parents[1] / "notebooks"


def test_table_1_of_paper_1(tmp_path, monkeypatch):
    monkeypatch.setenv("FORETELL_PLOT", str(tmp_path / "table1.svg"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = nbformat.read(NOTEBOOKS / "table1.ipynb", as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "all evidence verified" in printed
    assert (tmp_path / "table1.svg").stat().st_size > 10_000
