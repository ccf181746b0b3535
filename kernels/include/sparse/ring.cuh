/* sparse/ring: slots in shared memory in which tiles with their halo wait for the consumers, and the warps that fill them, for sparse/whole.cuh and
 * chain/two_layer.
 *
 * Each warp of the producer copies whole tiles, so the four have copies in flight in all free slots. The copies themselves arrive at the consumers' mbarrier: a
 * warp could wait for them only after it has started the next tile's, whose slot is not free yet.
 *
 * Needs STAGES, how many slots there are, and sparse/copy.cuh. */
#pragma once

static __shared__ unsigned long long full[STAGES], empty[STAGES]; /* barriers */

/* A warp. */
static __device__ __forceinline__ void init_ring()
{
    int i = threadIdx.x % 32;
    if (i < STAGES) {
        barrier_init(shared_address(&full[i]), 33); /* every lane's copies, and what they are */
        barrier_init(shared_address(&empty[i]), 4); /* a lane of each warp of the consumer that has the tile */
    }
}
/* The slot of the ring's tile of this number, when it is free. */
static __device__ __forceinline__ int free_slot(int number)
{
    int slot = number % STAGES;
    barrier_wait(shared_address(&empty[slot]), number / STAGES & 1 ^ 1);
    return slot;
}

/* What the four warps of a producer have in common. */
struct ring_producer {
    const TYPE *input;
    const unsigned *mask;
    image im;
    int issued; /* the ring's number of the warp's next tile */
};

/* Calls put(tile, its marks, its rank) for the active tiles with ranks from .. end - 1; put adds 4 to `issued`. Calls ready() once some are listed, before the
 * first put. Returns the number of tiles. */
template <typename PRODUCER, typename READY> static __device__ __forceinline__ int produce_ring(PRODUCER &p, const common &all, unsigned from, unsigned end, READY ready)
{
    int before = 0; /* tiles of earlier rounds */
    lister<4> tiles = {all, p.im, false};
    p.issued = threadIdx.x / 32;
    for (; from < end; from += LIST) {
        tiles.round(from, min(from + LIST, end));
        ready();
        unsigned rank = tiles.first() - before; /* of the ring's tile 0 */
        before += tiles.end() - tiles.first();
        if (p.issued >= before)
            continue;
        row_marks marks = load_marks(tiles.tile(rank + p.issued), p.im, p.mask);
        while (p.issued < before) {
            const work &tile = tiles.tile(rank + p.issued);
            row_marks next = marks;
            if (p.issued + 4 < before) /* on their way while this tile's copies are issued */
                next = load_marks(tiles.tile(rank + p.issued + 4), p.im, p.mask);
            p.put(tile, marks, rank + p.issued);
            marks = next;
        }
    }
    return before;
}
