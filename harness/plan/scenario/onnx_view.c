/* Tensors as views of images: Reshape, Transpose, Slice and Expand only change the view. An elementwise operator works on the underlying
 * image; for the others a layer (op view) makes the image n, c, h, w of the view. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <string.h>

#define AXES_MAX 6 /* of op view */

static const int image_axes[5][4] = {{0}, {0}, {0, 1}, {0, 1, 3}, {0, 1, 2, 3}}; /* by rank */

static void add_atom(struct view *l, int64_t size, int64_t step, int axis, int part)
{
    struct atom *last = l->count ? &l->atom[l->count - 1] : NULL;
    if (size == 1)
        return;
    if (last && last->part == part && last->axis == axis && last->step == step * size)
        last->size *= size, last->step = step;
    else if (l->count < VIEW_ATOMS)
        l->atom[l->count++] = (struct atom){size, step, axis, part};
    else
        l->rank = 0; /* too many: no view */
}

bool view_of(const struct place *p, struct view *out)
{
    if (p->view)
        return *out = *p->view, true;
    if (!p->known)
        return false;
    *out = (struct view){.of = (struct place *)(uintptr_t)p, .rank = p->rank ? p->rank : 4};
    for (int i = 0; i < out->rank; i++) {
        out->dim[i] = p->dim[image_axes[out->rank][i]];
        add_atom(out, out->dim[i], 1, image_axes[out->rank][i], i);
    }
    return true;
}

/* All atoms, as of the image itself. */
static struct view plain_of(struct place *of)
{
    struct view all = {.of = of, .rank = 4};
    for (int i = 0; i < 4; i++)
        add_atom(&all, of->dim[i], 1, i, i);
    return all;
}

static bool same_atoms(const struct view *a, const struct view *b, bool parts)
{
    bool same = a->count == b->count && !memcmp(a->first, b->first, sizeof a->first);
    return same && ALL_OF(i, a->count,
                          a->atom[i].size == b->atom[i].size && a->atom[i].step == b->atom[i].step && a->atom[i].axis == b->atom[i].axis &&
                              (!parts || a->atom[i].part == b->atom[i].part));
}

bool view_same(const struct view *a, const struct view *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) && same_atoms(a, b, true) &&
           !memcmp(a->of->dim, b->of->dim, sizeof a->of->dim);
}

bool view_whole(const struct view *l, bool in_order)
{
    struct view all = plain_of(l->of);
    int64_t elements = 1, seen = 1;
    for (int i = 0; i < all.count; i++)
        elements *= all.atom[i].size;
    for (int i = 0; i < l->count; i++)
        seen *= l->atom[i].axis < 0 ? 0 : l->atom[i].size;
    if (!in_order)
        return elements == seen;
    struct view flat = *l;
    flat.count = 0;
    for (int i = 0; i < l->count; i++) /* what Reshape split is one again */
        add_atom(&flat, l->atom[i].size, l->atom[i].step, l->atom[i].axis, l->atom[i].axis);
    return same_atoms(&flat, &all, false);
}

/* Does the part step through all channels, and nothing else do so? */
static bool view_is_channels(const struct view *l, int part)
{
    int64_t c = l->of->dim[1], in_part = 0, of_channels = 0;
    bool whole = l->first[1] == 0 && l->dim[part] == c;
    for (int i = 0; i < l->count; i++) {
        in_part += l->atom[i].part == part;
        of_channels += l->atom[i].axis == 1;
        whole &= (l->atom[i].part == part) == (l->atom[i].axis == 1);
    }
    return whole && in_part == of_channels && in_part == (c > 1);
}

void view_resize(struct view *l, int part, int axis, struct place *of)
{
    struct view to = *l;
    bool done = false;
    to.count = 0, to.of = of;
    to.dim[part] = of->dim[axis];
    for (int i = 0; i <= l->count; i++) {
        if (!done && (i == l->count || l->atom[i].part >= part)) {
            add_atom(&to, of->dim[axis], 1, axis, part);
            done = true;
        }
        if (i < l->count && l->atom[i].part != part)
            add_atom(&to, l->atom[i].size, l->atom[i].step, l->atom[i].axis, l->atom[i].part);
    }
    *l = to;
}

