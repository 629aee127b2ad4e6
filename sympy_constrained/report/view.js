/* A picture of the scene: links, shapes, surfaces, paths and forces on a
   canvas, sorted by depth. Vectors are arrays of three numbers. */

const add = (a, b, s = 1) => [a[0] + s*b[0], a[1] + s*b[1], a[2] + s*b[2]];
const dot = (a, b) => a[0]*b[0] + a[1]*b[1] + a[2]*b[2];
const cross = (a, b) => [a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2],
                         a[0]*b[1] - a[1]*b[0]];
const unit = a => { const n = Math.hypot(...a) || 1; return a.map(e => e/n); };
const COLORS = [[47, 111, 222], [224, 101, 58], [42, 157, 116], [150, 84, 200],
                [217, 162, 27], [20, 160, 184], [214, 69, 123],
                [122, 139, 47]];
const tone = (rgb, light, alpha = 1) => `rgba(${rgb.map(c => Math.round(
  light < 1 ? c*light : c + (255 - c)*(light - 1))).join()},${alpha})`;
const TURN = 2*Math.PI, LONGEST_PATH = 420, TRAVEL = 3.5;

/* Points of a chart, and quadrilaterals: numbers of points, two tones. */
function grid(at, us, vs) {
  const faces = [], n = vs.length;
  for (let i = 0; i + 1 < us.length; i++)
    for (let j = 0; j + 1 < n; j++) faces.push({
      corners: [i*n + j, (i + 1)*n + j, (i + 1)*n + j + 1, i*n + j + 1],
      odd: Math.floor(4*i/(us.length - 1)) % 2});
  return {points: us.flatMap(u => vs.map(v => at(u, v))), faces};
}

const joined = meshes => meshes.reduce((a, b) => ({
  points: [...a.points, ...b.points], faces: [...a.faces, ...b.faces.map(
    ({corners, odd}) => ({odd, corners: corners.map(
      k => k + a.points.length)}))]}));

const range = (from, to, count) => Array.from(
  {length: count + 1}, (_, i) => from + (to - from)*i/count);

/* The homogeneous body with these squared radii of gyration: a rod, a disc or
   an ellipsoid. */
function shape(ratios, size, fine) {
  const sum = ratios[0] + ratios[1] + ratios[2];
  let s = ratios.map(k => sum/2 - k);         // mean squares along the axes
  const most = Math.max(...ratios);
  if (!(most > 0)) return null;
  const planar = ratios.filter(k => k > 1e-9*most).length === 1;
  if (planar) s = ratios.map(k => k > 1e-9*most ? 0 : most/2);
  const thick = s.map(e => e > 0.02*most), count = thick.filter(e => e).length;
  if (count === 1) {
    const k = thick.indexOf(true), end = [0, 0, 0];
    end[k] = Math.sqrt(3*s[k]);
    return {rod: [end, end.map(e => -e)]};
  }
  if (count === 2) {
    const k = thick.indexOf(false), [i, j] = [(k + 1) % 3, (k + 2) % 3];
    const half = planar ? 0.012*size : 0.06*Math.sqrt(s[i] + s[j]);
    const at = (u, r, z) => {
      const point = [0, 0, 0];
      point[i] = 2*Math.sqrt(s[i])*r*Math.cos(u);
      point[j] = 2*Math.sqrt(s[j])*r*Math.sin(u);
      point[k] = z;
      return point;
    };
    const us = range(0, TURN, fine + 8);
    return {planar, convex: true, ...joined([
      grid((u, r) => at(u, r, half), us, [0, 1]),
      grid((u, r) => at(u, r, -half), us, [1, 0]),
      grid((u, z) => at(u, 1, z), us, [-half, half])])};
  }
  const a = s.map(e => Math.sqrt(5*Math.max(e, 0)));
  return {convex: true, ...grid((u, v) => [
    a[0]*Math.sin(v)*Math.cos(u), a[1]*Math.sin(v)*Math.sin(u),
    -a[2]*Math.cos(v)], range(0, TURN, fine), range(0, Math.PI, fine/2))};
}

