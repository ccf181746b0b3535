#include "op/op_file.h"
#include "base/file.h"
#include "base/source.h"
#include "op/random.h"
#include "op/shape.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static bool name_known(void *context, const char *name, bool call)
{
    const struct op_file *f = context;
    for (int i = 0; !call && f->symbol_names[i]; i++)
        if (!strcmp(f->symbol_names[i], name))
            return true;
    return false;
}

struct expr *op_file_expr(struct op_file *f, const struct node *n, struct error *err)
{
    struct expr *e = expr_parse(n, err);
    if (!e || expr_check(e, name_known, f, f->symbol_names, err))
        return e;
    expr_free(e);
    return NULL;
}

struct asked {
    const struct op_file *f;
    const char *name;
    uint64_t followed; /* a bit for each let */
    bool found;
};

static void look_for(void *context, const char *name)
{
    struct asked *a = context;
    a->found |= !strcmp(name, a->name);
    for (int i = 0; i < a->f->let_count && !a->found; i++)
        if (!strcmp(a->f->let_names[i], name) && !(a->followed >> i & 1)) {
            a->followed |= (uint64_t)1 << i;
            expr_names(a->f->lets[i], look_for, a);
        }
}

bool op_file_uses(const struct op_file *f, const struct expr *e, const char *name)
{
    struct asked a = {.f = f, .name = name};
    expr_names(e, look_for, &a);
    return a.found;
}

void op_file_box(const struct work *work, const struct op_file_tensor *of, size_t i, int64_t size[2])
{
    for (int k = 0; k < 2; k++) {
        int64_t within = 1;
        work_int(work, of->within[1 - k], &within, NULL);
        size[k] = of->sizes[i % (size_t)of->size_count][k];
        if (work->any_boxes)
            size[k] -= (int64_t)(random_bits(work->seed, i, (uint64_t)k) % (uint64_t)(size[k] / 2 + 1));
        size[k] = size[k] < within ? size[k] : within;
    }
}

bool op_file_takes_picture(const struct op *op)
{
    for (int i = 0; op->file && i < op->file->tensor_count; i++) {
        const struct op_file_tensor *t = &op->file->tensors[i];
        if (t->role.values == VALUES_INPUT && !t->role.output)
            return t->image && (t->role.dtype == DTYPE_U8 || t->role.dtype == DTYPE_U16);
    }
    return false;
}

const struct op_file_tensor *op_file_tensor(const struct op *op, const struct tensor_role *role)
{
    return op->file ? &op->file->tensors[role->slot] : NULL;
}

double op_file_tolerance(const struct op *op, const struct tensor_role *role)
{
    const struct op_file_tensor *t = op_file_tensor(op, role);
    return t ? t->tolerance : 0;
}

void op_file_describe(const struct work *work, struct text *t)
{
    for (const struct op_field *f = work->op->fields; f->name; f++) {
        struct value v;
        char s[VALUE_TEXT_MAX + 8];
        if (!work_symbol(work, f->name, &v))
            continue;
        value_print(&v, s, sizeof s);
        text_addf(t, " %s %s", f->name, s);
    }
    text_addf(t, "  %s", dtype_name(work->dtype));
    if (work->op->layouts & (work->op->layouts - 1)) /* there is a choice */
        text_addf(t, " %s", layout_name(work->layout));
    if (work->picture[0])
        text_addf(t, "  %s", file_base(work->picture));
}

const char *op_file_hash(const struct op_file *f)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!*f->hash) {
        struct hash *h = hash_begin();
        SCOPED_TEXT said = {0}; /* without comments */
        node_write(f->root, &said);
        hash_add(h, said.data, said.len);
        source_add(h, f->source);
        for (int i = 0; i < f->tensor_count; i++) {
            source_add(h, f->tensors[i].values_file);
            source_add(h, f->tensors[i].reference_npy);
            source_add(h, f->tensors[i].sizes_npy);
        }
        hash_end(h, f->hash);
    }
    pthread_mutex_unlock(&lock);
    return f->hash;
}

/* True if the field is kept in work->value: the fields of images have a place of their own. */
static bool is_own(const struct op_field *field)
{
    return field->offset >= offsetof(struct work, value) && field->offset < offsetof(struct work, value) + sizeof((struct work *)0)->value;
}

void op_image_describe(const struct work *work, struct text *t)
{
    const struct op_field *field = work->op->image ? work->op->fields : NULL;
    for (; field && field->name; field++) {
        struct value v;
        char s[256];
        int64_t value;
        double real;
        memcpy(&value, (const char *)work + field->offset, sizeof value);
        memcpy(&real, &value, sizeof real);
        if (!is_own(field) || (field->kind == FIELD_REAL ? real == field->real : value == field->fallback) ||
            !work_symbol(work, field->name, &v))
            continue;
        value_print(&v, s, sizeof s);
        text_addf(t, " %s %s", field->name, s);
    }
}

void op_file_key(const struct work *work, struct text *t)
{
    const struct op_file *f = work->op->file ? work->op->file : work->op->image;
    if (work->op->file || !f->installed)
        text_addf(t, "file=%s;", op_file_hash(f));
    for (int i = 0; i < f->field_count; i++) { /* those of images have their place in work_key */
        const struct op_field *field = &f->op.fields[i];
        int64_t value, usual = field->kind == FIELD_REAL ? 0 : field->fallback;
        memcpy(&value, (const char *)work + field->offset, sizeof value);
        if (field->kind == FIELD_REAL)
            memcpy(&usual, &field->real, sizeof usual);
        if (is_own(field) && (work->op->file || !f->installed || value != usual))
            text_addf(t, "%s=%lld;", field->name, (long long)value);
    }
    if (work->picture[0])
        text_addf(t, "picture=%s;", work->picture_hash);
    if (work->any_boxes)
        text_add(t, "any_boxes=1;");
}

const char *op_path(const struct op *op)
{
    const struct op_file *f = op->file ? op->file : op->image;
    return f ? f->path : NULL;
}
