'use strict';
/* The motion of a model: W z = r, steps, and the return to the constraints.
   `model` is what `model_data` in data.py writes. Functions of the model
   return an array that the next call overwrites, or null. */

/* Largest change by a projection, relative to the tolerance of a step. */
const MOVED = 1e3;
const EPS = 2**-52, ROUNDING = 1e-11, CUT = {holonomic: 1e-11, velocity: 1e-7,
                                             upper: 1e-11};

/* Apply the reflection of column k of R, below row k, to the rest and to y. */
function reflect(R, m, n, k, y) {
  let norm = 0;
  for (let i = k; i < m; i++) norm = Math.hypot(norm, R[i*n + k]);
  if (!norm) return null;
  if (R[k*n + k] < 0) norm = -norm;
  const v = new Float64Array(m);
  for (let i = k; i < m; i++) v[i] = R[i*n + k]/norm;
  v[k] += 1;
  for (let j = k; j < n; j++) {
    let s = 0;
    for (let i = k; i < m; i++) s += v[i]*R[i*n + j];
    for (let i = k; i < m; i++) R[i*n + j] -= s/v[k]*v[i];
  }
  if (y) apply(v, k, y);
  return v;
}

function apply(v, k, y) {
  let s = 0;
  for (let i = k; i < v.length; i++) s += v[i]*y[i];
  for (let i = k; i < v.length; i++) y[i] -= s/v[k]*v[i];
}

/* The z of least norm with the least |A z - b|, A of shape (m, n), by a
   complete orthogonal decomposition; pivots below `cut` of the first are 0. */
function lstsq(A, m, n, b, cut) {
  const R = Float64Array.from(A), y = Float64Array.from(b);
  const order = Array.from({length: n}, (_, j) => j);
  let rank = 0, first = 0;
  for (; rank < Math.min(m, n); rank++) {
    let best = -1, at = rank;
    for (let j = rank; j < n; j++) {
      let s = 0;
      for (let i = rank; i < m; i++) s += R[i*n + j]**2;
      if (s > best) [best, at] = [s, j];
    }
    if (!rank) first = best;
    if (!(Math.sqrt(best) > cut*Math.sqrt(first))) break;
    for (let i = 0; i < m; i++)
      [R[i*n + rank], R[i*n + at]] = [R[i*n + at], R[i*n + rank]];
    [order[rank], order[at]] = [order[at], order[rank]];
    reflect(R, m, n, rank, y);
  }
  // [R11 R12] z = y with Q T = [R11 R12]^T: T^T w = y, z = Q w
  const T = new Float64Array(n*rank), w = new Float64Array(n), vs = [];
  for (let i = 0; i < rank; i++)
    for (let j = i; j < n; j++) T[j*rank + i] = R[i*n + j];
  if (rank < n) for (let k = 0; k < rank; k++)
    vs.push(reflect(T, n, rank, k, null));
  if (rank < n) {
    for (let i = 0; i < rank; i++) {
      let s = y[i];
      for (let j = 0; j < i; j++) s -= T[j*rank + i]*w[j];
      w[i] = s/T[i*rank + i];
    }
    for (let k = rank - 1; k >= 0; k--) apply(vs[k], k, w);
  } else {
    for (let i = rank - 1; i >= 0; i--) {
      let s = y[i];
      for (let j = i + 1; j < n; j++) s -= R[i*n + j]*w[j];
      w[i] = s/R[i*n + i];
    }
  }
  const z = new Float64Array(n);
  order.forEach((j, k) => { z[j] = w[k]; });
  return {z, rank};
}

/* L with L L^T = M, of the rows and columns `where`, or null. */
function cholesky(M, size, where) {
  const n = where.length, L = new Float64Array(n*n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      let s = M[where[i]*size + where[j]];
      for (let k = 0; k < j; k++) s -= L[i*n + k]*L[j*n + k];
      if (i === j && !(s > 1e-10*M[where[i]*size + where[i]])) return null;
      L[i*n + j] = i === j ? Math.sqrt(s) : s/L[j*n + j];
    }
  return L;
}

const largest = values => values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);

class Motion {
  constructor(model, rtol = 1e-8, atol = 1e-10) {
    Object.assign(this, {model, rtol, atol});
    this.p = Float64Array.from(model.p);
    this.inputs = new Float64Array(model.tables.length);
    this.set(model.t, model.x);
  }