const cube = a => ({convex: true,
  points: [-a, a].flatMap(x => [-a, a].flatMap(y => [-a, a].map(
    z => [x, y, z]))),
  faces: [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6],
          [0, 2, 6, 4], [1, 3, 7, 5]].map(corners => ({corners, odd: 1}))});

/* Normal of a face, some corners of which may coincide. */
function normalOf([a, b, c, d]) {
  const n = cross(add(b, a, -1), add(c, a, -1));
  const m = d ? cross(add(c, a, -1), add(d, a, -1)) : n;
  return unit(dot(n, n) < dot(m, m) ? m : n);
}

class View {
  constructor(canvas, motion, scene) {
    Object.assign(this, {canvas, motion, scene, paths: new Map()});
    this.context = canvas.getContext('2d');
    this.up = scene.up;
    this.azimuth = -0.9;
    this.elevation = 0.32;
    this.zoom = 1;
    this.showForces = this.showPaths = true;
    this.meshes = null;
    this.middle = [0, 0, 0];
    this.size = 1;
    this.strongest = 0;
    this.longest = LONGEST_PATH/Math.max(1, scene.parts.filter(
      part => part.trail).length/5);
  }

  /* Positions and axes at the state of the motion. */
  places() {
    const {motion, scene} = this, out = motion.call('places').slice();
    if (scene.drifts) for (const k of scene.positions)
      for (let i = 0; i < 3; i++) out[k + i] += motion.x.at(i - 3);
    return out;
  }

  point(out, k) { return [out[k], out[k + 1], out[k + 2]]; }

  /* A point fixed in axes, whose rows begin at k, from the position at. */
  fixed(out, at, k, x) {
    return [0, 1, 2].map(i => out[at + i] + out[k + 3*i]*x[0]
      + out[k + 3*i + 1]*x[1] + out[k + 3*i + 2]*x[2]);
  }

  /* See all places of some states. */
  fit(outs) {
    let low = [Infinity, Infinity, Infinity], high = low.map(e => -e);
    const see = (x, r = 0) => {
      low = low.map((e, i) => Math.min(e, x[i] - r));
      high = high.map((e, i) => Math.max(e, x[i] + r));
    };
    let first = 0, lowest = Infinity;
    for (const [count, out] of outs.entries()) {
      for (const part of this.scene.parts) {
        if (part.kind === 'surface' && part.mesh === 'plane') continue;
        for (const k of [part.at].flat()) lowest = Math.min(
          lowest, dot(this.point(out, k), this.up));
        if (part.kind === 'surface' && part.moves) for (const x of this.rim(
          part)) see(this.fixed(out, part.at, part.axes, x));
        const r = part.kind === 'shape' ? Math.sqrt(4*Math.max(
          ...out.slice(part.ratios, part.ratios + 3))) : 0;
        for (const k of [part.at].flat()) see(this.point(out, k), r*0.7);
      }
      const size = Math.hypot(...add(high, low, -1));
      if (!count) first = size || Infinity;
      if (size > TRAVEL*first) break;       // the view will follow
    }
    if (!(low[0] <= high[0])) [low, high] = [[-1, -1, -1], [1, 1, 1]];
    this.middle = low.map((e, i) => (e + high[i])/2);
    this.box = [low, high];
    this.size = Math.max(Math.hypot(...add(high, low, -1)), 1e-9);
    this.meshes = null;
    this.lowest = isFinite(lowest) ? lowest : 0;
  }

  /* Some points of a surface, in its axes. */
  rim({f, mesh}) {
    const us = range(0, TURN, 8), vs = {ball: [0.8, Math.PI/2, 2.3],
      torus: range(0, TURN, 4), tube: [0], rim: [0]}[mesh] || [];
    return us.flatMap(u => vs.map(v => Array.from(this.motion.call(
      f, this.motion.t, this.motion.x, mesh === 'rim' ? [u] : [u, v]))));
  }

