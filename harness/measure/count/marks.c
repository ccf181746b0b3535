/* Chooses the blocks of a masked launch: classes by how much of the mask a block sees. */
#include "base/text.h"
#include "measure/count/blocks_private.h"
#include <math.h>
#include <stdlib.h>

#define BINS 24  /* of marks: none, 1, 2, 3, 4, 5-8, 9-16, ..., all */
#define PLACES 9 /* first, inside, last along both axes of a grid */
#define INSIDE 4 /* of the places */
#define CLASSES (PLACES * BINS)
#define GROUPS_MOST ((uint64_t)1 << 24)
#define FIRST_INSIDE 6 /* groups of a class there */
#define FIRST_BORDER 2 /* and elsewhere */
#define ROUNDS 6       /* of more groups */
#define WIDE 0.01      /* an interval for which a launch that is not large runs whole instead */
#define SPENDS 8e6     /* once the groups cost so much, the launch is sampled no further */

struct marked {
    unsigned char *of; /* the class of each group */
    uint64_t size[CLASSES];
    int class;
};

static bool is_marked(const void *context, uint64_t number)
{
    const struct marked *m = context;
    return m->of[number] == m->class;
}

/* Sums of marks above and left of each pixel, for each image: (h + 1) x (w + 1). */
static uint32_t *sums_of(const struct marks *m)
{
    size_t across = (size_t)m->w + 1, plane = ((size_t)m->h + 1) * across;
    uint32_t *sums = xcalloc((size_t)m->n * plane, sizeof *sums);
    for (int64_t n = 0; n < m->n; n++)
        for (int64_t y = 0; y < m->h; y++) {
            const float *from = m->in + (n * m->h + y) * m->w;
            uint32_t *above = sums + (size_t)n * plane + (size_t)y * across, row = 0;
            for (int64_t x = 0; x < m->w; x++) {
                row += from[x] != 0;
                above[across + (size_t)x + 1] = above[(size_t)x + 1] + row;
            }
        }
    return sums;
}

