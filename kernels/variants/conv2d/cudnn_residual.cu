/* bench 1
what: the library with the residual in its graph too - bias, residual and activation by one of its engines
like: cudnn
needs: has(residual) and scale(epilogue) != 0      # its additions have factors
epilogue: [bias, residual, relu, leaky_relu]
*/

/* Which of cuDNN's engines fuse the addition of a whole tensor depends on type, layout and version; if none does, the row says so. If this row is the fastest
 * of the library's, it is the denominator, as with cudnn_plain. */
