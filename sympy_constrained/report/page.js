/* Buttons, sliders, readings and charts of the page. */

const $ = id => document.getElementById(id);
const start = Float64Array.from(DATA.x);
const motion = new Motion({...DATA, f: FUNCTIONS});
const view = new View($('view'), motion, DATA.scene);
const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
const HISTORY = 900;
let playing = false, speed = DATA.speed, last = 0, rate = 60, history = [];
let energy0 = NaN;

const dark = matchMedia('(prefers-color-scheme: dark)');
const paint = isDark => document.documentElement.classList.toggle(
  'dark', isDark);
paint(dark.matches);
dark.addEventListener('change', event => { paint(event.matches); show(); });

const short = x => !isFinite(x) ? '–' : Math.abs(x) >= 1e4 || (
  x && Math.abs(x) < 1e-3) ? x.toExponential(2) : String(+x.toPrecision(4));

const rounded = (x, size) => Math.abs(x) > 1e-12*Math.abs(size) ? x : 0;
const isForce = f => f > 0 && !(
  f*view.size <= 1e-11*Math.abs(motion.energy()));
const measured = (x, unit) => short(x) + (unit ? ` ${unit}` : '');
const inUnit = ({math, unit}) => math + (unit ? ` in ${unit}` : '');

/* Do something that may have no result, such as a step into a singularity. */
function attempt(action) {
  try {
    action();
    $('message').textContent = '';
    return true;
  } catch (error) {
    $('message').textContent = `Stopped: ${error.message}.`;
    play(false);
    return false;
  }
}

// -- motion -----------------------------------------------------------------

const lossless = () => motion.energy() - (DATA.work ?
  motion.x[DATA.x.length] : 0);

function record() {
  history.push([motion.t, lossless() - energy0,
                ...DATA.qindex.map(i => motion.x[i])]);
  if (history.length > HISTORY) history.shift();
}

/* Look at the first seconds, so that the picture contains them. */
function fit() {
  const outs = [view.places()], {t, x, h, steps} = motion;
  const before = performance.now();
  let strongest = 0;
  try {
    for (let k = 1; k <= 50 && performance.now() - before < 250; k++) {
      motion.advance(t + k*0.05*speed, 100);
      outs.push(view.places());
      if (DATA.scene.forces && !isForce(strongest)) strongest = largest(
        motion.forces() || []);
    }
  } catch (error) { /* as far as the motion goes */ }
  Object.assign(motion, {t, x, h, steps});
  view.fit(outs);
  $('forces').parentNode.hidden = !isForce(strongest);
}

function reset(newFit = false) {
  attempt(() => {
    motion.set(DATA.t, start);
    if (!motion.project()) throw new Error(
      'no consistent state near this start');
    history = [];
    view.paths.clear();
    view.strongest = 0;
    energy0 = motion.energy();
    if (newFit) fit();
    view.meshes = null;
    record();
  });
  show();
}

function advance(seconds, budget = 40) {
  const before = motion.t;
  const done = attempt(() => motion.advance(
    motion.t + seconds*speed, budget));
  if (motion.t > before) record();
  return done;
}

function play(on) {
  playing = on;
  $('play').textContent = on ? 'Pause' : 'Play';
  if (on) {
    last = performance.now();
    requestAnimationFrame(frame);
  }
}

function frame(now) {
  if (!playing) return;
  const passed = Math.min(Math.max(now - last, 1), 50)/1000;
  rate += 0.05*(1/Math.max((now - last)/1000, 0.004) - rate);
  last = now;
  advance(passed);
  show();
  requestAnimationFrame(frame);
}

// -- readings ---------------------------------------------------------------

function show() {
  view.draw();
  const {t, energy, force} = DATA.units;
  const digits = Math.max(2, 2 - Math.floor(Math.log10(speed)));
  const lines = [['time', `${motion.t.toFixed(digits)} ${t}`]];
  if (isFinite(energy0)) lines.push(
    [DATA.energy, measured(motion.energy(), energy)]);
  if (DATA.work) lines.push(['work', measured(rounded(
    motion.x[DATA.x.length], motion.energy()), energy)]);
  if (DATA.rows) lines.push(['residual', motion.residual.toExponential(1)]);
  if (DATA.scene.forces && view.showForces && isForce(
    view.strongest)) lines.push(
    ['largest force', measured(view.strongest, force)]);
  if (!DATA.scene.parts.length) lines.push(
    ['no bodies: give points or lines to draw', '']);
  if (playing) lines.push(['frames/s', rate.toFixed(0)]);
  $('numbers').textContent = lines.map(
    ([name, value]) => name.padEnd(15) + value).join('\n');
  const columns = DATA.qindex.slice(0, 8).map((_, k) => k + 2);
  chart($('chart'), columns);
  chart($('energy'), [1]);
}