bool view_reshape(struct view *l, int rank, const int64_t *dim)
{
    struct view to = *l;
    int at = 0;
    int64_t rest = l->count ? l->atom[0].size : 1; /* of the atom */
    to.rank = rank, to.count = 0;
    for (int part = 0; part < rank; part++) {
        int64_t need = to.dim[part] = dim[part];
        while (need > 1) {
            const struct atom *a = at < l->count ? &l->atom[at] : NULL;
            int64_t take = a && rest <= need ? rest : need;
            if (!a || need % take || rest % take)
                return false;
            rest /= take, need /= take;
            add_atom(&to, take, a->step * rest, a->axis, part);
            if (rest == 1)
                rest = ++at < l->count ? l->atom[at].size : 1;
        }
    }
    return at == l->count && to.rank == rank ? *l = to, true : false;
}

void view_permute(struct view *l, const int64_t *perm)
{
    const struct view was = *l;
    l->count = 0;
    for (int part = 0; part < l->rank; part++) {
        l->dim[part] = was.dim[perm[part]];
        for (int i = 0; i < was.count; i++)
            if (was.atom[i].part == perm[part])
                add_atom(l, was.atom[i].size, was.atom[i].step, was.atom[i].axis, part);
    }
}

bool view_slice(struct view *l, int part, int64_t first, int64_t count, int64_t step)
{
    struct view to = *l;
    int64_t inner = 1; /* of the part, behind its outermost atom, which is cut */
    int own = 0, outer = -1;
    for (int i = l->count - 1; i >= 0; i--)
        if (l->atom[i].part == part) {
            inner *= outer < 0 ? 1 : l->atom[outer].size;
            outer = i;
            own++;
        }
    if ((own == 0 && count != 1) || (own > 1 && (step != 1 || first % inner || count % inner)))
        return false;
    to.count = 0;
    for (int i = 0; i < l->count; i++) {
        const struct atom *a = &l->atom[i];
        bool here = i == outer;
        if (here && a->axis >= 0)
            to.first[a->axis] += first / inner * a->step;
        add_atom(&to, here ? count / inner : a->size, here ? a->step * step : a->step, a->axis, a->part);
    }
    to.dim[part] = count;
    return *l = to, true;
}

bool view_expand(struct view *l, int rank, const int64_t *dim)
{
    struct view to = {.of = l->of, .rank = rank};
    memcpy(to.first, l->first, sizeof to.first);
    for (int part = 0; part < rank; part++) {
        int own = part - (rank - l->rank);
        int64_t have = own < 0 ? 1 : l->dim[own];
        if (dim[part] < 1 || (have != 1 && dim[part] != 1 && dim[part] != have))
            return false;
        to.dim[part] = have > dim[part] ? have : dim[part];
        if (have == 1)
            add_atom(&to, dim[part], 0, -1, part);
        for (int i = 0; i < l->count; i++)
            if (l->atom[i].part == own)
                add_atom(&to, l->atom[i].size, l->atom[i].step, l->atom[i].axis, part);
    }
    return to.rank == rank ? *l = to, true : false;
}

/* ---- images of views ---- */

bool view_put(struct graph *g, const struct onnx_node *n, const struct view *l, const char **why)
{
    struct place *out = graph_value(g, n->outputs[0]), *of = l->of;
    struct view plain;
    if (l->rank < 1 || out->view || out == of || out->known)
        return graph_lacks(why, l->rank < 1 ? "its axes are split too often" : "it gives a value that another node gave");
    of->uses += out->uses - 1;
    if (view_of(of, &plain) && view_same(&plain, l))
        return out->alias = of, true;
    out->view = xmalloc(sizeof *out->view);
    *out->view = *l;
    return true;
}

