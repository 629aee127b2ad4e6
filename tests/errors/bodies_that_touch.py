"""Surfaces, curves, contacts; bodies that lose mass."""
from types import SimpleNamespace

from sympy import cos, oo, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from errors.parts import (
    BOB, LOOSE, M, N, O, P, Case, driven, flat, kane, m, u, x, y, z)
from sympy_constrained import (
    ConeSurface, CylinderSurface, EllipsoidSurface, GibbsAppellMethod,
    ParametricSurface, PlaneSurface, PointContact, SphereSurface,
    SurfaceOfRevolution, UdwadiaKalabaMethod, VertexPoint, internal_flow_loads,
    momentum_loads, reactive_terms)
from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError, KinematicsError,
    MissingIngredientError, UnsupportedFeatureError)
from sympy_constrained.numeric import compile_equations

a, b, R = symbols('a b R')
ALIEN = ReferenceFrame('alien')
TABLE = RigidBody('table', O, N)
C = O.locatenew('C', x*N.x + y*N.y + z*N.z)
B = ReferenceFrame('B')
B.orient_body_fixed(N, dynamicsymbols('a1:4'), 'zyz')
BALL = RigidBody('ball', C, B, m, (inertia(B, 1, 1, 1), C))
PLANE = PlaneSurface(N, O, N.z)
SPHERE = SphereSurface(B, C, R)
VERTEX = VertexPoint(B, C)
FLYING = RigidBody('flying', Point('far'), ALIEN)
TURNED = N.orientnew('turned', 'axis', [x, N.z])
WHEEL = RigidBody('wheel', G2 := O.locatenew('G2', x*N.x), TURNED, M,
                  (inertia(TURNED, 0, 0, M), G2))
G3 = O.locatenew('G3', u*N.x)
LOADED = RigidBody('loaded', G3, TURNED, M, (inertia(TURNED, 0, 0, M), G3))


def contact(parent=TABLE, child=BALL, one=PLANE, two=SPHERE, **options):
    return PointContact('contact', parent, child, one, two, **options)


def surface(position, parameters=(a, b), **options):
    return ParametricSurface(N, O, position, parameters, **options)