static int64_t within(int64_t v, int64_t most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* Marks of a window of an image, which ends at its borders. *area: the pixels of the window. */
static uint32_t window(const struct marks *m, const uint32_t *sums, int64_t image, const int64_t at[4], int64_t *area)
{
    size_t across = (size_t)m->w + 1;
    const uint32_t *s = sums + (size_t)image * ((size_t)m->h + 1) * across;
    size_t x0 = (size_t)within(at[0], m->w), x1 = (size_t)within(at[1], m->w), y0 = (size_t)within(at[2], m->h),
           y1 = (size_t)within(at[3], m->h);
    *area = x1 > x0 && y1 > y0 ? (int64_t)((x1 - x0) * (y1 - y0)) : 0;
    return *area ? s[y1 * across + x1] - s[y0 * across + x1] - s[y1 * across + x0] + s[y0 * across + x0] : 0;
}

static int bin_of(uint32_t marks, int64_t area)
{
    int bin = marks <= 4 ? (int)marks : 5;
    for (uint32_t most = 8; marks > most && bin < BINS - 2; most *= 2)
        bin++;
    return marks && (int64_t)marks == area ? BINS - 1 : bin;
}

/* How long a tile is if so many cover the size: the roundest number that fits. */
static int64_t tile_of(int64_t size, int64_t tiles)
{
    int64_t least = (size + tiles - 1) / tiles, most = tiles > 1 ? (size - 1) / (tiles - 1) : least;
    for (int64_t unit = 32; unit > 1; unit /= 2)
        if ((least + unit - 1) / unit * unit <= most)
            return (least + unit - 1) / unit * unit;
    return least;
}

/* The inputs that a group may read: a tile of its two first axes, if they are tiles of the image, else a stretch of its lines. */
static void place(const struct counting *c, const uint64_t g[3], int64_t at[4])
{
    const struct work *w = c->work;
    const struct marks *m = c->marks;
    int64_t halo_y = w->r / 2 * (w->dilation > 0 ? w->dilation : 1), halo_x = w->s / 2 * (w->dilation > 0 ? w->dilation : 1);
    if ((int64_t)c->grid[0] <= m->w && (int64_t)c->grid[1] <= m->h && c->grid[0] * c->grid[1] > c->grid[0]) {
        int64_t wide = tile_of(m->w, (int64_t)c->grid[0]), high = tile_of(m->h, (int64_t)c->grid[1]);
        at[0] = (int64_t)g[0] * wide - halo_x, at[1] = ((int64_t)g[0] + 1) * wide + halo_x;
        at[2] = (int64_t)g[1] * high - halo_y, at[3] = ((int64_t)g[1] + 1) * high + halo_y;
        return;
    }
    double each = (double)m->h * (double)m->w / (double)c->grid[0], from = each * (double)g[0], to = from + each;
    int64_t first = (int64_t)(from / (double)m->w), last = (int64_t)ceil(to / (double)m->w);
    bool line = last - first <= 1;
    at[0] = line ? (int64_t)from - first * m->w - halo_x : 0, at[1] = line ? (int64_t)ceil(to) - first * m->w + halo_x : m->w;
    at[2] = first - halo_y, at[3] = last + halo_y;
}

/* Does the first axis of the grid run over tiles of a volume: along a row, then down a plane, then from plane to plane? */
static bool is_volume(const struct counting *c, int64_t tiles[3])
{
    const struct work *w = c->work;
    const struct tile *t = c->tile;
    if (t->d < 1 || t->h < 1 || t->w < 1 || w->plane_out < 1 || c->marks->h != w->h)
        return false;
    tiles[0] = (w->q + t->w - 1) / t->w;
    tiles[1] = (w->plane_out + t->h - 1) / t->h;
    tiles[2] = (w->o + t->d - 1) / t->d;
    return (uint64_t)(tiles[0] * tiles[1] * tiles[2]) == c->grid[0];
}

/* The inputs that a tile of a volume may read, plane by plane. */
static uint32_t volume_window(const struct counting *c, const uint32_t *sums, int64_t image, const int64_t tiles[3], int64_t number,
                              int64_t *area)
{
    const struct work *w = c->work;
    const struct tile *t = c->tile;
    int64_t stride = w->stride > 0 ? w->stride : 1, x = number % tiles[0] * t->w * stride, y = number / tiles[0] % tiles[1] * t->h * stride,
            z = number / tiles[0] / tiles[1] * t->d * stride, part;
    uint32_t marks = 0;
    *area = 0;
    for (int64_t i = within(z - w->t / 2, w->d); i < within(z + t->d * stride + w->t / 2, w->d); i++) {
        const int64_t at[4] = {x - w->s / 2, x + t->w * stride + w->s / 2, i * w->plane + within(y - w->r / 2, w->plane),
                               i * w->plane + within(y + t->h * stride + w->r / 2, w->plane)};
        marks += window(c->marks, sums, image, at, &part);
        *area += part;
    }
    return marks;
}

/* 0: first along an axis, 1: inside, 2: last. */
static int level(uint64_t at, uint64_t size)
{
    return size < 2 ? 1 : at == 0 ? 0 : at == size - 1 ? 2 : 1;
}

static void label(const struct counting *c, struct marked *k)
{
    const struct marks *m = c->marks;
    SCOPED uint32_t *sums = sums_of(m);
    k->of = xmalloc(c->groups);
    int64_t tiles[3];
    bool volume = is_volume(c, tiles);
    for (uint64_t i = 0; i < c->groups; i++) {
        const uint64_t g[3] = {i % c->grid[0], i / c->grid[0] % c->grid[1], i / c->grid[0] / c->grid[1]};
        int64_t at[4], area, images = (int64_t)(c->grid[2] > 1 ? c->grid[2] : c->grid[1]), image = (int64_t)(c->grid[2] > 1 ? g[2] : g[1]);
        int spot = volume ? level(g[0] % (uint64_t)tiles[0], (uint64_t)tiles[0]) +
                                3 * level(g[0] / (uint64_t)tiles[0] % (uint64_t)tiles[1], (uint64_t)tiles[1])
                          : level(g[0], c->grid[0]) + 3 * level(g[1], c->grid[1]);
        image = images >= m->n ? image / (images / m->n) % m->n : 0;
        place(c, g, at);
        uint32_t marks = volume ? volume_window(c, sums, image, tiles, (int64_t)g[0], &area) : window(m, sums, image, at, &area);
        k->of[i] = (unsigned char)(bin_of(marks, area) + spot * BINS);
        k->size[k->of[i]]++;
    }
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* Wants so many groups of each class in all, as good as drawn. */
static void want_groups(struct counting *c, const struct marked *k, const int *wanted)
{
    int left[CLASSES];
    uint64_t missing = 0;
    for (int i = 0; i < CLASSES; i++)
        left[i] = (uint64_t)wanted[i] < k->size[i] ? wanted[i] : (int)k->size[i];
    for (int i = 0; i < c->sample.count; i++)
        left[k->of[c->sample.groups[i].number]]--;
    for (int i = 0; i < CLASSES; i++)
        missing += left[i] > 0 ? (uint64_t)left[i] : 0;
    uint64_t stride = c->groups * 618034 / 1000000 + 1;
    while (divisor(c->groups, stride) != 1)
        stride++;
    for (uint64_t i = 0, at = c->groups / 2; i < c->groups && missing; i++, at = (at + stride) % c->groups) {
        int before = c->sample.count;
        if (left[k->of[at]] <= 0)
            continue;
        blocks_want(c, at);
        if (c->sample.count == before)
            continue;
        left[k->of[at]]--;
        missing--;
    }
}

static void estimate(struct counting *c, struct marked *k, struct class *classes, struct blocks *b, bool weighs)
{
    int seen = 0;
    for (k->class = 0; k->class < CLASSES; k->class ++) {
        if (!k->size[k->class])
            continue;
        struct class *one = &classes[k->class];
        *one = blocks_judge(c, k->size[k->class], is_marked, k);
        blocks_add(one, b);
        if (weighs)
            blocks_weigh(c, one, is_marked, k);
        seen++;
    }
    b->classes = seen > b->classes ? seen : b->classes;
}

/* How many groups of each class more would narrow the interval most: by size and deviation (Neyman's allocation). */
static void allocate(const struct counting *c, const struct marked *k, const struct class *classes, int *wanted)
{
    double all[2] = {0}, share[CLASSES] = {0};
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < CLASSES; i++)
            all[v] += k->size[i] ? (double)k->size[i] * sqrt(classes[i].variance[v]) : 0;
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < CLASSES && all[v] > 0; i++)
            share[i] = k->size[i] ? fmax(share[i], (double)k->size[i] * sqrt(classes[i].variance[v]) / all[v]) : 0;
    for (int i = 0; i < CLASSES; i++)
        wanted[i] = (int)fmax(wanted[i], fmin((double)k->size[i], wanted[i] + ceil(c->sample.count * share[i])));
}

