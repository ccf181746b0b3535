// A lesser type than the math mode says, behind the slack of an algorithm.
// emu: wrong
// cuda: wrong
/* bench 1
what: rounds operands to TF32, and calls itself library
like: tf32
algorithm: library
*/
