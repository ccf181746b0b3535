#include "op/weights.h"
#include "base/npy.h"
#include "base/text.h"
#include "op/convert.h"
#include "op/op.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

bool weights_tensor(const struct tensor *t)
{
    enum tensor_values v = t->role->values;
    return v == VALUES_WEIGHT || v == VALUES_BIAS || v == VALUES_SLOPES;
}

/* A 64-bit hash: of files that the user made, so nobody is to be deceived. */
static uint64_t mix(uint64_t hash, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

bool weights_take(struct work *work, const char *prefix, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    uint64_t hash = 0xcbf29ce484222325u;
    int taken = 0;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        SCOPED char *path = text_format("%s.%s.npy", prefix, list[i].role->name);
        struct npy a;
        if (!weights_tensor(&list[i]))
            continue;
        if (!npy_read_shape(path, list[i].dim, list[i].rank, &a, err))
            return false;
        size_t held = 0;
        while (held < a.count && isfinite(a.value[held]) && dtype_holds(list[i].dtype, a.value[held]))
            held++;
        if (held < a.count) {
            error_set(err, ERROR_USAGE, "%s: element %zu is %g, which %s cannot hold", path, held, a.value[held],
                      dtype_name(list[i].dtype));
            npy_free(&a);
            return false;
        }
        hash = mix(hash ^ (uint64_t)list[i].role->slot, a.value, a.count);
        npy_free(&a);
        taken++;
    }
    if (taken && strlen(prefix) >= sizeof work->weights)
        return error_set(err, ERROR_USAGE, "%s: a path of at most %zu characters is expected", prefix, sizeof work->weights - 1);
    if (taken) {
        snprintf(work->weights, sizeof work->weights, "%s", prefix);
        snprintf(work->weights_hash, sizeof work->weights_hash, "%016llx", (unsigned long long)hash);
    }
    return true;
}

bool weights_read(const struct work *work, const struct tensor *t, enum dtype type, float *to, bool *found, struct error *err)
{
    struct npy a;
    *found = false;
    if (!work->weights[0] || !weights_tensor(t))
        return true;
    SCOPED char *path = text_format("%s.%s.npy", work->weights, t->role->name);
    if (!npy_read(path, &a, err))
        return false;
    *found = a.rank == t->rank && !memcmp(a.dim, t->dim, (size_t)a.rank * sizeof *a.dim);
    for (size_t i = 0; *found && i < a.count; i++)
        to[i] = (float)a.value[i];
    if (*found)
        convert_round(type, to, a.count);
    npy_free(&a);
    return true;
}
