// A part is dropped: what should be three products is one.
// emu: wrong
// cuda: wrong
/* bench 1
what: TF32 on tensor cores once, which calls itself split3
like: conv2d/mma_sync_tf32
math: [f32]
algorithm: split3
*/
