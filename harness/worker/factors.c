/* What tensor cores multiply in, held against what the row says that it computes in. */
#include "base/text.h"
#include "device/compile/cubin.h"
#include "op/bound.h"
#include "worker/private.h"
#include <stdlib.h>

void worker_fits_math(const struct worker *w, int index, const struct build *build, struct row *row)
{
    const struct program *p = &w->plan.rows[index].program;
    char lesser[96];
    for (int i = 0; i < p->step_count && row->status == ROW_PLANNED; i++) {
        const struct step *s = &p->steps[i];
        const struct device_image *image = &build->images[s->unit];
        if (s->kind != STEP_KERNEL || p->work.chain)
            continue;
        const struct work *work = program_step_work(p, s);
        unsigned may = work->op->has_math ? bound_factors(work->math, p->algorithm) : ~0u;
        unsigned does = image->ptx ? device_ptx_factors(image->ptx, s->name) : cubin_factors(image->cubin, image->cubin_bytes, s->name);
        if (!(does & ~may))
            continue;
        factor_type_names(does & ~may, lesser, sizeof lesser);
        char *reason = text_format("tensor cores multiply %s in %s, which %s with algorithm `%s` does not allow", lesser, s->name,
                                   math_name(work->math), p->algorithm);
        row->status = ROW_WRONG;
        row_set(&row->reason, reason);
        free(reason);
    }
}
