#include "report/page/run_profile.h"
#include "report/view/number.h"
#include "report/limits.h"
#include <jansson.h>
#include <stddef.h>

/* The phase with the most seconds that is not `taken`, which it then is; PHASE_COUNT: none has any. */
static enum phase heaviest(const double spent_s[PHASE_COUNT], bool taken[PHASE_COUNT])
{
    enum phase best = PHASE_COUNT;
    for (int i = 0; i < PHASE_COUNT; i++)
        if (!taken[i] && spent_s[i] > 0 && (best == PHASE_COUNT || spent_s[i] > spent_s[best]))
            best = (enum phase)i;
    if (best != PHASE_COUNT)
        taken[best] = true;
    return best;
}

/* "2.09 s", "1 min 12 s". */
static void add_seconds(struct text *t, double seconds)
{
    char number[NUMBER_TEXT];
    if (seconds < 59.5)
        text_addf(t, "%s s", number_short(seconds, number));
    else
        text_add(t, number_duration(seconds, number));
}

void spent_line(struct text *t, const double spent_s[PHASE_COUNT])
{
    bool taken[PHASE_COUNT] = {0};
    char share[NUMBER_TEXT];
    double all = phase_sum(spent_s), rest = all;
    add_seconds(t, all);
    for (enum phase p; (p = heaviest(spent_s, taken)) != PHASE_COUNT && spent_s[p] >= 0.01 * all; rest -= spent_s[p]) {
        text_addf(t, "%s%s ", rest == all ? ": " : ", ", phase_name(p));
        add_seconds(t, spent_s[p]);
        text_addf(t, " (%s %%)", number_percent(spent_s[p] / all, share));
    }
    if (rest > 0.0005 * all) {
        text_add(t, ", the rest ");
        add_seconds(t, rest);
    }
}

/* The column of a phase, for its explanation. */
static const char *about(enum phase phase)
{
    for (const struct column *c = column_first(COLUMN_RUN); c; c = column_next(c))
        if (c->offset == offsetof(struct run, spent_s) + (size_t)phase * sizeof(double))
            return c->what;
    return "";
}

/* The parts of a phase that are worth a line, the longest first; each is taken out of the list. */
static void add_parts(struct table *t, json_t *parts, enum phase phase, double wall_s)
{
    char number[NUMBER_TEXT];
    for (;;) {
        size_t i, longest = json_array_size(parts);
        json_t *one;
        double most = SHOWN_PART_SHARE * wall_s;
        json_array_foreach(parts, i, one)
        {
            double seconds = json_number_value(json_array_get(one, 2));
            if (phase_find(json_string_value(json_array_get(one, 0))) == phase && seconds > most)
                most = seconds, longest = i;
        }
        const char *name = json_string_value(json_array_get(json_array_get(parts, longest), 1));
        if (!name)
            return;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_DIM, "- %s", name);
        table_number(t, PAINT_DIM, most, number_3(most, number));
        table_number(t, PAINT_DIM, 100 * most / wall_s, number_percent(most / wall_s, number));
        json_array_remove(parts, longest);
    }
}

void run_profile_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    if (!(run->wall_s > 0))
        return;
    bool taken[PHASE_COUNT] = {0};
    struct table *t = table_new();
    char number[NUMBER_TEXT];
    table_columns(t, {"phase", "", ALIGN_LEFT}, {"seconds", "s", ALIGN_POINT}, {"share", "%", ALIGN_RIGHT}, {"what", "", ALIGN_LEFT});
    json_auto_t *environment = json_loads(run->environment ? run->environment : "{}", 0, NULL);
    for (enum phase p; (p = heaviest(run->spent_s, taken)) != PHASE_COUNT;) {
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", phase_name(p));
        table_number(t, PAINT_NONE, run->spent_s[p], number_3(run->spent_s[p], number));
        table_number(t, PAINT_NONE, 100 * run->spent_s[p] / run->wall_s, number_percent(run->spent_s[p] / run->wall_s, number));
        table_cell(t, PAINT_DIM, "%s", about(p));
        add_parts(t, json_object_get(environment, "parts"), p, run->wall_s);
    }
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_BOLD, "all");
    table_number(t, PAINT_BOLD, run->wall_s, number_3(run->wall_s, number));
    document_heading(d, 2, "Where the time went", NULL);
    document_table(d, t, DETAIL_ALWAYS);
}
