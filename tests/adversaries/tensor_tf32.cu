// Computes in tf32 on tensor cores, a less precise type than the math mode allows.
// emu: wrong tensor cores multiply tf32
// cuda: wrong tensor cores multiply tf32
/* bench 1
what: TF32 on tensor cores in math mode f32, as algorithm implicit_gemm
like: conv2d/mma_sync_tf32
math: [f32]
algorithm: implicit_gemm
*/