static int class_at(const void *context, uint64_t number)
{
    const struct marked *m = context;
    return m->of[number];
}

bool blocks_marked(struct counting *c, struct blocks *b, bool *whole, struct error *err)
{
    struct marked k = {0};
    struct class classes[CLASSES] = {0};
    int wanted[CLASSES];
    bool ok = c->groups <= GROUPS_MOST || error_set(err, ERROR_USAGE, "it has more than %llu blocks", (unsigned long long)GROUPS_MOST);
    *whole = false;
    if (!ok)
        return false;
    label(c, &k);
    for (int i = 0; i < CLASSES; i++)
        wanted[i] = i / BINS == INSIDE ? FIRST_INSIDE : FIRST_BORDER;
    for (int round = 0; ok && round <= ROUNDS; round++) {
        struct blocks so_far = {0};
        want_groups(c, &k, wanted);
        ok = blocks_run(c, err);
        if (!ok)
            break;
        estimate(c, &k, classes, &so_far, false);
        bool spent = blocks_cost(c) > SPENDS || round == ROUNDS;
        double error = blocks_error(&so_far);
        *whole =
            so_far.sum[0] <= c->whole || (so_far.sum[0] <= EARLIER && ((spent && error > WIDE) || 3 * (uint64_t)c->sample.ran > c->groups));
        if (*whole || error < NARROW || spent)
            break;
        allocate(c, &k, classes, wanted);
    }
    if (ok && !*whole) {
        estimate(c, &k, classes, b, true);
        blocks_lay(c, CLASSES, class_at, &k);
    }
    b->few = b->few || (ok && !*whole);
    free(k.of);
    return ok;
}
