"""Old programs give what they gave under torchtext 0.6 (recorded by ci/text_recorder)."""

import json

import legacy_programs
import pytest

from rushlight_text.legacy import data


@pytest.mark.parametrize("program", legacy_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_the_same_values(program, recorded, tmp_path):
    expected = recorded("legacy")[program.__name__]
    legacy_programs.files(tmp_path)
    found = json.loads(json.dumps(program(data, tmp_path)))
    assert found == expected
