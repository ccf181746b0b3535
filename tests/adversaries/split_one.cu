// Computes one tf32 product although its head claims split3, which needs three.
// emu: wrong
// cuda: wrong
/* bench 1
what: one TF32 product on tensor cores, as algorithm split3
like: conv2d/mma_sync_tf32
math: [f32]
algorithm: split3
*/