bool view_known_move(struct graph *g, const struct onnx_node *n, const struct view *l, bool *done, const char **why)
{
    struct place *x = l->of;
    int64_t c = x->dim[1], b = x->dim[2] ? l->dim[2] / x->dim[2] : 0, s = l->dim[2] ? x->dim[2] / l->dim[2] : 0;
    static const char *const modes[] = {"CRD", "DCR", "CRD"};
    for (int kind = 0; kind < 4; kind++) {
        struct view t = plain_of(x);
        const int64_t block = kind < 2 ? b : s,
                      parts = l->count && l->atom[l->atom[0].part == 0].axis == 1 ? l->dim[1] / l->atom[l->atom[0].part == 0].size : 0;
        const int64_t deep[6] = {x->dim[0], c / (block ? block * block : 1), block, block, x->dim[2], x->dim[3]},
                      dcr[6] = {x->dim[0], block, block, c / (block ? block * block : 1), x->dim[2], x->dim[3]},
                      flat[6] = {x->dim[0], c, x->dim[2] / (block ? block : 1), block, x->dim[3] / (block ? block : 1), block},
                      dealt[5] = {x->dim[0], parts, c / (parts ? parts : 1), x->dim[2], x->dim[3]};
        static const int64_t orders[4][6] = {{0, 1, 4, 2, 5, 3}, {0, 3, 4, 1, 5, 2}, {0, 1, 3, 5, 2, 4}, {0, 2, 1, 3, 4}};
        const int64_t *sizes[] = {deep, dcr, flat, dealt};
        if ((kind < 3 && (block < 2 || block > 64)) || (kind == 3 && (parts < 2 || parts >= c)) ||
            !view_reshape(&t, kind == 3 ? 5 : 6, sizes[kind]))
            continue;
        view_permute(&t, orders[kind]);
        if (!view_reshape(&t, 4, l->dim) || !same_atoms(&t, l, false))
            continue;
        *done = kind == 3 ? move_channels(g, n, 0, x, 0, c, parts, why) : move_rearrange(g, n, x, block, modes[kind], kind < 2, why);
        return true;
    }
    return false;
}

/* The layer: the parts in `order`, each in image axis to[part] of the new image; *seen: the same tensor as a view of it. */
static struct place *make_view(struct graph *g, const struct onnx_node *n, const struct view *l, const int *order, int count, const int *to,
                               struct view *seen, const char **why)
{
    const int64_t *in = l->of->dim, flat[4] = {0, in[2] * in[3], in[3], 1};
    int64_t size[AXES_MAX + 1], step[AXES_MAX + 1], first = 0, dim[4] = {in[0], 1, 1, 1};
    int axes = 0;
    for (int i = 1; i < 4; i++)
        first += l->first[i] * flat[i];
    for (int i = 0; i < count; i++) {
        dim[to[order[i]]] *= l->dim[order[i]];
        for (int k = 0; k < l->count; k++) {
            const struct atom *a = &l->atom[k];
            int64_t by = a->axis < 0 ? 0 : a->step * flat[a->axis];
            if (a->part != order[i])
                continue;
            if (axes && step[axes - 1] == by * a->size)
                size[axes - 1] *= a->size, step[axes - 1] = by;
            else if (axes < AXES_MAX)
                size[axes] = a->size, step[axes++] = by;
            else
                return graph_lacks(why, "its view has more than six axes"), NULL;
        }
    }
    struct onnx_node inner;
    char *outputs[1];
    struct place *out = view_inner(g, n, &inner, outputs);
    SCOPED char *name = text_format("%s_view", *n->name ? n->name : n->op);
    inner.name = name;
    struct made_layer *made = graph_layer(g, &inner, "view", l->of);
    made->foldable = false;
    text_addf(&made->keys, ", k: %lld, p: %lld, q: %lld", (long long)dim[1], (long long)dim[2], (long long)dim[3]);
    for (int i = 0; i < axes; i++)
        text_addf(&made->keys, ", d%d: %lld, s%d: %lld", i + 1, (long long)size[i], i + 1, (long long)step[i]);
    if (first)
        text_addf(&made->keys, ", first: %lld", (long long)first);
    if (!graph_leaves(g, &inner, dim[1], dim[2], dim[3]))
        return graph_lacks(why, "its view has more than a million channels, rows or columns"), NULL;
    *seen = (struct view){.of = out, .rank = l->rank};
    memcpy(seen->dim, l->dim, sizeof seen->dim);
    for (int part = 0; part < l->rank; part++) {
        int64_t by = 1, at = -1;
        for (int i = 0; i < count; i++)
            at = order[i] == part ? i : at;
        for (int i = (int)at + 1; at >= 0 && i < count; i++)
            by *= to[order[i]] == to[part] ? l->dim[order[i]] : 1;
        add_atom(seen, l->dim[part], at < 0 ? 1 : by, at < 0 ? 0 : to[part], part);
    }
    return out;
}

