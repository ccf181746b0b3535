// Computes in tf32, a less precise type than the math mode allows, and claims Winograd's tolerance.
// emu: wrong
// cuda: wrong
/* bench 1
what: rounds operands to TF32, as algorithm winograd
like: tf32
algorithm: winograd
*/
