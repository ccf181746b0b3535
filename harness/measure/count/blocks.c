#include "measure/count/blocks_private.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Work in units of a warp's instruction, some 25 ns: not in seconds, so that a launch is counted from the same blocks in every run. */
#define MACS 256.0         /* of a tensor instruction that cost as much */
#define MACS_UNSEEN 1024.0 /* the same where they are not computed: what brings them their operands */
#define PROBE_S 3.0        /* at most, for its first block */
#define WHOLE_S 30.0       /* and for a launch that runs whole */
#define ROWS_MOST 8        /* ways to see one axis of the grid as rows of tiles */
#define FEW 12             /* if the budget allows fewer blocks than this, they are spread evenly */
#define FEW_ERROR 0.005    /* whatever their variance is: rare blocks may be among those that did not run */
#define LEAST 3
#define STATE_MOST ((size_t)8 << 20) /* bytes of a scratch buffer that may hold queues, flags or counters */
#define SAMPLE_MOST 48               /* blocks of a class whose blocks differ */
#define LINES_MOST 4                 /* of a grid that is seen as stretches of equal blocks */

#define AXES 5 /* a grid's, of which the first may be tiles of a row, rows and images */

/* A grid as a box; its first axis varies fastest. Blocks below `low` on an axis, or from `high` on, are at its border. */
struct box {
    uint64_t size[AXES], low[AXES], high[AXES];
    int count;
};
static bool is_known(const struct counting *c, uint64_t number)
{
    return ANY_OF(i, c->sample.count, c->sample.groups[i].number == number);
}

void blocks_want(struct counting *c, uint64_t number)
{
    if (!is_known(c, number))
        *APPEND(c->sample.groups, c->sample.count) = (struct device_group){.number = number};
}

bool blocks_run(struct counting *c, struct error *err)
{
    return c->sample.ran == c->sample.count || ((c->sample.ran || rig_swap_state(c->rig, c->step, STATE_MOST, true, &c->state, err)) &&
                                                rig_run_sample(c->rig, c->step, &c->sample, err));
}

const struct device_group *blocks_at(const struct counting *c, uint64_t number)
{
    return FIRST_IN(c->sample.groups, i, c->sample.ran, c->sample.groups[i].number == number);
}

double blocks_cost_of(const struct device_group *g, bool multiplies)
{
    return (double)g->instructions + (double)g->macs / (multiplies ? MACS : MACS_UNSEEN);
}

double blocks_cost(const struct counting *c)
{
    double cost = 0;
    for (int i = 0; i < c->sample.ran; i++)
        cost += blocks_cost_of(&c->sample.groups[i], c->multiplies);
    return cost;
}

/* ---- classes ---- */
/* 0: at the first border along an axis, 1: inside, 2: at the last. */
static int level(const struct box *box, int axis, uint64_t at)
{
    return at < box->low[axis] ? 0 : at >= box->high[axis] ? 2 : 1;
}

static int class_of(const struct box *box, uint64_t number)
{
    int class = 0;
    for (int i = 0, factor = 1; i < box->count; i++, factor *= 3) {
        class += factor * level(box, i, number % box->size[i]);
        number /= box->size[i];
    }
    return class;
}

/* Where a class lies along an axis: from *first on, so many. */
static uint64_t stretch(const struct box *box, int axis, int level, uint64_t *first)
{
    const uint64_t ends[] = {0, box->low[axis], box->high[axis], box->size[axis]};
    *first = ends[level];
    return ends[level + 1] - ends[level];
}

static uint64_t class_size(const struct box *box, int class)
{
    uint64_t size = 1, first;
    for (int i = 0; i < box->count; i++, class /= 3)
        size *= stretch(box, i, class % 3, &first);
    return size;
}

/* A member of a class that has some; each `turn` another one, as good as drawn. */
static uint64_t member(const struct box *box, int class, unsigned turn)
{
    uint64_t number = 0, stride = 1, first;
    for (int i = 0; i < box->count; stride *= box->size[i], i++, class /= 3) {
        uint64_t n = stretch(box, i, class % 3, &first), x = (turn + 1) * 0x9e3779b97f4a7c15ull + (uint64_t)(i + 1) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 31) * 0x94d049bb133111ebull;
        number += stride * (first + (x >> 11) % n);
    }
    return number;
}

