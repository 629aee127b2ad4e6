"""Forces and torques: checked, located and summed on the graph."""

from sympy.physics.mechanics import WrappingPathway
from sympy.physics.vector import Point, ReferenceFrame, Vector

from .. import _compat
from ..errors import raise_problems, warn


def loads_of(actuator):
    """The loads of an actuator; warns if SymPy has their sign wrong."""
    path = getattr(actuator, 'pathway', None)
    if getattr(type(path), 'to_loads', None) is WrappingPathway.to_loads and (
            _compat.wrapping_pulls()):
        warn(f"A positive force on {path!r} pulls its ends together in this "
             "version of SymPy, but its springs, dampers and muscles count a "
             "positive force as one that pushes: a damper feeds energy. Give "
             "`pathway.to_loads(-actuator.force)` as loads in place of the "
             "actuator, or `pathway.to_loads(force)` if the sign is meant.")
    return actuator.to_loads()


def parse_loads(loads):
    """Return ``(location, vector)`` pairs of forces and torques."""
    # Accepts what SymPy accepts: ``Force``, ``Torque``, tuples, and actuators
    # (anything with ``to_loads``).
    pairs, problems = [], []
    for k, load in enumerate(loads or ()):
        if hasattr(load, 'to_loads'):
            pairs.extend(parse_loads(loads_of(load)))
            continue
        try:
            location, vector = load
        except (TypeError, ValueError):
            problems.append(
                f"Load {k} is {load!r}. A load is a `Force`, a `Torque`, an "
                "actuator, or a pair (point or frame, vector); give one of "
                "these.")
            continue
        vector = Vector(0) if vector == 0 else vector
        problem = load_problem(location, vector)
        if problem:
            problems.append(f"Load {k} {problem}")
        pairs.append((location, vector))
    raise_problems(problems)
    return pairs


def load_problem(location, vector):
    """The rest of a sentence about a load that cannot be used, or None."""
    if not isinstance(location, (Point, ReferenceFrame)):
        name = (location.name if hasattr(location, 'masscenter')
                else repr(location))
        return (f"acts at {name}, which is neither a Point (for a force) nor "
                "a ReferenceFrame (for a torque). Give the pair (point, "
                "force) or (frame, torque), and for a body `Force(body, "
                "force)` or `Torque(body, torque)`.")
    if not isinstance(vector, Vector):
        return (f"at {location} is {vector!r}, which is not a "
                "Vector. Multiply the magnitude by a unit vector of a frame.")
    return None


class Applied:
    """Location -> axes, and the total of the applied loads in them."""

    def __init__(self, kinematics):
        self.kinematics = kinematics
        self.totals = {}

    def add(self, location, vector, axes):
        """Add a load; the first at its location determines the axes."""
        axes, total = self.totals.get(location, (axes, (0, 0, 0)))
        self.totals[location] = axes, self.kinematics.builder.added(
            total, self.kinematics.measure(vector, axes))

    def take(self, location, axes):
        """Remove the total at a location; return it in the given axes."""
        home, total = self.totals.pop(location, (axes, (0, 0, 0)))
        return self.kinematics.rotated(axes, home, total)


def axes_of_vector(kinematics, vector):
    """The frame a vector is written in; the inertial one if several."""
    if vector is not None and len(vector.args) == 1:
        return vector.args[0][1]
    return kinematics.frame


def motion_of(kinematics, location, axes):
    """Velocity of a point or angular velocity of a frame."""
    if isinstance(location, Point):
        return kinematics.velocity(location, axes)
    return kinematics.angular_velocity(location, axes)
