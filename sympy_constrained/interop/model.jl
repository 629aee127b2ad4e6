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
    z = scale.*(qr(W, ColumnNorm()) \ r)
    return [rates; z[1:${motion}]], z[${after}:end]
end
