#include "device/chip/predict.h"
#include "base/dtype.h"
#include "base/file.h"
#include "base/node.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SECTOR 32.0
#define SCHEDULERS 4
#define XU_LANES 16

const char *const predict_unit_names[UNIT_COUNT] = {"issue slots", "tensor pipe", "L1 data banks",      "L2",
                                                    "DRAM",        "latency",     "start of the kernel"};
static const char *const unit_keys[UNIT_COUNT] = {"issue", "tensor", "l1", "l2", "dram", "latency", "start"};
#define CONSTANT_NAME(name) #name,
static const char *const constant_names[PREDICT_CONSTANT_COUNT] = {PREDICT_CONSTANTS(CONSTANT_NAME)};
#define KIND_NAME(name, counter) #name,
static const char *const kind_names[PREDICT_KIND_COUNT] = {PREDICT_KINDS(KIND_NAME)};

/* ---- the file ---- */

static bool read_map(const struct node *n, const char *what, const char *const *names, int count, double *out, struct error *err)
{
    if (!n || n->kind != NODE_MAP)
        return error_set(err, ERROR_USAGE, "%s: is missing", what);
    for (int i = 0; i < count; i++)
        if (!node_get(n, names[i]))
            return node_error(n, err, "%s: '%s' is missing", what, names[i]);
        else if (!node_real(node_get(n, names[i]), names[i], 0, 1e18, &out[i], err))
            return false;
    return true;
}

static bool read_model(const struct node *root, struct chip_model *m, struct error *err)
{
    static const char *const errors[] = {"rows", "median", "p90"};
    double found[3];
    const struct node *held = node_get(root, "held_out");
    const char *words = held ? node_text(node_get(held, "words"), "words", err) : NULL;
    if (!words || !read_map(node_get(root, "constants"), "constants", constant_names, PREDICT_CONSTANT_COUNT, m->constant, err) ||
        !read_map(node_get(root, "seen"), "seen", kind_names, PREDICT_KIND_COUNT, m->seen, err) ||
        !read_map(held, "held_out", errors, 3, found, err) || !read_map(node_get(held, "low"), "low", unit_keys, UNIT_COUNT, m->low, err) ||
        !read_map(node_get(held, "high"), "high", unit_keys, UNIT_COUNT, m->high, err))
        return false;
    m->rows = (int)found[0];
    m->median = found[1];
    m->p90 = found[2];
    snprintf(m->held_out, sizeof m->held_out, "%s", words);
    return true;
}

struct chip_model *chip_model_load(const char *chip, struct error *err)
{
    SCOPED char *name = text_format("harness/device/chip/model/%s.yaml", chip);
    SCOPED char *path = file_share(name);
    struct chip_model *m = xcalloc(1, sizeof *m);
    SCOPED_BY(node_leave) struct node *root = node_parse_file(path, err);
    bool ok = root && read_model(root, m, err);
    snprintf(m->chip, sizeof m->chip, "%s", chip);
    if (ok)
        return m;
    free(m);
    return NULL;
}

/* ---- the time ---- */

/* FLOP per SM and clock of the tensor pipe of a math mode; f32 on tensor cores is made of parts of f16. */
static double tensor_rate(const struct chip *chip, int math)
{
    double all = chip_flop_s(chip, math == MATH_NONE || math == MATH_F32 ? MATH_F16_ACC32 : math);
    return all > 0 ? all / chip->clock_max_hz / chip->sm_count : chip->flop_f16_tensor;
}

static bool outside(const struct chip_model *m, const struct predict_counts *c, struct prediction *out)
{
    if (c->takes) {
        snprintf(out->why, sizeof out->why,
                 "its blocks may take work from a counter (they use results of atomics), which the model does not know");
        return true;
    }
    for (int i = 0; i < PREDICT_KIND_COUNT; i++)
        if (c->kind[i] > (m->seen[i] * 1.25 + 0.01) * c->instructions) {
            snprintf(out->why, sizeof out->why,
                     "%.2g %% of its instructions are '%s', of which the rows behind the model have at most %.2g %%",
                     100 * c->kind[i] / c->instructions, kind_names[i], 100 * m->seen[i]);
            return true;
        }
    return false;
}

/* Where loads find their bytes. L1 reads a geometric mean of the distinct bytes and the requested ones from L2, for it keeps a part of what
 * is requested again. */
struct loads {
    double asked, from_l2, from_dram;
};

static struct loads loads_of(const struct chip_model *m, const struct predict_counts *c)
{
    double asked = SECTOR * c->sectors_ld, once = fmin(asked, fmax(c->read_bytes, 1));
    return (struct loads){asked, asked > 0 ? once * pow(fmax(asked / once, 1), m->constant[PREDICT_reuse_power]) : 0,
                          fmax(0, once - c->kept_bytes)};
}

/* Cycles of a mean block's slowest warp. What a warp reads first is in DRAM or, where another warp has read it shortly before, in L2: the
 * more warps read the same, the fewer of them wait for DRAM. */
