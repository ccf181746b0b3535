/* Groups of more than a warp communicate through shared memory that is reserved for them. */
#include "common.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
KERNEL groups(unsigned *out)
{
    auto block = cg::this_thread_block();
    auto large = cg::tiled_partition<64>(block);
    auto small = cg::tiled_partition<8>(block);
    int rank = block.thread_rank();
    check(out, cg::reduce(large, rank, cg::plus<int>()) == 64 * 63 / 2 + rank / 64 * 64 * 64);
    check(out, large.shfl(rank, 5) == rank / 64 * 64 + 5);
    check(out, cg::inclusive_scan(small, 1, cg::plus<int>()) == rank % 8 + 1);
    if (rank % 3 == 0) {
        auto some = cg::coalesced_threads();
        check(out, cg::reduce(some, 1u, cg::plus<unsigned>()) == some.size());
    }
}
