/* Compares two builds of rows. A kernel's time depends on the addresses of its code and buffers, which are not properties of a build. So
 * the comparison is repeated several times, each time with a pool at other addresses and with the modules loaded in reverse order. In a
 * repetition both builds use the same buffers and run interleaved with the library. After a round bench tests whether each pair is
 * decided (statistics/decision, where a placement is a repetition); a decided pair takes no part in the next repetition. */
#include "base/clock.h"
#include "base/text.h"
#include "op/reference/generate.h"
#include "base/stats/decision.h"
#include "measure/time/group.h"
#include <math.h>
#include <string.h>

#define SITTINGS_LEAST 3 /* before a decision; also the number of repetitions of each length */
#define LOOKS_EACH 40    /* up to this many rounds it tests after every round, later less and less often */
#define WARM_UP_FIRST 8
#define WARM_UP_AGAIN 2
#define STREAM 0x9a12 /* separates these random numbers from the others that a run draws from its seed */
#define PAD_SMALL 512
#define PAD_LARGE (2 << 20)

/* A few rounds find large differences; small ones need more rounds at more addresses. */
static const int lengths[] = {7, 30, 120, 350};
#define SITTINGS ((int)(sizeof lengths / sizeof *lengths) * SITTINGS_LEAST)
#define ROUNDS_MOST ((7 + 30 + 120 + 350) * SITTINGS_LEAST)

struct pair {
    int base, head; /* rows of the group */
    double margin;
    struct decision decision;
};
struct pair_session {
    struct timing_group *b;
    struct pair *pairs;
    int pair_count, library; /* library: row of the group; -1: none */
    double alpha, budget_s;  /* error rate of one pair; time for all its rounds */
    double **ns;             /* by row of the group, then round */
    int *taken;              /* by row: its rounds, the first ones */
    int *sitting;            /* by round */
    int rounds;              /* of the repetitions before */
    int *here, here_count;   /* rows of the group that take part in this repetition */
};

static bool pair_open(const struct pair_session *c, const struct pair *p)
{
    return p->decision.verdict == VERDICT_UNDECIDED && timing_is_sound(c->b, p->base) && timing_is_sound(c->b, p->head);
}

/* Selects the rows of a repetition: the library and all undecided pairs, in reverse order every other time. */
static void seat_rows(struct pair_session *c, int sitting)
{
    c->here_count = 0;
    if (c->library >= 0)
        c->here[c->here_count++] = c->library;
    for (int i = 0; i < c->pair_count; i++) {
        const struct pair *p = &c->pairs[sitting & 1 ? c->pair_count - 1 - i : i];
        if (!pair_open(c, p))
            continue;
        c->here[c->here_count++] = sitting & 1 ? p->head : p->base;
        c->here[c->here_count++] = sitting & 1 ? p->base : p->head;
    }
}

static bool any_open(const struct pair_session *c)
{
    return ANY_OF(i, c->pair_count, pair_open(c, &c->pairs[i]));
}

/* Decides the pairs that can be decided after this many rounds; true if none is left open. */
static bool decide(struct pair_session *c, int rounds)
{
    for (int i = 0; i < c->pair_count; i++) {
        struct pair *p = &c->pairs[i];
        if (pair_open(c, p) && c->taken[p->base] == rounds && c->taken[p->head] == rounds)
            p->decision = decision_make(c->ns[p->base], c->ns[p->head], c->sitting, rounds, p->margin, c->alpha);
    }
    return !any_open(c);
}

static void take(struct pair_session *c, const struct sample_candidate *candidates, int rounds, int sitting)
{
    for (int k = 0; k < c->here_count; k++) {
        int row = c->here[k], count = 0;
        while (count < rounds && isfinite(candidates[k].samples_ns[count]))
            count++;
        memcpy(c->ns[row] + c->rounds, candidates[k].samples_ns, (size_t)count * sizeof **c->ns);
        if (c->taken[row] >= c->rounds) /* a row that missed a round is not decided any more */
            c->taken[row] = c->rounds + count;
    }
    for (int r = 0; r < rounds; r++)
        c->sitting[c->rounds + r] = sitting;
}

