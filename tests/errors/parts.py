"""What the catalogue of bad input is made of: a case, and small models."""
import re
from collections.abc import Callable
from dataclasses import dataclass

from sympy import symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

from sympy_constrained import GibbsAppellMethod, UdwadiaKalabaMethod


@dataclass(frozen=True)
class Case:
    """One kind of bad input and what the user is told.

    Attributes
    ==========

    title : str
        What was given, for the page of the documentation.
    call : callable
        Gives it to the package.
    error : type
        What is raised.
    fact, cause, remedy : str
        Parts of the message, with single spaces.

    """

    title: str
    call: Callable
    error: type
    fact: str
    cause: str
    remedy: str


def in_one_line(error):
    """The message of an exception with single spaces."""
    text = error.args[0] if isinstance(error, KeyError) else str(error)
    return re.sub(r'\s+', ' ', text)


t = dynamicsymbols._t
x, y, z = dynamicsymbols('x y z')
u, v, w = dynamicsymbols('u v w')
m, g, l, k = symbols('m g l k')
M = dynamicsymbols('M')

N, A = ReferenceFrame('N'), ReferenceFrame('A')
O, LOOSE = Point('O'), Point('loose')
O.set_vel(N, 0)
A.orient_axis(N, z, N.z)
P = O.locatenew('P', x*N.x + y*N.y)
BOB = Particle('bob', P, m)
G = O.locatenew('G', x*N.x + y*N.y)
WEIGHT = [(P, -m*g*N.y)]
KD = [x.diff() - u, y.diff() - v]
L = m*(x.diff()**2 + y.diff()**2)/2 - m*g*y
L3 = L + m*z.diff()**2/2
ROD = x**2 + y**2 - l**2
SKATE = x.diff()*y - y.diff()
VALUES = {m: 1, g: 9.81, l: 1}


def kane(cls=UdwadiaKalabaMethod, **changes):
    """A heavy particle in the plane, in the shape of KanesMethod."""
    return cls(**{'frame': N, 'q_ind': [x, y], 'u_ind': [u, v],
                  'kd_eqs': KD, 'bodies': [BOB], 'forcelist': WEIGHT,
                  **changes})


def flat(cls=UdwadiaKalabaMethod, **changes):
    """The same particle by its Lagrangian."""
    return cls(**{'Lagrangian': L, 'qs': [x, y], **changes})


def rod(cls=UdwadiaKalabaMethod, **changes):
    """The particle on a rod."""
    return flat(cls, **{'hol_coneqs': [ROD], **changes})


def space(cls=UdwadiaKalabaMethod, **changes):
    """A particle in space."""
    return cls(**{'Lagrangian': L3, 'qs': [x, y, z], **changes})


def driven(**changes):
    """Meshchersky's particle of mass M(t)."""
    return kane(GibbsAppellMethod, bodies=[Particle('rocket', P, M)],
                forcelist=[], **changes)