/* Wants up to `count` members of a class. */
static void want_members(struct counting *c, const struct box *box, int class, int count)
{
    uint64_t size = class_size(box, class);
    int have = 0;
    for (int i = 0; i < c->sample.count; i++)
        have += class_of(box, c->sample.groups[i].number) == class;
    for (unsigned turn = 0; have < count && (uint64_t)have < size && turn < 8u * (unsigned)count + 64; turn++) {
        int before = c->sample.count;
        blocks_want(c, member(box, class, turn));
        have += c->sample.count > before;
    }
}

static double value_of(const struct device_group *g, int which)
{
    return (double)(which ? g->sectors : g->instructions);
}

/* Of the groups for which `is` says so. */
struct class blocks_judge(const struct counting *c, uint64_t groups, bool (*is)(const void *context, uint64_t number), const void *context)
{
    struct class k = {.groups = groups, .alike = true};
    const struct device_group *first = NULL;
    double sum[2] = {0}, squares[2] = {0};
    for (int i = 0; i < c->sample.ran; i++) {
        const struct device_group *g = &c->sample.groups[i];
        if (!is(context, g->number))
            continue;
        first = first ? first : g;
        k.alike = k.alike && g->hash == first->hash;
        k.ran++;
        for (int v = 0; v < 2; v++) {
            double away = value_of(g, v) - value_of(first, v);
            sum[v] += away;
            squares[v] += away * away;
        }
    }
    for (int v = 0; v < 2 && first; v++) {
        k.mean[v] = value_of(first, v) + sum[v] / k.ran;
        k.variance[v] = k.ran > 1 ? fmax(0, squares[v] - sum[v] * sum[v] / k.ran) / (k.ran - 1) : 0;
    }
    return k;
}

static bool is_any(const void *context, uint64_t number)
{
    return true;
}

struct of_class {
    const struct box *box;
    int class;
};
static bool is_of_class(const void *context, uint64_t number)
{
    const struct of_class *of = context;
    return class_of(of->box, number) == of->class;
}

static struct class judge_class(const struct counting *c, const struct box *box, int class)
{
    return blocks_judge(c, class_size(box, class), is_of_class, &(struct of_class){box, class});
}

/* Adds the estimate of a class to that of the launch. */
void blocks_add(const struct class *k, struct blocks *b)
{
    double n = (double)k->groups;
    for (int v = 0; v < 2 && k->ran; v++) {
        double variance = k->alike || k->ran < 2 ? 0 : n * n * (1 - k->ran / n) * k->variance[v] / k->ran;
        b->sum[v] += n * k->mean[v];
        b->variance[v] += variance;
        b->unsure[v] += variance > 0 ? variance * variance / (k->ran - 1) : 0;
    }
}

static int class_count(const struct box *box)
{
    int n = 1;
    for (int i = 0; i < box->count; i++)
        n *= 3;
    return n;
}

/* ---- how a grid lies in the layer ---- */
static bool is_tiles(const struct work *w, uint64_t n)
{
    const int64_t sizes[] = {w->q, w->p, w->w, w->h};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int64_t tile = 1; tile <= 512 && sizes[i] > 1; tile *= 2)
            if ((uint64_t)((sizes[i] + tile - 1) / tile) == n)
                return true;
    return false;
}

static void add_axis(struct box *box, uint64_t size)
{
    int i = box->count;
    if (size < 2)
        return;
    box->size[i] = size;
    box->low[i] = 1;
    box->high[i] = size - 1;
    box->count++;
}

/* How many images the first axis of the grid runs over. */
static uint64_t images_of(const struct counting *c)
{
    uint64_t n = (uint64_t)(c->work->n > 1 ? c->work->n : 1);
    return c->grid[1] == n || c->grid[2] == n ? 1 : n;
}

static struct box box_of(const struct counting *c, uint64_t row)
{
    struct box box = {0};
    uint64_t rest = row ? c->grid[0] / row : 1, images = images_of(c);
    add_axis(&box, row ? row : c->grid[0]);
    if (rest % images == 0) {
        add_axis(&box, rest / images);
        add_axis(&box, images);
    } else {
        add_axis(&box, rest);
    }
    add_axis(&box, c->grid[1]);
    add_axis(&box, c->grid[2]);
    if (!box.count)
        box = (struct box){{1}, {1}, {1}, 1};
    return box;
}