  /* Begin at a state. */
  set(t, x) {
    this.t = t;
    this.x = new Float64Array(x.length + this.model.extra);
    this.x.set(x);
    this.h = 1e-3;
    this.steps = this.residual = 0;
  }

  call(name, t = this.t, x = this.x, more = []) {
    const {model, p, inputs} = this;
    model.tables.forEach(({breaks, rows}, k) => {
      let i = 0;
      while (i < rows.length - 1 && t >= breaks[i + 1]) i++;
      inputs[k] = rows[i].reduce((sum, c) => sum*(t - breaks[i]) + c, 0);
    });
    return model.f[name](t, x, more.length ? [...p, ...more] : p, inputs);
  }

  /* Rates of the states, then multipliers, by the straight-line solution or,
     where its checks fail, by a rank-revealing one. */
  solve(t, x) {
    const quick = this.model.f.rates && this.call('rates', t, x);
    return quick || this.solveByRank(t, x);
  }

  solveByRank(t, x) {
    const {size, known, rank, scaled} = this.model;
    const out = this.call('system', t, x);
    if (!out) throw new Error(`no finite equations at t = ${t.toFixed(4)}`);
    const W = out.slice(known, known + size*size);
    const r = out.slice(known + size*size);
    for (let i = 0; scaled && i < size; i++) {
      const norm = largest(W.subarray(i*size, (i + 1)*size)) || 1;
      for (let j = 0; j < size; j++) W[i*size + j] /= norm;
      r[i] /= norm;
    }
    const found = lstsq(W, size, size, r, 1e-11);
    if (found.rank < rank)
      throw new Error(`singular configuration at t = ${t.toFixed(4)}`);
    return Float64Array.from([...out.subarray(0, known), ...found.z]);
  }

  /* Rates of the states, and of the work and the path of the origin. */
  derivative(t, x) {
    const n = this.model.x.length, result = new Float64Array(x.length);
    result.set(this.solve(t, x).subarray(0, n));
    if (this.model.extra) {
      const extra = this.call('extra', t, x, result.slice(0, n));
      if (!extra) throw new Error(`no finite power at t = ${t.toFixed(4)}`);
      result.set(extra, n);
    }
    return result;
  }

  /* A step of Dormand and Prince, order 8, at most to the time `limit`. */
  step(limit) {
    const {A, B, C, E3, E5} = this.model.tableau, {t, x} = this;
    const n = x.length, K = [this.derivative(t, x)];
    const moved = (h, weights) => x.map((value, i) => {
      let s = 0;
      for (let k = 0; k < weights.length; k++) s += weights[k]*K[k][i];
      return value + h*s;
    });
    for (;;) {
      const h = Math.min(this.h, limit - t);
      let error = Infinity, next;
      try {
        for (let s = 1; s < C.length; s++)
          K[s] = this.derivative(t + C[s]*h, moved(h, A[s]));
        next = moved(h, B);
        K[C.length] = this.derivative(t + h, next);
        let e5 = 0, e3 = 0;
        for (let i = 0; i < n; i++) {
          const scale = this.atol + this.rtol*Math.max(
            Math.abs(x[i]), Math.abs(next[i]));
          let a = 0, b = 0;
          for (let k = 0; k < K.length; k++) {
            a += E5[k]*K[k][i];
            b += E3[k]*K[k][i];
          }
          e5 += (a/scale)**2;
          e3 += (b/scale)**2;
        }
        error = e5 ? h*e5/Math.sqrt((e5 + 0.01*e3)*n) : 0;
      } catch (fault) {
        if (h < 1e-9) throw fault;
      }
      const factor = Math.min(10, Math.max(0.2, 0.9*error**-0.125));
      if (error < 1) {
        this.t = t + h;
        this.x = next.slice();
        this.project();
        const moved = next.reduce((most, value, i) => Math.max(
          most, Math.abs(value - this.x[i])/(
            this.atol + this.rtol*Math.abs(value))), 0);
        if (moved < MOVED && this.residual < 1e-8) {
          this.h = Math.max(h*factor, this.h > h ? this.h : 0);
          this.steps++;
          return;
        }
        Object.assign(this, {t, x});    // near a singular configuration
        error = Infinity;
      }
      this.h = h*(error < Infinity ? factor : 0.2);
      if (!(this.h > 1e-12))
        throw new Error(`no steps beyond t = ${t.toFixed(4)}, perhaps a `
          + 'configuration where the constraints lose rank');
    }
  }

