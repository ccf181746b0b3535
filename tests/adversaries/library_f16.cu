// Computes in f16, a less precise type than the math mode allows, and claims the tolerance of a library that it never calls.
// emu: wrong
// cuda: wrong
/* bench 1
what: sums of 16 products in f16 in place of f32, as algorithm library
like: collapsed_f16
algorithm: library
*/
