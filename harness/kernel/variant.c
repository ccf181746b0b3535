#include "kernel/variant.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

const struct variant *variant_exact(const struct variant_set *set, const char *name)
{
    for (int i = 0; set && i < set->count; i++)
        if (!strcmp(set->items[i]->name, name))
            return set->items[i];
    return NULL;
}

static bool no_such_variant(const struct variant_set *set, const char *name, const struct op *op, const struct node *where,
                            struct error *err)
{
    int count = set ? set->count : 0;
    SCOPED const char **words = xcalloc((size_t)count * 2 + 1, sizeof *words);
    size_t n = 0;
    for (int i = 0; i < count; i++) {
        words[n++] = set->items[i]->name;
        if (!op || set->items[i]->op == op)
            words[n++] = strchr(set->items[i]->name, '/') + 1;
    }
    const char *near = text_nearest(name, words, n);
    for (int i = 0; i < count && near && !op; i++) /* without an op only the whole name means a variant */
        if (!strcmp(strchr(set->items[i]->name, '/') + 1, near))
            near = set->items[i]->name;
    if (where)
        node_error(where, err, "there is no variant '%.100s'", name);
    else
        error_set(err, ERROR_USAGE, "there is no variant '%.100s'", name);
    size_t folder = strcspn(name, "/*");
    bool all = where && !strcmp(name + folder, name[folder] == '/' ? "/*" : ""), brought = false;
    for (int i = 0; i < count && all; i++)
        brought |= !strncmp(set->items[i]->name, name, folder) && set->items[i]->name[folder] == '/';
    if (brought)
        error_hint(err, "%.*s is a folder; to run all of its variants use `variants: []` and --variants NAME=DIR", (int)folder, name);
    else if (near)
        error_hint(err, "did you mean '%s'?", near);
    else
        error_hint(err, "`bench list` lists all variants; --variants NAME=DIR adds a folder");
    return false;
}

const char *variant_own_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

const struct variant *variant_find(const struct variant_set *set, const char *name, const struct op *op, const struct node *where,
                                   struct error *err)
{
    const struct variant *found = variant_exact(set, name);
    if (!found && op && !strchr(name, '/')) {
        SCOPED char *full = text_format("%s/%s", op->name, name);
        found = variant_exact(set, full);
    }
    if (!found)
        no_such_variant(set, name, op, where, err);
    return found;
}

bool variant_is_library(const struct variant *v)
{
    const char *base = strrchr(v->name, '/');
    return !strncmp(base ? base + 1 : v->name, "cudnn", 5);
}

void variant_config_clear(struct variant_config *config)
{
    FREE_ALL(config->names, config->values, config->label);
}

void variant_configs_free(struct variant_config *configs, int count)
{
    for (int i = 0; i < count; i++)
        variant_config_clear(&configs[i]);
    free(configs);
}
