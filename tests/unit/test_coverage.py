"""The list of what no test enters, made of what coverage and gcovr report."""

from __future__ import annotations

from tests.support.coverage import listed, of_c, of_python, ranges


def region(start: int, run: list[int], missed: list[int]) -> dict[str, object]:
    return {"start_line": start, "executed_lines": run, "missing_lines": missed}


PYTHON = {
    "files": {
        "b.py": region(0, [], [1, 2])
        | {"functions": {"": region(1, [], [1]), "f": region(2, [], [2])}},
        "a.py": region(0, [1, 2, 3, 7], [5, 6, 9])
        | {
            "functions": {
                "": region(1, [1, 2, 7], [9]),
                "A.half": region(2, [3], [5]),
                "A.never": region(4, [], [6]),
                "A.abstract": region(8, [], []),
            }
        },
    }
}
C = {
    "files": [
        {
            "file": "hosts/a.h",
            "lines": [
                {"line_number": 4, "count": 0},
                {"line_number": 4, "count": 2},
                {"line_number": 9, "count": 0},
                {"line_number": 9, "count": 0},
            ],
            "functions": [
                {"name": "used", "lineno": 3, "execution_count": 0},
                {"name": "used", "lineno": 3, "execution_count": 2},
                {"name": "unused", "lineno": 8, "execution_count": 0},
            ],
        }
    ]
}


def test_files_functions_and_lines_that_nothing_ran() -> None:
    assert list(listed("Python", of_python(PYTHON))) == [
        "Python: 44.4 % of 9 lines run; 2 of 3 functions never entered",
        "  file      b.py",
        "  function  a.py:4 A.never",
        "  lines     a.py: 5-6, 9",
    ]


def test_a_function_of_several_programs_counts_once() -> None:
    assert list(listed("C", of_c(C))) == [
        "C: 50.0 % of 2 lines run; 1 of 2 functions never entered",
        "  function  hosts/a.h:8 unused",
        "  lines     hosts/a.h: 9",
    ]


def test_neighbours_are_a_range() -> None:
    assert ranges({7, 1, 2, 3, 9, 10}) == "1-3, 7, 9-10"
    assert ranges([]) == ""