/* How many blocks from one end of an axis on count otherwise than those inside, if more than one do. In the middle of the other axes. */
static bool find_border(struct counting *c, const struct box *box, int axis, bool far, uint64_t *wide, struct error *err)
{
    uint64_t base = 0, stride = 1, own = 1, size = box->size[axis], low = 1, high = 1;
    for (int i = 0; i < box->count; stride *= box->size[i], i++)
        if (i == axis)
            own = stride;
        else
            base += stride * (box->size[i] / 2);
    uint64_t inside = base + own * (size / 2);
    *wide = 1;
    for (; high < size / 2; high *= 2) { /* the first that is like one inside */
        uint64_t at = base + own * (far ? size - 1 - high : high);
        blocks_want(c, inside);
        blocks_want(c, at);
        if (!blocks_run(c, err))
            return false;
        if (blocks_at(c, at)->hash == blocks_at(c, inside)->hash)
            break;
        low = high + 1;
    }
    if (high >= size / 2) /* none, so this is not a border */
        return true;
    while (low < high) {
        uint64_t middle = (low + high) / 2, at = base + own * (far ? size - 1 - middle : middle);
        blocks_want(c, at);
        if (!blocks_run(c, err))
            return false;
        if (blocks_at(c, at)->hash == blocks_at(c, inside)->hash)
            high = middle;
        else
            low = middle + 1;
    }
    *wide = high;
    return true;
}

static bool find_borders(struct counting *c, struct box *box, struct error *err)
{
    for (int i = 0; i < box->count; i++) {
        uint64_t wide;
        if (box->size[i] < 4)
            continue;
        if (!find_border(c, box, i, false, &wide, err))
            return false;
        box->low[i] = wide;
        if (!find_border(c, box, i, true, &wide, err))
            return false;
        box->high[i] = box->size[i] - wide;
    }
    return true;
}

/* If the first axis runs over rows of tiles, blocks at the ends of such a row have other counts than the blocks next to them. Returns the
 * length of such a row; 0: there is none. */
static bool find_tile_row(struct counting *c, uint64_t *row, struct error *err)
{
    uint64_t rows[ROWS_MOST], base = c->groups / c->grid[0] / 2 * c->grid[0];
    int count = 0;
    *row = 0;
    for (uint64_t n = 2; n <= c->grid[0] / 2 && count < ROWS_MOST; n++) {
        uint64_t images = images_of(c), high = c->grid[0] / n;
        if (c->grid[0] % n == 0 && is_tiles(c->work, n) &&
            (is_tiles(c->work, high) || (high % images == 0 && is_tiles(c->work, high / images))))
            rows[count++] = n;
    }
    for (int i = 0; i < count; i++) {
        uint64_t at = base + (c->grid[0] / rows[i] / 2 | 1) * rows[i];
        blocks_want(c, at);
        blocks_want(c, at - 1);
        blocks_want(c, at + rows[i] / 2);
    }
    if (!blocks_run(c, err))
        return false;
    for (int i = 0; i < count && !*row; i++) {
        uint64_t at = base + (c->grid[0] / rows[i] / 2 | 1) * rows[i];
        uint64_t inside = blocks_at(c, at + rows[i] / 2)->hash;
        if (blocks_at(c, at)->hash != inside || blocks_at(c, at - 1)->hash != inside)
            *row = rows[i];
    }
    return true;
}

/* ---- estimates ---- */
/* Gives each group for which `is` says so its share of the class. */
void blocks_weigh(struct counting *c, const struct class *k, bool (*is)(const void *context, uint64_t number), const void *context)
{
    uint64_t ran = (uint64_t)k->ran, turn = 0;
    for (int i = 0; i < c->sample.ran; i++)
        if (is(context, c->sample.groups[i].number))
            c->sample.groups[i].weight = k->groups / ran + (turn++ < k->groups % ran);
}

