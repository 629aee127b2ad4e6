"""Symbols, names and numbers."""
import numpy as np
import pytest
from sympy import I, Matrix, Symbol, pi, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained.numeric import sweep
from sympy_constrained.numeric.names import Names, label

q1, q2, u1 = dynamicsymbols('q1 q2 u1')
names = Names((q1, q2, u1, q1.diff()), 'state')


def test_labels_are_short():
    assert [label(n) for n in names] == ['q1', 'q2', 'u1', "q1'"]
    assert label(q1.diff().diff()) == "q1''"
    assert label(Symbol('m_1')) == 'm_1'


@pytest.mark.parametrize('key', [
    q1.diff(), "q1'", 'Derivative(q1(t), t)', " q1' "])
def test_an_object_is_found_by_itself_and_by_its_names(key):
    assert names.index(key) == 3 and names.labels[3] in repr(names)


def test_a_name_of_two_objects_is_refused():
    both = Names((q1, Symbol('q1')), 'state')
    assert both.index(Symbol('q1')) == 1
    with pytest.raises(KeyError, match="'q1' names 2 objects"):
        both.index('q1')


def test_values_come_by_mapping_or_in_order():
    expected = [np.pi, 2, 3, 4]
    mapping = {q1: pi, 'q2': 2, u1: np.float64(3), "q1'": 4}
    np.testing.assert_array_equal(names.vector(mapping, 'start'), expected)
    np.testing.assert_array_equal(names.vector(expected, 'start'), expected)
    np.testing.assert_array_equal(
        names.vector({u1: 5}, 'start', default=[1, 1, 1, 1]), [1, 1, 5, 1])


@pytest.mark.parametrize('value, text', [
    (1j, '1j is not a real number'), (I, 'I is not a real number'),
    (np.complex128(1), '.* is not a real number'),
    (np.nan, 'nan is not finite'), (np.inf, 'inf is not finite'),
    (symbols('a'), 'a is not a real number'),
    ('3', "'3' is not a real number"), (None, 'None is not a real number')])
def test_what_is_no_number_is_named(value, text):
    with pytest.raises(ValueError, match=f'`start`: q2: {text}'):
        names.vector({q1: 0, q2: value, u1: 0, q1.diff(): 0}, 'start')


class Labelled:
    """Numbers with labels, as those of pandas are."""

    def __init__(self, values):
        self.values = values

    def keys(self):
        return iter(self.values)

    def __getitem__(self, key):
        return self.values[key]

    def __iter__(self):
        return iter(self.values.values())

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return np.array(list(self), dtype=dtype)


def test_what_has_labels_is_taken_by_them():
    names = Names((q1, u1), 'state')
    values = {'u1': 2., 'q1': 1.}
    assert names.vector(Labelled(values), 'start').tolist() == [1, 2]
    with pytest.raises(ValueError, match="'7' is no state; .*'8' is no st"):
        names.vector(Labelled({7: 1., 8: 2.}), 'start')
    places = Labelled({0: 1., 1: 2.})
    assert names.vector(places, 'start').tolist() == [1, 2]
    pandas = pytest.importorskip('pandas')
    assert names.vector(pandas.Series(values), 'start').tolist() == [1, 2]


@pytest.mark.parametrize('values', [
    {1., 2.}, frozenset((1., 2.)), {1.: 0, 2.: 0}.keys(), '12'])
def test_what_has_no_order_is_refused(values):
    with pytest.raises(TypeError, match='`start` must be a mapping .*not '):
        Names((q1, u1), 'state').vector(values, 'start')


def test_labels_in_all_places(pendulum):
    compiled, start = pendulum.compiled, pendulum.start
    p = Labelled({'l': 2, 'g': 1.62, 'm': 1.5})
    np.testing.assert_array_equal(compiled.rhs(0, start, p),
                                  compiled.rhs(0, start, [1.5, 1.62, 2]))
    assert compiled.with_values(p).p.tolist() == [1.5, 1.62, 2]
    found = sweep(compiled, {'l': Labelled({7: 2., 8: 3.})},
                  run=lambda compiled: compiled.p[2])
    assert found.values().tolist() == [2, 3]        # one after the other
    found = sweep(compiled, [p, {'g': 1}], Labelled(
        {"x'": 3., 'y': 1., 'x': 0., "y'": 4.}),
        run=lambda compiled, start: [*start, compiled.p[1]])
    assert found.values().tolist() == [[0, 1, 3, 4, 1.62], [0, 1, 3, 4, 1]]
    with pytest.raises(TypeError, match='`states` must be .* not set'):
        sweep(compiled, None, {1., 2., 3., 4.}, t_span=1)
    with pytest.raises(ValueError, match='not a real number'):
        sweep(compiled, {'l': {0: 2., 1: 3.}}, run=lambda compiled: 0)


def test_one_key_may_stand_for_a_list():
    assert names.indices(q2, 'fixed') == names.indices('q2', 'fixed') == [1]
    with pytest.raises(ValueError, match="`fixed`: 'a' is no state.*'b' is"):
        names.indices(['a', q1, 'b'], 'fixed')
    with pytest.raises(ValueError, match="`fixed`: 'None' is no state"):
        names.indices(None, 'fixed')


def test_keys_may_be_a_matrix_of_the_method():
    assert names.indices(Matrix([q2, q1]), 'fixed') == [1, 0]
