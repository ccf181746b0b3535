/* What is made before its turn comes, in the worker that has the device, and never while something is timed. The library's plans of the
 * case that comes next, made while this one is counted or the first kernels are compiled: half a second and more where their kernels are
 * compiled then, on the CPU alone. And while the first kernels are compiled data with their references, on the device, which waits
 * (measure/verify/prefetch_data.c). */
#include "base/spec.h"
#include "run/parent/parent.h"

#define AHEAD_LIMIT_S 180.0
#define AHEAD_MOST 12 /* rows: each of them has some 20 plans, with their kernels in the GPU's memory */

static bool asks_library(const struct session *s, int row)
{
    const struct program *p = &s->plan.rows[row].program;
    bool library = false;
    for (int i = 0; i < p->step_count; i++)
        library |= p->steps[i].kind == STEP_CUDNN;
    return library && !s->kept[row] && s->rows[row]->status == ROW_PLANNED;
}

void session_ahead(struct session *s, int first, bool further)
{
    json_t *rows = json_array();
    for (int i = first; i < s->plan.row_count && json_array_size(rows) < AHEAD_MOST; i++) {
        bool next = s->plan.rows[i].case_index == s->plan.rows[first].case_index;
        if ((next || further) && asks_library(s, i))
            json_array_append_new(rows, json_integer(i));
    }
    if (json_array_size(rows) && s->worker.launched && !s->worker.ahead)
        s->worker.ahead = child_send(&s->worker, command_new(COMMAND_AHEAD, "{s:O}", "rows", rows));
    json_decref(rows);
}

json_t *session_next(const struct session *s, int first)
{
    json_t *rows = json_array();
    for (int i = first, in_case = -1; i < s->plan.row_count; i++) {
        bool due = !s->kept[i] && s->rows[i]->status == ROW_PLANNED;
        if (in_case >= 0 && s->plan.rows[i].case_index != in_case)
            break;
        if (due)
            in_case = s->plan.rows[i].case_index;
        if (due)
            json_array_append_new(rows, json_integer(i));
    }
    if (json_array_size(rows))
        return rows;
    json_decref(rows);
    return NULL;
}

/* The first row of each case that is to run. */
static json_t *first_rows(const struct session *s)
{
    json_t *rows = json_array();
    for (int i = 0, in_case = -1; i < s->plan.row_count; i++)
        if (!s->kept[i] && s->rows[i]->status == ROW_PLANNED && s->plan.rows[i].case_index != in_case) {
            in_case = s->plan.rows[i].case_index;
            json_array_append_new(rows, json_integer(i));
        }
    return rows;
}

bool session_times(const struct session *s)
{
    return spec_is_timed(s->device.spec) && !s->options->no_time && !s->options->gate && !s->asked.tune;
}

void session_early(struct session *s)
{
    if (s->early || !session_times(s) || !s->worker.launched || (s->ceilings.ahead && child_any(&s->ceilings, 1, clock_s(), NULL) < 0))
        return;
    s->early = true;
    s->worker.ahead += child_send(&s->worker, command_new(COMMAND_AHEAD, "{s:o}", "data", first_rows(s)));
    session_count_launch(s); /* nobody times anything yet */
}

bool session_ahead_settle(struct session *s, struct error *err)
{
    struct error why = {0};
    if (!s->worker.ahead)
        return true;
    enum phase former = phase_turn(&s->clock, s->early ? PHASE_DATA : PHASE_PLANS);
    enum outcome outcome = OUTCOME_DONE;
    s->worker.ahead += child_send(&s->worker, command_new(COMMAND_ENOUGH, "{}"));
    for (; s->worker.ahead > 0 && outcome == OUTCOME_DONE; s->worker.ahead--)
        outcome = session_answer(s, &s->worker, AHEAD_LIMIT_S, session_event, &why);
    s->worker.ahead = 0;
    phase_turn(&s->clock, former);
    if (outcome == OUTCOME_DONE)
        return true;
    child_stop(&s->worker, NULL, 0);
    s->interrupted = s->interrupted || outcome == OUTCOME_INTERRUPTED;
    return !s->interrupted && session_start(s, &s->worker, err); /* whose row it is shows when the row's turn comes */
}

/* The ceilings are measured while compilers work, which leave the GPU alone, as the worker does that comes up; counters are opened behind
 * them, while compilers still work where there is time for it (session_early). */
bool session_prepare(struct session *s, struct error *err)
{
    struct error told_later = {0};
    bool due = false;
    for (int i = 0; i < s->plan.row_count; i++)
        due = due || (!s->kept[i] && s->rows[i]->status == ROW_PLANNED);
    if (due && !s->options->inside) {
        session_roofs_launch(s);
        if (session_launch(s, &s->worker, &told_later))
            session_ahead(s, 0, false); /* compilers want the cores */
        if (s->counts)
            session_launch(s, &s->counter, &told_later); /* it opens its counters later */
        phase_turn(&s->clock, PHASE_COMPILING);
        session_precompile(s);
        phase_turn(&s->clock, PHASE_START_UP);
        if (!session_roofs_settle(s, err))
            return false;
        session_count_launch(s);
    }
    phase_turn(&s->clock, PHASE_WAITING);
    return true;
}
