/* emu/exec: the data of the interpreter: decoded instructions, programs, warps, blocks, runners.
 *
 * A warp is a plain struct, and each handler returns the next instruction or NULL, so that a warp can be left and resumed at any
 * instruction. Lanes that diverge form fragments. The fragment whose basic block comes first in a loop-aware order runs. Fragments that
 * reach the start of the same block merge, so lanes reconverge at the earliest point. */
#pragma once

#include "device/chip/chip.h"
#include "device/device.h"
#include "device/ptx/ptx.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Windows of the generic address space. Global buffers lie from GLOBAL_BASE on; shared, local and parameter space are small windows. */
#define SHARED_WINDOW 0x00007a0000000000ull
#define LOCAL_WINDOW 0x00007b0000000000ull
#define PARAM_WINDOW 0x00007c0000000000ull
#define GLOBAL_BASE 0x00007d0000000000ull
#define DISCARD_BYTES 128
#define WINDOW_BYTES 0x0000010000000000ull
#define SHARED_RESERVED 1024u /* the first bytes of shared memory belong to the system */
#define SHARED_GROUPS 512u    /* and of those the last to cooperative groups (%reserved_smem_offset_1), which take them as 0 */
#define CLUSTER_SHIFT 24      /* shared::cluster addresses: (rank + 1) << 24 | offset */
#define CLUSTER_MAX 16

struct warp;
struct insn;
struct flow;
typedef const struct insn *op_handler(struct warp *w, const struct insn *ip);
typedef op_handler *op_fn;

