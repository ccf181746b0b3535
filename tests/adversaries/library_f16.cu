// A lesser type than the math mode says, behind the slack of a library that is never called.
// emu: wrong
// cuda: wrong
/* bench 1
what: sums of 16 products in f16 where they should be of f32, which calls itself library
like: collapsed_f16
algorithm: library
*/
