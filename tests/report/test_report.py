"""The page of a model: its functions in node, its motion in a browser."""
import json
import shutil
import subprocess
from html import unescape

import numpy as np
import pytest
from sympy import (
    Abs, Float, Function, Heaviside, Matrix, Max, Min, Piecewise, Rational,
    Symbol, asin, atan2, cos, cosh, erf, exp, floor, log, sign, sin, sqrt,
    symbols, tan)
from sympy.physics.mechanics import (
    LagrangesMethod, PinJoint, RigidBody, System, Torque, dynamicsymbols)

from sympy_constrained import (
    GibbsAppellMethod, LinearMappingMethod, Loop, MissingIngredientError,
    RouthMethod, UdwadiaKalabaMethod, UnsupportedFeatureError, VaccoMethod,
    VoronetsMethod)
from sympy_constrained.graph import Graph
from sympy_constrained.models import MODELS, model
from sympy_constrained.numeric import (
    Table, compile_equations, consistent_state, simulate)
from sympy_constrained.numeric.codegen import js_code
from sympy_constrained.report import report

NODE, CHROMIUM = shutil.which('node'), shutil.which('chromium')
QUICK = ['four_bar', 'rolling_disc', 'parallel_cranks', 'massless_coordinate',
         'quaternion_top_lagrange', 'cart_pendulum', 'snakeboard']
node = pytest.mark.skipif(not NODE, reason='node is not installed')


def values_of(m, method):
    equations = method.equations_of_motion
    return {x: value for x, value in m.parameters.items()
            if x in (*equations.constants, *equations.symbols)}


def page_of(name, cls=UdwadiaKalabaMethod, start=None, **options):
    m = model(name)
    method = m.form(cls)
    return report(method, start or m.start, values_of(m, method), m.inputs,
                  **{'fixed': () if start else m.fixed, **options})


def script_of(page):
    """Functions, numbers and the engine as an expression in JavaScript."""
    text = page.html.rpartition('<script>')[2].partition('/* A picture')[0]
    return ('(() => {const module = undefined;' + text
            + 'return {FUNCTIONS, DATA, Motion, lstsq};})()')


def run_node(script, tmp_path):
    file = tmp_path/'script.js'
    file.write_text(script)
    run = subprocess.run([NODE, str(file)], capture_output=True, text=True,
                         timeout=300)
    assert run.returncode == 0, run.stderr[:2000]
    return json.loads(run.stdout)


def at_the_start(page, expression, tmp_path):
    """The state where a page begins, and numbers of its motion there."""
    return run_node(f"""const page = {script_of(page)};
        const motion = new page.Motion({{...page.DATA, f: page.FUNCTIONS}});
        console.log(JSON.stringify([page.DATA.x,
            Array.from({expression})]));""", tmp_path)


def moved_states(compiled, x, count=3):
    """Consistent states near a start."""
    for k in range(count):
        yield consistent_state(compiled, x + 0.05*k*np.sin(
            k + 2.*np.arange(len(x))))


RATES = """
const motion = new page.Motion({...page.DATA, f: page.FUNCTIONS});
result.push(states.map(x => [
  page.FUNCTIONS.rates ? Array.from(motion.solve(0.3, x)) : null,
  Array.from(motion.solveByRank(0.3, x))]));
"""


def check_rates(names, tmp_path):
    """Largest differences of rates and multipliers from machine code, relative
    to their size.
    """
    script, expected = ['const result = [];'], []
    for name in names:
        m = model(name)
        method = m.form(UdwadiaKalabaMethod)
        compiled = compile_equations(method, values_of(m, method), m.inputs)
        start = consistent_state(compiled, m.start, m.fixed)
        states = list(moved_states(compiled, start))
        solver = compiled.linear_solver(0., start)
        for x in states:
            rates = compiled.rhs(0.3, x, solver=solver)
            expected.append((name, rates, compiled.multipliers(0.3, x)))
        script.append(
            f'{{const page = {script_of(page_of(name))};'
            f'const states = {[x.tolist() for x in states]};{RATES}}}')
    script.append('console.log(JSON.stringify(result.flat()));')
    results = run_node('\n'.join(script), tmp_path)
    assert len(results) == len(expected) == 3*len(names)
    worst = {}
    for (name, rates, multipliers), (quick, ranked) in zip(expected, results):
        motion = ranked[:len(rates)], ranked[len(rates):]
        pairs = [(motion[0], rates), (motion[1], multipliers)]
        if quick:
            pairs.append((quick[:len(rates)], rates))
        for values, exact in pairs:
            size = max(1., np.abs(exact).max(initial=0.))
            error = np.abs(np.subtract(values, exact)).max(initial=0.)/size
            worst[name] = max(worst.get(name, 0.), error)
    return worst


