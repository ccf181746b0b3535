/* report/page/row_units: tables of the units of an SM and the levels of memory: pipes, schedulers, and each kind of access at each level,
 * from hardware counters; from emu, which has no caches, only the accesses. */
#include "report/view/number.h"
#include "report/page/row_document.h"
#include <math.h>

static void number(struct table *t, double value, enum paint paint)
{
    char n[NUMBER_TEXT];
    table_number(t, paint, value, isnan(value) ? "" : value == floor(value) ? number_count(value, n) : number_3(value, n));
}

/* ---- memory ---- */

/* What one kind of access did at one level; NaN: not counted. */
struct access {
    const char *level;
    double requests, pieces, ideal, used, hit, bytes, busy;
};

static void access_row(struct table *t, const struct access *a)
{
    char n[NUMBER_TEXT];
    if (!(a->requests > 0) && !(a->pieces > 0) && !(a->bytes > 0))
        return;
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", a->level);
    number(t, a->requests, PAINT_NONE);
    number(t, a->pieces, PAINT_NONE);
    number(t, a->requests > 0 ? a->pieces / a->requests : NAN, PAINT_NONE);
    if (a->ideal > 0 && a->requests > 0)
        table_note(t, "(%s)", number_short(a->ideal / a->requests, n));
    number(t, a->used, PAINT_NONE);
    number(t, a->hit, PAINT_NONE);
    table_number(t, PAINT_NONE, a->bytes, number_si(a->bytes, "B", n));
    number(t, a->busy, PAINT_NONE);
}

static void of_emu(struct table *t, const struct view *v)
{
    static const char *const levels[] = {"global loads", "global stores"}, *const shared[] = {"shared loads", "shared stores"};
    for (int k = 0; k < SIDES; k++) {
        double sectors = view_part(v, -1, METRIC_EMU_SECTORS + k), ideal = view_part(v, -1, METRIC_EMU_SECTORS_IDEAL + k);
        access_row(t, &(struct access){levels[k], view_part(v, -1, METRIC_EMU_REQUESTS + k), sectors, ideal,
                                       sectors > 0 ? 100 * ideal / sectors : NAN, NAN, SECTOR_BYTES * sectors, NAN});
    }
    double copied = view_part(v, -1, METRIC_EMU_COPIED), atomic = view_part(v, -1, METRIC_EMU_ATOMIC);
    access_row(t, &(struct access){"global atomics", view_total(v, "emu.global_requests_atomic"), atomic, NAN, NAN, NAN,
                                   SECTOR_BYTES * atomic, NAN});
    access_row(
        t, &(struct access){"asynchronous copies", view_total(v, "emu.async_copies"), copied, NAN, NAN, NAN, SECTOR_BYTES * copied, NAN});
    for (int k = 0; k < SIDES; k++) {
        double waves = view_part(v, -1, METRIC_EMU_WAVEFRONTS + k), ideal = view_part(v, -1, METRIC_EMU_WAVEFRONTS_IDEAL + k);
        access_row(t, &(struct access){shared[k], NAN, waves, ideal, waves > 0 ? 100 * ideal / waves : NAN, NAN, NAN, NAN});
    }
    access_row(t, &(struct access){"local", view_total(v, "emu.local_requests"), view_total(v, "emu.local_sectors"), NAN, NAN, NAN,
                                   SECTOR_BYTES * view_total(v, "emu.local_sectors"), NAN});
}

