/* A kernel of a Python file: tells Python the work, and binds what it made of it. */
#include "kernel/bind/bind.h"
#include "kernel/head/python.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

static void add_json(struct text *t, const char *before, const char *name, const struct value *v)
{
    char s[VALUE_TEXT_MAX];
    value_print(v, s, sizeof s);
    bool point = v->kind != VALUE_REAL || strpbrk(s, ".en");
    const char *quote = v->kind == VALUE_TEXT ? "\"" : "";
    text_addf(t, "%s\"%s\": %s%s%s%s", before, name, quote, s, point ? "" : ".0", quote);
}

/* The request, as JSON. Names and words are identifiers, so nothing needs to be escaped. */
static void write_request(const struct bind *b, struct text *t)
{
    const char *comma = "";
    text_addf(t, "{\"cc\": %d, \"arch\": \"%s\", \"fields\": {", b->chip->cc, b->chip->arch);
    for (const char *const *name = work_symbol_names(b->work->op); *name; name++) {
        struct value v;
        if (!work_symbol(b->work, *name, &v))
            continue;
        add_json(t, comma, *name, &v);
        comma = ", ";
    }
    text_add(t, "}, \"params\": {");
    for (int i = 0; i < b->config->count; i++)
        add_json(t, i ? ", " : "", b->config->names[i], &b->config->values[i]);
    text_add(t, "}, \"tensors\": {");
    for (int i = 0; i < b->tensor_count; i++) {
        const struct tensor *s = &b->tensors[i];
        text_addf(t, "%s\"%s\": {\"dtype\": \"%s\", \"layout\": \"%s\", \"shape\": [", i ? ", " : "", s->role->name, dtype_name(s->dtype),
                  layout_name(s->layout));
        for (int k = 0; k < s->rank; k++)
            text_addf(t, "%s%lld", k ? ", " : "", (long long)s->dim[k]);
        text_add(t, "]}");
    }
    text_add(t, "}}");
}

bool bind_python(struct bind *b, struct error *err)
{
    SCOPED_TEXT request = {0};
    const struct variant *made;
    SCOPED char *reason = NULL;
    struct program inner;
    write_request(b, &request);
    if (!head_python_make(b->config->variant, text_get(&request), &made, &reason, err))
        return false;
    if (!made)
        return bind_infeasible(b, "%s", reason);
    struct variant_config config = *b->config;
    config.variant = made;
    if (!b->bind(b->set, &config, b->work, b->chip, b->depth + 1, &inner, err))
        return false;
    free(inner.what);
    inner.what = xstrdup(b->config->variant->what);
    program_free(b->program);
    *b->program = inner;
    return true;
}
