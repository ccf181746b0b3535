#include "op/chain/compose_private.h"
#include "op/chain/slices.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A buffer for what flows between links. */
struct lake {
    int scratch;
    int64_t elements;
    int until; /* last link that reads what is in it */
};
struct compose {
    const struct chain *chain;
    struct program *out;
    struct buffer_ref *flows; /* by link: where its output lies */
    struct buffer_ref *marks; /* by link: where the mask of its output lies */
    struct lake *lakes;
    int lake_count;
    const struct chain_slice *slices; /* by link; NULL: every output lies alone */
    int *roots;                       /* by link: the lake in which the parts of its output lie, counted from 1; 0: not yet */
};

static int last_reader(const struct chain *chain, int link)
{
    int last = link;
    for (int i = link + 1; i < chain->count; i++)
        if (chain->links[i].input == link || chain->links[i].residual == link)
            last = i;
    return last;
}

int compose_scratch(struct program *p, const struct scratch *s, const char *prefix)
{
    p->scratch = xrealloc(p->scratch, (size_t)(p->scratch_count + 1) * sizeof *p->scratch);
    struct scratch *to = &p->scratch[p->scratch_count];
    *to = *s;
    snprintf(to->name, sizeof to->name, "%.60s %.30s", prefix, s->name);
    return p->scratch_count++;
}

/* A lake whose content is no longer read at link `from`, or a new one; it is kept until `until`. */
static int find_lake(struct compose *c, int from, int until, const struct tensor *t)
{
    int64_t elements = (int64_t)tensor_elements(t);
    for (int i = 0; i < c->lake_count; i++)
        if (c->lakes[i].until < from && c->lakes[i].elements == elements) {
            c->lakes[i].until = until;
            return i;
        }
    struct scratch s = {.dtype = t->dtype, .elements = elements};
    char name[PROGRAM_NAME];
    snprintf(name, sizeof name, "activations %d", c->lake_count);
    *APPEND(c->lakes, c->lake_count) = (struct lake){compose_scratch(c->out, &s, name), elements, until};
    return c->lake_count - 1;
}

/* Returns the buffer of a slice, `part` elements further on: that of the root, from the first of its parts to the last reader of one. */
static struct buffer_ref place_slice(struct compose *c, int from, const struct chain_slice *slice, int64_t part)
{
    int *lake = &c->roots[slice->root];
    struct tensor t = {0};
    bool known = chain_flow(c->chain, slice->root, &t);
    if (!*lake && known) {
        int until = from;
        for (int i = 0; i < c->chain->count; i++)
            if (c->slices[i].root == slice->root && last_reader(c->chain, i) > until)
                until = last_reader(c->chain, i);
        *lake = find_lake(c, from, until, &t) + 1;
    }
    return (struct buffer_ref){
        .kind = BUFFER_SCRATCH, .index = c->lakes[*lake - 1].scratch, .offset = (slice->first + part) * (int64_t)dtype_bytes(t.dtype)};
}

/* Returns the chain's output, the slice of the link's output, or a buffer whose content is no longer read. `link`: the part's last link;
 * `from`: its first. */
static struct buffer_ref place_output(struct compose *c, int from, int link, const struct tensor *t)
{
    if (link == c->chain->count - 1)
        return (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(c->out, "output")};
    if (c->slices && (c->slices[link].placed || chain_joined(c->chain, c->slices, link)))
        return place_slice(c, from, &c->slices[link], 0);
    int lake = find_lake(c, from, last_reader(c->chain, link), t);
    return (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = c->lakes[lake].scratch};
}

static struct buffer_ref flow_of(const struct compose *c, int link)
{
    return link >= 0 ? c->flows[link] : (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(c->out, "input")};
}

/* The mask of a link's output: the chain's own, or a buffer between it and the next link. */
static struct buffer_ref place_marks(struct compose *c, int link, const struct tensor *t)
{
    if (link == c->chain->count - 1)
        return (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(c->out, "mask_out")};
    struct scratch s = {.dtype = t->dtype, .elements = (int64_t)tensor_elements(t)};
    char name[PROGRAM_NAME];
    snprintf(name, sizeof name, "marks %d", link);
    return (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = compose_scratch(c->out, &s, name)};
}

static struct buffer_ref marks_of(const struct compose *c, int link)
{
    return link >= 0 ? c->marks[link] : (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(c->out, "mask_in")};
}

struct buffer_ref compose_constant(struct program *p, const char *prefix, int link, int span, const struct tensor *t)
{
    struct scratch s = {.dtype = t->dtype, .elements = (int64_t)tensor_elements(t)};
    snprintf(s.name, sizeof s.name, "%s", t->role->name);
    struct constant *to = APPEND(p->constants, p->constant_count);
    *to = (struct constant){.scratch = compose_scratch(p, &s, prefix), .link = link, .span = span, .tensor = *t};
    return (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = to->scratch};
}