function chart(canvas, columns) {
  const ratio = devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const [w, h] = [box.width, box.height], c = canvas.getContext('2d');
  canvas.width = w*ratio;
  canvas.height = h*ratio;
  c.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const left = 60, bottom = 18, end = motion.t, begin = Math.min(
    history.length ? history[0][0] : 0, end - 1e-6);
  let [low, high] = [Infinity, -Infinity];
  for (const row of history) for (const k of columns) {
    low = Math.min(low, row[k]);
    high = Math.max(high, row[k]);
  }
  if (!isFinite(low)) return;
  const least = canvas.id === 'energy' ? 1e-9*Math.max(1, Math.abs(energy0)) :
    1e-6;
  if (high - low < least) [low, high] = [low - least/2, high + least/2];
  const X = t => left + (t - begin)/(end - begin)*(w - left - 6);
  const Y = v => 6 + (high - v)/(high - low)*(h - bottom - 12);
  c.font = '11px system-ui, sans-serif';
  c.fillStyle = style.getPropertyValue('--soft');
  c.strokeStyle = style.getPropertyValue('--grid');
  c.textAlign = 'right';
  for (const v of [low, (low + high)/2, high]) {
    c.beginPath();
    c.moveTo(left, Y(v));
    c.lineTo(w - 6, Y(v));
    c.stroke();
    c.fillText(short(Math.abs(v) < 1e-3*(high - low) ? 0 : v), left - 6,
               Y(v) + 4);
  }
  c.fillText(`t = ${measured(end, DATA.units.t)}`, w - 6, h - 3);
  c.textAlign = 'left';
  c.fillText(short(begin), left, h - 3);
  columns.forEach((k, i) => {
    c.strokeStyle = tone(COLORS[i % COLORS.length], 1);
    c.lineWidth = 1.6;
    c.beginPath();
    history.forEach((row, j) => j ? c.lineTo(X(row[0]), Y(row[k])) :
      c.moveTo(X(row[0]), Y(row[k])));
    c.stroke();
  });
}

// -- controls ---------------------------------------------------------------

/* A slider of a number; `changed` takes its value. */
function slider(parent, name, value, low, high, changed) {
  const row = document.createElement('label');
  row.className = 'row';
  row.innerHTML = `<span>${name.math}</span>`;
  const input = document.createElement('input');
  const output = document.createElement('output');
  Object.assign(input, {type: 'range', min: low, max: high, step: 'any'});
  input.setAttribute('aria-label', name.text);
  const tell = x => {
    input.value = x;
    output.textContent = measured(x, name.unit);
  };
  tell(value);
  input.addEventListener('input', () => {
    tell(+input.value);
    changed(+input.value);
  });
  row.append(input, output);
  parent.append(row);
  return tell;
}

const around = (value, least) => {
  const reach = Math.max(least, Math.abs(value));
  return [value - reach, value + reach];
};
const largestSpeed = DATA.x.reduce((a, v, i) => DATA.qindex.includes(i) ? a :
  Math.max(a, Math.abs(v)), 0);
const tellStart = DATA.states.map((name, i) => slider(
  $('start'), name, DATA.x[i], ...around(DATA.x[i], DATA.qindex.includes(i) ?
    1 : largestSpeed || 2), value => {
    const old = start.slice();
    play(false);
    motion.set(DATA.t, start);
    motion.x[i] = value;
    if (attempt(() => {
      if (!motion.project([i])) throw new Error(
        `the constraints do not allow ${name.text} = ${short(value)}`);
    })) start.set(motion.x.subarray(0, start.length));
    else start.set(old);
    reset();
    start.forEach((x, k) => {
      if (k !== i) tellStart[k](rounded(x, largest(start)));
    });
  }));

DATA.constants.forEach((name, i) => {
  const value = DATA.p[i];
  slider($('constants'), name, value, ...(value ? [
    Math.min(value/5, value*3), Math.max(value/5, value*3)] : [-2, 2]), now => {
    motion.p[i] = now;
    view.meshes = null;
    attempt(() => {
      if (!motion.project()) throw new Error(
        `no position satisfies the constraints with ${name.text} = ${
          short(now)}`);
    });
    energy0 = lossless();
    history = [];
    if (!playing) {
      record();
      show();
    }
  });
});
if (!DATA.constants.length) $('constants').parentNode.remove();

