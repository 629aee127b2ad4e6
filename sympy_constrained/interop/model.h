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
