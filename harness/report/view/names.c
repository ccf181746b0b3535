/* Names of a row, its variant and its case, and kinds of rows. */
#include "op/file/ops.h"
#include "report/view/view.h"
#include <stdio.h>
#include <string.h>

/* Is it a variant of the row's own op? Then tables leave out its folder. */
static bool is_own(const struct row *row, const struct row_part *part)
{
    SCOPED char *full = text_format("%s/%s", row->op ? row->op : "", part->name);
    return !strcmp(full, part->variant);
}

bool row_is_of_op(const struct row *row)
{
    return row->part_count && is_own(row, row->parts);
}

const char *case_short(const struct row *row)
{
    return row->case_name && row->case_name[0] ? row->case_name : row->case_id ? row->case_id : "?";
}

const char *variant_short(const struct row *row)
{
    bool own = row->part_count && row->variant && is_own(row, &row->parts[0]);
    return own ? row->variant + strlen(row->op) + 1 : row->variant ? row->variant : "?";
}

/* Of its own variant alone. */
static const char *base_of(const struct row *row)
{
    const struct row_part *part = row->part_count ? &row->parts[0] : NULL;
    return !part ? variant_short(row) : is_own(row, part) ? part->name : part->variant;
}

const char *variant_base(const struct row *row, char out[VARIANT_BASE])
{
    snprintf(out, VARIANT_BASE, "%s", base_of(row));
    return out;
}

bool row_runs_dense(const struct row *row)
{
    return !row->tile && row->flop_scheduled == row->flop;
}

bool row_same_configuration(const struct row *a, const struct row *b)
{
    return text_same(a->variant, b->variant) && text_same(a->params, b->params) && text_same(a->side, b->side);
}

bool row_only_moves(const struct row *row)
{
    return row->status == ROW_FOIL && !strcmp(variant_short(row), "copy");
}

const char *row_note(const struct row *row, bool counters)
{
    const char *note = counters ? row->uncounted : row->note;
    return note ? note : "";
}

bool row_is_network(const struct row *row)
{
    return op_is_for(row->op, TASK_NETWORK) || (row->op && !strcmp(row->op, ROW_SEQUENCE));
}

void variant_print(const struct row *row, char *out, size_t size)
{
    SCOPED_TEXT t = {0};
    text_add(&t, base_of(row));
    for (int i = 1; i < row->part_count; i++) {
        const struct row_part *part = &row->parts[i];
        text_addf(&t, " + %s", op_of_variant(part->variant) ? part->name : part->variant);
    }
    snprintf(out, size, "%s", text_get(&t));
}