function setSpeed(value) {
  speed = value;
  $('speed').value = Math.log10(value);
  $('speed-value').textContent = `${short(+value.toPrecision(2))}×`;
}

const toggle = (id, key) => {
  $(id).addEventListener('change', () => {
    view[key] = $(id).checked;
    show();
  });
};
toggle('forces', 'showForces');
toggle('paths', 'showPaths');
$('play').onclick = () => play(!playing);
$('reset').onclick = () => reset(true);
$('step').onclick = () => { play(false); advance(1/30); show(); };
$('theme').onclick = () => {
  paint(!document.documentElement.classList.contains('dark'));
  show();
};
$('speed').oninput = () => setSpeed(10**$('speed').value);
document.addEventListener('keydown', event => {
  const inside = event.target.tagName, key = event.key;
  if (inside === 'SUMMARY' || event.ctrlKey || event.metaKey || event.altKey)
    return;
  const actions = {
    ' ': () => $('play').click(), r: () => reset(true), '.': () => $('step').click(),
    f: () => $('forces').click(), p: () => $('paths').click(),
    '+': () => { view.zoom *= 1.15; show(); },
    '-': () => { view.zoom /= 1.15; show(); }};
  if (actions[key] && !(inside === 'BUTTON' && key === ' ')) {
    event.preventDefault();
    actions[key]();
  }
});
let held = null;
$('view').addEventListener('pointerdown', event => {
  held = [event.clientX, event.clientY];
  $('view').setPointerCapture(event.pointerId);
});
$('view').addEventListener('pointermove', event => {
  if (!held) return;
  const [dx, dy] = [event.clientX - held[0], event.clientY - held[1]];
  held = [event.clientX, event.clientY];
  if (DATA.scene.flat === null) {
    view.azimuth -= 0.008*dx;
    view.elevation = Math.max(-1.5, Math.min(1.5,
      view.elevation + 0.008*dy));
  }
  show();
});
$('view').addEventListener('pointerup', () => { held = null; });
addEventListener('resize', show);

$('chart-name').innerHTML = DATA.qindex.slice(0, 8).map((i, k) =>
  `<b style="color:${tone(COLORS[k % COLORS.length], 1)}">${
    inUnit(DATA.states[i])}</b>`).join(' &ensp; ');
$('energy-name').textContent = inUnit({
  math: `change of ${DATA.energy}${DATA.work ? ' less the work' : ''}`,
  unit: DATA.units.energy});
$('arrows').textContent = {
  reactions: 'Arrows: joint reactions.',
  added: 'Arrows: mass times the acceleration that the constraints add.',
}[DATA.scene.forces] || (
  DATA.scene.forces ? `Arrows: ${DATA.scene.forces}.` : '');
setSpeed(speed);
if (calm) $('paths').checked = view.showPaths = false;
reset(true);

/* `#test=5` writes the state at that time, and milliseconds for a picture;
   `&constant=0,2` sets a slider before. `#at=2` only moves. Otherwise the
   motion begins. */
const query = new URLSearchParams(location.hash.slice(1));
if (query.has('theme')) paint(query.get('theme') === 'dark');
if (query.has('constant')) {
  const [k, value] = query.get('constant').split(',').map(Number);
  const input = $('constants').querySelectorAll('input')[k];
  input.value = value;
  input.dispatchEvent(new Event('input'));
}
if (query.has('test')) {
  const time = +query.get('test'), result = document.createElement('pre');
  const exact = new Motion({...DATA, f: FUNCTIONS}, 1e-12, 1e-13);
  exact.p.set(motion.p);
  exact.set(DATA.t, motion.x.subarray(0, DATA.x.length));
  attempt(() => exact.advance(time));
  const begin = performance.now(), frames = 120;
  for (let k = 0; k < frames; k++) {
    advance(1/60);
    show();
  }
  result.id = 'result';
  result.textContent = JSON.stringify({
    t: exact.t, x: [...exact.x.subarray(0, DATA.x.length)],
    residual: exact.residual, frame: (performance.now() - begin)/frames,
    p: [...motion.p], message: $('message').textContent});
  document.body.append(result);
} else if (query.has('at')) {
  for (let t = 0; t < +query.get('at'); t += 1/60) {
    advance(1/60, 1e9);
    show();
  }
} else if (!calm) play(true);
