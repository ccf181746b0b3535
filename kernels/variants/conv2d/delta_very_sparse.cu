/* bench 1
what: delta_tile, and tiles of a few marked inputs are computed input by input
like: delta_tile
params:
  VERY_SPARSE: null
  FEW: {values: [1, 2, 4, 6, 8], default: 4}     # marked inputs of a tile up to which it is
where:
  - FEW * r * s <= 72                        # sums in registers
define:
  FEW: null
*/

/* What changed from delta_tile: FEW is a parameter, for every type and stride. A tile of n <= FEW marked inputs computes n * R * S products of each input channel in place
 * of TILE * TILE * R * S. But it loads the same weights, and its n * R * S sums take registers from all tiles. */