  /* Faces of shapes and surfaces, which change with the constants. */
  build(out) {
    const fine = this.scene.parts.filter(
      part => part.kind === 'shape').length > 6 ? 16 : 24;
    this.meshes = this.scene.parts.map(part => {
      if (part.kind === 'shape') return shape(Array.from(
        out.slice(part.ratios, part.ratios + 3)), this.size, fine);
      if (part.kind !== 'surface') return null;
      const at = (...u) => Array.from(this.motion.call(
        part.f, this.motion.t, this.motion.x, u));
      const far = 0.75*this.size, around = range(0, TURN, 28);
      const [u, v] = part.middle = this.below(out, part);
      if (part.mesh === 'rim') {
        return {points: [[0, 0, 0], ...around.map(u => at(u))],
          faces: around.slice(1).map((_, i) => ({
            corners: [0, i + 1, i + 2], odd: Math.floor(i/7) % 2}))};
      }
      if (part.mesh === 'plane') {
        return {flat: true, ...grid((s, t) => at(u + s, v + t),
          range(-far, far, 10), range(-far, far, 10))};
      }
      const mesh = grid(at, around, {
        ball: range(0, Math.PI, 14), torus: range(0, TURN, 14),
        tube: range(v - far, v + far, 6)}[part.mesh]);
      const middle = part.inside && this.local(out, part, this.middle);
      return {convex: part.mesh === 'ball' && !part.inside, ...mesh,
        faces: part.inside ? mesh.faces.filter(({corners}) => Math.hypot(
          ...add(mesh.points[corners[0]], middle, -1)) < far) : mesh.faces};
    });
    let floor = this.lowest;
    this.scene.parts.forEach((part, k) => {
      const {points = [], flat, faces} = this.meshes[k] || {};
      if (faces && !flat) for (const x of points) floor = Math.min(
        floor, dot(this.up, this.fixed(out, part.at, part.axes, x)));
    });
    const near = Math.abs(floor)/this.size;
    this.floor = near < 0.03 || (floor > 0 && near < 0.3) ? 0 : floor;
  }

  /* Parameters of a plane, or along a tube, near the middle of the view. */
  below(out, part) {
    if (!['plane', 'tube'].includes(part.mesh)) return [0, 0];
    const at = (...u) => Array.from(this.motion.call(
      part.f, this.motion.t, this.motion.x, u)), o = at(0, 0);
    const step = 0.15*this.size, along = add(
      this.local(out, part, this.middle), o, -1);
    return [at(1, 0), at(0, 1)].map(x => {
      const e = add(x, o, -1);
      return step*Math.round(dot(along, e)/dot(e, e)/step);
    });
  }

  local(out, {at, axes}, x) {
    const d = add(x, this.point(out, at), -1);
    return [0, 1, 2].map(j => [0, 1, 2].reduce(
      (s, i) => s + out[axes + 3*i + j]*d[i], 0));
  }

  /* Let the box follow bodies that leave it. */
  follow(out) {
    const dots = this.scene.parts.filter(part => part.kind === 'dot');
    if (!dots.length) return;
    for (let i = 0; i < 3; i++) {
      const x = dots.reduce((s, part) => s + out[part.at + i], 0)/dots.length;
      const [low, high] = this.box;
      const shift = Math.max(0, x - high[i]) + Math.min(0, x - low[i]);
      low[i] += shift;
      high[i] += shift;
      this.middle[i] += shift;
    }
  }