@pytest.mark.slow
@node
def test_rates_are_those_of_machine_code(tmp_path):
    worst = check_rates(QUICK, tmp_path)
    assert max(worst.values()) < 1e-12, worst


@node
@pytest.mark.slow
def test_rates_of_all_ready_models(tmp_path):
    worst = check_rates(list(MODELS), tmp_path)
    assert max(worst.values()) < 1e-12, worst


def test_every_page_is_small_and_needs_no_network():
    for name in QUICK:
        html = page_of(name).html
        assert len(html.encode()) < 800_000
        assert not any(text in html for text in (
            'http:', 'https:', 'src=', '@import', 'url('))


@pytest.mark.slow
def test_all_pages_are_small():
    """With what the models know about their picture."""
    for name in MODELS:
        m = model(name)
        method = m.form(UdwadiaKalabaMethod)
        page = report(method, m.start, values_of(m, method), m.inputs,
                      fixed=m.fixed, **m.visual)
        assert len(page.html.encode()) < 800_000


@node
def test_projection_and_steps(tmp_path):
    """Off the constraints, the engine finds the state of `consistent_state`;
    its steps end where those of `simulate` do.
    """
    m = model('four_bar')
    method = m.form(UdwadiaKalabaMethod)
    compiled = compile_equations(method, values_of(m, method))
    x = consistent_state(compiled, m.start, m.fixed)
    off = x + [0, 0.05, -0.04, 0.3, 0.2, -0.5]
    near = consistent_state(compiled, off)
    held = consistent_state(compiled, off, [compiled.states[1]])
    motion = simulate(compiled, 2, x, rtol=1e-12, atol=1e-13)
    found = run_node(f"""const page = {script_of(page_of('four_bar'))};
        const motion = new page.Motion(
          {{...page.DATA, f: page.FUNCTIONS}}, 1e-12, 1e-13);
        const at = x => {{ motion.set(0, x); return motion; }};
        const off = {off.tolist()}, results = [];
        for (const fixed of [[], [1]]) {{
          if (!at(off).project(fixed)) throw new Error('not there');
          results.push(Array.from(motion.x.subarray(0, 6)));
        }}
        at({x.tolist()}).advance(2);
        results.push(Array.from(motion.x.subarray(0, 6)));
        const energy = motion.energy() - motion.x[6];
        at({x.tolist()});
        results.push([energy - motion.energy()]);
        console.log(JSON.stringify(results));""", tmp_path)
    for state, expected in zip(found, (near, held, motion.x[-1])):
        assert np.allclose(state, expected, rtol=0, atol=1e-9)
    assert abs(found[3][0]) < 1e-10


@node
def test_least_squares(tmp_path):
    rng = np.random.default_rng(1)
    script, expected = ['const results = [];'], []
    for m, n, rank in ((4, 4, 4), (5, 3, 2), (3, 5, 2), (6, 6, 3), (2, 3, 0)):
        A = rng.normal(size=(m, rank))@rng.normal(size=(rank, n))
        b = rng.normal(size=m)
        expected.append(np.linalg.lstsq(A, b, rcond=1e-10)[0])
        script.append(f'results.push([...page.lstsq({A.ravel().tolist()}, '
                      f'{m}, {n}, {b.tolist()}, 1e-10).z]);')
    page = f"const page = {script_of(page_of('cartesian_pendulum'))};"
    found = run_node('\n'.join([
        page, *script, 'console.log(JSON.stringify(results));']), tmp_path)
    for z, other in zip(found, expected):
        assert np.allclose(z, other, atol=1e-10)


@node
def test_forces_of_a_free_particle_are_its_reactions(tmp_path):
    """The rod pulls a bob in Cartesian coordinates with `Q_c`."""
    m = model('cartesian_pendulum')
    method = m.form(UdwadiaKalabaMethod)
    compiled = compile_equations(method, values_of(m, method))
    x, force = at_the_start(page_of(m.name), 'motion.forces()', tmp_path)
    assert np.allclose(force[:2], compiled.constraint_forces(0., x))


