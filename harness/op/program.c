#include "op/program.h"
#include "base/dtype.h"
#include "op/chain.h"
#include <stdlib.h>
#include <string.h>

const char *const ablation_names[] = {"store", "bias", "maths", NULL};
const char *const predict_names[] = {"threads", "smem", "registers", NULL};

void program_add_param(struct program *p, const char *name, const char *value)
{
    char *all = text_format("%s%s%s=%s", p->params ? p->params : "", p->params && *p->params ? "," : "", name, value);
    p->param = xrealloc(p->param, sizeof *p->param * (size_t)(p->param_count + 1));
    p->param[p->param_count++] = (struct program_param){xstrdup(name), xstrdup(value)};
    free(p->params);
    p->params = all;
}

void program_add_completed(struct program *p, const char *variant)
{
    char *all = text_format("%s + %s", p->variant, variant);
    p->completed = xrealloc(p->completed, sizeof *p->completed * (size_t)(p->completed_count + 1));
    p->completed[p->completed_count++] = xstrdup(variant);
    free(p->variant);
    p->variant = all;
}

void program_free(struct program *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->unit_count; i++) {
        free(p->units[i].path);
        free(p->units[i].label);
        for (int d = 0; d < p->units[i].define_count; d++)
            free(p->units[i].defines[d]);
        free(p->units[i].defines);
    }
    free(p->units);
    free(p->variant);
    free(p->params);
    for (int i = 0; i < p->param_count; i++) {
        free(p->param[i].name);
        free(p->param[i].value);
    }
    free(p->param);
    for (int i = 0; i < p->completed_count; i++)
        free(p->completed[i]);
    free(p->completed);
    free(p->what);
    free(p->algorithm);
    free(p->reason);
    free(p->tensors);
    free(p->scratch);
    free(p->constants);
    free(p->tensor_maps);
    free(p->steps);
    free(p->columns);
    free(p->link_tiles);
    memset(p, 0, sizeof *p);
}

bool unit_same(const struct unit *a, const struct unit *b)
{
    const char *x = a->include ? a->include : "", *y = b->include ? b->include : "";
    if (!a->path != !b->path || (a->path && strcmp(a->path, b->path)) || strcmp(x, y) || strcmp(a->label, b->label) ||
        a->define_count != b->define_count || a->code != b->code)
        return false;
    for (int i = 0; i < a->define_count; i++)
        if (strcmp(a->defines[i], b->defines[i]))
            return false;
    return true;
}

int program_tensor(const struct program *p, enum tensor_role role)
{
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensors[i].role == role)
            return i;
    return -1;
}

const struct work *program_step_work(const struct program *p, const struct step *step)
{
    if (step->own_work)
        return &step->work;
    return p->work.chain ? &p->work.chain->links[step->link].work : &p->work;
}

bool program_where(const struct program *p, const struct step *step, int line, int column, struct error *err)
{
    return step->file && line > 0 && error_where(err, "%s:%d:%d", step->file, line, column);
}

uint64_t program_scratch_bytes(const struct program *p)
{
    uint64_t bytes = 0;
    for (int i = 0; i < p->scratch_count; i++)
        bytes += (uint64_t)p->scratch[i].elements * dtype_bytes(p->scratch[i].dtype);
    return bytes;
}
