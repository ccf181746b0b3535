/* What a kernel costs under other launch bounds, for bench compile and bench why --measure. */
#include "base/text.h"
#include "cli/cli.h"

/* One line for each launch bound. */
void cli_print_launch_bounds(struct text *t, const struct register_point *points, int count)
{
    for (int i = 0; i < count; i++) {
        const struct register_point *p = &points[i];
        if (p->blocks)
            text_addf(t, "    %2d block%s an SM  %3d allowed", p->blocks, p->blocks > 1 ? "s" : " ", p->allowed);
        else
            text_add(t, "    as the source says         ");
        if (p->failed)
            text_add(t, "  does not compile\n");
        else
            text_addf(t, "  %3d regs  spills %d/%d B  %d block%s fit%s\n", p->registers, p->spill_store_bytes, p->spill_load_bytes,
                      p->blocks_per_sm, text_s(p->blocks_per_sm), p->blocks_per_sm == 1 ? "s" : "");
    }
}
