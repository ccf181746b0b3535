/* Two sides of a gate as text, one row a line: "ID STATUS LAUNCH FACT=VALUE STEP:FACT=VALUE ..."; LAUNCH "-" means no launch. Rows of a
 * baseline have no struct row. */
#ifndef BENCH_TESTS_GATE_WORLD_H
#define BENCH_TESTS_GATE_WORLD_H

#include "base/file.h"
#include "base/text.h"
#include "gate/compare.h"
#include "own_folder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATE_WORLD_TODAY "2026-06-15"

static inline void gate_world_fact(struct gate_entry *e, char *word)
{
    char *value = strchr(word, '='), *colon = strchr(word, ':');
    *value++ = '\0';
    if (colon)
        *colon++ = '\0';
    const struct gate_kind *kind = gate_kind_find(colon ? colon : word);
    if (kind)
        gate_entry_add(e, colon ? word : "", kind, atof(value));
    else
        fail_msg("there is no fact %s", colon ? colon : word);
}

static inline struct gate_side gate_world_side(const char *name, const char *text, bool kept)
{
    static const struct row run_row;
    struct gate_side side = {.name = xstrdup(name), .kept = kept};
    struct error err = {0};
    SCOPED char *copy = xstrdup(text);
    char *rest_of_lines, *rest;
    for (char *line = strtok_r(copy, "\n", &rest_of_lines); line; line = strtok_r(NULL, "\n", &rest_of_lines)) {
        struct gate_entry *e = gate_side_add(&side, strtok_r(line, " ", &rest));
        const char *status = strtok_r(NULL, " ", &rest), *launch = strtok_r(NULL, " ", &rest);
        SCOPED char *scenario = xstrndup(e->id, strcspn(e->id, "/"));
        const char *layer = e->id + strlen(scenario) + 1;
        e->scenario = xstrdup(scenario);
        e->layer = xstrndup(layer, strcspn(layer, "/"));
        e->status = row_status_parse(status);
        e->row = kept ? NULL : &run_row;
        snprintf(e->launch, sizeof e->launch, "%s", strcmp(launch, "-") ? launch : "");
        for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;)
            gate_world_fact(e, word);
    }
    assert_true(gate_side_sort(&side, &err));
    return side;
}

/* The rules of that YAML; NULL: the default ones. The file is "gate.yaml" of the test's folder. */
static inline bool gate_world_rules(const char *yaml, struct gate_rules *rules, struct error *err)
{
    if (!yaml) {
        gate_rules_default(rules);
        return true;
    }
    assert_true(file_write("gate.yaml", yaml, strlen(yaml), err));
    return gate_rules_read("gate.yaml", GATE_WORLD_TODAY, rules, err);
}

/* One line a pair: "fail SLOWER counts ID (waived) +FACT 1>2 -FACT! 3>4 | NOTE" (+ worse, - better, = neither, ! waived). The counts
 * follow.
 */
static inline char *gate_world_dump(const struct gate_comparison *c)
{
    struct text t = {0};
    for (int i = 0; i < c->count; i++) {
        const struct gate_pair *p = &c->pairs[i];
        text_addf(&t, "%s %s %s %s%s", gate_pair_passes(c, p) ? "pass" : "fail", gate_verdict_names[p->verdict], gate_by_names[p->by],
                  p->head ? p->head->id : p->base->id, p->waived ? " (waived)" : "");
        for (int k = 0; k < p->change_count; k++) {
            const struct gate_change *x = &p->changes[k];
            text_addf(&t, " %c%s%s%s%s %g>%g", "-=+"[x->judged + 1], x -> step, *x -> step ? ":" : "", x->kind->what, x->waived ? "!" : "",
                      x->base, x->head);
        }
        text_addf(&t, "%s%s\n", p->note ? " | " : "", p->note ? p->note : "");
    }
    text_addf(&t, "verified %d unrun %d left_out %d promotable %d expired %d timed %d", c->verified, c->unrun, c->left_out, c->promotable,
              c->expired, c->timed);
    return text_take(&t);
}

#endif
