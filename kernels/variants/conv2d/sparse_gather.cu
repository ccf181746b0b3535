/* bench 1
what: SBNet's method - gather the active tiles, multiply them as one dense batch, scatter the results; two passes over memory more than sparse_tile
like: sparse_tile
let:
  shares: min(128, ceil(tiles, 128))
where:
  - cc == 90
  - smem + 10240 <= smem_per_block_optin
define:
  GATHERED: 1
scratch:
  notes: u32[4 * shares]
  gathered: input[tiles * floor(c, 8) * floor(plane, 2)]
  results: output[tiles * 8 * ROWS * k]
steps:
  - kernel: list_tiles
    grid: shares
    block: 128
    args: mask_in, mask_out, tile_bits, sums, notes, h, w, p, q, pad_top, tiles_x, tiles_y, tiles, per_share
  - kernel: gather_tiles
    grid: min(tiles, 4 * sm_count)
    block: 128
    args: input, mask_in, tile_bits, sums, notes, gathered, h, w, p, q, pad_top, tiles_x, tiles_y, tiles, shares, per_share
  - kernel: conv_tiles
    grid: min(tiles, max(1, floor(sm_count, blocks_k))), blocks_k
    block: 384
    smem: smem
    args: gathered, filter, bias, mask_in, mask_out, tile_bits, sums, notes, active, results, h, w, k, p, q, pad_top, tiles_x, tiles_y, tiles, shares, per_share
  - kernel: scatter_tiles
    grid: min(tiles, 4 * sm_count)
    block: 128
    args: results, tile_bits, sums, notes, output, h, w, k, p, q, pad_top, tiles_x, tiles_y, tiles, shares, per_share
*/

/* What changed from sparse_tile, which reads and writes the image in place: it copies the active tiles with their halos to contiguous memory, in the order
 * of their ranks; the product is then a dense batch of tiles; and it copies the results back. This is how one uses a library without sparse kernels. cuDNN
 * itself cannot be the middle step here: only the device knows the number of tiles, and a plan has a fixed batch; so the product is sparse_tile's, on
 * contiguous tiles. Its time is a lower bound for gathering. */
#include "sparse/tiles.cuh"

extern "C" __global__ void __launch_bounds__(128)
list_tiles(const unsigned *mask_in, unsigned *mask_out, unsigned *tiles, unsigned *sums, unsigned *notes, int H, int W, int P, int Q, int pad, int tiles_x,
           int tiles_y, int count, int per_share)
{
    common all(tiles, sums, notes, blockIdx.x, count, gridDim.x, per_share);
    image im = {H, W, P, Q, pad, tiles_x, tiles_y};
    __syncthreads(); /* all have read the number of the launch */
    look_at_share(all, blockIdx.x, im, mask_in, mask_out);
}

/* Each block of 128 threads has its share of the tiles, as a block of conv_tiles; a warp copies a tile. */
template <typename COPY> static __device__ __forceinline__ void for_tiles(common all, const image &im, COPY copy)
{
    all.launch--; /* of the launch before, which looked */
    add_up(all);
    unsigned total = tiles_before[SHARES];
    unsigned from = (unsigned long long)total * blockIdx.x / gridDim.x, end = (unsigned long long)total * (blockIdx.x + 1) / gridDim.x;
    lister<4> tiles = {all, im, false};
    for (; from < end; from += LIST) {
        tiles.round(from, min(from + LIST, end));
        for (unsigned rank = tiles.first() + threadIdx.x / 32; rank < tiles.end(); rank += 4)
            copy(tiles.tile(rank), rank);
    }
}

extern "C" __global__ void __launch_bounds__(128, 4)
gather_tiles(const TYPE *input, const unsigned *mask_in, unsigned *tiles, unsigned *sums, unsigned *notes, TYPE *gathered, int H, int W, int P,
             int Q, int pad, int tiles_x, int tiles_y, int count, int shares, int per_share)
{
    int lane = threadIdx.x % 32;
    image im = {H, W, P, Q, pad, tiles_x, tiles_y};
    for_tiles(common(tiles, sums, notes, 0, count, shares, per_share), im, [&](const work &tile, unsigned rank) {
        unsigned own = load_marks(tile, im, mask_in).bits(tile, im.left());
        const TYPE *from = input + (((long long)tile.at.n * H + tile.at.y - pad) * W + tile.at.x - im.left()) * C;
        uint4 *to = reinterpret_cast<uint4 *>(gathered + (size_t)rank * (STAGE_BYTES / 2));
        for (int i = 0; i < HALO_H; i++, from += W * C) {
            unsigned bits = __shfl_sync(~0u, own, i);
            for (int e = lane; e < HALO_W * PIECES; e += 32) {
                int pixel = e / PIECES, piece = e % PIECES;
                to[piece * (PLANE / 16) + i * HALO_W + pixel] = bits >> pixel & 1 ? *reinterpret_cast<const uint4 *>(from + e * 8) : make_uint4(0, 0, 0, 0);
            }
        }
        for (int e = lane; e < PIECES * (PLANE / 16 - HALO_H * HALO_W); e += 32) /* between the planes, since the tile is copied in one piece */
            to[e / (PLANE / 16 - HALO_H * HALO_W) * (PLANE / 16) + HALO_H * HALO_W + e % (PLANE / 16 - HALO_H * HALO_W)] = make_uint4(0, 0, 0, 0);
    });
}

extern "C" __global__ void __launch_bounds__(128, 4)
scatter_tiles(const TYPE *results, unsigned *tiles, unsigned *sums, unsigned *notes, TYPE *output, int H, int W, int K, int P, int Q, int pad,
              int tiles_x, int tiles_y, int count, int shares, int per_share)
{
    int lane = threadIdx.x % 32;
    for_tiles(common(tiles, sums, notes, 0, count, shares, per_share), {H, W, P, Q, pad, tiles_x, tiles_y}, [&](const work &tile, unsigned rank) {
        const unsigned *from = reinterpret_cast<const unsigned *>(results + (size_t)rank * (8 * ROWS) * K);
        unsigned *to = reinterpret_cast<unsigned *>(output + (((size_t)tile.at.n * P + tile.at.y) * Q + tile.at.x) * K);
        for (int e = lane; e < 8 * ROWS * K / 2; e += 32) { /* two channels */
            int pixel = e / (K / 2);
            if (tile.active >> pixel & 1)
                to[(pixel / 8 * Q + pixel % 8) * (K / 2) + e % (K / 2)] = from[e];
        }
    });
}