static void of_hardware(struct table *t, const struct view *v)
{
#define HW(name) view_hardware(v, -1, name)
    double waves = HW("shared_wavefronts"), conflicts = HW("shared_conflicts"), loads = HW("global_sectors_ld"),
           stores = HW("global_sectors_st"), l2 = HW("l2_sectors");
    const struct access all[] = {
        {"global loads", HW("global_requests_ld"), loads, NAN, HW("useful_ld"), HW("l1_hit_rate_ld"), SECTOR_BYTES * loads, NAN},
        {"global stores", HW("global_requests_st"), stores, NAN, HW("useful_st"), NAN, SECTOR_BYTES * stores, NAN},
        {"local", known_sum(HW("local_loads"), HW("local_stores")), NAN, NAN, NAN, HW("local_hit_rate"), HW("local_bytes"), NAN},
        {"shared", known_sum(known_sum(HW("shared_loads"), HW("shared_stores")), HW("shared_matrix_loads")), waves, waves - conflicts,
         waves > 0 ? 100 * (waves - conflicts) / waves : NAN, NAN, NAN, HW("shared_pipe")},
        {"L1", NAN, NAN, NAN, NAN, NAN, HW("l1_bytes"), HW("l1_busy")},
        {"L1 from L2", NAN, NAN, NAN, NAN, NAN, HW("l2_to_l1_bytes"), NAN},
        {"L1 to L2", NAN, NAN, NAN, NAN, NAN, HW("l1_to_l2_bytes"), NAN},
        {"L2", NAN, l2, NAN, NAN, HW("l2_hit_rate"), HW("l2_bytes"), HW("l2_busy")},
        {"DRAM reads", NAN, NAN, NAN, NAN, NAN, HW("dram_bytes_read"), NAN},
        {"DRAM writes", NAN, NAN, NAN, NAN, NAN, HW("dram_bytes_written"), NAN},
        {"DRAM", NAN, NAN, NAN, NAN, NAN, known_sum(HW("dram_bytes_read"), HW("dram_bytes_written")), HW("dram_throughput")},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        access_row(t, &all[i]);
}

void row_levels(struct document *d, const struct case_view *c, const struct view *v)
{
    struct table *t = table_new();
    t->name = "levels";
    table_column(t, "level", "access", ALIGN_LEFT);
    table_column(t, "requests", "requests", ALIGN_RIGHT, .about = "one for a warp");
    table_column(t, "pieces", "sectors, wavefronts", ALIGN_RIGHT, .about = "32-byte sectors; for shared memory, wavefronts");
    table_column(t, "each", "a request", ALIGN_RIGHT, .note = "(least)");
    table_column(t, "used", "% used", ALIGN_RIGHT,
                 .about = "share of the moved bytes that were requested; for shared memory, share of the wavefronts without conflicts");
    table_columns(t, {"hit", "% hit", ALIGN_RIGHT}, {"bytes", "bytes", ALIGN_RIGHT});
    table_column(t, "busy", "% busy", ALIGN_RIGHT, .about = "share of the level's peak throughput");
    (c->counts ? of_emu : of_hardware)(t, v);
    if (t->line_count)
        document_table(d, t, DETAIL_FULL);
    else
        table_free(t);
}

/* ---- schedulers, pipes ---- */

struct fact {
    const char *name, *what;
    double value;
};

static void facts_table(struct document *d, const char *name, const char *heading, const char *unit, const struct fact *facts, size_t count)
{
    struct table *t = table_new();
    t->name = name;
    table_columns(t, {"part", "", ALIGN_LEFT}, {"value", unit, ALIGN_RIGHT}, {"of", "of", ALIGN_LEFT});
    for (size_t i = 0; i < count; i++) {
        if (isnan(facts[i].value))
            continue;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", facts[i].name);
        if (unit[0] == '%')
            table_bar(t, facts[i].value);
        else
            number(t, facts[i].value, PAINT_NONE);
        table_cell(t, PAINT_DIM, "%s", facts[i].what);
    }
    if (!t->line_count) {
        table_free(t);
        return;
    }
    document_heading(d, 4, heading, NULL)->detail = DETAIL_FULL;
    document_table(d, t, DETAIL_FULL);
}

void row_schedulers(struct document *d, const struct case_view *c, const struct view *v)
{
    const struct chip *chip = c->machine.chip;
    const struct row_step *s = v->step >= 0 && v->step < v->row->step_count ? &v->row->steps[v->step] : NULL;
    double holds = chip ? chip->warps_per_sm / 4.0 : NAN, fits = s && s->warps_per_sm >= 0 ? s->warps_per_sm / 4.0 : NAN;
    const struct fact facts[] = {
        {"holds", "warp slots per scheduler", holds},
        {"theoretical", "theoretical warps per scheduler", fits},
        {"active", "active warps in an average active cycle (achieved occupancy)", HW("warps_per_sm_achieved") / 4},
        {"eligible", "eligible warps among them", HW("warps_eligible")},
        {"issued", "issued instructions per cycle; the maximum is 1", HW("issue_active") / 100},
    };
    if (!isnan(facts[3].value) || !isnan(facts[4].value))
        facts_table(d, "scheduler", "Schedulers", "warps of one scheduler", facts, sizeof facts / sizeof *facts);
}

void row_pipes(struct document *d, const struct view *v)
{
    const struct fact facts[] = {
        {"issue slots", "cycles in which a scheduler issued", HW("issue_active")},
        {"tensor", "tensor cores: the pipe's own cycles", HW("tensor_active")},
        {"FMA", "f32 additions, multiplications, multiply-adds, and integer multiply-adds", HW("pipe_fma")},
        {"ALU", "integers, comparisons, logic, moves", HW("pipe_alu")},
        {"LSU", "loads, stores, shuffles", HW("pipe_lsu")},
        {"XU", "conversions, roots, exponentials", HW("pipe_xu")},
        {"FP16", "half precision outside the tensor cores", HW("pipe_fp16")},
        {"FP64", "double precision", HW("pipe_fp64")},
        {"uniform", "values that a whole warp shares", HW("pipe_uniform")},
    };
    size_t known = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        known += !isnan(facts[i].value);
    if (known > 1)
        facts_table(d, "pipes", "Pipes", "% of peak", facts, sizeof facts / sizeof *facts);
}