/* A unit whose symbols a step fills is loaded once for each link, since their content belongs to the link. */
static bool has_symbols(const struct program *part, int unit)
{
    return ANY_OF(i, part->step_count, part->steps[i].kind == STEP_SYMBOL && part->steps[i].unit == unit);
}

/* Tensors of the part: activations are the chain's buffers, weights are constants. False: a layout does not fit. */
static bool place_tensors(struct compose *c, int link, int span, const struct program *part, const char *prefix, struct program_move *r)
{
    const struct chain_link *l = &c->chain->links[link];
    for (int i = 0; i < part->tensor_count; i++) {
        const struct tensor *t = &part->tensors[i];
        struct tensor wanted;
        if (t->role->constant) {
            r->tensors[i] = compose_constant(c->out, prefix, link, span, t);
            continue;
        }
        bool leaves = t->role->output, marks = tensor_role_is_mask(t->role);
        const struct work *of = leaves ? &c->chain->links[link + span - 1].work : &l->work;
        if (!work_tensor(of, t->role->name, &wanted) || wanted.layout != t->layout) {
            c->out->reason =
                text_format("network: %s needs the %s of layer '%s' in %s", part->variant, t->role->name, l->name, layout_name(t->layout));
            return false;
        }
        if (marks && leaves)
            r->tensors[i] = c->marks[link + span - 1] = place_marks(c, link + span - 1, t);
        else if (marks)
            r->tensors[i] = marks_of(c, l->input);
        else
            r->tensors[i] = leaves ? c->flows[link + span - 1] : flow_of(c, !strcmp(t->role->name, "input") ? l->input : l->residual);
    }
    return true;
}

/* Scratch between the steps of one link is used only inside of it, so links share it. Buffers of one part must stay distinct. */
static int place_scratch(struct program *p, const struct scratch *s, const char *prefix, const int *taken, int taken_count)
{
    bool between = !strncmp(s->name, "between", 7);
    for (int i = 0; between && i < p->scratch_count; i++) {
        bool free_here =
            !strncmp(p->scratch[i].name, "between", 7) && p->scratch[i].elements == s->elements && p->scratch[i].dtype == s->dtype;
        free_here = free_here && ALL_OF(k, taken_count, taken[k] != i);
        if (free_here)
            return i;
    }
    int at = compose_scratch(p, s, prefix);
    if (between)
        snprintf(p->scratch[at].name, sizeof p->scratch[at].name, "between %d", at);
    return at;
}

static void take_columns(struct program *p, const struct program *part, const struct program_move *r)
{
    p->tile = part->tile;
    p->tile_weight_bytes = part->tile_weight_bytes;
    p->columns = xcalloc((size_t)part->column_count + 1, sizeof *p->columns);
    for (; p->column_count < part->column_count; p->column_count++) {
        p->columns[p->column_count] = part->columns[p->column_count];
        p->columns[p->column_count].buffer = program_moved(r, part->columns[p->column_count].buffer);
    }
}

void compose_part(struct program *p, const struct program *part, const char *prefix, int link, struct program_move *r)
{
    r->units = xcalloc((size_t)part->unit_count + 1, sizeof *r->units);
    for (int i = 0; i < part->unit_count; i++)
        r->units[i] = program_unit(p, &part->units[i], has_symbols(part, i));
    r->scratch = xcalloc((size_t)part->scratch_count + 1, sizeof *r->scratch);
    for (int i = 0; i < part->scratch_count; i++)
        r->scratch[i] = place_scratch(p, &part->scratch[i], prefix, r->scratch, i);
    program_take(p, part, r, link);
}

void compose_part_end(struct program_move *r)
{
    free(r->units);
    free(r->scratch);
}

static bool add_part(struct compose *c, int link, int span, const struct program *part)
{
    struct program_move r = {0};
    char prefix[PROGRAM_NAME];
    int output = program_tensor(part, "output");
    snprintf(prefix, sizeof prefix, "%.40s %d", c->chain->links[link].name, link);
    c->flows[link + span - 1] = place_output(c, link, link + span - 1, &part->tensors[output]);
    if (!place_tensors(c, link, span, part, prefix, &r))
        return false;
    compose_part(c->out, part, prefix, link, &r);
    if (span == c->chain->count) /* the part is the whole chain, so its counts are the chain's */
        take_columns(c->out, part, &r);
    compose_part_end(&r);
    return true;
}