def pendulum_on_a_pin():
    m, g, l = symbols('m g l')
    ground, rod = RigidBody('ground'), RigidBody('rod', mass=m)
    system = System.from_newtonian(ground)
    system.add_joints(PinJoint('pin', ground, rod, child_point=l*rod.y,
                               joint_axis=ground.z))
    system.apply_uniform_gravity(-g*ground.y)
    method = UdwadiaKalabaMethod.from_method(system)
    return method, {m: 2., g: 9.81, l: 0.5}, rod


@node
def test_reaction_of_a_pin(tmp_path):
    """A rod at rest upside down presses its weight on the pin."""
    method, values, rod = pendulum_on_a_pin()
    values |= {x: 0.1 for x in rod.central_inertia.to_matrix(
        rod.frame).free_symbols}
    values = {x: value for x, value in values.items()
              if x in method.equations_of_motion.constants}
    page = report(method, [0., 0.], values)
    _, force = at_the_start(page, 'motion.forces()', tmp_path)
    assert np.allclose(force, [0., 2*9.81, 0.])


def test_reactions_under_a_control_law():
    """The law replaces the torque in the forces of the joints, too."""
    ground, *rods = map(RigidBody, ('ground', 'crank', 'coupler', 'rocker'))
    torque, k, q = dynamicsymbols('T'), symbols('k'), dynamicsymbols('q:3')
    system = System.from_newtonian(ground)
    system.add_joints(*(
        PinJoint(f'pin{i}', inner, rod, q[i], parent_point=i*inner.x,
                 child_point=-rod.x, joint_axis=inner.z)
        for i, (inner, rod) in enumerate(zip((ground, *rods), rods))))
    system.add_loads(Torque(rods[0].frame, torque*ground.z))
    end = rods[2].masscenter.locatenew('end', rods[2].x)
    pivot = ground.masscenter.locatenew('pivot', 2*ground.x)
    method = UdwadiaKalabaMethod.from_method(system, loops=[Loop(end, pivot)])
    values = dict.fromkeys(method.equations_of_motion.constants, 1.)
    page = report(method, [1.5, -1.5, -1.5, 0, 0, 0], {**values, k: 2.},
                  {torque: -k*q[0]})
    assert data_of(page)['scene']['forces'] == 'reactions'


@pytest.mark.parametrize('cls', [
    VoronetsMethod, RouthMethod, VaccoMethod, LinearMappingMethod,
    GibbsAppellMethod])
@node
def test_every_method(cls, tmp_path):
    m = model('upright_disc')
    states = m.form(cls).equations_of_motion.states
    start = {**dict.fromkeys(states, 0.1), **{
        x: value for x, value in m.start.items() if x in states}}
    page = page_of('upright_disc', cls, start)
    compiled = compile_equations(m.form(cls), values_of(m, m.form(cls)))
    x, rates = at_the_start(page, 'motion.derivative(0, motion.x)', tmp_path)
    assert np.allclose(rates[:len(x)], compiled.rhs(0., x), atol=1e-12)


def spring(force):
    m, k = symbols('m k')
    q = dynamicsymbols('q')
    method = UdwadiaKalabaMethod(
        m*q.diff()**2/2 - k*q**2/2, [q], generalized_forces=[force(q)])
    return method, [0.5, 0.], {m: 2., k: 3.}


@node
def test_inputs(tmp_path):
    """A table is interpolated; an input without a value is a constant."""
    t = dynamicsymbols._t
    F = Function('F')(t)
    for inputs, rate, names in (
            ({F: Table([0, 1, 2, 3], [0, 1, 4, 9])}, (2.25 - 1.5)/2, 'mk'),
            ({F: 4*t}, (6. - 1.5)/2, 'mk'), ({}, -0.75, 'mkF')):
        page = report(*spring(lambda q: F), inputs)
        names_there, rates = run_node(f"""const page = {script_of(page)};
            const motion = new page.Motion({{...page.DATA,
                f: page.FUNCTIONS}});
            console.log(JSON.stringify([
                page.DATA.constants.map(name => name.text),
                Array.from(motion.solve(1.5, motion.x))]));""", tmp_path)
        assert sorted(names_there) == sorted(names)
        assert np.isclose(rates[1], rate)