  camera() {
    const {scene, up} = this, box = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    const width = box.width || 640, height = box.height || 420;
    if (this.canvas.width !== Math.round(width*ratio)
        || this.canvas.height !== Math.round(height*ratio)) {
      this.canvas.width = Math.round(width*ratio);
      this.canvas.height = Math.round(height*ratio);
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    let toward;
    if (scene.flat !== null) {
      toward = [0, 0, 0];
      toward[scene.flat] = scene.flat === 1 ? -1 : 1;
    } else {
      const first = unit(cross(Math.abs(up[0]) > 0.5 ? [0, 1, 0] : [1, 0, 0],
        up));
      const second = cross(up, first), c = Math.cos(this.elevation);
      toward = add(add(first.map(e => e*c*Math.cos(this.azimuth)), second,
        c*Math.sin(this.azimuth)), up, Math.sin(this.elevation));
    }
    const right = unit(cross(up, toward)), above = cross(toward, right);
    // the box as it is seen
    let [w, h] = [0, 0];
    const [low, high] = this.box, half = add(high, low, -1).map(e => e/2);
    for (let i = 0; i < 3; i++) {
      w += Math.abs(right[i]*half[i]);
      h += Math.abs(above[i]*half[i]);
    }
    const scale = this.zoom*Math.min(
      (width/2 - 34)/(w + 0.06*this.size), (height/2 - 34)/(
        h + 0.06*this.size));
    const far = scene.flat === null ? 3.2*this.size : Infinity;
    this.look = {toward, width, height, scale};
    const [a, b, c] = this.middle;
    this.project = ([x, y, z]) => {
      const u = x - a, v = y - b, w = z - c;
      const depth = u*toward[0] + v*toward[1] + w*toward[2];
      const s = scale*(far === Infinity ? 1 : far/Math.max(
        far - depth, 0.2*far));
      return {depth, s,
        x: width/2 + s*(u*right[0] + v*right[1] + w*right[2]),
        y: height/2 - s*(u*above[0] + v*above[1] + w*above[2])};
    };
  }

  draw() {
    const out = this.places();
    if (!this.box) this.fit([out]);
    this.follow(out);
    if (!this.meshes || this.scene.parts.some(part => part.middle
        && String(part.middle) !== String(this.below(out, part))))
      this.build(out);
    this.camera();
    const {context: c, scene} = this, style = getComputedStyle(this.canvas);
    this.ink = style.getPropertyValue('--ink').trim();
    this.paper = style.getPropertyValue('--stage').trim();
    this.faint = style.getPropertyValue('--grid').trim();
    this.dark = style.getPropertyValue('--dark').trim() === '1';
    c.clearRect(0, 0, this.look.width, this.look.height);
    this.width = 0.02*this.size*this.look.scale;
    const list = [];
    this.drawFloor();
    if (scene.flat === null) this.drawShadows(out);
    scene.parts.forEach((part, k) => this.parts(out, part, k, list));
    list.sort((a, b) => a[0] - b[0]);
    for (const [, paint] of list) paint();
    if (this.showForces) this.drawForces(out);
  }

  trace(points, closed = false) {
    const {context: c} = this;
    points.forEach((p, i) => i ? c.lineTo(p.x, p.y) : c.moveTo(p.x, p.y));
    if (closed) c.closePath();
  }

  stroke(points, width, color) {
    const {context: c} = this;
    Object.assign(c, {lineWidth: width, strokeStyle: color});
    c.beginPath();
    this.trace(points);
    c.stroke();
  }

  fill(points, color, edge, width) {
    const {context: c} = this;
    Object.assign(c, {fillStyle: color, strokeStyle: edge, lineWidth: width});
    c.beginPath();
    this.trace(points, true);
    c.fill();
    c.stroke();
  }

  disc(p, radius, color, edge) {
    const {context: c} = this;
    Object.assign(c, {fillStyle: color, strokeStyle: edge, lineWidth: 1.2});
    c.beginPath();
    c.arc(p.x, p.y, radius, 0, TURN);
    c.fill();
    if (edge) c.stroke();
  }

  /* A grid below a motion in space, or behind one in a plane. */
  drawFloor() {
    const {context: c, up, scene, size} = this;
    if (scene.parts.some(part => part.mesh && !part.moves)) return;
    const power = 10**Math.floor(Math.log10(0.35*size));
    const step = power*[5, 2, 1].find(k => 0.35*size/power >= k), n = 9;
    const isFlat = scene.flat !== null;
    const normal = isFlat ? this.look.toward : up;
    const e = unit(cross(Math.abs(up[0]) > 0.5 ? [0, 1, 0] : [1, 0, 0], up));
    const [first, second] = isFlat ? [up, cross(up, normal)] :
      [e, cross(up, e)];
    let o = isFlat ? this.middle : add(
      this.middle, up, this.floor - dot(this.middle, up));
    for (const axis of [first, second])
      o = add(o, axis, Math.round(dot(o, axis)/step)*step - dot(o, axis));
    for (const [a, b] of [[first, second], [second, first]])
      for (let i = -n; i <= n; i++) for (let j = -n; j < n; j++) {
        const fade = isFlat ? 1 : 1.6*(1 - Math.hypot(i, j + 0.5)/n);
        if (fade <= 0) continue;
        c.globalAlpha = Math.min(1, fade);
        this.stroke([j, j + 1].map(k => this.project(
          add(add(o, a, i*step), b, k*step))), 1, this.faint);
      }
    c.globalAlpha = 1;
  }

  shadow(x) {
    return this.project(add(x, this.up, this.floor - dot(x, this.up)));
  }

  drawShadows(out) {
    const {context: c, scene, up} = this;
    const color = this.dark ? 'rgba(0,0,0,.5)' : 'rgba(30,40,60,.16)';
    c.fillStyle = color;
    c.lineCap = 'round';
    c.beginPath();
    scene.parts.forEach((part, k) => {
      const mesh = this.meshes[k];
      if (!mesh || !mesh.faces || part.moves === false) return;
      const world = mesh.points.map(
        x => this.fixed(out, part.at, part.axes, x));
      const points = world.map(x => this.shadow(x));
      for (const {corners} of mesh.faces) {
        const isBelow = dot(up, normalOf(corners.map(k => world[k]))) < 0;
        if (isBelow && mesh.convex) continue;
        const outline = corners.map(k => points[k]);
        this.trace(isBelow ? outline.reverse() : outline, true);
      }
    });
    c.fill();
    for (const part of scene.parts) if (
      part.kind === 'link' || part.kind === 'line') this.stroke(
      part.at.map(k => this.shadow(this.point(out, k))),
      this.width*(part.rigid === false ? 0.4 : 1), color);
  }

  /* Depths and painters of a part. */
  parts(out, part, k, list) {
    const color = COLORS[(part.color || 0) % COLORS.length];
    if (part.kind === 'link' || part.kind === 'line')
      this.link(out, part, color, list);
    else if (part.kind === 'spring') this.spring(
      part.at.map(k => this.project(this.point(out, k))), list);
    else if (part.kind === 'support')
      this.support(this.project(this.point(out, part.at)), list);
    else if (part.kind === 'dot') this.dot(out, part, color, list);
    else {
      const mesh = this.meshes[k];
      if (mesh && mesh.rod && !part.linked) this.bar(
        mesh.rod.map(x => this.project(this.fixed(
          out, part.at, part.axes, x))), color, 1, list);
      if (mesh && mesh.faces && !(mesh.planar && part.linked))
        this.faces(out, part, mesh, part.kind === 'shape' ? color :
          COLORS[(k + 3) % COLORS.length], list);
    }
  }

  faces(out, part, mesh, color, list) {
    const {context: c, look, up} = this;
    const light = unit(add(add(look.toward, up, 1.1),
      cross(up, look.toward), -0.6));
    const isGround = mesh.flat || part.moves === false;
    const all = mesh.points.map(x => this.fixed(out, part.at, part.axes, x));
    const seen = all.map(x => this.project(x)), at = this.point(out, part.at);
    for (const {corners, odd} of mesh.faces) {
      const world = corners.map(k => all[k]), n = normalOf(world);
      const side = dot(n, look.toward) < 0 ? -1 : 1;
      const outward = dot(n, add(world[0], add(world[2], at, -2)));
      if (mesh.convex && side*outward < 0 && Math.abs(
        dot(n, look.toward)) > 0.3) continue;       // behind the body
      const points = corners.map(k => seen[k]);
      const depth = points.reduce((s, p) => s + p.depth, 0)/points.length;
      const shade = (0.62 + 0.5*Math.max(0, side*dot(n, light)))*(
        odd ? 1 : this.dark ? 0.72 : 0.8);
      const paint = isGround ? (this.dark ? 'rgba(140,160,190,.07)' :
        'rgba(60,80,110,.06)') : tone(color, shade);
      list.push([isGround ? depth - 10*this.size : depth, () => this.fill(
        points, paint, isGround ? this.faint : paint, 0.8)]);
    }
  }

  bar(points, color, thickness, list) {
    const depth = points.reduce((s, p) => s + p.depth, 0)/points.length;
    const width = Math.max(2, thickness*this.width*points[0].s/
      this.look.scale);
    list.push([depth, () => {
      this.context.lineCap = this.context.lineJoin = 'round';
      this.stroke(points, width + 2.4, tone(color, 0.55));
      this.stroke(points, width, tone(color, 1));
      this.stroke(points, 0.38*width, 'rgba(255,255,255,.17)');
    }]);
  }

  link(out, part, color, list) {
    const points = part.at.map(k => this.project(this.point(out, k)));
    const isLine = part.kind === 'line';
    if (part.rigid === false) list.push([points[0].depth, () => this.stroke(
      points, Math.max(1.5, 0.25*this.width), this.ink)]);
    else this.bar(points, isLine ? [120, 130, 145] : color, isLine ? 0.7 : 1,
      list);
    if (isLine && points.length > 6) return;        // a contour
    points.forEach((p, i) => {
      if (part.fixed && part.fixed[i]) this.support(p, list);
      list.push([p.depth + 0.012*this.size, () => this.disc(p, Math.max(
        2, 0.42*this.width*p.s/this.look.scale), this.paper, this.ink)]);
    });
  }

  /* A coil between two points. */
  spring([a, b], list) {
    const [x, y] = [b.x - a.x, b.y - a.y], n = Math.hypot(x, y) || 1;
    const wide = 0.6*this.width + 2, turns = 14;
    const at = (along, across) => ({x: a.x + along*x - across*wide*y/n,
      y: a.y + along*y + across*wide*x/n});
    const points = [at(0, 0), at(0.12, 0), ...range(0, 1, turns - 1).map(
      (e, k) => at(0.12 + 0.76*(k + 0.5)/turns, (-1)**k)), at(0.88, 0),
    at(1, 0)];
    list.push([(a.depth + b.depth)/2, () => this.stroke(
      points, 1.4, this.ink)]);
  }

  /* In a plane, a triangle on hatched ground. */
  support(p, list) {
    if (this.scene.flat === null) return;
    const w = 1.15*this.width + 3, y = p.y + 1.5*w;
    list.push([p.depth - 0.03*this.size, () => {
      this.fill([p, {x: p.x - w, y}, {x: p.x + w, y}], this.paper, this.ink,
        1.3);
      this.stroke([{x: p.x - 1.6*w, y}, {x: p.x + 1.6*w, y}], 1.3, this.ink);
      for (let i = -3; i <= 3; i++) this.stroke([{x: p.x + i*w/2, y},
        {x: p.x + (i - 1)*w/2, y: y + 0.6*w}], 1.3, this.ink);
    }]);
  }

  dot(out, part, color, list) {
    const {context: c} = this, at = this.point(out, part.at);
    const p = this.project(at);
    if (part.trail && this.showPaths) {
      const path = this.paths.get(part) || [];
      this.paths.set(part, path);
      const last = path.at(-1);
      if (!last || Math.hypot(...add(at, last, -1)) > 0.004*this.size)
        path.push(at);
      if (path.length > this.longest) path.shift();
      list.push([-1e6*this.size, () => {
        const points = path.map(x => this.project(x)), runs = 8;
        c.lineWidth = 1.6;
        c.lineCap = 'butt';
        for (let r = 0; r < runs; r++) {
          const from = Math.floor(r*points.length/runs);
          const to = Math.floor((r + 1)*points.length/runs);
          c.strokeStyle = tone(color, 1, 0.75*(r + 1)/runs);
          c.beginPath();
          const run = points.slice(Math.max(from - 1, 0), to + 2);
          run.slice(1).forEach((q, i) => {      // through the midpoints
            const [x, y] = [(run[i].x + q.x)/2, (run[i].y + q.y)/2];
            if (i) c.quadraticCurveTo(run[i].x, run[i].y, x, y);
            else c.moveTo(x, y);
          });
          if (r === runs - 1) c.lineTo(p.x, p.y);
          c.stroke();
        }
      }]);
    }
    if (part.block !== undefined) {             // behind its pin
      const behind = [];
      this.faces(out, {at: part.at, axes: part.block}, cube(
        1.4*this.width/this.look.scale), color, behind);
      list.push(...behind.map(([d, paint]) => [d - 0.06*this.size, paint]));
    }
    const radius = part.small ? Math.max(2.2, 0.3*this.width) : Math.max(
      5, 1.15*this.width*p.s/this.look.scale);
    list.push([p.depth + 0.02*this.size, () => {
      if (!part.small) {
        const shine = c.createRadialGradient(p.x - radius/3, p.y - radius/3,
          radius/8, p.x, p.y, radius);
        [1.55, 1, 0.6].forEach((light, i) => shine.addColorStop(
          i/2, tone(color, light)));
        this.disc(p, radius, shine);
        return;
      }
      this.disc(p, radius, '#fff', tone(color, 0.6));
      c.fillStyle = tone(color, 0.45);              // a centre of mass
      for (const angle of [0, TURN/2]) {
        c.beginPath();
        c.moveTo(p.x, p.y);
        c.arc(p.x, p.y, radius, angle, angle + TURN/4);
        c.fill();
      }
    }]);
  }

  drawForces(out) {
    const {scene, context: c} = this;
    if (!scene.forces || !scene.attack.length) return;
    const forces = this.motion.forces();
    if (!forces) return;
    const list = scene.attack.map((k, i) => [
      this.point(out, k), this.point(forces, 3*i)]);
    const strongest = Math.max(...list.map(([, f]) => Math.hypot(...f)));
    this.strongest = Math.max(strongest, 0.995*this.strongest);
    if (!(this.strongest > 0)) return;
    const color = this.dark ? '#ff7a6b' : '#c8102e';
    c.lineCap = 'butt';
    const length = 0.3*Math.min(this.size, this.look.height/this.look.scale);
    for (const [at, force] of list) {
      const a = this.project(at), b = this.project(
        add(at, force, length/this.strongest));
      const [x, y] = [b.x - a.x, b.y - a.y], n = Math.hypot(x, y);
      if (n < 3) continue;
      const head = Math.min(11, 0.5*n), [u, v] = [x/n, y/n];
      const x0 = b.x - u*head, y0 = b.y - v*head, w = 0.42*head;
      this.stroke([a, {x: x0, y: y0}], 2.4, color);
      this.fill([b, {x: x0 - v*w, y: y0 + u*w}, {x: x0 + v*w, y: y0 - u*w}],
        color, color, 0.5);
    }
  }
}