/* Runs more blocks of the classes whose blocks differ. */
static bool sample_further(struct counting *c, const struct box *box, struct error *err)
{
    for (int most = 6; most <= SAMPLE_MOST; most *= 2) {
        struct blocks b = {0};
        for (int class = 0; class < class_count(box); class ++) {
            struct class k = judge_class(c, box, class);
            blocks_add(&k, &b);
        }
        if (blocks_error(&b) < NARROW || blocks_cost(c) > BUDGET)
            return true;
        for (int class = 0; class < class_count(box); class ++)
            if (!judge_class(c, box, class).alike)
                want_members(c, box, class, most);
        if (!blocks_run(c, err))
            return false;
    }
    return true;
}

/* All blocks that ran differ from each other. */
static bool all_differ(const struct counting *c)
{
    for (int i = 0; i < c->sample.ran; i++)
        if (ANY_OF(k, i, c->sample.groups[i].hash == c->sample.groups[k].hash))
            return false;
    return true;
}

static int box_class(const void *context, uint64_t number)
{
    return class_of(context, number);
}

static void take_classes(struct counting *c, const struct box *box, struct blocks *b)
{
    int classes = 0;
    for (int class = 0; class < class_count(box); class ++) {
        struct class k = judge_class(c, box, class);
        blocks_add(&k, b);
        blocks_weigh(c, &k, is_of_class, &(struct of_class){box, class});
        classes += k.ran > 0;
    }
    b->classes = classes > b->classes ? classes : b->classes;
    blocks_lay(c, class_count(box), box_class, box);
}

static bool count_classes(struct counting *c, struct blocks *b, struct error *err)
{
    uint64_t row = 0;
    if (!find_tile_row(c, &row, err))
        return false;
    struct box box = box_of(c, row);
    if (!find_borders(c, &box, err))
        return false;
    bool alike = true, found = false;
    for (int class = 0; class < class_count(&box); class ++)
        want_members(c, &box, class, class_size(&box, class) > c->groups / 2 ? 4 : 2);
    if (!blocks_run(c, err))
        return false;
    for (int class = 0; class < class_count(&box); class ++)
        alike = alike && judge_class(c, &box, class).alike;
    if (!alike && !all_differ(c) && c->groups / c->grid[0] <= LINES_MOST && !blocks_stretches(c, b, &found, err))
        return false;
    if (found)
        return true;
    if (!alike && !sample_further(c, &box, err))
        return false;
    take_classes(c, &box, b);
    return true;
}

/* Along which axes the first or the last blocks count as those inside do: there is no border. */
static bool drop_borders(struct counting *c, struct box *box, struct error *err)
{
    uint64_t middle = 0, stride = 1;
    for (int i = 0; i < box->count; stride *= box->size[i], i++)
        middle += stride * (box->size[i] / 2);
    for (int turn = 0; turn < 2; turn++) { /* all of them run at once */
        stride = 1;
        for (int i = 0; i < box->count; stride *= box->size[i], i++) {
            uint64_t first = middle - stride * (box->size[i] / 2), last = first + stride * (box->size[i] - 1);
            if (!turn) {
                blocks_want(c, middle);
                blocks_want(c, first);
                blocks_want(c, last);
                continue;
            }
            uint64_t inside = blocks_at(c, middle)->hash;
            box->low[i] = blocks_at(c, first)->hash == inside ? 0 : box->low[i];
            box->high[i] = blocks_at(c, last)->hash == inside ? box->size[i] : box->high[i];
        }
        if (!blocks_run(c, err))
            return false;
    }
    return true;
}

/* For blocks that each take long: one of each class, and more of the largest class, spread evenly along a line: in a persistent grid that
 * loops over many tiles, the first and the last block may have other tiles. */
static bool count_evenly(struct counting *c, int count, struct blocks *b, struct error *err)
{
    struct box box = box_of(c, 0), line = {{c->groups}, {1}, {c->groups - 1}, 1};
    if (box.count < 2) {
        box = line;
        blocks_want(c, 0);
        blocks_want(c, c->groups - 1);
        for (int i = 0; i < count; i++)
            blocks_want(c, 1 + (uint64_t)((i + 0.5) * (double)(c->groups - 2) / count));
    } else if (!drop_borders(c, &box, err)) {
        return false;
    }
    for (int class = 0; class < class_count(&box) && box.count > 1; class ++)
        want_members(c, &box, class, class_size(&box, class) > c->groups / 2 ? count : 1);
    if (!blocks_run(c, err))
        return false;
    take_classes(c, &box, b);
    for (int class = 0; class < class_count(&box); class ++) {
        struct class k = judge_class(c, &box, class);
        b->few = b->few || !k.alike || (k.ran == 1 && k.groups > 1);
    }
    return true;
}

