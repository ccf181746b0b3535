// A lesser type than the math mode says: tensor cores.
// emu: wrong tensor cores multiply tf32
// cuda: wrong tensor cores multiply tf32
/* bench 1
what: TF32 on tensor cores, which calls itself f32 and winograd
like: conv2d/mma_sync_tf32
math: [f32]
algorithm: winograd
*/