/* ---- programs ---- */
struct insn { /* 56 bytes; operands are byte offsets from base[ref & 1]: 0 the frame, 1 a byte before the constants */
    op_fn fn;
    uint32_t d, a, b, c;
    int64_t imm;
    union {
        const uint32_t *list;      /* more operands */
        const struct flow *target; /* branches */
        const struct function *callee;
    };
    uint32_t index; /* into program.cold */
    uint32_t memo;  /* into warp.memos */
    uint16_t op;
    uint8_t size, count; /* memory: bytes of an element, elements */
    uint8_t kind, flags; /* per handler */
    uint16_t aux;
};
struct flow { /* a basic block */
    const struct insn *start;
    uint32_t id, order; /* order: loop-aware topological; the least runs first */
    bool joined;        /* ptxas makes one block of it and those before: the body of a short `if`, or what stands behind it */
    bool guarded;       /* of these, the body */
    bool unrolled;      /* ptxas unrolls it: a short loop of one block */
};
/* Instruction classes: what one PTX instruction counts as. */
enum insn_class {
    CLASS_FMA,
    CLASS_FLOAT,
    CLASS_F64,
    CLASS_HALF,
    CLASS_SPECIAL_FN,
    CLASS_TENSOR,
    CLASS_INT,
    CLASS_CONVERT,
    CLASS_COMPARE,
    CLASS_MOVE,
    CLASS_LOAD_GLOBAL,
    CLASS_STORE_GLOBAL,
    CLASS_LOAD_SHARED,
    CLASS_STORE_SHARED,
    CLASS_LOAD_LOCAL,
    CLASS_STORE_LOCAL,
    CLASS_LOAD_CONST,
    CLASS_GENERIC,
    CLASS_ATOMIC,
    CLASS_ASYNC,
    CLASS_WARP,
    CLASS_BARRIER,
    CLASS_BRANCH,
    CLASS_OTHER,
    CLASS_COUNT
};
enum flop_type { FLOP_F16, FLOP_BF16, FLOP_F32, FLOP_F64, FLOP_COUNT };
struct cold { /* the rarely used part of an instruction */
    const struct ptx_instr *source;
    uint8_t class, flop_type, guarded;
    uint8_t internal; /* a helper op: counts nothing */
    bool unread;      /* ldmatrix: an arrival at an mbarrier comes before the first use of its result */
    uint16_t flops;   /* per thread; mma: MACs are counted by macs */
    uint32_t macs;    /* per warp */
    uint8_t more;     /* machine instructions beyond one of a division, a root, ...: decode/machine.c */
    uint8_t mmas;     /* machine instructions it becomes, if several: wmma */
    uint32_t block;   /* flow id */
    uint32_t wanted;  /* loads: slot of the predicate of the lanes that use the value; 0: all may */
    bool unwanted;    /* loads: `wanted` is negated */
    bool takes;       /* an atomic, not on shared memory, whose result is used: a block may take work by it */
    uint16_t origin;  /* of its address: 1 + index into program.origins; 0: unknown */
    int file, line;
};
struct origin {         /* what an address was computed from: a shared variable, a variable, or a pointer of the launch */
    uint32_t low, high; /* shared: where it lies */
    uint64_t address;
    uint32_t param; /* 1 + offset among the parameters */
    const char *name;
};
struct function {
    const struct ptx_function *ptx;
    uint32_t frame_bytes, local_bytes;
    const struct flow *entry;
    uint32_t param_count, result_count;
    uint32_t *params, *results; /* pairs (offset in the frame, bytes a lane) of device functions */
    uint64_t handle;            /* what a function pointer holds */
};
struct frame_range {
    uint32_t at, bytes;
};
struct program { /* an entry and everything it may call */
    const struct ptx_module *module;
    struct arena arena;
    struct function *functions; /* [0] is the entry */
    int function_count;
    struct insn *code;
    struct cold *cold;
    uint32_t count, memo_count;
    struct origin *origins;
    uint32_t origin_count;
    struct flow *flows;
    uint32_t flow_count;
    uint32_t *flow_sizes; /* instructions of each, as they are counted */
    uint8_t *constants;   /* 64-byte aligned, in an allocation of its own */
    uint32_t constant_bytes;
    uint32_t frame_bytes, local_bytes; /* of the deepest path; recursion: of one turn of each, times 64 */
    uint32_t shared_bytes;             /* static, the reserved part included */
    uint32_t shared_from;              /* what a kernel may use: SHARED_RESERVED, or SHARED_GROUPS */
    uint32_t param_bytes;
    bool calls, recursive;
    bool zero_frame;          /* some register of a function may be read before it is written */
    struct frame_range *zero; /* those of the entry, in their order */
    uint32_t zero_count;
    bool ordered;         /* results may depend on the order of blocks: float or consumed atomics, volatile loads */
    bool shares;          /* a block may learn what others did, and so take work from them: used results of atomics, volatile loads */
    bool trace_all;       /* some launch read and wrote one sector: reads are watched, too (races.h) */
    bool full_barriers;   /* only __syncthreads orders warps */
    bool simple_races;    /* and nothing spins on shared memory: tags hold epochs, else vector clocks */
    bool shared_spin;     /* volatile or ordered accesses to shared memory */
    uint8_t shared_shift; /* log2 of the smallest access to shared memory: grains of the race check */
    uint8_t global_shift; /* log2 of the smallest write to global memory */
    bool uses_mbarrier, uses_cluster, uses_heap, uses_alloca;
    bool cancels;    /* it may cancel clusters that have not started */
    bool overtaken;  /* some loads from shared memory have ACCESS_OVERTAKEN */
    bool unread;     /* some are told of before they are used: cold.unread */
    double launch_s; /* of all threads, of the last launch; of so many blocks */
    uint64_t launch_groups;
    bool uses_async;             /* the async proxy reads or writes shared memory: bulk copies, wgmma */
    uint32_t fixed_local_bytes;  /* of local_bytes: what lies behind is alloca's */
    bool has_addresses;          /* of the module's variables, as they were when it was decoded */
    struct path_code *path_code; /* of device/path.c, made when first asked for; one allocation */
    void *jit;                   /* code of stretches (run/jit.c), mapped; NULL: none */
    size_t jit_bytes;
};

