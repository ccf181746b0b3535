/* bench 1
what: the library's plain convolution; bias, activation and everything else run as further timed steps of ours
like: cudnn
epilogue: null
*/

/* Some of cuDNN's engines exist only without an epilogue, and may beat its fused ones by more than a further pass costs. If this row is the fastest
 * of the library's, it is the denominator of all ratios. */