@node
def test_functions_in_javascript(tmp_path, monkeypatch):
    """Every function, in parts of two variables."""
    monkeypatch.setattr(js_code, 'PART', 2)
    method, _, values = spring(lambda q: 0)
    x, v = method.equations_of_motion.states
    m, k = symbols('m k')
    expressions = Matrix([
        sqrt(x**2 + k), Abs(v), Max(x, v, m), Min(x, v), sign(v), exp(-x)/k,
        Piecewise((x, x < v), (v, x > m), (k, True)), Heaviside(x), -(-x - 3),
        atan2(v, x), tan(x), floor(k*x), x**Rational(5, 3), log(m), cosh(v),
        (x + k)**3/(v - m), sin(x)*cos(x), asin(x/9), Float('1e-300')*x])
    compiled = compile_equations(method, values)
    graph = Graph.of({'out': expressions}, dynamicsymbols._t)
    text = compiled.native(graph, 'out').text('js')
    states = [[0.7, -1.3], [2.5, 0.4]]
    found = run_node(f"""const f = {text}, p = {compiled.p.tolist()};
        console.log(JSON.stringify({states}.map(
          x => Array.from(f(0, x, p, [])))));""", tmp_path)
    expected = [compiled.expression(expressions)(0., x)[:, 0]
                for x in states]
    assert np.allclose(found, expected, rtol=1e-15, atol=0)


def test_what_a_browser_cannot_evaluate():
    t = dynamicsymbols._t
    F = Function('F')(t)
    for force, options, error, text in (
            (lambda q: F, {'inputs': {F: pow}}, UnsupportedFeatureError,
             'Python function'), (erf, {}, UnsupportedFeatureError, 'erf'),
            *((abs, {name: 3}, TypeError, f'`{name}` is 3. Give') for name in (
                'comparison', 'units', 'picture', 'forces', 'inputs'))):
        with pytest.raises(error, match=text):
            report(*spring(force), **options)


def test_contents():
    """Formulas, classes, redundant rows, names that need escapes."""
    html = page_of('parallel_cranks', title='a < b').html
    assert '<title>a &lt; b</title>' in html and ', redundant' in html
    assert '(U4)' in html and 'a < b' not in html
    assert 'nonholonomic' in page_of('knife_edge').html
    assert '<mtable class="matrix">' in html and html.count('= 0</mo>') == 4


def test_places():
    """Points and lines may contain constants that only the picture has."""
    m = model('double_pendulum_lagrange')
    method = m.form(UdwadiaKalabaMethod)
    q1, q2 = m.coordinates
    a = Symbol('a')
    options = {'points': {'tip': (a*sin(q1), -a*cos(q1))},
               'lines': [((0, 0), 'tip')]}
    page = report(method, m.start, m.parameters, picture={a: 0.3}, **options)
    assert '"kind":"line"' in page.html and '"flat":2' in page.html
    with pytest.raises(MissingIngredientError, match='a'):
        report(method, m.start, m.parameters, **options)


def data_of(page):
    """The numbers of a page."""
    return json.loads(page.html.partition('const DATA = ')[2].partition(
        ';\n')[0])


def test_pistons_are_blocks():
    parts = data_of(page_of('slider_crank'))['scene']['parts']
    assert [part['name'] for part in parts if 'block' in part] == ['piston']


def test_a_start_that_was_moved_is_stated():
    page = page_of('cartesian_pendulum', start=[0.9, 0., 0., 0.])
    assert 'Moved onto the constraints' in page.html
    assert 'from 0.9 to 1.' in page.html
    exact = page_of('cartesian_pendulum', start=[0.6, -0.8, 0., 0.])
    assert 'Moved' not in exact.html


def test_no_rounding_error_is_a_start():
    """The speed along the rod vanishes; it is not 1e-17."""
    page = page_of('cartesian_pendulum', start=[0.6, -0.8, 0.3, -0.4])
    assert data_of(page)['x'][2:] == [0., 0.]


def test_energy_has_the_right_name():
    """Weight as a load is not in the energy; its work is shown."""
    four_bar, pendulum = (data_of(page_of(name)) for name in (
        'four_bar', 'cartesian_pendulum'))
    assert (four_bar['energy'], four_bar['work']) == ('kinetic energy', True)
    assert (pendulum['energy'], pendulum['work']) == ('energy', False)


def test_units_of_a_page():
    found = data_of(page_of('four_bar'))
    assert found['constants'][0]['unit'] == 'm'
    assert found['units'] == {'t': 's', 'energy': 'J', 'force': 'N'}
    assert not any(data_of(page_of('four_bar', units={}))['units'].values())
    named = data_of(page_of('four_bar', units={'l2': 'mm'}))
    assert [x['unit'] for x in named['constants']].count('mm') == 1


def test_no_forces_no_box():
    assert 'forces' not in data_of(page_of('spring_mass_damper'))['scene']