struct look {
    struct pair_session *c;
    int sitting;
};
static bool enough(void *context, const struct sample_candidate *candidates, int rounds)
{
    const struct look *look = context;
    struct pair_session *c = look->c;
    int all = c->rounds + rounds;
    bool last = rounds == lengths[look->sitting / SITTINGS_LEAST];
    if (look->sitting + 1 < SITTINGS_LEAST || (all > LOOKS_EACH && all % (all / (LOOKS_EACH / 2)) != 0 && !last))
        return false;
    take(c, candidates, rounds, look->sitting);
    return decide(c, all);
}

static bool run_rounds(struct pair_session *c, struct timing_group *part, int sitting, double left_s, struct error *err)
{
    struct look look = {c, sitting};
    const struct sample_watch watch = {part, timing_announce, timing_recheck, NULL};
    int length = lengths[sitting / SITTINGS_LEAST];
    struct sample_plan plan = {.rounds_min = length,
                               .rounds_max = length,
                               .budget_s = left_s,
                               .warmup_rounds = sitting ? WARM_UP_AGAIN : WARM_UP_FIRST,
                               .spacing_ns = SAMPLE_SPACING_NS,
                               .sets = buffer_pool_sets(part->pool),
                               .replicas = buffer_pool_replicas(part->pool),
                               .seed = job_seed(part->timing->job) + (uint64_t)sitting,
                               .enough = enough,
                               .context = &look};
    SCOPED_BY(sample_result_free) struct sample_result result = {0};
    SCOPED struct sample_candidate *candidates = xcalloc((size_t)c->here_count, sizeof *candidates);
    for (int k = 0; k < c->here_count; k++)
        candidates[k].rig = part->rigs[k];
    bool ok = sample_run(part->timing->job->dev, candidates, c->here_count, &plan, &watch, &result, err);
    board_look(&part->timing->board);
    if (ok) {
        take(c, candidates, result.rounds, sitting);
        c->rounds += result.rounds;
    }
    for (int k = 0; k < c->here_count; k++) {
        if (ok)
            estimates_clock(part->rows[k], &candidates[k], result.rounds);
        sample_candidate_free(&candidates[k], rig_program(candidates[k].rig)->step_count);
    }
    return ok;
}

/* Times the rows of this repetition as a view of the group, which borrows everything. */
static bool time_here(struct pair_session *c, int sitting, double left_s, struct error *err)
{
    struct timing_group *b = c->b, part = *b;
    size_t count = (size_t)c->here_count;
    part.count = c->here_count;
    part.index = xcalloc(count, sizeof *part.index);
    part.rows = xcalloc(count, sizeof *part.rows);
    part.rigs = xcalloc(count, sizeof *part.rigs);
    for (int k = 0; k < c->here_count; k++) {
        part.index[k] = b->index[c->here[k]];
        part.rows[k] = b->rows[c->here[k]];
        part.rigs[k] = b->rigs[c->here[k]];
    }
    bool ok = run_rounds(c, &part, sitting, left_s, err);
    b->blame = part.blame;
    for (int k = 0; ok && k < c->here_count; k++)
        if (timing_is_sound(b, c->here[k]))
            ok = timing_check_again(b, c->here[k], err);
    FREE_ALL(part.index, part.rows, part.rigs);
    return ok;
}

/* Padding allocation: shifts the addresses of later buffers. */
static bool make_pads(const struct job *job, int sitting, struct place pads[2], struct error *err)
{
    uint64_t drawn = random_bits(job_seed(job), STREAM, (uint64_t)sitting);
    return place_make(job->dev, "pad", PAD_SMALL * (1 + drawn % 1024), 0, 0, &pads[0], err) &&
           place_make(job->dev, "pad", PAD_LARGE * (1 + (drawn >> 32) % 31), 0, 0, &pads[1], err);
}

