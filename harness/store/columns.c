/* store/columns: the column table of row.h. METHOD.md has a paragraph `### name` for every line. */
#include "store/store.h"
#include <stddef.h>

#define FIELD(group, type, noun, name, field, unit, what)                                                                                  \
    {                                                                                                                                      \
        name, unit, what, COLUMN_##group, COLUMN_##type, (unsigned)offsetof(struct noun, field),                                           \
            (unsigned)sizeof(((struct noun *)0)->field)                                                                                    \
    }
#define RUN(type, name, field, unit, what) FIELD(RUN, type, run, name, field, unit, what)
#define CASE(type, name, field, unit, what) FIELD(CASE, type, row, name, field, unit, what)
#define RESULT(type, name, field, unit, what) FIELD(RESULT, type, row, name, field, unit, what)
#define STEP(type, name, field, unit, what) FIELD(STEP, type, row_step, name, field, unit, what)
#define TIME(type, name, field, unit, what) FIELD(TIME, type, row_time, name, field, unit, what)
#define METRIC(type, name, field, unit, what) FIELD(METRIC, type, row_metric, name, field, unit, what)
#define DERIVED(name, unit, what)                                                                                                          \
    {                                                                                                                                      \
        name, unit, what, COLUMN_DERIVED, COLUMN_NONE, 0, 0                                                                                \
    }
#define COUNTER(name, unit, what)                                                                                                          \
    {                                                                                                                                      \
        name, unit, what, COLUMN_COUNTER, COLUMN_NONE, 0, 0                                                                                \
    }

