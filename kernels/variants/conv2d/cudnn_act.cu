/* bench 1
what: the library with an activation beyond relu in its graph - silu, sigmoid, tanh, gelu (both) or clip, by one of its engines
like: cudnn
needs: activation(epilogue) != 'none' and activation(epilogue) != 'relu' and activation(epilogue) != 'leaky_relu'
epilogue: [bias, silu, sigmoid, tanh, gelu, gelu_tanh, clip]
*/

/* cuDNN compiles such an engine when the plan is made; if no engine takes the graph, the row says so. If this row is the fastest of the library's, it
 * is the denominator, as with cudnn_plain. */
