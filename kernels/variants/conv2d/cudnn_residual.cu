/* bench 1
what: the library with the residual in its graph too - bias, residual and activation by one of its engines
like: cudnn
needs: has(residual) and scale(epilogue) != 0      # its additions have factors
epilogue: [bias, residual, relu, leaky_relu]
*/

/* Which of cuDNN's engines take an addition of a whole tensor depends on type, layout and version; where none does, the row says so. Where this row wins it is
 * the denominator, as with cudnn_plain. */
