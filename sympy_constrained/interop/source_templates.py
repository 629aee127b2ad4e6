"""Text around the equations in source code of other languages."""


HEADER = """\
#ifndef ${upper}_H
#define ${upper}_H
/* ${comment} */

typedef ${precision} ${name}_real;

/* Positions of the states in x and rates. */
enum { ${enum}, ${upper}_STATES };

#define ${upper}_MULTIPLIERS ${m}

typedef struct {
#define real ${name}_real
${p_fields}
} ${name}_constants;

typedef struct {
${w_fields}
#undef real
} ${name}_inputs;

/* Rates of the states, and multipliers unless lam is null. Returns 1, or 0 at
   a singular configuration. */
int ${name}(${name}_real t, const ${name}_real x[],
    const ${name}_constants *p, const ${name}_inputs *w,
    ${name}_real rates[], ${name}_real lam[]);

#endif
"""

C = """\
#include "${name}.h"
#include <math.h>
#include <stdbool.h>

#define N ${size}
#define MOTION ${motion}
#define SWAP(type, a, b) { type kept = a; a = b; b = kept; }
typedef ${name}_real real;

/* Elimination with complete pivoting. An entry is zero if it is a rounding
   error of the terms it is made of, whose size is kept beside it. Unknowns
   that redundant rows leave free are zero; they must be multipliers. */
static int solve(real W[N][N], real r[N], real z[N])
{
    int column[N], rank, i, j, k;
    real size[N][N];
    for (i = 0; i < N; i++) {
        real part[2] = {0, 0}, whole;
        column[i] = i;
        z[i] = 0;
        for (j = 0; j < N; j++)
            if (fabs${suffix}(W[i][j]) > part[j < MOTION])
                part[j < MOTION] = fabs${suffix}(W[i][j]);
        whole = part[0] > part[1] ? part[0] : part[1];
        if (whole > 0)
            r[i] /= whole;
        for (j = 0; j < N; j++) {
            size[i][j] = whole > 0 ? part[j < MOTION]/whole : 0;
            if (whole > 0)
                W[i][j] /= whole;
        }
    }
    for (rank = 0; rank < N; rank++) {
        int row = rank, pivot = rank;
        real largest = 0;
        for (i = rank; i < N; i++)
            for (j = rank; j < N; j++)
                if (fabs${suffix}(W[i][j]) > largest
                    && fabs${suffix}(W[i][j]) > (real)${tiny}*size[i][j]) {
                    largest = fabs${suffix}(W[i][j]);
                    row = i;
                    pivot = j;
                }
        if (!(largest > 0))
            break;
        for (j = 0; j < N; j++) {
            SWAP(real, W[row][j], W[rank][j])
            SWAP(real, size[row][j], size[rank][j])
        }
        for (i = 0; i < N; i++) {
            SWAP(real, W[i][pivot], W[i][rank])
            SWAP(real, size[i][pivot], size[i][rank])
        }
        SWAP(real, r[row], r[rank])
        SWAP(int, column[pivot], column[rank])
        for (i = rank + 1; i < N; i++) {
            real factor = W[i][rank]/W[rank][rank];
            for (j = rank; j < N; j++) {
                real term = fabs${suffix}(factor)*size[rank][j];
                W[i][j] -= factor*W[rank][j];
                if (term > size[i][j])
                    size[i][j] = term;
            }
            r[i] -= factor*r[rank];
        }
    }
    for (k = rank; k < N; k++)
        if (column[k] < MOTION)
            return 0;
    for (i = rank - 1; i >= 0; i--) {
        real sum = r[i];
        for (j = i + 1; j < rank; j++)
            sum -= W[i][j]*z[column[j]];
        z[column[i]] = sum/W[i][i];
    }
    return 1;
}

int ${name}(real t, const real x[], const ${name}_constants *p,
    const ${name}_inputs *w, real rates[], real lam[])
{
    real W[N][N] = {{0}}, r[N] = {0}, z[N];
    int i;
${lines}
${unused}
${rate_lines}
    if (!solve(W, r, z))
        return 0;
    for (i = 0; i < MOTION; i++)
        rates[${known} + i] = z[i];
    for (i = MOTION; lam && i < N; i++)
        lam[i - MOTION] = z[i];
    return 1;
}

#ifdef ${upper}_EXAMPLE
#include <stdio.h>

int main(void)
{
    ${name}_constants p = {${values}};
    ${name}_inputs w = {0};
    real x[${upper}_STATES], rates[${upper}_STATES], lam[${multipliers}];
    int i;
    for (i = 0; i < ${upper}_STATES; i++)
        x[i] = (real)0.1*(real)(i + 1);
    if (!${name}(0, x, &p, &w, rates, lam))
        return 1;
    for (i = 0; i < ${upper}_STATES; i++)
        printf("%.17g\\n", (double)rates[i]);
    return 0;
}
#endif
"""