const struct column columns[] = {
    RUN(INT64, "run", id, "", "number of the run in its database"),
    RUN(CHARS, "started", started, "UTC", "when the run began"),
    RUN(CHARS, "ended", ended, "UTC", "when it ended; absent: interrupted or still running"),
    RUN(TEXT, "scenario_name", scenario, "", "the scenario the run was made of"),
    RUN(TEXT, "scenario_path", scenario_path, "", "its file"),
    RUN(TEXT, "scenario_hash", scenario_hash, "SHA-256", "of that file"),
    RUN(TEXT, "scenario_text", scenario_text, "", "the file itself"),
    RUN(TEXT, "argv", argv, "", "the command line"),
    RUN(TEXT, "commit", commit, "", "revision of bench; +dirty: with changes not committed"),
    RUN(TEXT, "run_device", device, "", "the device the run was made on"),
    RUN(TEXT, "device_about", device_about, "", "its product name"),
    RUN(TEXT, "uuid", uuid, "", "of the GPU"),
    RUN(TEXT, "driver", driver, "", "version of the CUDA driver"),
    RUN(TEXT, "run_compiler", compiler, "", "the compiler of the run"),
    RUN(TEXT, "host", host, "", "machine name"),
    RUN(TEXT, "cpu", cpu, "", "CPU of the host"),
    RUN(TEXT, "environment", environment, "JSON", "clocks, throttle reasons, library versions, flush cost"),
    RUN(UINT64, "seed", seed, "", "of all data and masks"),
    RUN(INT, "planned", planned, "rows", "rows that the plan had"),

    CASE(TEXT, "case", case_id, "", "SCENARIO/LAYER[@CROP][axis=value,...]"),
    CASE(INT, "case_index", case_index, "", "order of the case in the scenario"),
    CASE(TEXT, "scenario", scenario, "", "name of the scenario"),
    CASE(TEXT, "layer", layer, "", "name of the layer"),
    CASE(TEXT, "axes", axes, "", "the axis values of the case"),
    CASE(INT64, "repeat", repeat, "", "how often the layer runs, in all its networks together"),
    CASE(TEXT, "networks", networks, "", "the networks that the layer is in, each with its runs"),
    CASE(TEXT, "work", work, "", "the work in one line"),
    CASE(TEXT, "op", op, "", "the operation"),
    CASE(TEXT, "dtype", dtype, "", "element type of activations and filters"),
    CASE(TEXT, "math", math, "", "math mode"),
    CASE(TEXT, "layout", layout, "", "layout of the activations"),
    CASE(REAL, "flop", flop, "FLOP", "2 x multiply-adds of the direct algorithm"),
    CASE(REAL, "bytes", bytes, "B", "compulsory traffic"),
    CASE(REAL_NEG, "density_in", density_in, "share", "active input pixels"),
    CASE(REAL_NEG, "density_out", density_out, "share", "active output pixels"),

    RESULT(TEXT, "id", id, "", "CASE/VARIANT[param=value,...]"),
    RESULT(INT, "row_index", row_index, "", "order of the variant in its case; 0: row 0"),
    RESULT(TEXT, "variant", variant, "", "name of the variant"),
    RESULT(TEXT, "params", params, "", "its parameters"),
    RESULT(CHARS, "key", key, "SHA-256", "of the resolved work, sources, parameters, compiler and device"),
    RESULT(TEXT, "device", device, "", "cuda:N or emu:CHIP"),
    RESULT(TEXT, "what", what, "", "the variant in one line, from its head"),
    RESULT(TEXT, "from", from, "", "the variant it was made from"),
    RESULT(TEXT, "algorithm", algorithm, "", "direct, winograd, ..."),
    RESULT(REAL_ZERO, "floor_ns", floor_ns, "ns", "the physical floor of the work on this chip"),
    RESULT(CHARS, "floor_by", floor_by, "", "what sets the floor: compute, memory or launch"),
    RESULT(STATUS, "status", status, "", "ok, foil, wrong, unsafe, crashed, hung, broken, infeasible, skipped or planned"),
    RESULT(TEXT, "reason", reason, "", "why the status is not ok"),
    RESULT(TEXT, "check", check, "", "what was verified"),
    RESULT(REAL, "error_over_bound", error_over_bound, "", "largest error as a multiple of what is allowed"),
    RESULT(TEXT, "dump", dump, "", "folder with the tensors and the error map"),
    RESULT(REAL, "noise", noise, "share", "half width of the A/A twin's ratio around 1"),
    RESULT(REAL, "prepare_ns", prepare_ns, "ns", "one-time preparation, outside the time"),
    RESULT(REAL, "first_call_ns", first_call_ns, "ns", "the first call"),
    RESULT(REAL, "host_call_ns", host_call_ns, "ns", "host time of a call"),
    RESULT(INT64_NEG, "scratch_bytes", scratch_bytes, "B", "scratch memory the variant asks for"),
    RESULT(INT64_NEG, "workspace_bytes", workspace_bytes, "B", "workspace of the library's plan"),
    RESULT(TEXT, "engine", engine, "", "cuDNN's plan"),
    RESULT(TEXT, "compiler", compiler, "", "what compiled the row"),
    RESULT(TEXT, "arch", arch, "", "what it was compiled for"),
    RESULT(CHARS, "source_hash", source_hash, "SHA-256", "of the variant's source"),
    RESULT(TEXT, "note", note, "", "warnings of this row"),

    STEP(CHARS, "step", name, "", "the launch: kernel name or what it does"),
    STEP(CHARS, "kind", kind, "", "kernel, fill, copy, symbol or cudnn"),
    STEP(BOOL, "prepare", prepare, "", "run once, outside the time"),
    STEP(INT64_NEG, "grid_x", grid[0], "blocks", "grid, x"),
    STEP(INT64_NEG, "grid_y", grid[1], "blocks", "grid, y"),
    STEP(INT64_NEG, "grid_z", grid[2], "blocks", "grid, z"),
    STEP(INT64_NEG, "block_x", block[0], "threads", "block, x"),
    STEP(INT64_NEG, "block_y", block[1], "threads", "block, y"),
    STEP(INT64_NEG, "block_z", block[2], "threads", "block, z"),
    STEP(INT_NEG, "registers", registers, "", "registers per thread"),
    STEP(INT_NEG, "spill_store_bytes", spill_store_bytes, "B", "spill stores per thread in the code"),
    STEP(INT_NEG, "spill_load_bytes", spill_load_bytes, "B", "spill loads per thread in the code"),
    STEP(INT_NEG, "stack_bytes", stack_bytes, "B", "stack frame per thread"),
    STEP(INT_NEG, "static_smem", static_smem, "B", "static shared memory per block"),
    STEP(INT_NEG, "dynamic_smem", dynamic_smem, "B", "dynamic shared memory per block"),
    STEP(INT_NEG, "constant_bytes", constant_bytes, "B", "constant memory"),
    STEP(INT_NEG, "code_bytes", code_bytes, "B", "machine code"),
    STEP(CHARS, "sass_hash", sass_hash, "SHA-256", "of the machine code"),
    STEP(INT_NEG, "blocks_per_sm", blocks_per_sm, "blocks", "resident blocks per SM, theoretical"),
    STEP(INT_NEG, "warps_per_sm", warps_per_sm, "warps", "resident warps per SM, theoretical"),
    STEP(REAL_NEG, "occupancy", occupancy, "share", "warps_per_sm over the chip's maximum"),
    STEP(CHARS, "limit", limit, "", "what limits the occupancy: regs, smem, warps or blocks"),
    STEP(CHARS, "lift", lift, "", "the smallest change that gives one more block"),
    STEP(REAL_NEG, "waves", waves, "", "blocks of the grid over blocks resident at once"),
    STEP(CHARS, "file", file, "", "source file of the kernel"),

    TIME(INT, "time_step", step, "", "the step that was timed; -1: the whole row"),
    TIME(CHARS, "cache", cache, "", "cold or warm"),
    TIME(CHARS, "load", load, "", "isolated or sustained"),
    TIME(REAL, "median_ns", median_ns, "ns", "median over the rounds"),
    TIME(REAL, "low_ns", low_ns, "ns", "lower end of the median's 95 % interval"),
    TIME(REAL, "high_ns", high_ns, "ns", "upper end of it"),
    TIME(REAL, "p05_ns", p05_ns, "ns", "5th percentile of the rounds"),
    TIME(REAL, "p95_ns", p95_ns, "ns", "95th percentile of the rounds"),
    TIME(REAL, "ratio", ratio, "", "time of row 0 over this time, paired by round"),
    TIME(REAL, "ratio_low", ratio_low, "", "lower end of the ratio's 95 % interval"),
    TIME(REAL, "ratio_high", ratio_high, "", "upper end of it"),
    TIME(INT, "rounds", rounds, "", "rounds taken"),

    METRIC(INT, "metric_step", step, "", "the step a metric belongs to; -1: the whole row"),
    METRIC(INT, "line", line, "", "source line a metric belongs to; 0: none"),
    METRIC(CHARS, "metric", name, "", "name of the metric"),
    METRIC(CHARS, "unit", unit, "", "its unit"),
    METRIC(CHARS, "source", source, "", "who says so: emu, compiler, cupti, model or variant"),
    METRIC(REAL, "value", value, "", "its value"),

    DERIVED("samples_ns", "ns", "every round's time, in order"),
    DERIVED("rank", "", "0: row 0; 1 and up: verified rows by time; absent: not ranked"),
    DERIVED("time_us", "us", "headline time: median, isolated and cold, with half its 95 % interval"),
    DERIVED("x_cudnn", "", "time of row 0 over this time; above 1 is faster"),
    DERIVED("floor_share", "share", "floor over time"),
    DERIVED("roof_share", "share", "roof over time"),
    DERIVED("spill_bytes", "B", "spill stores of the longest step"),
    DERIVED("smem_bytes", "B", "static and dynamic shared memory of the longest step"),
    DERIVED("st_sect_req", "sectors", "32-byte sectors a global store request touches, and the ideal"),
    DERIVED("ld_sect_req", "sectors", "32-byte sectors a global load request touches, and the ideal"),
    DERIVED("moved_over_compulsory", "", "bytes moved through L2 sectors over the compulsory bytes"),

    COUNTER("emu.warp_instructions", "", "PTX instructions executed, one for a whole warp"),
    COUNTER("emu.warp_fma", "", "of those, floating-point multiply-adds"),
    COUNTER("emu.global_requests_ld", "", "warp-wide global loads with a lane switched on"),
    COUNTER("emu.global_requests_st", "", "warp-wide global stores with a lane switched on"),
    COUNTER("emu.global_sectors_ld", "sectors", "32-byte sectors that global loads touch"),
    COUNTER("emu.global_sectors_st", "sectors", "32-byte sectors that global stores touch"),
    COUNTER("emu.global_sectors_ideal_ld", "sectors", "sectors the loaded bytes need at the least"),
    COUNTER("emu.global_sectors_ideal_st", "sectors", "sectors the stored bytes need at the least"),
    COUNTER("emu.shared_wavefronts_ld", "", "passes that shared-memory loads take"),
    COUNTER("emu.shared_wavefronts_st", "", "passes that shared-memory stores take"),
    COUNTER("emu.shared_wavefronts_ideal_ld", "", "passes they would take without bank conflicts"),
    COUNTER("emu.shared_wavefronts_ideal_st", "", "passes they would take without bank conflicts"),
    COUNTER("emu.shared_bank_conflicts", "", "passes beyond the ideal"),
    COUNTER("emu.unique_bytes_read", "B", "bytes of all sectors read at least once"),
    COUNTER("emu.unique_bytes_written", "B", "bytes of all sectors written at least once"),
    COUNTER("emu.barriers", "", "block-wide barriers, one for a warp that arrives"),
    COUNTER("model.roof_ns", "ns", "the floor computed with ceilings measured on this machine"),
    {0},
};
