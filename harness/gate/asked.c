#include "gate/asked.h"
#include "base/file.h"
#include "base/text.h"
#include <string.h>

bool gate_asked_parse(const char *layers, const char *only, struct gate_asked *asked, struct error *err)
{
    *asked = (struct gate_asked){0};
    return glob_list_parse(layers, "--layer", &asked->layers, err) && glob_list_parse(only, "--only", &asked->only, err);
}

void gate_asked_free(struct gate_asked *asked)
{
    glob_list_free(&asked->layers);
    glob_list_free(&asked->only);
}

/* CASE/VARIANT or CASE/VARIANT[CONFIGURATION]; the glob may match the variant with or without its folder. */
static bool id_is_of(const char *glob, const char *id)
{
    SCOPED char *bare = text_format("*/%s", glob), *with = text_format("*/%s[*", glob);
    return text_glob(bare, id) || text_glob(with, id);
}

static bool only_takes(const struct glob_list *only, const char *id)
{
    bool any = !only->count;
    for (int i = 0; i < only->count; i++)
        if (id_is_of(only->words[i].text, id))
            any = only->words[i].hit = true;
    return any;
}

bool gate_asked_takes(const struct gate_asked *asked, const struct gate_entry *e)
{
    bool variant = only_takes(&asked->only, e->id), layer = glob_list_match(&asked->layers, e->layer);
    for (int i = 0; e->row && i < e->row->network_count; i++) /* each marks the words that it matches */
        layer = glob_list_match(&asked->layers, e->row->network[i].name) || layer;
    return variant && layer;
}

/* True if an entry is of what a tree may lack. */
static bool gate_side_has(const struct gate_side *side, enum gate_lack_kind kind, const char *name)
{
    for (int i = 0; i < side->count; i++) {
        const struct gate_entry *e = &side->entries[i];
        if (kind == LACKS_VARIANT ? id_is_of(name, e->id) : text_glob(name, kind == LACKS_LAYER ? e->layer : e->scenario))
            return true;
    }
    return false;
}

/* No plan has looked at --layer if neither side was made by a run of its own. */
static bool check_layers(const struct gate_asked *asked, const struct gate_side *const sides[2], struct error *err)
{
    SCOPED const char **names = xcalloc((size_t)(sides[0]->count + sides[1]->count) + 1, sizeof *names);
    size_t count = 0;
    for (int s = 0; s < 2; s++) {
        if (!sides[s]->kept && !sides[s]->stored)
            return true;
        for (int i = 0; i < sides[s]->count; i++) {
            const char *layer = sides[s]->entries[i].layer;
            gate_asked_takes(asked, &sides[s]->entries[i]);
            if (!ANY_OF(k, count, !strcmp(names[k], layer)))
                names[count++] = layer;
        }
    }
    return glob_list_check(&asked->layers, "--layer", "layer of either side", names, count, err);
}

bool gate_asked_check(const struct gate_asked *asked, const struct gate_side *base, const struct gate_side *head, struct error *err)
{
    const struct gate_side *const sides[] = {head, base};
    SCOPED const char **names = xcalloc((size_t)(base->count + head->count) + 1, sizeof *names);
    size_t count = 0;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sides[s]->lack_count; i++) {
            const struct gate_lack *l = &sides[s]->lacks[i];
            if (gate_side_has(base, l->kind, l->name) || gate_side_has(head, l->kind, l->name))
                continue;
            if (err)
                *err = l->why;
            return false;
        }
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sides[s]->count; i++) {
            const struct gate_entry *e = &sides[s]->entries[i];
            const char *name = e->row && e->row->variant ? file_base(e->row->variant) : NULL;
            bool known = !name;
            only_takes(&asked->only, e->id);
            for (size_t k = 0; !known && k < count; k++)
                known = !strcmp(names[k], name);
            if (!known)
                names[count++] = name;
        }
    return glob_list_check(&asked->only, "--only", "row of either side", names, count, err) && check_layers(asked, sides, err);
}
