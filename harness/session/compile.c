/* A few workers that only fill the compiler's cache; what goes wrong here is told when the row's turn comes. */
#include "base/pool.h"
#include "base/text.h"
#include "session/parent.h"
#include <stdlib.h>
#include <string.h>

#define COMPILERS_MAX 8

static bool same_build(const struct program *a, const struct program *b)
{
    if (a->unit_count != b->unit_count)
        return false;
    for (int i = 0; i < a->unit_count; i++)
        if (!unit_same(&a->units[i], &b->units[i]))
            return false;
    return true;
}

void session_precompile(struct session *s)
{
    struct child compilers[COMPILERS_MAX] = {0};
    json_t *work[COMPILERS_MAX] = {0};
    int count = pool_threads() < COMPILERS_MAX ? pool_threads() : COMPILERS_MAX, next = 0, wanted = 0, got = 0;
    struct error ignored = {0};
    for (int i = 0; i < s->plan.row_count; i++) {
        bool again = s->kept[i] || s->rows[i]->status != ROW_PLANNED ||
                     (s->plan.rows[i].kind == PLAN_CHAIN && s->plan.rows[i].chain->pick != CHAIN_KERNEL);
        for (int k = 0; k < i && !again && s->plan.rows[i].kind != PLAN_CHAIN; k++)
            again = s->rows[k]->status == ROW_PLANNED && same_build(&s->plan.rows[k].program, &s->plan.rows[i].program);
        if (again)
            continue;
        if (!work[next])
            work[next] = json_array();
        json_array_append_new(work[next], json_integer(i));
        next = (next + 1) % count;
        wanted++;
    }
    for (int c = 0; c < count; c++) {
        compilers[c].fd = compilers[c].errors = -1;
        if (work[c] && child_start(&compilers[c], &ignored)) {
            child_send(&compilers[c], session_setup(s, true));
            child_send(&compilers[c], json_pack("{s:s,s:O}", "do", "compile", "rows", work[c]));
        }
    }
    for (int c = 0; c < count; c++) {
        int dones = 0;
        while (compilers[c].pid > 0 && dones < 2) {
            json_t *event = NULL;
            if (child_next(&compilers[c], clock_s() + 180, s->options->interrupted, &event) != CHILD_EVENT)
                break;
            const char *name = json_string_value(json_object_get(event, "event"));
            dones += name && !strcmp(name, "done");
            if (name && !strcmp(name, "failed"))
                dones = 2;
            if (name && !strcmp(name, "compiled")) {
                char *what = text_format("compile %d of %d", ++got, wanted);
                session_progress(s, what);
                free(what);
            }
            json_decref(event);
        }
        child_stop(&compilers[c], NULL, 0);
        json_decref(work[c]);
    }
}
