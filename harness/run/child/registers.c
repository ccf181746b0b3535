/* Compiles a kernel under other launch bounds: how many registers and spills more or fewer resident blocks cost. */
#include "device/compile/cubin.h"
#include "device/chip/occupancy.h"
#include "measure/rig/compile_facts.h"
#include "run/child/worker.h"

#define BLOCKS_MOST (REGISTER_POINTS - 1)
#define REGISTERS_LEAST 24 /* below this every kernel spills */

static bool compile_point(const struct plan *plan, const struct program *p, const struct step *step, const struct compile_request *request,
                          struct register_point *point, struct error *err)
{
    struct compiled c;
    struct kernel_facts f;
    if (!compile(request, &c, err))
        return false;
    bool ok = build_kernel_facts(&c, step->name, &f, err);
    compiled_free(&c);
    if (!ok)
        return program_where(p, step, step->line, step->column, err);
    struct occupancy_query q = {.block_threads = (int)(step->block[0] * step->block[1] * step->block[2]),
                                .registers = f.registers,
                                .static_smem = f.static_smem > 0 ? (size_t)f.static_smem : 0,
                                .dynamic_smem = step->smem,
                                .carveout = step->carveout};
    point->registers = f.registers;
    point->spill_store_bytes = f.spill_store_bytes;
    point->spill_load_bytes = f.spill_load_bytes;
    point->blocks_per_sm = occupancy_of(&plan->chip, &q).blocks_per_sm;
    return true;
}

int worker_registers(const struct plan *plan, int row, int step_index, const char *compiler, struct register_point points[REGISTER_POINTS],
                     struct error *err)
{
    const struct program *p = plan_program(plan, row);
    const struct step *step = &p->steps[step_index];
    int count = 0;
    if (step->kind != STEP_KERNEL || !p->units[step->unit].path || p->units[step->unit].code != CODE_CUDA)
        return 0;
    const struct unit *u = &p->units[step->unit];
    struct compile_request request = {.path = u->path,
                                      .include = u->include,
                                      .label = u->label,
                                      .defines = (const char *const *)u->defines,
                                      .define_count = u->define_count,
                                      .arch = plan->chip.arch,
                                      .compiler = compiler};
    struct occupancy_query q = {.block_threads = (int)(step->block[0] * step->block[1] * step->block[2]), .registers = 32, .carveout = -1};
    struct occupancy most = occupancy_of(&plan->chip, &q);
    points[count] = (struct register_point){0};
    if (!compile_point(plan, p, step, &request, &points[count++], err))
        return -1;
    for (int blocks = 1, before = 0;
         blocks <= BLOCKS_MOST && blocks <= most.blocks_by[LIMIT_WARPS] && blocks <= most.blocks_by[LIMIT_BLOCKS]; blocks++) {
        int allowed = occupancy_registers(&plan->chip, &q, blocks);
        if (allowed < REGISTERS_LEAST)
            break;
        if (allowed == before) /* more blocks with the same number of registers: one line covers both */
            count--;
        before = allowed;
        points[count] = (struct register_point){.blocks = blocks, .allowed = allowed};
        request.bounds = (struct compile_bounds){q.block_threads, blocks, allowed};
        struct error why = {0};
        if (!compile_point(plan, p, step, &request, &points[count], &why)) {
            if (why.kind == ERROR_ENVIRONMENT) { /* no compiler is available: the other bounds would fail too */
                *err = why;
                return -1;
            }
            points[count].failed = true;
        }
        count++;
    }
    return count;
}
