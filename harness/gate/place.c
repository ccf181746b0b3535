/* gate/place: the source line of a change. */
#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/compare.h"
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 4096 /* lines with a count per step: above this there is no comparison by line */
#define FILE_MAX_BYTES (16u << 20)

struct line_count {
    int line;
    double value;
};

ORDER(place_by_line, struct line_count, ORDER_UP(line))

/* The lines of a row's step (-1: none) that have a count of that name, in order. */
static int lines_of(const struct row *row, int step, const char *name, struct line_count **out)
{
    int count = 0;
    struct line_count *lines = *out = xcalloc((size_t)row->metric_count + 1, sizeof *lines);
    for (int i = 0; i < row->metric_count; i++)
        if (row->metrics[i].step == step && row->metrics[i].line > 0 && !strcmp(row->metrics[i].name, name))
            lines[count++] = (struct line_count){row->metrics[i].line, row->metrics[i].value};
    if (count)
        qsort(lines, (size_t)count, sizeof *lines, place_by_line);
    return count;
}

/* Lengths of the longest common subsequences of a[i..] and b[k..]. Two lines are equal if their counts are. */
static int *common_lengths(const struct line_count *a, int a_count, const struct line_count *b, int b_count)
{
    int width = b_count + 1, *lengths = xcalloc((size_t)(a_count + 1) * (size_t)width, sizeof *lengths);
    for (int i = a_count - 1; i >= 0; i--)
        for (int k = b_count - 1; k >= 0; k--) {
            int down = lengths[(i + 1) * width + k], right = lengths[i * width + k + 1];
            lengths[i * width + k] = a[i].value == b[k].value ? 1 + lengths[(i + 1) * width + k + 1] : down > right ? down : right;
        }
    return lengths;
}

/* The line of b whose count grew most over the matching line of a; 0: none grew. */
static int grown_line(const struct line_count *a, int a_count, const struct line_count *b, int b_count, double *by)
{
    SCOPED int *lengths = common_lengths(a, a_count, b, b_count);
    int width = b_count + 1, line = 0;
    for (int i = 0, k = 0; k < b_count;) {
        if (i < a_count && a[i].value == b[k].value) {
            i++;
            k++;
            continue;
        }
        const int *at = lengths + i * width + k;
        bool in_a = i < a_count && at[width] >= at[1];
        bool both = i < a_count && at[width + 1] == *at; /* one line that has another count now */
        double grown = b[k].value - (both ? a[i].value : 0);
        if (!both && in_a) { /* only base has it */
            i++;
            continue;
        }
        if (grown > *by) {
            *by = grown;
            line = b[k].line;
        }
        i += both;
        k++;
    }
    return line;
}

static bool place_by_counts(const struct row *base, const struct row *head, const char *name, char **file, int *line)
{
    double by = 0;
    for (int i = 0; i < head->step_count; i++) {
        SCOPED struct line_count *a = NULL, *b = NULL;
        int step = -1;
        for (int k = 0; k < base->step_count && step < 0; k++)
            step = !strcmp(base->steps[k].name, head->steps[i].name) ? k : -1;
        int b_count = lines_of(head, i, name, &b), a_count = step < 0 ? 0 : lines_of(base, step, name, &a);
        int found = a_count < LINES_MAX && b_count < LINES_MAX ? grown_line(a, a_count, b, b_count, &by) : 0;
        if (found && head->steps[i].file[0]) {
            free(*file);
            *file = xstrdup(head->steps[i].file);
            *line = found;
        }
    }
    return *file != NULL;
}

/* The first line of b that differs from a; 0: they are equal, or one cannot be read. */
static int first_difference(const char *a_path, const char *b_path)
{
    size_t a_bytes, b_bytes;
    SCOPED char *a = file_read(a_path, FILE_MAX_BYTES, &a_bytes, NULL), *b = file_read(b_path, FILE_MAX_BYTES, &b_bytes, NULL);
    int line = 0;
    if (a && b && strcmp(a, b) != 0) {
        line = 1;
        for (size_t i = 0; i < a_bytes && i < b_bytes && a[i] == b[i]; i++)
            line += a[i] == '\n';
    }
    return line;
}

/* True if the fact belongs to that step or to the whole row. */
static bool is_meant(const struct row *row, int index, const char *step)
{
    SCOPED char *name = gate_step_name(row, index);
    return !*step || !strcmp(name, step);
}

static bool place_by_text(const struct row *base, const struct row *head, const char *step, char **file, int *line)
{
    for (int i = 0; i < head->step_count && !*file; i++)
        for (int k = 0; k < base->step_count && !*file && is_meant(head, i, step); k++) {
            const struct row_step *a = &base->steps[k], *b = &head->steps[i];
            *line = strcmp(a->name, b->name) ? 0 : first_difference(a->file, b->file);
            if (*line)
                *file = xstrdup(b->file);
        }
    return *file != NULL;
}

/* The file that a message names: that path, the row's file with that base name, or a file next to one of the row's (a header). */
static char *said_file(const struct row *row, const char *name)
{
    char *found = strchr(name, '/') && file_exists(name) ? xstrdup(name) : NULL;
    for (int i = 0; i < row->step_count && !found; i++)
        if (row->steps[i].file[0] && !strcmp(file_base(row->steps[i].file), file_base(name)))
            found = xstrdup(row->steps[i].file);
    for (int i = 0; i < row->step_count && !found; i++) {
        SCOPED char *beside = file_beside(row->steps[i].file, name);
        if (row->steps[i].file[0] && file_exists(beside))
            found = xstrdup(beside);
    }
    return found;
}

bool gate_place_said(const struct row *row, char **file, int *line)
{
    *file = row && row->reason_file && row->reason_line > 0 ? said_file(row, row->reason_file) : NULL;
    *line = *file ? row->reason_line : 0;
    return *file != NULL;
}

bool gate_place(const struct gate_entry *base, const struct gate_entry *head, const char *step, const struct gate_kind *kind, char **file,
                int *line)
{
    *file = NULL;
    *line = 0;
    if (!base || !head || !head->row)
        return false;
    static const struct row nothing;
    const struct row *before = base->row ? base->row : &nothing;
    const char *name = kind->lines ? kind->lines : kind->what;
    bool local =
        strcmp(name, "emu.warp_instructions") != 0; /* most of a fact's count belongs to one line; machine code belongs to all lines */
    if ((base->row || local) && place_by_counts(before, head->row, name, file, line))
        return true;
    if (base->row && place_by_text(base->row, head->row, step, file, line))
        return true;
    for (int i = 0; i < head->row->step_count && !*file; i++) { /* at least the file */
        const struct row_step *s = &head->row->steps[i];
        if (s->file[0] && is_meant(head->row, i, step))
            *file = xstrdup(s->file);
    }
    return *file != NULL;
}