CONTACTS = (
    Case('the name of a frame for a surface',
         lambda: PlaneSurface('N', O, N.z), TypeError, '`frame`', "is 'N'",
         'Give the ReferenceFrame in which the geometry is'),
    Case('a body in the place of the point of a surface',
         lambda: PlaneSurface(N, TABLE, N.z),
         TypeError, "`point` is RigidBody('table', masscenter=O,",
         'frame=N, mass=table_mass,',
         'Give the Point from which positions are measured'),
    Case('a normal that is no vector', lambda: PlaneSurface(N, O, 1),
         TypeError, '`normal`', 'is 1', 'Give a Vector'),
    Case('a normal that is zero', lambda: PlaneSurface(N, O, 0*N.z),
         ValueError, '`normal` is the zero vector', 'without a direction',
         'Give another vector'),
    Case('a normal that moves in the body',
         lambda: PlaneSurface(N, O, cos(x)*N.z + N.x),
         ConstraintError, 'The position of PlaneSurface contains x(t),',
         'A contact needs a rigid shape',
         'let the frame and the point move instead'),
    Case('a radius that is zero', lambda: SphereSurface(B, C, 0), ValueError,
         '`radius`', 'is 0', 'Give a positive dimension'),
    Case('a text for a radius', lambda: SphereSurface(B, C, 'R'), TypeError,
         "`radius` is 'R',", 'not a number or expression', 'Give a positive'),
    Case('the half-angle of a cone in degrees',
         lambda: ConeSurface(B, C, 30, B.y), ValueError, '`half_angle`',
         'is 30', 'Give an angle between 0 and pi, in radians'),
    Case('an unknown orientation of a surface',
         lambda: surface(a*N.x + b*N.y, orientation='out'), ValueError,
         '`orientation`', "is 'out'",
         'Give 1 if the cross product of the tangent'),
    Case('a profile that is no function',
         lambda: SurfaceOfRevolution(B, C, B.z, (a, b)), TypeError,
         '`profile`', 'is (a, b)', 'Give a function of one parameter'),
    Case('two semi-axes of an ellipsoid',
         lambda: EllipsoidSurface(B, C, (a, b)), ValueError, '`semi_axes`',
         'is (a, b)', 'Give three dimensions, along the axes of the'),
    Case('one parameter of a surface', lambda: surface(a*N.x, [a]), ValueError,
         '`parameters`', 'is [a]',
         'Give 2 different symbols or dynamicsymbols for'),
    Case('an unknown formulation of a contact',
         lambda: contact(formulation='implicit'), ValueError, '`formulation`',
         "is 'implicit'", "Choose one of 'auto', 'explicit', 'augmented',"),
    Case('surfaces and bodies of a contact exchanged',
         lambda: PointContact('contact', PLANE, SPHERE, TABLE, BALL),
         TypeError, "`parent_geometry` is RigidBody('table',",
         'masscenter=O, frame=N, mass=table_mass,',
         'Give a surface, a curve or a vertex'),
    Case('a contact of a particle', lambda: contact(child=BOB),
         ConstraintError, "`child` is Particle('bob', masscenter=P,",
         'mass=m), which has no body frame in which',
         'Give a RigidBody; a particle is one without'),
    Case('a contact with a surface of another tree',
         lambda: contact(one=PlaneSurface(ALIEN, LOOSE, ALIEN.z)),
         ConstraintError, '`parent_geometry` is not', 'connected to table',
         'its frame alien must be oriented in N, and its'),
    Case('a contact whose geometries are exchanged',
         lambda: contact(one=SPHERE, two=PLANE), ConstraintError,
         '`parent_geometry` moves', 'relative to table',
         'Its frame must have a constant orientation in the'),
    Case('a surface in the place of the child under a vertex',
         lambda: contact(one=VertexPoint(N, O)), ConstraintError,
         'The parent has an edge or a vertex and the', 'child a surface',
         'Exchange parent and child: the normal is that of'),
    Case('a contact of two vertices',
         lambda: contact(one=VertexPoint(N, O), two=VERTEX),
         ConstraintError, 'A vertex meets an edge or a vertex without',
         'a normal, so this is not a contact',
         'For a bead on a wire give two holonomic rows, or'),
    Case('a contact along a line',
         lambda: contact(two=CylinderSurface(B, C, R, B.y)),
         ConstraintError, 'CylinderSurface and PlaneSurface do not',
         'their relative curvature K1 + K2 is',
         'Model a line by two points or by its own'),
    Case('an explicit contact without a closed form',
         lambda: contact(one=EllipsoidSurface(N, O, [a, b, R]),
                         formulation='explicit'),
         UnsupportedFeatureError, 'The contact of SphereSurface with',
         'Closed forms are a convex child on a plane',
         'Exchange parent and child if that makes it one of'),
    Case('a contact of bodies that are not connected',
         lambda: contact(parent=FLYING,
                         one=PlaneSurface(ALIEN, FLYING.masscenter, ALIEN.z)
                         ).velocity_constraints, KinematicsError,
         'The points C and far of the two geometries', 'are not connected',
         'Locate the bodies from a common point'),
    Case('too few coordinates of a contact',
         lambda: contact(formulation='augmented', contact_coordinates=[u]),
         ValueError, '`contact_coordinates` is [u(t)], and',
         'contact_xi1, contact_xi2, contact_zeta1,', 'Give dynamicsymbols'),
    Case('two contacts of one name in a System',
         lambda: (one := contact(formulation='augmented')).add_to_system(
             SimpleNamespace(q=one.coordinates)),
         ValueError, 'The system already has coordinates',
         'of a contact named `contact`',
         'Add each contact once, and give contacts'),
    Case('a vector for a component of a contact force',
         lambda: contact().reaction_loads(0, N.x), TypeError,
         '`first` is N.x', 'not a number', 'Give a component'),
    Case('a radius that the motion without the contact lacks',
         lambda: contact().touch_down_event(compile_equations(
             UdwadiaKalabaMethod(x.diff()**2/2, [x]))), ValueError,
         'The gap of contact contains R,', 'unknown', 'in `constants`'),
    Case('the contact angle without charts',
         lambda: contact().contact_angle_rate(),
         UnsupportedFeatureError, 'contact has no contact angle',
         'that is the angle between the charts of two',
         "Choose the formulation 'augmented' or 'kinematic'"),
    Case('a signed distance of a surface that has none',
         lambda: EllipsoidSurface(B, C, [a, b, R]).signed_distance(O),
         UnsupportedFeatureError, 'EllipsoidSurface has', 'no signed distance',
         "A ball meets it in the formulations 'augmented'"),
    Case('the support of a surface that has none',
         lambda: ConeSurface(B, C, R, B.z).support_function(B.x),
         UnsupportedFeatureError, 'ConeSurface has', 'no support function',
         "It meets a plane in the formulations 'augmented'"),
    Case('the normal reaction of a method without the contact',
         lambda: contact().normal_reaction(flat()), ConstraintError,
         'The rows of contact are not among those of the method',
         'so its reaction is not known', 'Pass `holonomic_constraints` and'),
    Case('the normal reaction of what is no method',
         lambda: contact().normal_reaction(3), UnsupportedFeatureError,
         'int has no', 'multipliers that are reactions',
         'Take UdwadiaKalabaMethod, which accepts the same'),
    Case('the start of a contact without numbers',
         lambda: contact(formulation='augmented').solve_contact({}, {}),
         MissingIngredientError, '`guess` has no number',
         'place near the contact', 'add them'),
    Case('the start of a contact in a list', lambda: contact().solve_contact(
        [1], {z: 1}), TypeError, '`values`', 'is [1]', 'Give a dictionary'),)


