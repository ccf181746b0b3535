/* bench 1
op: layout
what: a control, not the op - a device copy of the same bytes, which nothing that moves them can beat
like: depth_to_space/copy
*/

/* Row 0 of pure data movement: what the memory system gives to one read and one write of every element. */