OCTAVE = """\
function [rates, lam] = ${name}(t, x, p, w)
% ${comment}
    W = zeros(${size});
    r = zeros(${size}, 1);
${lines}
    rates = [${rates}];
    scale = ones(${size}, 1);
    parts = {1:${motion}, 1:${motion}; ${after}:${size}, 1:${motion}; ...
             1:${size}, 1:${size}};
    for k = 1:3
        [i, j] = parts{k, :};
        largest = max(abs(W(i, j)), [], 2);
        largest(largest == 0) = 1;
        W(i, :) = bsxfun(@rdivide, W(i, :), largest);
        r(i) = r(i)./largest;
        largest = max(abs(W(j, i)), [], 1);
        largest(largest == 0) = 1;
        W(:, i) = bsxfun(@rdivide, W(:, i), largest);
        scale(i) = scale(i)./largest.';
    end
    if rcond(W) > 1e-13
        z = scale.*(W \\ r);
    else
        z = scale.*(pinv(W)*r);
    end
    rates = [rates, z(1:${motion}).'].';
    lam = z(${after}:end);
end
"""

JULIA = """\
# ${comment}
using LinearAlgebra
function ${name}(t, x, p, w=())
${lines}
    rates = [${rates}]
    scale = ones(${size})
    for (i, j) in ((1:${motion}, 1:${motion}), (${after}:${size}, 1:${motion}),
                   (1:${size}, 1:${size}))
        for k in i
            largest = maximum((abs(e) for e in W[k, j]); init=0.0)
            largest > 0 || continue
            W[k, :] ./= largest
            r[k] /= largest
        end
        for k in i
            largest = maximum((abs(e) for e in W[j, k]); init=0.0)
            largest > 0 || continue
            W[:, k] ./= largest
            scale[k] /= largest
        end
    end
    z = scale.*(qr(W, ColumnNorm()) \\ r)
    return [rates; z[1:${motion}]], z[${after}:end]
end
"""

RUST = """\
// ${comment}
#![allow(unused_variables, unused_parens, non_snake_case)]
#![allow(non_upper_case_globals, clippy::all)]

pub type Real = ${rust};
const N: usize = ${size};
const MOTION: usize = ${motion};

/// Elimination with complete pivoting. An entry is zero if it is a rounding
/// error of the terms it is made of, whose size is kept beside it. Unknowns
/// that redundant rows leave free are zero; they must be multipliers.
fn solve(W: &mut [[Real; N]; N], r: &mut [Real; N]) -> Option<[Real; N]> {
    let mut column: [usize; N] = core::array::from_fn(|i| i);
    let mut z = [0.0; N];
    let mut size: [[Real; N]; N] = [[0.0; N]; N];
    let largest = |part: &[Real]| {
        part.iter().fold(0.0, |a: Real, b| a.max(b.abs()))
    };
    for i in 0..N {
        let whole = largest(&W[i]);
        if whole > 0.0 {
            W[i].iter_mut().for_each(|e| *e /= whole);
            r[i] /= whole;
        }
        let parts = [largest(&W[i][..MOTION]), largest(&W[i][MOTION..])];
        size[i] = core::array::from_fn(|j| parts[(j >= MOTION) as usize]);
    }
    let mut rank: usize = 0;
    while rank < N {
        let (mut row, mut pivot, mut best) = (rank, rank, 0.0);
        for i in rank..N {
            for j in rank..N {
                let entry = W[i][j].abs();
                if entry > best && entry > ${tiny}*size[i][j] {
                    (row, pivot, best) = (i, j, entry);
                }
            }
        }
        if best == 0.0 {
            break;
        }
        size.swap(row, rank);
        size.iter_mut().for_each(|e| e.swap(pivot, rank));
        W.swap(row, rank);
        r.swap(row, rank);
        W.iter_mut().for_each(|e| e.swap(pivot, rank));
        column.swap(pivot, rank);
        for i in rank + 1..N {
            let factor = W[i][rank]/W[rank][rank];
            for j in rank..N {
                W[i][j] -= factor*W[rank][j];
                size[i][j] = size[i][j].max(factor.abs()*size[rank][j]);
            }
            r[i] -= factor*r[rank];
        }
        rank += 1;
    }
    if column[rank..].iter().any(|k| *k < MOTION) {
        return None;
    }
    for i in (0..rank).rev() {
        let rest: Real = (i + 1..rank).map(|j| W[i][j]*z[column[j]]).sum();
        z[column[i]] = (r[i] - rest)/W[i][i];
    }
    Some(z)
}

/// Rates of the states and multipliers; false at a singular configuration.
pub fn ${name}(t: Real, x: &[Real], p: &[Real], w: &[Real],
    rates: &mut [Real], lam: &mut [Real]) -> bool {
    let mut W: [[Real; N]; N] = [[0.0; N]; N];
    let mut r: [Real; N] = [0.0; N];
${lines}
    rates[..${known}].copy_from_slice(&[${rates}]);
    match solve(&mut W, &mut r) {
        Some(z) => {
            rates[${known}..].copy_from_slice(&z[..MOTION]);
            lam.copy_from_slice(&z[MOTION..]);
            true
        }
        None => false,
    }
}
"""
