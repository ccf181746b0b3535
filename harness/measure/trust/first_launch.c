#include "measure/trust/first_launch.h"
#include <stdlib.h>

void first_launch_compare(const struct first_launches *first, int index, const struct rig *rig, struct row *row)
{
    const struct left_sum *left = first->left ? &first->left[index] : NULL;
    if (left && left->known && row->status == ROW_OK)
        row_add_metric(row, -1, 0, "verify.same_bits", "", "verify", rig_output_sum(rig) == left->sum);
}

void first_launch_expect(const struct first_launches *first, int index, struct rig *rig)
{
    if (first->left && first->left[index].known)
        rig_expect(rig, first->left[index].sum);
}

void first_launch_forget(struct first_launches *first)
{
    free(first->left);
    first->left = NULL;
}
