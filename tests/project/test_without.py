"""`python -m tools.without FEATURE`: the tree without a feature is whole."""

from pathlib import Path

import pytest

from tools import without


@pytest.mark.slow
@pytest.mark.parametrize("name", without.FEATURES)
def test_the_tree_without_a_feature_passes(name):
    assert without.prove(name)


def test_a_feature_that_is_not_where_the_table_says_is_an_error(tmp_path: Path):
    (tmp_path / "list.py").write_text("first\nsecond\n")
    with pytest.raises(ValueError, match="wanted to remove gone, and it is not there"):
        without.cut(tmp_path, without.Feature(["gone"]))
    with pytest.raises(ValueError, match="no line of list.py has third"):
        without.cut(tmp_path, without.Feature([], {"list.py": "third"}))


def test_what_imports_a_feature_goes_if_it_is_a_test_and_stays_if_it_is_product(tmp_path: Path):
    for name, text in {
        "dshq_widget/extra/__init__.py": "",
        "dshq_widget/extra/deep.py": "",
        "dshq_widget/__init__.py": '"""What it is, and what an extra adds."""\n',
        "dshq_widget/core.py": "from dshq_widget.extra import deep",
        "dshq_widget/list.py": "from dshq_widget.extra import deep\nfirst = 1\n",
        "tests/test_extra.py": "import dshq_widget.extra.deep",
        "tests/z_helper.py": "from dshq_widget.extra.deep import something",
        "tests/test_through_a_helper.py": "from tests import z_helper",
        "tests/test_core.py": "from dshq_widget import core",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    dropped, named = without.cut(tmp_path, without.Feature(["dshq_widget/extra"], {"dshq_widget/list.py": "extra"}))
    assert dropped == ["tests/test_extra.py", "tests/test_through_a_helper.py", "tests/z_helper.py"]
    assert {file: sorted(lost) for file, lost in named.items()} == {
        "dshq_widget/core.py": ["dshq_widget.extra", "dshq_widget.extra.deep"]
    }
    assert (tmp_path / "dshq_widget/core.py").exists() and (tmp_path / "tests/test_core.py").exists()
    assert (tmp_path / "dshq_widget/list.py").read_text() == "first = 1\n"


def test_a_line_goes_with_what_its_brackets_enclose():
    text = 'first = [\n    Row(\n        "1",\n        [2],\n    ),\n    Row("3"),\n]\n'
    assert without.without_lines(text, r'Row\(\s*"1"') == 'first = [\n    Row("3"),\n]\n'
    assert without.without_lines(text, '"3"') == text.replace('    Row("3"),\n', "")


def test_what_names_a_module_that_is_gone_is_found_in_both_languages(tmp_path: Path):
    for name, text in {
        "dshq_widget/there.py": 'ROLE = "dshq_widget.gone.run:run"\nGROUP = "dshq_widget.group"\n',
        "js/there.ts": 'import { there } from "./there";\nimport type { gone } from "./gone";\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    assert without.missing(tmp_path) == {"dshq_widget/there.py": ["dshq_widget.gone.run"], "js/there.ts": ["./gone"]}