/* ---- memory ---- */
struct buffer {
    uint64_t base, bytes;
    uint8_t *host;
    uint8_t *known;           /* NULL: everything was written; else one bit a byte */
    uint8_t *read, *written;  /* one byte per 32-byte sector: 0 = not touched since the last clear, launch.mark = by this launch */
    uint8_t *seen;            /* one byte a byte: 1 once it is read. NULL: nobody asks. Borrowed */
    struct footprint *prints; /* by thread of the host: races.h */
    int print_count;
    uint8_t **before; /* by page: what stood there before this launch wrote to it */
    char label[64];
    bool constant;
    bool dense;  /* large pages suit it: of a larger buffer blocks touch a few bytes here and there */
    bool stored; /* a kernel wrote to it since the host did, before the last clear */
    uint64_t
        requested; /* bytes of the sectors that loads asked for since the last clear, where an instruction's pointer is known to be its */
};
struct address_space {
    struct buffer **buffers; /* sorted by base */
    int count;
    uint64_t next;
    uint32_t *moments; /* by thread of the host: where the race check's clock stands */
    int moment_count;
    uint8_t mark; /* of the last launch */
};
/* The last buffer that begins at or before the address, else the first. */
static inline struct buffer *space_nearest(const struct address_space *s, uint64_t address)
{
    int low = 0, high = s->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->buffers[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? s->buffers[low - 1] : s->count ? s->buffers[0] : NULL;
}
static inline struct buffer *space_find(const struct address_space *s, uint64_t address)
{
    struct buffer *b = space_nearest(s, address);
    return b && address >= b->base && address - b->base < b->bytes ? b : NULL;
}
/* Did a kernel write to it since the host did? And: what is counted begins anew. */
bool buffer_written(const struct buffer *b);
/* Marks bytes as given a value, or as not; were all of them? `exact`: bytes that the checks watched, else whole sectors. */
void buffer_know(struct buffer *b, uint64_t offset, size_t bytes, bool known);
bool buffer_known(const struct buffer *b, uint64_t offset, size_t bytes, bool exact);
void buffer_clear(struct buffer *b);

/* Access pattern of a memory instruction, remembered from its last execution, and its counters. */
enum pattern { PATTERN_NONE, PATTERN_UNIFORM, PATTERN_DENSE, PATTERN_OTHER };
#define RUNS_MAX 4
struct memo {
    _Alignas(64) int32_t rel[32]; /* lane address - first active lane's */
    uint32_t mask;
    int32_t min, max; /* of rel */
    uint32_t low;     /* all rel or-ed */
    uint8_t pattern;
    uint8_t spans;             /* stretches without a gap: global, every sector between from and to is touched; shared, every byte */
    uint8_t space, phase;      /* enum ptx_space the pattern was seen in; shared: first address mod 4 */
    bool gaps, doubles;        /* the spans hold bytes of no lane; lanes share an address */
    uint8_t wavefronts, ideal; /* ideal: shared: the fewest wavefronts; global: sectors that would do */
    uint8_t quarters;          /* by eight lanes, a bit: all are on, and their words of 4 bytes side by side */
    uint8_t runs;              /* lanes side by side, of 2 or 4 bytes each: few such runs make the pattern; 0: not so */
    uint32_t run_lanes[RUNS_MAX];
    int32_t run_base[RUNS_MAX]; /* where lane 0 of the run would be, as rel */
    struct buffer *buffer;
    uint32_t low_at, high_at; /* shared: where the instruction may go */
    bool lanes_known;
    uint64_t key; /* of two patterns of one mask: equal only if all rel are */
    /* Limits of a load that needs only one comparison (reach.inc): its first byte is at most quick_span behind quick_from. If quick_from is
     * above all addresses, no load qualifies. */
    uint64_t quick_from, quick_span;
    uint32_t quick_mask; /* of a misaligned address */
    uint8_t quick_lane;  /* the first of mask */
    /* The counts of a compiled load whose first byte is `place` bytes into a 128-byte line of its buffer (PLACE_NONE: unknown): sector
     * marks to shift out, for each span, and the distance of the second span in sectors. */
    uint8_t place, place_bits, place_sectors, place_lines, place_shift[2];
    uint32_t place_next;
    /* what of these a pattern has: memo_copy */
    int32_t from[32], to[32]; /* bytes of each span, as rel; ascending */
    uint8_t lane_of[128];     /* shared: the lane of each grain of the spans, MANY_LANES */
    struct memo *others;      /* MEMO_WAYS patterns that the instruction had before, by a hash of them; NULL: it had one or two */
    uint32_t learnt;          /* how many it has learnt */
    struct bypass *bypass;    /* what some of its cp.async.cg cost: async.c */
    uint64_t placed;          /* loads with that cost that the counters do not have yet */
    /* counters since the last clear */
    uint64_t requests, sector_sum, line_sum, best_sum;  /* global */
    uint64_t wave_sum, waved;                           /* global: wavefronts of so many of the requests; the others have this pattern */
    uint64_t shared_requests, wavefront_sum, ideal_sum; /* shared */
    uint64_t local_requests, local_sectors;
    uint64_t lanes_off; /* lanes switched off by a guard, summed; also divergent branches */
    uint64_t events;    /* divergent branches, contention, async copies */
    uint64_t split;     /* cp.async.cg: pieces beyond the sectors they are of */
    uint64_t macs;      /* of products whose shape is known only here */
    uint64_t bytes;     /* the last of the counters */
};
#define PLACE_NONE 255
static inline void memo_add_placed(struct memo *m)
{
    m->requests += m->placed;
    m->sector_sum += m->placed * m->place_sectors;
    m->line_sum += m->placed * m->place_lines;
    m->best_sum += m->placed * m->ideal;
    m->placed = 0;
}
/* Global requests add no wavefronts where they are counted: those of a pattern are added when another one takes its place. */
static inline void memo_add_waves(struct memo *m)
{
    memo_add_placed(m);
    m->wave_sum += (m->requests - m->waved) * m->wavefronts;
    m->waved = m->requests;
}
#define PATTERN_BYTES offsetof(struct memo, from)
#define MEMO_WAYS 32
struct block_count {
    uint64_t executions, threads;
};

/* ---- execution ---- */
enum warp_state { WARP_READY, WARP_BARRIER, WARP_DONE, WARP_STOPPED };
enum fragment_state { FRAGMENT_READY, FRAGMENT_BARRIER, FRAGMENT_SYNC };
struct fragment {
    const struct flow *at; /* enters this block; NULL: goes on at ip */
    const struct insn *ip;
    uint32_t mask;
    int32_t node;
    uint8_t state;
    uint32_t wanted; /* FRAGMENT_SYNC: lanes waited for; FRAGMENT_BARRIER: lanes alive elsewhere when it arrived */
};
struct call_node { /* one activation of a device function, shared by all lanes that entered it together */
    int32_t parent;
    uint32_t mask; /* lanes not yet returned; 0 = free */
    uint32_t frame, frame_end;
    uint32_t local, local_end;
    const struct function *function;
    const struct insn *call; /* the call instruction; its successor block is where lanes return to */
    uint32_t depth;
};
#define NODE_MAX 4096

struct runner;
struct block;
struct mbarrier_wait { /* the last that failed */
    struct block *owner;
    uint32_t offset, parity;
};
/* One warp: can be left and resumed at any instruction. mask 0: nothing runs, a fragment has to be picked. */
struct warp {
    uint8_t *base[2];
    uint32_t mask;  /* active lanes of the running fragment (predicated-on lanes inside a guarded instruction) */
    uint32_t lanes; /* popcount of mask */
    int32_t fuel;
    int others; /* fragments waiting */
    struct block_count *blocks;
    struct memo *memos;
    struct block *block;
    struct runner *runner;
    const struct program *program;
    struct path_warp *path;      /* takes down which blocks it enters; NULL: nobody asks */
    uint32_t earliest;           /* all fragments are ready, at starts of blocks of this activation, none before this order; 0: not known */
    _Alignas(64) int32_t on[32]; /* mask as lanes: 0 or -1 */
    uint32_t alive, born;        /* lanes; at the start */
    int32_t node;
    uint32_t local_base;
    const struct flow *at; /* READY with at: enters it; else goes on at ip */
    const struct insn *ip;
    enum warp_state state;
    int id;         /* in the block */
    uint64_t turns; /* used up since the start */
    uint32_t carry; /* CC.CF by lane */
    int checks;
    uint32_t stalls; /* consecutive waits on an mbarrier that failed */
    struct mbarrier_wait waits_for;
    uint32_t polls; /* atomics and volatile reads since the last switch */
    int boost;      /* >0: waiting fragments run first, for fairness to spinning lanes */
    struct fragment fragments[32];
    struct call_node *nodes;
    int node_room;
    uint8_t *stack; /* frames */
    size_t stack_room;
    uint8_t *local, *local_known;
    size_t local_stride;
    uint32_t alloca_top[32];
    int barrier_id;
    uint32_t barrier_count;
    uint32_t tid[3][32];   /* %tid of each lane: the same for every block */
    uint32_t clocks[64];   /* vector clock over the block's warps and agents, for the race check */
    uint32_t flag_fence;   /* its own clock at its last fence: a warp that reads a flag of it learns what it did until then */
    uint32_t fenced[64];   /* of that, what the async proxy sees, too: agents.h */
    struct part_released { /* what only some of its lanes fenced, or released through an mbarrier, in one stretch; check/agents.h */
        uint32_t synced, used, who, who_used, clock; /* who_used: in the stretch of reads */
    } part_fenced, part_released;
    uint32_t far[CLUSTER_MAX];                    /* by rank: up to when it knows what that block did: check/dsmem.h */
    uint32_t bulk_agent, bulk_groups, bulk_lanes; /* its bulk groups: id, groups committed, lanes that issued */
    uint32_t bulk_writer;                         /* their writes to global memory: id */
    uint32_t bulk_last;                           /* the group of the last copy that reads its shared memory */
    const struct insn *bulk_ip;                   /* that copy */
    uint32_t wgmma_groups;                        /* committed */
    bool watch_matrix;                            /* wgmma's reads of shared memory are watched */
    uint64_t ticks;                               /* %clock */
    uint32_t async_groups;                        /* cp.async: groups committed; copies that no lane has waited for */
    struct async_copy *copies;
    int copy_count, copy_room;
    struct copy_source *sources; /* of global memory, where reads are watched */
    int source_count, source_room;
    uint32_t cluster_phase;        /* of the cluster barrier it arrived at */
    bool cluster_waits;            /* it arrived and has not waited yet */
    bool cluster_fenced;           /* there was a fence since it arrived last */
    bool quick_watch, clock_watch; /* shared memory is watched by span: watch.inc */
    uint64_t marks;                /* launch.mark eight times */
    uint8_t trace;                 /* enum trace */
    bool touched;                  /* global memory since its last fence */
    uint32_t tag;                  /* what it does to global memory now: races.h */
    uint32_t released, news;       /* moment of its last release, and what it then knew of: fences and barriers of the block */
    uint32_t synced;               /* number of the stretch since its lanes last synchronised, << 6 */
    uint32_t used;                 /* of reads: since they last met or exchanged values, which each had read before */
    struct part {                  /* since all lanes met: who met, and the stretch that began then */
        uint32_t synced, who;
    } parts[16];
#define PARTS_MAX 16
    int part_count;           /* 0: all lanes met last */
    bool doubles;             /* lanes of the current store share addresses: their values were compared */
    uint32_t wrote;           /* lanes that wrote shared memory in that stretch */
    bool read;                /* what another lane may overwrite */
    uint32_t stored;          /* the stretch in which it last wrote global memory, when reads are watched */
    uint32_t known, acquired; /* moments up to which it knows what others released; what it will know behind a fence */
    bool guarded;             /* inside a guarded instruction: the other lanes are switched off, not in another fragment */
};
struct barrier {
    uint32_t arrived;  /* threads */
    uint32_t expected; /* 0 = all */
    uint64_t waiting;  /* warps that sync */
    uint64_t present;  /* warps that arrived or sync */
    const struct insn *first;
    uint32_t reduce_and, reduce_or, reduce_count;
    uint32_t generation;
};
struct tensor_memory; /* emu/tensor_memory.h */
struct shadow;        /* race check, check/shadow.h */
struct block {
    uint32_t index[3];
    uint64_t number;
    uint8_t *shared;
    uint32_t shared_bytes;       /* with the reserved part */
    uint8_t *shared_known;       /* one byte a byte: 0xff written */
    uint32_t epoch, first_epoch; /* one more at every full barrier, and at every block that runs here: the first of this block */
    struct shadow *shadow;
    struct warp *warps;
    int warp_count;
    int thread_count;
    struct barrier barriers[16];
    int done;
    struct tensor_memory *tensor; /* NULL: nothing was allocated yet */
    uint64_t *mbarriers;          /* by 8 bytes, a bit: somebody has initialised an mbarrier there */
    uint32_t first_tag, now_tag;  /* of the block, of its last barrier; 0: blocks take turns, each tag is looked up */
    uint32_t fences;              /* of its warps */
    uint32_t global_fenced;       /* the moment of the last fence between its writes to global memory and the async proxy */
    struct block **cluster;       /* by rank */
    int cluster_rank, cluster_count;
    uint32_t cluster_arrived, cluster_phase; /* in rank 0: warps at the cluster's barrier */
    uint64_t cluster_relaxed;                /* its warps that arrived there without a release */
    bool cancel_failed;                      /* one of its threads has seen that no cluster was left to cancel */
    struct sync_point *points;               /* mbarriers seen, for the race check */
    int point_count;
    uint32_t ids;                    /* of vector clocks in use: warps, then agents */
    uint8_t matrix_agent[8];         /* of each four warps */
    uint32_t sent_agent, sent_count; /* bulk copies from its shared memory to other blocks': id, how many */
    struct sent *sent;
    uint32_t cluster_time;                /* in rank 0: one more at each release */
    struct dsmem_touch *touched;          /* by rank: its last access to this block's shared memory */
    uint32_t cluster_far[2][CLUSTER_MAX]; /* in rank 0, by parity of the phase: what those who arrived know */
    uint32_t far_fenced[CLUSTER_MAX];     /* in rank 0, by rank: what somebody has fenced for the async proxy */
    struct path *path;                    /* of its warps; NULL: they are not followed */
    bool failed, parted;                  /* parted: some warp's part_released stands */
    bool copied;                          /* cp.async reads global memory, where reads are watched */
};

struct launch;
struct runner { /* one thread of the host and the blocks that are resident on it */
    struct launch *launch;
    struct block_count *blocks;
    struct memo *memos; /* memo_sets times program.memo_count: warps in different places of a block see different patterns */
    uint32_t memo_sets;
    struct block *residents; /* one, a cluster, or a cooperative grid */
    struct block **by_rank;
    int resident_count;
    float *wgmma_tiles; /* B of one wgmma */
    void *matrix_a;     /* of the last mma: run/mma.inc */
#define MATRIX_A_BYTES 4096
    int index;
    uint32_t moment, base_tag; /* the race check's clock; tags below are of earlier launches */
    struct order *order;       /* NULL: blocks know nothing of each other */
    uint32_t stretches;        /* of all its warps */
    bool heeded;               /* a fence or release was executed: blocks may be ordered */
    uint32_t turns, groups;
    double began_s;               /* of its thread's own time; 0: not yet */
    struct pending_copy *pending; /* bulk copies on their way */
    int pending_count;
    uint64_t pending_bytes;
    uint64_t *counted;  /* of a sample: the counts before the group in hand (run/sample.c) */
    uint64_t worked;    /* instructions before the group in hand */
    struct path *paths; /* of blocks that ended; a list */
    const struct grid *grid;
    uint64_t next, stride; /* of program.cancels: the next cluster that clusterlaunchcontrol may cancel, and how far the one after lies */
};

enum { CHECK_BOUNDS = 1, CHECK_KNOWN = 2, CHECK_RACE = 4, CHECK_SYNC = 8 };
#define CHECK_ALL 15

#define ALLOCA_BYTES (16u << 10) /* a thread; a GPU has 1 KiB of stack unless told otherwise */
#define HEAP_BYTES (8u << 20)    /* what CUDA gives a kernel's malloc, unless told otherwise */
#define HEAP_CLASSES 20
struct heap {
    struct buffer *buffer; /* NULL: the kernel calls no malloc */
    uint64_t used;
    uint32_t free[HEAP_CLASSES]; /* by class: offset of the first free block's header, 0 = none */
    uint8_t *state;              /* by byte: enum heap_state */
    struct allocation *allocations;
    int allocation_count;
};

struct launch {
    struct program *program;
    struct address_space *space;
    const struct chip *chip;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes, dynamic_at;
    const uint8_t *params;
    int checks;
    int trace;               /* enum trace: of global memory */
    uint8_t mark;            /* in buffer.read and written */
    uint64_t seed;           /* order of the blocks; 0: as they are numbered */
    atomic_int raced, again; /* again: a warp wrote twice in one place: which lanes? */
    bool cooperative;
    struct heap heap;
    uint64_t workspace;           /* cooperative: zeroed global memory for the grid's barrier */
    int threads;                  /* of the host; 0 = all */
#define WARP_FUEL (1 << 15)       /* block entries in a turn: some milliseconds at most, so that the time limit holds */
    uint64_t turns_max;           /* of one warp between two waits: more is a hang */
    double limit_s;               /* of each thread's own time; 0: none */
    struct device_sample *sample; /* of device_launch */
    uint32_t *work;               /* instructions of each group's warps, by its number; NULL: nobody keeps them */
    atomic_int stop;              /* a reported end of everything */
    atomic_int fatal;             /* some block did not finish */
    struct report_table *reports;
    struct runner *runners;
    int runner_count;
    struct printed *printed;
    int printed_count;
    int64_t printed_order, printed_lost;
    size_t printed_bytes;
};
/* Runs it; false + err when it could not finish (deadlock, trap, time limit, unsupported). Counters stay in the runners. */
bool launch_run(struct launch *l, struct error *err);
void launch_free(struct launch *l);

/* ---- handlers ---- */
enum op;
extern const op_fn isa_table_portable[];
extern const op_fn isa_table_v3[];
extern const op_fn isa_table_v4[];
/* The best table this processor runs; $BENCH_EMU_ISA = portable, v3, v4 asks for less. name: "jit" where stretches are compiled, too. */
const op_fn *isa_table(const char **name);
/* Sets the handler of every operation. skips_sums: tensor instructions leave their results as they are. */
void isa_bind(struct program *p, bool skips_sums);
/* Compiles stretches of operations whose handlers are set (AVX-512). */
void jit_compile(struct program *p);

/* ---- fragments and calls (flow of control that is not hot) ---- */
const struct insn *warp_enter_slow(struct warp *w, const struct flow *to);
const struct insn *warp_diverge(struct warp *w, const struct flow *taken, const struct flow *not_taken, uint32_t mask_taken);
const struct insn *warp_next_fragment(struct warp *w); /* picks one of the waiting; NULL: none is ready */
void warp_set_mask(struct warp *w, uint32_t mask);
/* Sets the running lanes aside; pick the next with warp_next_fragment. */
void warp_park(struct warp *w, const struct flow *at, const struct insn *ip, uint8_t state, uint32_t wanted);
/* Goes on where the warp was left; NULL when it waits, yields or ended. */
const struct insn *warp_resume(struct warp *w);
/* The running lanes end. */
const struct insn *warp_exit(struct warp *w);
const struct insn *warp_call(struct warp *w, const struct insn *ip, const struct function *f, uint32_t mask);
const struct insn *warp_return(struct warp *w);
/* Stops the whole block: trap, unsupported, ... (already reported). */
const struct insn *warp_stop(struct warp *w);
