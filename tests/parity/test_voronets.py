"""What ``HamelEmbedding`` refuses, its partitions, and its linearization.

That the corrected equations are the equations of motion of every ready model
is one of tests/laws.
"""
import numpy as np
import pytest
from mpmath import mp
from sympy import Matrix
from sympy.physics.mechanics import dynamicsymbols

import ready
from kkt import at, close
from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod
from sympy_constrained.errors import ConstraintError, RedundantConstraintsError
from sympy_constrained.models import MODELS, model

t = dynamicsymbols._t

# Model -> error and a part of its text.
REFUSED = {
    'parallel_cranks': (ConstraintError, 'redundant'),
    'coupler_on_cranks': (RedundantConstraintsError, 'follows'),
    'duplicated_rows': (RedundantConstraintsError, 'follows'),
    'constant_speed_particle': (ConstraintError, 'not linear'),
    'appell_hamel': (ConstraintError, 'not linear'),
    **ready.NOT_IN_VELOCITIES}


def dependent(m, names):
    chosen = [q for q in m.coordinates if q.func.__name__ in names.split()]
    assert len(chosen) == len(names.split())
    return chosen


pytestmark = pytest.mark.usefixtures('digits')


@pytest.mark.parametrize('name', REFUSED)
def test_what_cannot_be_embedded_is_told(name):
    m = MODELS[name]()
    error, text = REFUSED[name]
    count = {'coupler_on_cranks': 'X Y phi', 'appell_hamel': 'x'}.get(name)
    with pytest.raises(error, match=text):
        if count:
            h = m.form(HamelEmbedding, q_dependent=dependent(m, count))
        else:
            h = m.form(HamelEmbedding)
        h.mass_matrix


def test_a_partition_in_kanes_shape():
    """Named in ``q_dependent``, or by the velocities in ``u_dependent``, or
    afterwards; a speed that is no velocity stays a speed."""
    m = model('chaplygin_sleigh')
    x, y, theta = m.coordinates
    arguments = dict(m.arguments)
    arguments |= {'q_ind': [x, theta], 'q_dependent': [y]}
    by_name = HamelEmbedding(**arguments)
    later = HamelEmbedding.from_method(HamelEmbedding.from_method(
        m.form(UdwadiaKalabaMethod), q_dependent=[x]), q_dependent=[y])
    for h in (by_name, later):
        assert list(h.embedding.q_dependent) == [y]
        assert set(h.u) == {x.diff(t), m.speeds[1]}     # theta' is u3
    # Forces per speed of the call have the same power in velocities.
    forces = Matrix([1, 2, 3])
    pushed = HamelEmbedding(**arguments, generalized_forces=list(forces))
    change = (pushed.system.graph.sympy('applied')
              - by_name.system.graph.sympy('applied'))
    values = ready.InVelocities(m).state(1)
    assert close(at(change.T*Matrix(pushed.system.u), values),
                 at(forces.T*Matrix(m.speeds), values))
    knife = model('knife_edge').form(HamelEmbedding)
    assert [str(q) for q in knife.embedding.q_dependent] == ['y(t)']


# Linearization

def slope_of_rhs(h, values, states=None):
    """The derivative by the states, by central differences."""
    rates, step = h.rhs(), mp.mpf(10)**-25

    def moved(x, sign):
        return at(rates, {**values, x: values[x] + sign*step})
    return np.array([[float(x) for x in (moved(s, 1) - moved(s, -1))/(2*step)]
                     for s in states or (*h.q, *h.u)]).T


def test_linearization_along_a_position_row_and_by_an_input():
    """Not at rest and not in balance: still the slope of ``rhs()``."""
    case = ready.InVelocities(model('cart_pendulum'))
    h = HamelEmbedding.from_method(
        case.method, q_dependent=dependent(case.model, 'q_p'))
    values = case.state(2)
    force, = case.model.inputs
    A, B, r = h.linearize(A_and_B=True, op_point={
        force: values[force], **{x: values[x] for x in (*h.q, *h._qdot)},
        **dict(zip(h._udot, at(h.acceleration, values)))})
    assert list(r) == [force]
    found = [np.array(x.subs(dict(case.model.parameters)), dtype=float)
             for x in (A, B)]
    # The pendulum, which comes first, follows the cart along the row.
    along = np.array([[-float(at(h.embedding.matrix, values)[0]), 0], [1, 0],
                      [0, 1]])
    wanted = (slope_of_rhs(h, values)@along, slope_of_rhs(h, values, [force]))
    for one, other in zip(found, wanted):
        assert abs(one).max() > 0.1
        np.testing.assert_allclose(one, other[1:], rtol=1e-9, atol=1e-9)