/* Is the first part the images of the batch, and nothing else? Of one image there may be no such part. */
static bool has_batch(const struct view *l, bool *part, const char **why)
{
    const int64_t n = l->of->dim[0];
    int found = 0;
    bool whole = l->rank > 0 && l->dim[0] == n;
    for (int i = 0; i < l->count; i++) {
        found += l->atom[i].axis == 0;
        whole &= (l->atom[i].part == 0) == (l->atom[i].axis == 0);
    }
    *part = whole;
    return whole || n == 1 ? found == (n > 1) : graph_lacks(why, "its first axis is not that of the images");
}

bool view_channels(struct graph *g, const struct onnx_node *n, struct place *p, unsigned channels, unsigned columns, bool always,
                   struct view *out, const char **why)
{
    int order[ONNX_RANK], to[ONNX_RANK], count = 0;
    bool batch;
    if (!view_of(p, out))
        return graph_lacks(why, "its input is of no known size");
    for (int part = 0; part < out->rank && !always; part++)
        if (channels == 1u << part && view_is_channels(out, part) && view_whole(out, false))
            return true;
    if (!has_batch(out, &batch, why))
        return false;
    for (int axis = 1; axis < 4; axis++)
        for (int part = batch; part < out->rank; part++) {
            to[part] = channels >> part & 1 ? 1 : columns >> part & 1 ? 3 : 2;
            if (to[part] == axis)
                order[count++] = part;
        }
    struct view seen;
    struct place *image = make_view(g, n, out, order, count, to, &seen, why);
    if (!image)
        return false;
    image->uses = p->uses;
    out->of->uses -= p->uses - 1;
    return *out = seen, true;
}

struct place *view_image(struct graph *g, const struct onnx_node *n, struct place *p, const char **why)
{
    int order[ONNX_RANK], to[ONNX_RANK] = {0}, count = 0;
    int64_t dim[4] = {1, 1, 1, 1};
    struct view l, seen;
    bool batch;
    if (!p->view || p->image)
        return p->view ? p->image : p;
    l = *p->view;
    for (int part = 0; part < l.rank; part++) {
        to[part] = part == 0 ? 0 : part == 1 ? 1 : part == l.rank - 1 && l.rank > 2 ? 3 : 2;
        dim[to[part]] *= l.dim[part];
        if (part)
            order[count++] = part;
    }
    if (!memcmp(dim, l.of->dim, sizeof dim) && view_whole(&l, true))
        return p->image = l.of;
    if (!has_batch(&l, &batch, why))
        return NULL;
    if (!batch)
        return graph_lacks(why, "its first axis is not that of the images"), NULL;
    l.of->uses -= p->uses - 1;
    struct place *made = make_view(g, n, &l, order, count, to, &seen, why);
    if (made)
        made->uses = p->uses;
    return p->image = made;
}

/* ---- operators on images in place of views ---- */

#define INPUTS_MAX 8
struct replaced {
    struct onnx_node node;
    char *inputs[INPUTS_MAX], *outputs[1];
    struct place *out;
};

static bool replace(struct graph *g, const struct onnx_node *n, struct replaced *r, bool output, const char **why)
{
    r->node = *n;
    if (n->input_count > INPUTS_MAX)
        return graph_lacks(why, "it has too many inputs");
    for (int i = 0; i < n->input_count; i++)
        r->inputs[i] = n->inputs[i];
    r->out = output ? view_inner(g, n, &r->node, r->outputs) : NULL;
    r->node.inputs = r->inputs;
    if (r->out)
        r->out->uses = graph_value(g, n->outputs[0])->uses;
    return true;
}

static void read_image(struct replaced *r, int i, const struct place *image)
{
    r->inputs[i] = (char *)(uintptr_t)image->name;
}

bool view_images(struct graph *g, const struct onnx_node *n, graph_maker *make, const char **why)
{
    struct replaced r;
    struct view first;
    int rank = n->input_count && view_of(graph_in(g, n, 0), &first) ? first.rank : 4;
    bool narrow = rank == 2 || rank == 3;
    if (!replace(g, n, &r, narrow, why))
        return false;
    for (int i = 0; i < n->input_count; i++) {
        struct place *p = graph_in(g, n, i), *image = p->view ? view_image(g, n, p, why) : p;
        if (!image)
            return false;
        if (p->view)
            read_image(&r, i, image);
    }
    if (!make(g, &r.node, why))
        return false;
    if (!narrow)
        return true;
    struct view l = {.of = graph_value(g, r.outputs[0]), .rank = rank};
    for (int i = 0; i < rank; i++)
        add_atom(&l, l.dim[i] = l.of->dim[image_axes[rank][i]], 1, image_axes[rank][i], i);
    return view_put(g, n, &l, why);
}