/* Blocks that ran alone may have left a queue or flags from which the whole launch would go on, perhaps for ever. */
static bool count_whole(struct counting *c, struct blocks *b, struct error *err)
{
    struct class of_all = blocks_judge(c, c->groups, is_any, NULL);
    b->ran += (double)(c->groups * c->blocks_of);
    for (int v = 0; v < 2; v++)
        b->sum[v] += of_all.mean[v] * (double)c->groups;
    rig_time_limit(c->rig, WHOLE_S);
    return (!c->sample.ran || rig_swap_state(c->rig, c->step, STATE_MOST, false, &c->state, err)) && rig_run_step(c->rig, c->step, err);
}

static bool count_some(struct counting *c, struct blocks *b, struct error *err)
{
    bool whole = c->together, ok = true;
    b->all += (double)(c->groups * c->blocks_of);
    rig_time_limit(c->rig, PROBE_S);
    if (whole)
        return count_whole(c, b, err);
    if (c->marks) {
        ok = blocks_marked(c, b, &whole, err);
    } else {
        blocks_want(c, c->groups / 2);
        if (!blocks_run(c, err))
            return false;
        double each = blocks_cost(c);
        int affordable = (int)fmin(BUDGET / each, 1e6);
        whole = c->groups <= LEAST || each * (double)c->groups <= c->whole;
        if (!whole)
            ok = affordable < FEW ? count_evenly(c, affordable > LEAST ? affordable : LEAST, b, err) : count_classes(c, b, err);
    }
    if (!ok || whole)
        return ok && count_whole(c, b, err);
    b->ran += (double)c->sample.ran * (double)c->blocks_of;
    b->sampled = true;
    rig_weigh(c->rig, c->step, &c->sample);
    return true;
}

bool blocks_count(struct rig *rig, int step, const struct blocks_how *how, struct blocks *b, struct error *err)
{
    const struct step *s = &rig_program(rig)->steps[step];
    struct counting c = {.rig = rig,
                         .step = step,
                         .work = program_step_work(rig_program(rig), s),
                         .marks = how->marks,
                         .tile = &rig_program(rig)->tile,
                         .multiplies = how->multiplies,
                         .whole = how->last ? WHOLE : EARLIER,
                         .together = s->cooperative,
                         .blocks_of = 1};
    const uint32_t *cluster = s->cluster;
    for (int i = 0; i < 3; i++) {
        uint64_t size = cluster[i] > 1 ? cluster[i] : 1;
        c.grid[i] = s->grid[i] / size;
        c.blocks_of *= size;
    }
    c.groups = c.grid[0] * c.grid[1] * c.grid[2];
    bool ok = count_some(&c, b, err);
    b->unequal = ok && (c.each ? unequal_work(how->dev, s, how->places, c.each, c.groups, &b->dispatch)
                               : unequal_launch(how->dev, s, how->places, &b->dispatch));
    free(c.each);
    blocks_pick(&c, b);
    b->probed = c.sample.ran > 0;
    device_sample_free(&c.sample);
    text_free(&c.state);
    return ok;
}

/* Of Student's distribution: 95 % lie within so many deviations. */
static double student(double freedom)
{
    static const double few[] = {12.71, 12.71, 4.30, 3.18, 2.78, 2.57};
    int least = (int)freedom;
    return least < 5 ? few[least] + (freedom - least) * (few[least + 1] - few[least]) : 1.96 + 2.4 / freedom + 3 / (freedom * freedom);
}

/* The degrees of freedom of a sum of variances that are estimated themselves: Satterthwaite's. */
double blocks_error(const struct blocks *b)
{
    double worst = b->few ? FEW_ERROR : 0;
    for (int v = 0; v < 2; v++)
        if (b->sum[v] > 0 && b->variance[v] > 0)
            worst = fmax(worst, student(b->variance[v] * b->variance[v] / b->unsure[v]) * sqrt(b->variance[v]) / b->sum[v]);
    return worst;
}
