/* bench 1
op: space_to_depth
what: a control, not the op - a device copy of the same bytes, the limit of everything that moves them
like: depth_to_space/copy
*/

/* Row 0 of pure data movement: what the memory system gives to one read and one write of every element. */
