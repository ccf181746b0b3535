/* bench 1
op: depth_to_space
what: a control, not the op - a device copy of the same bytes, the limit of everything that moves them
check: none
dtype: {input: [f32, f16, bf16], output: same}
steps:
  - copy: output = input
*/

/* Row 0 of pure data movement: what the memory system gives to one read and one write of every element. */