MASS = (
    Case('an anchor of a particle',
         lambda: momentum_loads([BOB], N, anchors={BOB: O}),
         ConstrainedDynamicsError,
         "`anchors` has Particle('bob', masscenter=P,",
         'mass=m), which is not a RigidBody of the model',
         'Give {body: point} for its rigid bodies'),
    Case('anchors of a body that is not in the model',
         lambda: driven(anchors={WHEEL: O}),
         ConstrainedDynamicsError, "`anchors` has RigidBody('wheel',",
         'masscenter=G2, frame=turned, mass=M(t),',
         'Give {body: point} for its rigid bodies'),
    Case('anchors in a list', lambda: momentum_loads([BOB], N, [O]), TypeError,
         '`anchors`', 'is [O]', 'Give a dictionary'),
    Case('exits that do not account for the mass',
         lambda: internal_flow_loads(WHEEL, N, [(O, 2*M.diff())]),
         ConstrainedDynamicsError, 'The rates of mass at the exits sum up to',
         '2*Derivative(M(t), t), and the mass of',
         'Give all exits, with negative rates for a loss'),
    Case('reactive terms of a velocity in speeds',
         lambda: reactive_terms([hurried()], [x], N),
         KinematicsError, 'The velocity of hurried contains u(t) and',
         'no derivative of a coordinate, so it has no',
         "Write it in the q', or use `momentum_loads`"),
    Case('a rate of mass with an acceleration',
         lambda: driven(mass_rates={M: u.diff()}), ConstrainedDynamicsError,
         'The rate of M(t) contains an acceleration,',
         'A mass that is a state has a rate in',
         'write such a mass as an expression'),
    Case('a rate of mass that is not finite',
         lambda: driven(mass_rates={M: -oo}), ConstrainedDynamicsError,
         'The rate of M(t)', 'The model contains `-oo`, which is not a',
         'replace it by a real expression'),
    Case('the rate of a mass that is in no body',
         lambda: driven(mass_rates={z: -1}), ConstrainedDynamicsError,
         '`mass_rates` has z(t), which is in no body', 'and no load',
         'Use the function of time that is the mass of the'),
    Case('an anchor of one of two bodies with one mass centre',
         lambda: kane(GibbsAppellMethod, bodies=[
             WHEEL, Particle('rider', G2, 1)], anchors={WHEEL: O}),
         ConstrainedDynamicsError, 'rider has the same mass centre G2 as',
         'the velocity at this point is ambiguous',
         'Give each of these bodies a mass centre Point'),
    Case('an anchor without a velocity',
         lambda: kane(GibbsAppellMethod, bodies=[WHEEL],
                      anchors={WHEEL: Point('L')}).mass_matrix,
         KinematicsError, 'Body wheel: Point G2 has no position',
         'relative to point L', 'Set it with `set_pos`'),
    Case('an anchor from which a mass centre moves by a speed',
         lambda: kane(GibbsAppellMethod, bodies=[LOADED], forcelist=[],
                      anchors={LOADED: O}).mass_matrix,
         KinematicsError, 'Body loaded: The position of G3 relative to its',
         'depends on a speed, e.g. by a mass that does',
         'give the parts of the body that do not move in it'),
    Case('variable masses taken to another method',
         lambda: UdwadiaKalabaMethod.from_method(driven(
             mass_rates={M: -1})),
         UnsupportedFeatureError, 'The model has mass_rates, variable masses,',
         'which only GibbsAppellMethod takes',
         'make the other method from the model itself, with'),
    Case('a square of an acceleration in a load',
         lambda: kane(GibbsAppellMethod, forcelist=[(P, u.diff()**2*N.x)]),
         ConstrainedDynamicsError, 'The loads are not linear in the',
         'They may depend on coordinates, speeds,', 'write them in these'),
    Case('a rate of a rate', lambda: kane(
        forcelist=[(P, x.diff().diff()*N.x)]), ConstrainedDynamicsError,
         'The loads contain Derivative(x(t), (t, 2)), which is not the rate',
         'They may depend on coordinates, speeds,', 'write them in these'),)


def hurried():
    point = Point('S')
    point.set_vel(N, u*N.x)
    return Particle('hurried', point, M)


CASES = CONTACTS + MASS