/* A constant that has one value, or one for each channel of the image, in the image's own axes; NULL: it has others. */
static const char *constant_for(struct graph *g, const struct view *l, const struct place *p)
{
    const struct onnx_tensor *t = p->constant;
    int axis = -1, axes = 0;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != 1)
            axis = i + l->rank - t->rank, axes++;
    if (axes == 0)
        return p->name;
    if (axes != 1 || axis < 0 || t->dim[axis - l->rank + t->rank] != l->dim[axis] || !view_is_channels(l, axis))
        return NULL;
    struct onnx_tensor *made = graph_made(g, t->type, 4, (const int64_t[]){1, l->dim[axis], 1, 1});
    for (int64_t i = 0; made && i < l->dim[axis]; i++)
        if (!onnx_number(t, i, &made->made[i]))
            made->made[i] = NAN; /* in another file that has not been read */
    struct place *constant = made ? graph_inner(g) : NULL;
    if (constant)
        constant->constant = made;
    return made ? constant->name : NULL;
}

/* A constant in the order of an image that has all places of the view in its rows; NULL: it is too large, or no numbers. */
static const char *constant_for_rows(struct graph *g, const struct view *l, bool batch, const struct place *p)
{
    const struct onnx_tensor *t = p->constant;
    int64_t count = 1;
    if (onnx_elements(t) == 1)
        return p->name;
    for (int i = batch; i < l->rank; i++)
        count *= l->dim[i];
    for (int i = 0; i < t->rank; i++) {
        int part = i + l->rank - t->rank;
        if (part < 0 ? t->dim[i] != 1 : t->dim[i] != 1 && (t->dim[i] != l->dim[part] || (part == 0 && batch)))
            return NULL;
    }
    struct onnx_tensor *made = count <= SIZE_MAX_LAYER ? graph_made(g, t->type, 4, (const int64_t[]){1, 1, count, 1}) : NULL;
    for (int64_t i = 0; made && i < count; i++) {
        int64_t rest = i, at = 0, step = 1;
        for (int part = l->rank - 1; part >= 0; rest /= l->dim[part--]) {
            int own = part - (l->rank - t->rank);
            at += own >= 0 && t->dim[own] != 1 ? rest % l->dim[part] * step : 0;
            step *= own >= 0 ? t->dim[own] : 1;
        }
        if (!onnx_number(t, at, &made->made[i]))
            made->made[i] = NAN;
    }
    struct place *constant = made ? graph_inner(g) : NULL;
    if (constant)
        constant->constant = made;
    return constant ? constant->name : NULL;
}

/* How the inputs of an operator on each element are read. */
enum reading { SEEN, IMAGES, ROWS }; /* on the image seen; as images n, c, h, w; as images whose rows have all places */

/* The inputs' names in that reading, and the view that the output will be. */
static bool read_each(struct graph *g, const struct onnx_node *n, enum reading how, struct replaced *r, struct view *lead, const char **why)
{
    struct view first = *lead, l;
    bool found = false, batch = first.dim[0] == first.of->dim[0];
    for (int turn = 0; turn < 2; turn++) /* first tensors, then constants */
        for (int i = 0; i < n->input_count; i++) {
            struct place *p = graph_in(g, n, i);
            const char *name = p->name;
            if (!*n->inputs[i] || (p->constant != NULL) != (turn == 1))
                continue;
            if (turn == 1) {
                name = how == SEEN ? constant_for(g, lead, p) : how == ROWS ? constant_for_rows(g, &first, batch, p) : name;
            } else if (how == IMAGES) {
                struct place *image = view_image(g, n, p, why);
                name = image ? image->name : NULL;
            } else if (how == SEEN) {
                name = p->view ? p->view->of->name : name;
            } else {
                name = view_channels(g, n, p, 0, 0, true, &l, why) ? l.of->name : NULL;
                *lead = found || !name ? *lead : l;
                found = true;
            }
            if (!name)
                return false;
            r->inputs[i] = (char *)(uintptr_t)name;
        }
    return true;
}

