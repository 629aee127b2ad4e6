"""The table in README.md is what ``make demo`` prints."""
import re
from pathlib import Path

from sympy_constrained.comparison import compare

README = Path(__file__).resolve().parents[2]/'README.md'
MEASURED = re.compile(r'\d+\.\d+|\de[+-]\d\d')     # times and rounding errors


def table(text):
    """The lines of the first table, without what depends on the machine."""
    body = text.partition('formulation ')[2].split('----\n')[1]
    return [' '.join(MEASURED.sub('#', line).split())
            for line in re.split(r'\n(?:---|```)', body)[0].splitlines()]


def test_the_table_is_what_the_program_prints():
    shown = table(README.read_text(encoding='utf-8'))
    assert len(shown) > 9
    assert shown == table(str(compare('rolling_disc')))
