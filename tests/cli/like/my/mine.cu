/* bench 1
what: naive with small blocks
like: conv2d/naive
params:
  BLOCK: {default: 8}
*/
