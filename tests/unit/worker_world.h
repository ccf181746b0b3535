/* What the tests of a worker inside their own process share: the plan of a scenario on an emulated GH100, and what the worker is told. */
#ifndef BENCH_TESTS_UNIT_WORKER_WORLD_H
#define BENCH_TESTS_UNIT_WORKER_WORLD_H

#include "run/child/serve.h"
#include "run/child/worker.h"
#include "run/message/options.h"
#include "run/message/wire.h"
#include "scenario_text.h"

struct planned {
    char *path;
    struct plan_options options;
    struct plan plan;
};

/* `seed`: NULL: any. */
static inline void planned_begin(struct planned *p, const char *text, const char *seed)
{
    struct error err = {0};
    p->path = text_file(text);
    p->options = (struct plan_options){.scenario_path = p->path, .device = "emu:GH100", .seed = seed};
    if (!plan_make(&p->options, "emu", chip_find("GH100"), &p->plan, &err))
        fail_msg("%s", err.text);
}

static inline void planned_end(struct planned *p)
{
    plan_free(&p->plan);
    unlink(p->path);
    free(p->path);
}

/* The first row of a variant. */
static inline int row_of_variant(const struct planned *p, const char *name)
{
    int row = 0;
    while (row < p->plan.row_count && strcmp(p->plan.rows[row].variant->name, name))
        row++;
    assert_true(row < p->plan.row_count);
    return row;
}

static inline void tell(void *w, json_t *command)
{
    struct error err = {0};
    if (!worker_inside.handle(w, command, &err))
        fail_msg("%s: %s", json_string_value(json_object_get(command, "do")), err.text);
    json_decref(command);
}

static inline void tell_setup(void *w, const struct planned *p)
{
    tell(w, json_pack("{s:s,s:o,s:o,s:s}", "do", "setup", "options", options_write(&p->options), "chip", wire_chip(chip_find("GH100")),
                      "files", p->plan.files));
}

static inline void tell_verify(void *w, int row, bool ahead)
{
    tell(w, json_pack("{s:s,s:i,s:b}", "do", "verify", "row", row, "ahead", (int)ahead));
}

#endif