static bool sit_down(struct pair_session *c, int sitting, double left_s, struct error *err)
{
    struct timing_group *b = c->b;
    const struct job *job = b->timing->job;
    struct buffer_pool *own = b->pool; /* the library's pool, which stays open because its plans are chosen once */
    struct place pads[2];
    seat_rows(c, sitting);
    b->blame = -1; /* for errors before the first row is loaded */
    if (!make_pads(job, sitting, pads, err))
        return false;
    b->pool = buffer_pool_open(job->dev, data_card(b->timing->data), data_sets(b->timing->data, b->index[0]), POOL_REPLICAS);
    if (!ALL_OF(k, c->here_count, b->rigs[c->here[k]] || timing_enter(b, c->here[k], err)))
        return false;
    for (int k = c->here_count - 1; k >= 0; k--) /* drops rows that are wrong at once */
        if (!timing_is_sound(b, c->here[k]))
            memmove(&c->here[k], &c->here[k + 1], (size_t)(--c->here_count - k) * sizeof *c->here);
    b->blame = -1;
    if (any_open(c) && !time_here(c, sitting, left_s, err))
        return false;
    for (int i = 0; i < b->count; i++)
        if (i != c->library) {
            rig_close(b->rigs[i]);
            b->rigs[i] = NULL;
        }
    buffer_pool_close(b->pool, false);
    b->pool = own;
    for (int i = 0; i < 2; i++)
        job->dev->ops->release(job->dev, pads[i].base);
    return true;
}

/* The budget ends rounds only from repetition SITTINGS_LEAST on: every pair gets that many. */
static bool sit_until_decided(struct pair_session *c, struct error *err)
{
    double start = clock_s();
    bool ok = true;
    for (int sitting = 0; ok && sitting < SITTINGS && any_open(c); sitting++) {
        double left_s = c->budget_s - (clock_s() - start);
        if (sitting >= SITTINGS_LEAST && left_s <= 0)
            break;
        ok = sit_down(c, sitting, sitting < SITTINGS_LEAST ? c->budget_s : left_s, err);
    }
    return ok;
}

static bool enter_library(struct pair_session *c, struct error *err)
{
    const struct job *job = c->b->timing->job;
    c->b->pool = buffer_pool_open(job->dev, data_card(c->b->timing->data), data_sets(c->b->timing->data, c->b->index[0]), POOL_REPLICAS);
    return c->library < 0 || timing_enter(c->b, c->library, err);
}

static void report_rows(struct pair_session *c)
{
    const struct timing_group *b = c->b;
    for (int i = 0; i < b->count; i++) {
        bool paired = c->library >= 0 && c->taken[c->library] >= c->taken[i];
        if (!c->taken[i] || !timing_is_sound(b, i))
            continue;
        const struct estimate_rounds rounds = {c->ns[i], paired ? c->ns[c->library] : NULL, c->sitting, c->taken[i], b->count - 1, 0};
        struct row_time *t = estimates_add(b->rows[i], -1, MODE_COLD, &rounds);
        t->places = xcalloc((size_t)t->rounds, sizeof *t->places);
        for (int r = 0; r < t->rounds; r++)
            t->places[r] = c->sitting[r];
    }
}

static int row_in(const struct timing_group *b, int plan_row)
{
    return FIRST_OF(i, b->count, b->index[i] == plan_row);
}

static void contest_open(struct pair_session *c, struct timing_group *b, const struct pair_request *request)
{
    size_t count = (size_t)b->count + 1;
    *c = (struct pair_session){.b = b,
                               .library = row_in(b, request->library),
                               .alpha = request->alpha,
                               .budget_s = request->budget_s,
                               .ns = xcalloc(count, sizeof *c->ns),
                               .taken = xcalloc(count, sizeof *c->taken),
                               .here = xcalloc(count, sizeof *c->here),
                               .sitting = xcalloc(ROUNDS_MOST, sizeof *c->sitting)};
    for (int k = 0; k < b->count; k++)
        c->ns[k] = xcalloc(ROUNDS_MOST, sizeof **c->ns);
    for (int i = 0; i < request->count; i++) {
        const struct pair_of_rows *one = &request->pairs[i];
        struct pair p = {.base = row_in(b, one->base), .head = row_in(b, one->head), .margin = one->margin};
        if (p.base >= 0 && p.head >= 0)
            *APPEND(c->pairs, c->pair_count) = p;
    }
}

static void contest_close(struct pair_session *c)
{
    pointers_free(c->ns, c->b->count);
    FREE_ALL(c->taken, c->here, c->sitting, c->pairs);
}

bool timing_pairs(struct timing_group *b, const struct pair_request *request, struct error *err)
{
    struct pair_session c;
    contest_open(&c, b, request);
    bool ok = enter_library(&c, err) && sit_until_decided(&c, err);
    if (ok) {
        report_rows(&c);
        board_report(&b->timing->board, b->rows, b->count);
    }
    contest_close(&c);
    return ok;
}
