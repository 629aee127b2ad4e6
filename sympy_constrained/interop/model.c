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
        printf("%.17g\n", (double)rates[i]);
    return 0;
}
#endif