def test_springs():
    m = model('spring_mass_damper')
    page = report(m.form(UdwadiaKalabaMethod), m.start, m.parameters,
                  **m.visual)
    assert [part['kind'] for part in data_of(page)['scene']['parts']].count(
        'spring') == 1


@node
def test_given_forces(tmp_path):
    """Forces in multipliers are those of `simulate`'s multipliers."""
    m = model('slider_crank')
    method = m.form(UdwadiaKalabaMethod)
    page = report(method, m.start, values_of(m, method), **m.visual)
    compiled = compile_equations(method, values_of(m, method))
    x, force = at_the_start(page, 'motion.forces()', tmp_path)
    assert data_of(page)['scene']['forces'] == 'piston pin'
    assert np.allclose(force[:2], compiled.multipliers(0., x)[:2])


@node
def test_forces_of_rows_with_a_place(tmp_path):
    """`rows` says where rows act that are expressions."""
    m = model('four_bar')
    method = m.form(UdwadiaKalabaMethod)
    end, _ = m.visual['forces']['pin force']
    plain, placed = (data_of(report(
        method, m.start, values_of(m, method), rows=rows))['scene']['attack']
        for rows in ((), [(end, axis) for axis in method.frame if axis.dot(
            method.frame.z) == 0]))
    assert (len(plain), len(set(plain))) == (3, 3)      # on the bodies
    assert (len(placed), len(set(placed))) == (2, 1)    # at the pin


def test_shapes_and_methods_of_sympy():
    x = dynamicsymbols('x')
    k = Symbol('k')
    method = LagrangesMethod(x.diff()**2/2 - k*x**2/2, [x])
    method.form_lagranges_equations()
    assert 'Equations of motion' in report(method, [1., 0.], {k: 1.}).html


def test_notebooks():
    page = page_of('cartesian_pendulum')
    frame = page._repr_html_()
    assert page.html in unescape(frame) and 'srcdoc' in frame
    pytest.importorskip('anywidget')
    assert page.widget().html == page.html


def test_saved_page(tmp_path):
    page = page_of('cartesian_pendulum')
    page.save(tmp_path/'new'/'page.html')
    assert (tmp_path/'new'/'page.html').read_text('utf-8') == page.html


# -- browser ---------------------------------------------------------------

def in_browser(page, tmp_path, fragment):
    """What the page writes for a fragment; fails on any error."""
    file = tmp_path/'page.html'
    page.save(file)
    run = subprocess.run(
        [CHROMIUM, '--headless', '--no-sandbox', '--disable-gpu',
         '--disable-background-networking', '--enable-logging=stderr',
         f'--user-data-dir={tmp_path}/profile', '--window-size=1280,900',
         '--dump-dom', f'file://{file}#{fragment}'],
        capture_output=True, text=True, timeout=300)
    assert 'CONSOLE' not in run.stderr, run.stderr[-2000:]
    result = json.loads(unescape(run.stdout.partition(
        '<pre id="result">')[2].partition('</pre>')[0]))
    assert not result['message']
    return result


@pytest.mark.parametrize('name', ['four_bar', 'rolling_disc',
                                  'heavy_top_quaternion'])
@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason='chromium is not installed')
def test_motion_in_a_browser(name, tmp_path):
    m = model(name)
    method = m.form(UdwadiaKalabaMethod)
    compiled = compile_equations(method, values_of(m, method))
    start = consistent_state(compiled, m.start, m.fixed)
    page = page_of(name)
    found = in_browser(page, tmp_path, 'test=5')
    motion = simulate(compiled, 5, start, rtol=1e-12, atol=1e-13)
    size = np.maximum(1, np.abs(motion.x[-1]))
    assert (np.abs(found['x'] - motion.x[-1])/size).max() < 1e-8
    assert found['residual'] < 1e-10
    k, value = 0, 1.3*compiled.p[0]
    other = in_browser(page, tmp_path, f'test=5&constant={k},{value}')
    assert np.isclose(other['p'][k], value)
    assert np.abs(np.subtract(other['x'], found['x'])).max() > 1e-3


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason='chromium is not installed')
def test_twenty_bodies_move_smoothly(tmp_path):
    m = model('closed_chain', n=20)
    page = report(m.form(UdwadiaKalabaMethod), m.start, m.parameters,
                  fixed=m.fixed)
    assert in_browser(page, tmp_path, 'test=0.1')['frame'] < 1000/30