/* Can constants of other axes than the channels only be added where an image has all places in its rows? */
static bool has_places(struct graph *g, const struct onnx_node *n, const struct view *l)
{
    bool places = false;
    for (int i = 0; i < n->input_count; i++) {
        const struct onnx_tensor *t = graph_in(g, n, i)->constant;
        int axis = -1, axes = 0;
        for (int k = 0; t && k < t->rank; k++)
            if (t->dim[k] != 1)
                axis = k + l->rank - t->rank, axes++;
        places |= axes > 1 || (axes == 1 && axis != 1);
    }
    return places;
}

/* Is it as the wide one, or one element along an axis, as factors of channels are? */
static bool fits_wide(const struct view *wide, const struct view *l)
{
    struct view narrow = *wide;
    narrow.count = 0;
    for (int i = 0; i < wide->count && l->rank == wide->rank; i++)
        if (l->dim[wide->atom[i].part] != 1)
            narrow.atom[narrow.count++] = wide->atom[i];
    return l->rank == wide->rank && same_atoms(&narrow, l, true);
}

bool view_each(struct graph *g, const struct onnx_node *n, graph_maker *make, const char **why)
{
    struct replaced r;
    struct view lead = {0}, other;
    bool views = false, fits = true, alike = true, batch = true;
    int rank = 0, tensors = 0;
    for (int i = 0; i < n->input_count && i < INPUTS_MAX; i++) {
        struct place *p = graph_in(g, n, i);
        if (p->constant || !*n->inputs[i])
            continue;
        if (!view_of(p, &other))
            return make(g, n, why); /* which says what is missing */
        views |= p->view || (p->rank && p->rank < 4);
        if (tensors && view_elements(&other) > view_elements(&lead)) {
            struct view former = lead;
            lead = other, other = former;
        }
        fits &= view_whole(&other, false) && (!tensors || (view_whole(&lead, false) && fits_wide(&lead, &other)));
        alike &= !tensors || (other.rank == lead.rank && !memcmp(other.dim, lead.dim, (size_t)lead.rank * sizeof *lead.dim));
        batch &= other.dim[0] == other.of->dim[0];
        lead = tensors++ ? lead : other;
        rank = other.rank > rank ? other.rank : rank;
    }
    if (!views)
        return make(g, n, why);
    if (!replace(g, n, &r, true, why))
        return false;
    enum reading how = fits ? SEEN : IMAGES;
    if (how == SEEN && !read_each(g, n, SEEN, &r, &lead, why))
        how = IMAGES;
    if (how == IMAGES && alike && (rank > 4 || !batch || has_places(g, n, &lead)))
        how = ROWS;
    if (how != SEEN && !read_each(g, n, how, &r, &lead, why))
        return *why ? false : graph_lacks(why, "its constant does not fit its input");
    if (!make(g, &r.node, why))
        return false;
    lead.of = graph_value(g, r.outputs[0]);
    if (how != IMAGES)
        return view_put(g, n, &lead, why);
    struct view plain = {.of = lead.of, .rank = rank < 2 ? 2 : rank};
    for (int i = 0; i < plain.rank && rank < 5; i++)
        add_atom(&plain, plain.dim[i] = plain.of->dim[image_axes[plain.rank][i]], 1, image_axes[plain.rank][i], i);
    return rank < 5 ? view_put(g, n, &plain, why) : graph_lacks(why, "tensors of more than four axes that are seen in different orders");
}

/* On the image of which the second axis is the channels. */
bool view_second(struct graph *g, const struct onnx_node *n, graph_maker *make, const char **why)
{
    struct replaced r;
    struct view l;
    struct place *p = graph_in(g, n, 0);
    if (!p->view && (!p->rank || p->rank == 4))
        return make(g, n, why);
    if (!replace(g, n, &r, true, why) || !view_channels(g, n, p, 2, 0, false, &l, why))
        return false;
    read_image(&r, 0, l.of);
    if (!make(g, &r.node, why))
        return false;
    l.of = graph_value(g, r.outputs[0]);
    return view_put(g, n, &l, why);
}

void view_finish(struct graph *g)
{
    for (int i = 0; i < g->m->output_count; i++) {
        struct place *p = graph_value(g, g->m->outputs[i].name);
        const char *why;
        struct onnx_node as = {.name = g->m->outputs[i].name, .op = (char *)(uintptr_t) "output"};
        struct place *image = !p->view ? NULL : view_whole(p->view, true) ? p->view->of : view_image(g, &as, p, &why);
        if (image)
            p->layer = image->layer;
    }
}