/* Adds the copies of those parts of a joined concat that were not written where they belong. */
static bool add_joined(struct compose *c, int link, const struct program *copies)
{
    const struct chain_link *l = &c->chain->links[link];
    struct tensor t;
    if (!chain_flow(c->chain, link, &t))
        return false;
    c->flows[link] = place_output(c, link, link, &t);
    for (int part = 0; part < 2; part++) {
        const struct program *copy = &copies[2 * link + part];
        struct program_move r = {0};
        char prefix[PROGRAM_NAME];
        if (!chain_part_apart(c->chain, c->slices, link, part))
            continue;
        snprintf(prefix, sizeof prefix, "%.40s %d", l->name, link);
        r.tensors[program_tensor(copy, "input")] = flow_of(c, part ? l->residual : l->input);
        r.tensors[program_tensor(copy, "output")] = place_slice(c, link, &c->slices[link], part ? chain_part_begin(l) : 0);
        compose_part(c->out, copy, prefix, link, &r);
        compose_part_end(&r);
    }
    return true;
}

/* Checks that either all parts pass marks to the next one or none does. False with the program's reason. */
static bool marks_pass(struct compose *c, const struct program *const *parts, const int *spans)
{
    const struct program *before = NULL, *first = parts[0];
    for (int i = 0; i < c->chain->count; before = parts[i] ? parts[i] : before, i += spans[i]) {
        const struct program *part = parts[i];
        if (!part) /* a joined concat; such chains have no marks */
            continue;
        if (!first)
            first = part;
        if (before && before->uses_mask != part->uses_mask)
            c->out->reason = text_format("chain: %s works on marked pixels, %s on all", (before->uses_mask ? before : part)->variant,
                                         (before->uses_mask ? part : before)->variant);
        else if (before && part->uses_mask && program_tensor(before, "mask_out") < 0)
            c->out->reason = text_format("chain: %s writes no mask, and %s reads it", before->variant, part->variant);
        else if (before && part->uses_mask && part->reads_inactive && before->inactive != INACTIVE_ZERO)
            c->out->reason =
                text_format("chain: %s reads all pixels, also those that %s leaves as they were", part->variant, before->variant);
        else if (before && before->any_padding)
            c->out->reason =
                text_format("chain: %s leaves bits behind the last column of its mask, which %s reads", before->variant, part->variant);
        if (c->out->reason)
            return false;
    }
    c->out->spared = before->spared;
    c->out->any_padding = before->any_padding;
    c->out->finds_tile = before->finds_tile;
    c->out->finds_padding = before->finds_padding;
    c->out->uses_mask = first->uses_mask;
    c->out->reads_inactive = !c->out->uses_mask || first->reads_inactive;
    c->out->inactive = before->inactive;
    return true;
}

/* The tiles of links that each run by themselves. */
static void keep_tiles(struct compose *c, const struct program *const *parts, const int *spans)
{
    c->out->link_tiles = xcalloc((size_t)c->chain->count, sizeof *c->out->link_tiles);
    for (int i = 0; i < c->chain->count; i += spans[i])
        if (spans[i] == 1 && parts[i])
            c->out->link_tiles[i] = parts[i]->tile;
}

bool compose_chain(const struct work *work, const struct program *const *parts, const int *spans, const struct chain_slice *slices,
                   const struct program *copies, struct program *out, struct error *err)
{
    struct compose c = {.chain = work->chain, .out = out, .slices = slices};
    struct tensor all[OP_MAX_TENSORS];
    int count = work->op->tensors(work, all);
    const struct program *last = NULL;
    bool ok = true;
    *out = (struct program){.work = *work, .checked = true, .tile_weight_bytes = -1, .predicted = {-1, -1, -1}};
    for (int i = 0; i < c.chain->count; i += spans[i]) {
        if (slices && chain_joined(c.chain, slices, i))
            continue;
        last = parts[i];
        if (!last->feasible || program_tensor(last, "output") < 0)
            return error_set(err, ERROR_INTERNAL, "chain: link %d has no program", i);
    }
    if (!marks_pass(&c, parts, spans))
        return true;
    out->tensors = xcalloc((size_t)count, sizeof *out->tensors);
    for (int i = 0; i < count; i++) /* the weights are the parts' constants */
        if (!all[i].role->constant && (out->uses_mask || !tensor_role_is_mask(all[i].role)) &&
            (!all[i].role->output || program_tensor(last, all[i].role->name) >= 0))
            out->tensors[out->tensor_count++] = all[i];
    c.flows = xcalloc((size_t)c.chain->count, sizeof *c.flows);
    c.marks = xcalloc((size_t)c.chain->count, sizeof *c.marks);
    c.roots = xcalloc((size_t)c.chain->count, sizeof *c.roots);
    keep_tiles(&c, parts, spans);
    for (int i = 0; ok && i < c.chain->count; i += spans[i])
        ok = parts[i] ? add_part(&c, i, spans[i], parts[i]) : add_joined(&c, i, copies);
    FREE_ALL(c.roots, c.flows, c.marks, c.lakes);
    program_sort_steps(out);
    program_scratch_kinds(out);
    out->feasible = ok;
    return ok || out->reason;
}
