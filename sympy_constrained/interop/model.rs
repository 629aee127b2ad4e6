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
