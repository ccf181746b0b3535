/* bench 1
op: conv3d
what: the library - cuDNN's best plan for this shape, bias and activation in its graph where an engine takes them
like: conv2d/cudnn
steps:
  - cudnn: conv3d
*/

/* Row 0, as conv2d/cudnn with tensors of five dimensions. */