  advance(time, budget = Infinity) {
    const begin = performance.now();
    while (this.t < time && performance.now() - begin < budget)
      this.step(time - this.t > 1e-12 ? time : this.t + 1e-12);
  }

  /* Move the state to the constraints, first q, then u; keep the states with
     the numbers `fixed`. Returns whether it is there. */
  project(fixed = []) {
    this.residual = 0;
    for (const level of this.model.levels) {
      const moving = level.index.map((_, k) => k).filter(
        k => !fixed.includes(level.index[k]));
      this.residual = Math.max(this.residual, this.newton(level, moving));
    }
    return this.residual < 1e-8;
  }

  rows(level) {
    const out = this.call(level.name), n = level.index.length;
    if (!out) return null;
    const m = out.length/(n + 1), value = out.slice(0, m);
    const A = out.slice(m), norms = new Float64Array(m);
    for (let i = 0; i < m; i++)
      norms[i] = Math.hypot(...A.subarray(i*n, (i + 1)*n));
    const least = 1e-12*largest(norms);
    for (let i = 0; i < m; i++) {
      if (!(norms[i] > least)) norms[i] = 1;
      value[i] /= norms[i];
    }
    return {m, n, A, norms, value};
  }

  /* Gauss-Newton steps of least norm, of least kinetic energy for speeds. */
  newton(level, moving) {
    const {index, name} = level, q = moving.length, {x} = this;
    let now = this.rows(level), last = Infinity, L = null;
    if (!now) return Infinity;
    const size = () => index.reduce((a, i) => Math.max(a, Math.abs(x[i])), 1);
    for (let count = 0; q && count < 50; count++) {
      const far = largest(now.value)/size(), {m, n, A, norms} = now;
      if (far <= 4*EPS || (far < ROUNDING && far > last/2)) break;
      last = far;
      if (!count && name === 'velocity')
        L = cholesky(this.call('mass'), n, moving);
      const B = new Float64Array(m*q), b = new Float64Array(m);
      for (let i = 0; i < m; i++) {
        const row = moving.map(k => A[i*n + k]/norms[i]);
        for (let k = 0; L && k < q; k++) {          // row*L^-T
          for (let j = 0; j < k; j++) row[k] -= L[k*q + j]*row[j];
          row[k] /= L[k*q + k];
        }
        const norm = (L && Math.hypot(...row)) || 1;
        B.set(row.map(e => e/norm), i*q);
        b[i] = -now.value[i]/norm;
      }
      const d = lstsq(B, m, q, b, Math.min(1e-3, Math.max(CUT[name], far))).z;
      for (let k = q - 1; L && k >= 0; k--) {       // L^-T*d
        for (let j = k + 1; j < q; j++) d[k] -= L[j*q + k]*d[j];
        d[k] /= L[k*q + k];
      }
      const old = moving.map(k => x[index[k]]), before = Math.hypot(
        ...now.value);
      let better = null;
      for (let half = 1; half > 1e-3 && !better; half /= 2) {
        moving.forEach((k, j) => { x[index[k]] = old[j] + half*d[j]; });
        const trial = this.rows(level);
        if (trial && Math.hypot(...trial.value.map(
          (v, i) => v*trial.norms[i]/norms[i])) < before) better = trial;
      }
      if (!better) {
        moving.forEach((k, j) => { x[index[k]] = old[j]; });
        break;
      }
      now = better;
    }
    return largest(now.value)/size();
  }

  /* Kinetic plus potential energy, and what it should be. */
  energy() {
    const out = this.call('energy');
    return out && out.length ? out[0] : NaN;
  }

  /* Forces of constraints: points of attack are in the scene. */
  forces() {
    const {model, t, x} = this, n = model.uindex.length;
    if (model.f.given) return this.call('given', t, x, [
      ...this.solveByRank(t, x).subarray(model.x.length)]);
    const z = this.solve(t, x);
    const rates = model.uindex.map(i => z[i]);
    if (model.f.reactions) return this.call('reactions', t, x, rates);
    if (!model.f.forces) return null;
    const M = this.call('mass').slice(), Q = this.call('loads');
    const change = rates.map((_, i) => rates.reduce(
      (s, a, j) => s + M[i*n + j]*a, -Q[i]));
    if (largest(change) < 1e-10*largest(Q)) change.fill(0);
    return this.call('forces', t, x, lstsq(M, n, n, change, 1e-11).z);
  }
}

if (typeof module !== 'undefined') module.exports = {Motion, lstsq};
