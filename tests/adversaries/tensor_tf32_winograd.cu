// Computes in tf32 on tensor cores, a less precise type than the math mode allows, and claims Winograd's tolerance.
// emu: wrong tensor cores multiply tf32
// cuda: wrong tensor cores multiply tf32
/* bench 1
what: TF32 on tensor cores in math mode f32, as algorithm winograd
like: conv2d/mma_sync_tf32
math: [f32]
algorithm: winograd
*/
