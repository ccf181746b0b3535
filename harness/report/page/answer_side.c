/* report/page/answer_side: what all questions share: their keys, the rows that they name with their coordinates, and what an answer leaves
 * out. */
#include "base/spec.h"
#include "report/page/answer.h"
#include "report/view/number.h"
#include "report/view/stored.h"
#include "report/view/view.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *ask_word(const struct ask *ask, const char *key)
{
    const struct node *n = node_get(ask->answer, key);
    return n && n->kind == NODE_SCALAR ? n->text : "";
}

bool ask_has_no_time(const struct ask *ask)
{
    return ask->count && spec_is(ask->rows[0]->device, SPEC_COUNTS);
}

const char *ask_no_answer(const struct ask *ask, const char *timed)
{
    return ask_has_no_time(ask) ? "no answer: emu measures no time; run on a GPU" : timed;
}

void answer_places(struct text *t, const char *axis, char *const *at, size_t step, int count)
{
    bool named = count <= 4 && isalpha((unsigned char)**at);
    for (int i = 0; i < count; i++, at = (char *const *)((const char *)at + step))
        if (!i)
            text_addf(t, "at %s %s", axis, *at);
        else if (named || i == count - 1)
            text_addf(t, "%s%s", !named ? " to " : i == count - 1 ? " and " : ", ", *at);
}

const char *without_folder(const char *variant)
{
    const char *slash = strrchr(variant, '/');
    return slash ? slash + 1 : variant;
}

void side_read(struct side *s, const char *words)
{
    size_t length = strcspn(words, "[");
    SCOPED char *list = text_format("%.*s", (int)strcspn(words + length, "]"), words + length);
    char *rest = list;
    *s = (struct side){.words = words, .variant = text_format("%.*s", (int)length, words)};
    for (char *pair; (pair = strsep(&rest, "[, "));) {
        char *value = strchr(pair, '=');
        if (value) {
            *value++ = 0;
            *APPEND(s->fixed, s->fixed_count) = (struct row_pair){.name = xstrdup(pair), .value = xstrdup(value)};
        }
    }
}

void side_pairs_free(struct row_pair *pairs, int count)
{
    for (int i = 0; i < count; i++) {
        free(pairs[i].name);
        free(pairs[i].value);
    }
    free(pairs);
}

void side_free(struct side *s)
{
    side_pairs_free(s->fixed, s->fixed_count);
    free(s->variant);
}

bool side_has(const struct side *s, const struct row *row)
{
    const char *name = row->part_count ? row->parts[0].variant : row->variant;
    bool has = name && (!strcmp(name, s->variant) || !strcmp(without_folder(name), s->variant)); /* cudnn stands for each op's */
    for (int i = 0; has && i < s->fixed_count; i++) {
        const char *value = row_pair_value(row->param, row->param_count, s->fixed[i].name);
        SCOPED char *at = value ? NULL : answer_coordinate(row, s->fixed[i].name);
        value = value ? value : at;
        has = value && !strcmp(value, s->fixed[i].value);
    }
    return has;
}

const char *answer_side_name(const struct side *s)
{
    return s->imported ? s->words : without_folder(s->words);
}

void answer_say_imported(struct block *list, const struct side *side)
{
    if (side->imported)
        block_itemf(list, "answer", NULL, "%s is imported (bench import): another process timed it, and bench did not verify it",
                    side->words);
}

void answer_say_none(struct text *t, const struct ask *ask, const struct side *than)
{
    if (than->imported)
        text_addf(t, "no answer: no case has an imported row %s (bench import)", than->variant);
    else
        text_addf(t, "no answer: no case has verified and %s rows of both%s", ask_has_no_time(ask) ? "counted" : "timed",
                  *ask_word(ask, "over") ? " at equal parameters" : "");
}

char *answer_coordinate(const struct row *row, const char *axis)
{
    char number[NUMBER_TEXT];
    if (!strcmp(axis, "mask.density"))
        return row->density_in >= 0 ? text_format("%s %%", number_short(100 * row->density_in, number)) : NULL;
    const char *value = !strcmp(axis, "layer") ? row->layer : !strcmp(axis, "mask.pattern") ? row->mask_pattern : row_axis(row, axis);
    return value ? xstrdup(value) : NULL;
}

bool answer_is_choice(const struct row *row)
{
    return row_pair(row->param, row->param_count, "is");
}

bool answer_equal_parameters(const struct row *a, const struct row *b, const struct side *fixed)
{
    for (int i = 0; i < a->param_count && !answer_is_choice(a) && !answer_is_choice(b); i++) {
        const char *other = row_pair_value(b->param, b->param_count, a->param[i].name);
        if (other && !row_pair(fixed->fixed, fixed->fixed_count, a->param[i].name) && strcmp(other, a->param[i].value) != 0)
            return false;
    }
    return true;
}

bool answer_same_code(const struct view *a, const struct view *b)
{
    return (a->same_as ? a->same_as : a) == (b->same_as ? b->same_as : b);
}

void answer_leave_out(struct without *w, const struct row *row)
{
    w->count++;
    if (!row->layer || text_same(row->layer, w->last))
        return;
    text_addf(&w->layers, "%s%s", w->last ? ", " : "", row->layer);
    w->last = row->layer; /* the rows of a layer follow each other */
}

void answer_without(struct without *w, const struct row *row, const char *axis)
{
    if (strcmp(axis, "mask.density") != 0)
        answer_leave_out(w, row);
}

void answer_say_without(struct block *list, struct without *w, const char *axis)
{
    if (w->last)
        block_itemf(list, "answer", NULL, "left out, because they have no value of %s: %s", axis, text_get(&w->layers));
    text_free(&w->layers);
}

struct case_walk ask_walk(const struct ask *ask, bool judged)
{
    return (struct case_walk){
        .run = ask->run, .rows = ask->rows, .count = ask->count, .judge = judged ? ask->judge : NULL, .by_stored = ask->stored};
}

double answer_ns(const struct case_view *c, const struct view *v)
{
    return c->by_stored && v->stored ? 1e3 * v->stored->us : v->ranked ? v->time->median_ns : NAN;
}

const struct stored_origin *answer_stored(const struct ask *ask, const struct side *sides, int count)
{
    const struct stored_time *any = NULL;
    bool all = ask_has_no_time(ask) && ask->judge && ask->judge->stored;
    int found = 0;
    for (int k = 0; k < count && all; k++) {
        bool has = false;
        for (int i = 0; i < ask->count && all; i++)
            if (ask->rows[i]->status == ROW_OK && side_has(&sides[k], ask->rows[i])) {
                any = stored_find(ask->judge->stored, ask->rows[i]);
                all = any;
                has = true;
            }
        found += has;
    }
    return all && any && found >= (count < 2 ? count : 2) ? &ask->judge->stored->runs[any->run] : NULL;
}

char *answer_question(char *question, const struct stored_origin *of)
{
    if (!of)
        return question;
    char *both = text_format("%s (stored times of the same machine code on %s, %s)", question, of->gpu, of->date);
    free(question);
    return both;
}
