/* Expressions of heads and scenarios, evaluated where names are small integers, zero, the largest one, a real and a text. */
#include "base/expr.h"
#include "fuzz/common.h"
#include <string.h>

static bool name_value(void *context, const char *name, struct value *out, struct error *err)
{
    static const int64_t values[] = {0, 1, 3, 64, -7, INT64_MAX, INT64_MIN};
    if (name[0] == 't')
        *out = value_text("NHWC");
    else if (name[0] == 'f')
        *out = value_real(0.1);
    else
        *out = value_int(values[(unsigned char)name[0] % 7]);
    return true;
}

static bool call_value(void *context, const char *name, const struct value *args, int count, struct value *out, struct error *err)
{
    if (count < 1)
        return false;
    *out = args[0];
    return true;
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1), why[256];
    if (!text)
        abort();
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        struct error err = {0};
        struct node n = {.kind = NODE_SCALAR, .file = (char *)"x", .line = 1, .column = 1, .text = line};
        struct expr *e = expr_parse(&n, &err);
        if (!e) {
            must_explain(&err);
            continue;
        }
        struct expr_env env = {.name = name_value, .call = call_value};
        struct value v;
        bool truth;
        int64_t i;
        if (!expr_eval(e, &env, &v, &err))
            must_explain(&err);
        error_clear(&err);
        if (!expr_eval_int(e, &env, &i, &err))
            must_explain(&err);
        error_clear(&err);
        if (!expr_test(e, &env, &truth, why, sizeof why, &err))
            must_explain(&err);
        expr_free(e);
    }
    free(text);
}
