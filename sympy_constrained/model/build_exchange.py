"""Accelerations in loads, and masses that are states.

Masses that are states are for the method that projects Meshchersky's equation.
"""
from ..errors import ConstrainedDynamicsError, located
from ..graph import read


def declare_exchange(kinematics, exchange, bodies, q, u):
    """Bind the rates of masses that are states; return them as rows."""
    if not exchange:
        return []
    g, time = kinematics.builder, kinematics.builder.time
    exchange.check(bodies, (*q, *u), time)
    kinematics.declare_accelerations()
    for mass in exchange.rates:
        g.input(mass, dynamic=True)
    rows = []
    moving = {mass.diff(time) for mass in exchange.rates}
    for mass, rate in exchange.rates.items():
        with located(f'The rate of {mass}'):
            ref = read(g, rate)
        if kinematics.accelerations_in(ref) or not moving.isdisjoint(
                g.symbols_of(ref)):
            raise ConstrainedDynamicsError(
                f"The rate of {mass} contains an acceleration, or the rate "
                "of a mass that is a state. A mass that is a state has a "
                "rate in coordinates, speeds, masses and time; write such a "
                "mass as an expression.")
        rows.append([ref])
    for mass, (ref,) in zip(exchange.rates, rows):
        g.bound[mass.diff(time)] = ref
    for mass, (ref,) in zip(exchange.rates, rows):
        g.bound[mass.diff(time, 2)] = kinematics.total_derivative(ref)
    return rows


def check_masses(builder, exchange, kinetics):
    """Raise if a mass that has a rate is in no body and no load."""
    used = builder.symbols_of(*(
        ref for row in kinetics.M + kinetics.Q for ref in row))
    idle = [str(mass) for mass in exchange.rates if mass not in used]
    if idle:
        raise ConstrainedDynamicsError(
            f"`mass_rates` has {', '.join(idle)}, which is in no body and no "
            "load. Use the function of time that is the mass of the body, "
            "or leave it out.")


def with_separate_accelerations(kinematics, kinetics):
    """Kinetics with the terms of ``u'`` of the loads in the mass matrix."""
    M, Q, power = [], [], kinetics.power
    for row, (force,) in zip(kinetics.M, kinetics.Q):
        parts = kinematics.linear_in_accelerations(force)
        if parts is None:
            raise not_linear(kinematics, force)
        slopes, rest = parts
        M.append(list(map(kinematics.builder.sub, row, slopes)))
        Q.append([rest])
    if power and kinematics.accelerations_in(power[0][0]):
        power = []                      # masses that depend on speeds
    return kinetics._replace(M=M, Q=Q, power=power)


def with_virtual_masses(kinematics, kinetics):
    """The same for methods that need a symmetric mass matrix."""
    late = kinematics.accelerations_in(*(x for x, in kinetics.Q))
    if not late or kinematics.accelerations_in(
            *(x for row in kinetics.M for x in row)):
        return kinetics
    kinetics = with_separate_accelerations(kinematics, kinetics)
    if [list(column) for column in zip(*kinetics.M)] != kinetics.M:
        raise ConstrainedDynamicsError(
            f"The loads contain {late[0]}, and with such loads the mass "
            "matrix is not symmetric, because they do not act where the "
            "acceleration is taken. Use GibbsAppellMethod, which needs no "
            "symmetry, or replace the acceleration by an expression in "
            "coordinates, speeds and time.")
    return kinetics


def not_linear(kinematics, force):
    late = kinematics.accelerations_in(
        force, allowed=kinematics.accelerations)
    return ConstrainedDynamicsError(
        "The loads are not linear in the accelerations"
        + (f" and contain {late[0]}" if late else "") + ". They may "
        "depend on coordinates, speeds, time and, linearly, on the "
        "rates of the speeds; write them in these.")