static double path_of(const struct chip_model *m, const struct predict_counts *c)
{
    const double first = SECTOR * (c->first_sectors + c->sectors_async), read = fmax(0, c->read_bytes - c->kept_bytes),
                 far = first > 0 ? pow(fmin(1, read / first), m->constant[PREDICT_far_power]) : 0;
    return (c->path_l2 + (c->path_dram - c->path_l2) * far) / c->blocks;
}

/* The share of these cycles in which the warp waits for global data. If the data come from L2 and not from L1, each wait is longer by the
 * difference of the two latencies, so the difference of the two paths is the number of waits. */
static double waits_of(const struct predict_counts *c, double path)
{
    const double waits = (c->path_l2 - c->path_l1) / (PREDICT_L2_CYCLES - PREDICT_L1_CYCLES) / c->blocks;
    return path > 0 ? fmax(0, fmin(1, 1 - (c->path_l1 / c->blocks - PREDICT_L1_CYCLES * waits) / path)) : NAN;
}

/* Cycles of the warps of a block that share an SM with others: more registers keep more loads on their way. */
static double shared_cycles(const struct chip_model *m, const struct predict_counts *c, double machine)
{
    const double *k = m->constant;
    return (k[PREDICT_cycles_per_instruction] * machine + k[PREDICT_cycles_per_load] * c->requests_ld * 32 / fmax(c->registers, 16) +
            k[PREDICT_cycles_per_shared] * c->shared_loads + k[PREDICT_cycles_per_barrier] * c->barriers) /
           (c->blocks * c->warps_per_block);
}

static double add_powers(double a, double b, double power)
{
    return pow(pow(a, power) + pow(b, power), 1 / power);
}

/* Cycles of an SM for its instructions: of the schedulers, or of a pipe that has fewer lanes (XU: 16; f64: the chip's). */
static double pipes(const struct chip *chip, const struct predict_counts *c, double issue)
{
    double special = c->kind[PREDICT_KIND_special] * 32 / XU_LANES,
           f64 = chip->flop_f64 > 0 ? c->kind[PREDICT_KIND_f64] * 32 / (chip->flop_f64 / 2) : 0;
    return fmax(issue, fmax(special, f64));
}

/* How long SMs have blocks, and how many: until the last block ends, the share `filled` of their block slots is in use. SMs whose blocks
 * are equal and only wait end at nearly the same time; SMs that divide their work among more or fewer blocks do not. If blocks end sooner
 * than the chip launches new ones, slots stay empty. */
static void put_residence(const struct predict_counts *c, struct prediction *out, double sms, double uneven, double filled,
                          double launch_ns, double blocks_ns)
{
    double most = 0;
    for (int i = 0; i < UNIT_LATENCY; i++)
        most = fmax(most, out->unit_ns[i]);
    bool waits = out->unit_ns[UNIT_LATENCY] > most;
    most = fmax(most, out->unit_ns[UNIT_LATENCY]);
    if (waits && c->unequal_busy > 0)
        out->sm_busy = c->unequal_busy;
    else if (c->unequal_sm > 0) /* a block without work takes its time, too */
        out->sm_busy = 1 / uneven + (1 - 1 / uneven) * fmin(1, blocks_ns / most);
    else
        out->sm_busy = waits && c->blocks >= sms ? sqrt(1 / uneven) : 1 / uneven;
    out->resident = fmin(1, filled / out->sm_busy * (waits ? fmin(1, out->alone_ns / launch_ns) : 1));
}

