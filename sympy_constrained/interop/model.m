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
        z = scale.*(W \ r);
    else
        z = scale.*(pinv(W)*r);
    end
    rates = [rates, z(1:${motion}).'].';
    lam = z(${after}:end);
end
