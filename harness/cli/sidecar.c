/* `bench new OP FILE.ptx`: a sidecar for compiled code (docs/FOREIGN.md), from the parameters of its entry. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "device/device.h"
#include "device/ptx/query.h"
#include "kernel/new/new.h"
#include "op/op.h"
#include <stdlib.h>
#include <string.h>

#define PARAMS_MAX 64
#define PTX_MAX (64u << 20)

static bool is_pointer(const struct param *p)
{
    return p->kind == PARAM_INT && p->bytes == 8; /* or a 64-bit number: PTX does not distinguish them */
}

/* Names for the pointers in the usual order: tensors that are read, then those that are written. Further pointers get none. */
static const char *const *tensor_names(const struct op *op, const struct param *params, int count)
{
    static const char *own[OP_MAX_TENSORS + 1]; /* of a file: its tensors, as it lists them */
    int tensors = 0;
    for (; op->file && op->roles[tensors]; tensors++)
        own[tensors] = op->roles[tensors]->name;
    own[tensors] = NULL;
    if (op->file)
        return own;
    static const char *const moves[] = {"input", "output", NULL}, *const plain[] = {"input", "filter", "output", NULL},
                             *const adds[] = {"input", "filter", "bias", "output", NULL};
    int pointers = 0;
    for (int i = 0; i < count; i++)
        pointers += is_pointer(&params[i]);
    return !op->has_filter ? moves : pointers < 4 ? plain : adds;
}

/* Numbers have no names in PTX. */
static void add_args(struct text *t, const char *const *names, const struct param *params, int count)
{
    bool left = false;
    int structure = -1;
    text_add(t, "    args: ");
    for (int i = 0; i < count; i++) {
        const struct param *p = &params[i];
        const char *comma = i ? ", " : "";
        if (is_pointer(p)) {
            text_addf(t, "%s%s", comma, *names ? *names : "0");
            left |= !*names;
            names += *names != NULL;
        } else {
            structure = p->kind == PARAM_BYTES ? i : structure;
            text_addf(t, "%s%s%u_%d", comma,
                      p->kind == PARAM_FLOAT ? "f"
                      : p->kind == PARAM_INT ? "i"
                                             : "bytes",
                      p->kind == PARAM_BYTES ? p->bytes : 8 * p->bytes, i);
        }
    }
    text_add(t, "   # the entry's parameters; i32_4 is a 32-bit integer, the parameter after four others: replace it by a\n    # symbol "
                "(bench list op), an expression or a number, and put the tensors in the order of my kernel\n");
    if (structure >= 0)
        text_addf(t, "    # bytes%u_%d is a structure of %u bytes: replace it by one argument for each 8 bytes (docs/FOREIGN.md)\n",
                  params[structure].bytes, structure, params[structure].bytes);
    if (left)
        text_add(t, "    # 0: a null pointer, such as Triton's unused scratch\n");
}

/* What the first tensor may be: its own type, else the case's, f16 where that may be one. */
static const char *first_type(const struct op *op)
{
    int d = op->roles[0]->dtype;
    if (op_follows(op, op->roles[0]->name))
        for (d = DTYPE_F16; !(op->dtypes >> d & 1);)
            d = (d + 1) % DTYPE_COUNT;
    return dtype_name((enum dtype)d);
}

bool cli_sidecar(const struct op *op, const char *path, const char *kernel, struct text *t, struct error *err)
{
    struct param params[PARAMS_MAX];
    SCOPED char **entries = NULL;
    size_t bytes;
    SCOPED char *ptx = file_text(path, PTX_MAX, &bytes, err);
    if (!ptx)
        return false;
    int count = ptx_entries(ptx, &entries), parameters = -1;
    const char *other = !kernel && count > 1 ? entries[1] : NULL;
    if (!kernel && count)
        kernel = entries[0];
    if (!kernel)
        error_set(err, ERROR_USAGE, "%s has no .entry", path);
    else
        parameters = ptx_signature(ptx, kernel, params, PARAMS_MAX, NULL, err);
    if (parameters >= 0) {
        const char *base = strrchr(path, '/');
        int block = ptx_block(ptx, kernel);
        text_addf(t, "op: %s\nwhat: %s   # one line: what is special about this variant\nsource: %s\n", op->name, kernel,
                  base ? base + 1 : path);
        text_addf(t, "# needs: %s%s   # shapes that my kernel supports; other shapes become rows with this reason\n",
                  op->has_filter ? "c == 64 and r == 3 and s == 3" : op->fields[op->file ? 0 : 1].name, op->has_filter ? "" : " % 4 == 0");
        if (!op->file || op->layouts & (1u << LAYOUT_NHWC))
            text_addf(t, "layout: {%s: NHWC, %soutput: same}   # the layouts that my kernel uses\n", op->roles[0]->name,
                      op->has_filter ? "filter: RSCK, " : "");
        text_addf(t, "dtype: {%s: %s%s%s}   # the types of my kernel's inputs, outputs and sums\n", op->roles[0]->name, first_type(op),
                  op_follows(op, "output") ? ", output: same" : "",
                  !op->has_math                          ? ""
                  : op->epilogues && op_role(op, "bias") ? ", bias: f32, accumulate: f32"
                                                         : ", accumulate: f32");
        const char *const *names = tensor_names(op, params, parameters);
        bool biased = op->has_filter && !strcmp(names[2], "bias");
        if (op->epilogues)
            text_addf(t, "%sepilogue: [bias%s]   # what my kernel does after the op, in this order%s\n", biased ? "" : "# ",
                      biased ? "" : ", relu", biased ? "; add relu if it applies it" : "");
        text_addf(t, "steps:\n  - kernel: %s\n    grid: ceil(%s, %d)   # one thread per output; change it to the grid of my kernel\n",
                  kernel, variant_new_threads(op, false), block ? block : 256);
        text_addf(t, "    block: %d   # %s\n    # smem: 24576   # dynamic shared memory, bytes (Triton: metadata.shared)\n",
                  block ? block : 256, block ? "from the entry" : "not in the entry");
        add_args(t, names, params, parameters);
        if (other)
            text_addf(t, "    # the file has another kernel, %s: add it as a step, or use only it (--kernel %s)\n", other, other);
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    return parameters >= 0;
}