static void put_units(const struct chip_model *m, const struct chip *chip, const struct predict_counts *c, struct prediction *out)
{
    const double *k = m->constant, ghz = k[PREDICT_clock_hz] / 1e9, sms = chip->sm_count;
    double slots = c->resident > 0 ? c->resident : sms * c->blocks_per_sm, waves = c->blocks / slots,
           rounds = waves < 6 ? ceil(waves) : waves + 0.5, uneven = ceil(c->blocks / sms) * sms / c->blocks, blocks = rounds,
           paths = rounds;
    if (c->unequal_sm > 0) { /* blocks that follow each other, in number and in work of a mean one */
        uneven = c->unequal_sm * sms / c->instructions;
        rounds = c->unequal_place * c->blocks / c->instructions;
        blocks = c->unequal_blocks;
        paths = c->path_l2 > 0 ? rounds + (blocks - rounds) * c->path_fixed / c->path_l2 : rounds; /* some of which each block takes */
    }
    const struct loads loads = loads_of(m, c);
    double machine = k[PREDICT_machine_per_ptx] * c->instructions + k[PREDICT_machine_per_branch] * c->branches + c->machine_more,
           per_sm_ns = 1 / (sms * ghz);
    double peak[UNIT_COUNT] = {
        [UNIT_ISSUE] = pipes(chip, c, machine / SCHEDULERS) * per_sm_ns,
        [UNIT_TENSOR] = c->tensor_macs > 0 ? 2 * c->tensor_macs / tensor_rate(chip, c->math) * per_sm_ns : 0,
        [UNIT_L1] = (c->shared_wavefronts + c->waves) * per_sm_ns,
        [UNIT_L2] = (loads.from_l2 + SECTOR * (c->sectors_async + c->sectors_st)) / k[PREDICT_l2_bytes_s] * 1e9,
        [UNIT_DRAM] = (c->read_bytes - c->kept_bytes + c->written_bytes) / chip->dram_bytes_s * 1e9,
    };
    const double share[UNIT_COUNT] = {k[PREDICT_issue_share], c->groups ? k[PREDICT_tensor_group_share] : k[PREDICT_tensor_warp_share],
                                      k[PREDICT_l1_share], 1, k[PREDICT_dram_share]};
    for (int i = 0; i < UNIT_LATENCY; i++)
        out->unit_ns[i] = peak[i] / share[i] * (i <= UNIT_L1 ? uneven : 1);
    out->unit_ns[UNIT_L2] += c->sectors_st_part * k[PREDICT_part_sector_ps] / 1e3; /* the counter of L2's sectors does not see it */
    /* The chip launches one block after the other: those that it holds at once, and later ones no faster than that. */
    double each = fmax(k[PREDICT_block_ns], k[PREDICT_warp_ns] * c->warps_per_block), first = each * fmin(c->blocks, slots);
    out->alone_ns = blocks / ghz * k[PREDICT_cycles_per_block] +
                    add_powers(rounds * shared_cycles(m, c, machine), paths * path_of(m, c), k[PREDICT_path_norm]) / ghz;
    out->waits = waits_of(c, path_of(m, c));
    out->unit_ns[UNIT_LATENCY] = first + fmax(each * c->blocks - first, out->alone_ns);
    out->unit_ns[UNIT_START] = k[PREDICT_start_ns] + k[PREDICT_code_ns_per_byte] * c->code_bytes;
    put_residence(c, out, sms, uneven, waves / paths, each * c->blocks, blocks / ghz * k[PREDICT_cycles_per_block]);
    /* L2 still holds the last bytes that a launch wrote when it ends. */
    const double written = fmax(0, c->written_bytes - k[PREDICT_l2_keeps_bytes]);
    peak[UNIT_DRAM] = (c->read_bytes - c->kept_bytes + written) / chip->dram_bytes_s * 1e9;
    for (int i = 0; i < UNIT_LATENCY; i++) /* as the hardware's counters have it: full is what is reached */
        out->busy[i] = i == UNIT_TENSOR ? peak[i] / share[i]
                       : i == UNIT_L2   ? peak[i] * k[PREDICT_l2_bytes_s] / k[PREDICT_l2_full_bytes_s]
                                        : peak[i];
    out->shared_busy = c->shared_wavefronts * per_sm_ns;
}

void predict_launch(const struct chip_model *m, const struct chip *chip, const struct predict_counts *c, struct prediction *out)
{
    *out = (struct prediction){.ns = NAN, .low_ns = NAN, .high_ns = NAN};
    if (!(c->blocks > 0) || !(c->warps_per_block > 0) || !(c->blocks_per_sm > 0) || !(c->instructions > 0)) {
        snprintf(out->why, sizeof out->why, "a launch without counts or compiler facts");
        return;
    }
    if (outside(m, c, out))
        return;
    put_units(m, chip, c, out);
    double most = 0, sum = 0, norm = fmax(1, m->constant[PREDICT_norm]);
    for (int i = 0; i < UNIT_START; i++)
        most = fmax(most, out->unit_ns[i]);
    for (int i = 0; i < UNIT_START; i++)
        sum += pow(out->unit_ns[i] / most, norm);
    out->ns = out->unit_ns[UNIT_START] + most * pow(sum, 1 / norm);
    for (int i = 0; i < UNIT_COUNT; i++)
        out->limit = out->unit_ns[i] > out->unit_ns[out->limit] ? (enum predict_unit)i : out->limit;
    const double counted = fmax(1, out->ns - m->constant[PREDICT_outside_ns]); /* hardware's counters run for less than the sample */
    for (int i = 0; i < UNIT_LATENCY; i++)
        out->busy[i] = fmin(1, out->busy[i] / counted);
    out->shared_busy = fmin(1, out->shared_busy / counted);
    out->sm_busy *= fmax(0.01, 1 - m->constant[PREDICT_no_warp_ns] / counted); /* no SM has a warp while a kernel starts and ends */
    out->step_ns = out->ns;
    out->low_ns =
        out->ns * fmin(1, m->low[out->limit]); /* the prediction lies in its interval, though 90 % of a limiter's rows are faster */
    out->high_ns = out->ns * fmax(1, m->high[out->limit]);
}

void predict_add(const struct chip_model *m, struct prediction *sum, const struct prediction *next)
{
    double ns = next->ns - m->constant[PREDICT_start_ns] + m->constant[PREDICT_next_launch_ns];
    struct prediction all = next->step_ns > sum->step_ns ? *next : *sum;
    all.ns = sum->ns + ns;
    all.low_ns = sum->low_ns + next->low_ns * ns / next->ns;
    all.high_ns = sum->high_ns + next->high_ns * ns / next->ns;
    *sum = all;
}
