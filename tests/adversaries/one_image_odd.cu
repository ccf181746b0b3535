// Fits the layer's shape only: it computes one image, and leaves out the last column if a row has an even number of them.
// emu: wrong nearby shape
// cuda: wrong nearby shape
/* bench 1
what: leaves out the last column of even widths, and takes no batch
like: odd_widths
needs: n == 1 and r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
*/
