/* report/page/answer_accuracy: `accuracy: {of, over}`: the error of a sequence's result and the time of a frame, along an axis. */
#include "report/page/answer.h"
#include "report/view/number.h"
#include "report/view/view.h"
#include <stdlib.h>
#include <string.h>

/* The rows of one sequence that differ in the axis only. */
struct line {
    char *place; /* "blobs, truncate=rms:0.01" */
    struct text points;
};

static char *sequence_place(const struct row *row, const char *axis)
{
    struct text place = {0};
    text_add(&place, row->layer ? row->layer : "");
    for (int i = 0; i < row->axis_count; i++)
        if (strcmp(row->axis[i].name, axis) != 0)
            text_addf(&place, ", %s=%s", row->axis[i].name, row->axis[i].value);
    return text_take(&place);
}

static struct line *line_of(struct line **lines, int *count, const struct row *row, const char *axis)
{
    SCOPED char *place = sequence_place(row, axis);
    for (int i = 0; i < *count; i++)
        if (!strcmp((*lines)[i].place, place))
            return &(*lines)[i];
    struct line *l = APPEND(*lines, *count);
    *l = (struct line){.place = xstrdup(place)};
    return l;
}

/* "threshold 0.001: error 0.0021, 330 us; 0.02: 0.011, 250 us". */
static void add_error(struct text *t, const struct view *v, const char *at, double error)
{
    char n[NUMBER_TEXT];
    text_addf(t, t->len ? "; %s: %s" : "%s: error %s", at, number_3(error, n));
    if (v->ranked)
        text_addf(t, ", %s us", number_3(v->time->median_ns / 1e3, n));
}

void answer_accuracy(const struct ask *ask, struct block *list)
{
    const char *over = ask_word(ask, "over");
    SCOPED struct line *lines = NULL;
    SCOPED_BY(side_free) struct side of = {0};
    int count = 0;
    side_read(&of, ask_word(ask, "of"));
    SCOPED char *question = text_format("What does accuracy cost %s?", without_folder(ask_word(ask, "of")));
    for (struct case_walk w = ask_walk(ask, false); case_next(&w);)
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[i];
            const struct row_metric *error = row_metric(v->row, -1, "sequence.error_largest");
            SCOPED char *at = error && v->row->status == ROW_OK && side_has(&of, v->row) ? answer_coordinate(v->row, over) : NULL;
            if (at)
                add_error(&line_of(&lines, &count, v->row, over)->points, v, at, error->value);
        }
    for (int i = 0; i < count; i++) {
        SCOPED char *sentence = text_format("%s: %s %s (error: the largest of a frame over the dense result's root mean square)",
                                            lines[i].place, over, text_get(&lines[i].points));
        block_item(list, "answer", i ? NULL : question, sentence);
        text_free(&lines[i].points);
        free(lines[i].place);
    }
    if (!count)
        block_item(list, "answer", question, "no answer: no sequence has a verified row of it at a value of the axis");
}
