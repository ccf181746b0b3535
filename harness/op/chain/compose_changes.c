/* The program that runs one frame through a network that gets only changes: the programs of its layers, bound to changes, with the kernels
 * of kernels/sequence/delta.cu between them. */
#include "base/text.h"
#include "op/chain/compose_private.h"
#include "op/shape.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_WORDS 8 /* of a mask, in one block of delta.cu's */

/* A tensor of changes, and the mask of the pixels that were sent. */
struct sent {
    struct buffer_ref values, marks;
};
struct changing {
    struct program *out;
    const struct chain *chain;
    const struct changes *changes;
    struct changed *run;
    struct sent *given; /* by link: what it is sent as its input */
    int kernels;        /* the unit of delta.cu */
    bool zero;          /* pixels that are not sent must be written as 0 */
};

static struct buffer_ref make_scratch(struct changing *c, const char *what, int link, enum dtype dtype, size_t elements)
{
    struct scratch s = {.dtype = dtype, .elements = (int64_t)elements};
    char prefix[PROGRAM_NAME];
    snprintf(s.name, sizeof s.name, "%s", what);
    snprintf(prefix, sizeof prefix, "%.40s %d", c->chain->links[link].name, link);
    return (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = compose_scratch(c->out, &s, prefix)};
}

static struct buffer_ref make_tensor(struct changing *c, const char *what, int link, const struct tensor *t)
{
    return make_scratch(c, what, link, t->dtype, tensor_elements(t));
}

static struct step *compose_changes_add_step(struct changing *c, enum step_kind kind, const char *name, int link, bool prepare)
{
    struct program *p = c->out;
    struct step *s = APPEND(p->steps, p->step_count);
    *s = (struct step){.kind = kind, .prepare = prepare, .link = link, .carveout = -1};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

/* Adds a buffer that keeps its content from frame to frame; 0 before the first. */
static struct buffer_ref make_state(struct changing *c, const char *what, int link, const struct tensor *like, enum dtype dtype)
{
    char name[PROGRAM_NAME];
    struct buffer_ref ref = make_scratch(c, what, link, dtype, tensor_elements(like));
    snprintf(name, sizeof name, "fill %.80s", what);
    compose_changes_add_step(c, STEP_FILL, name, link, true)->to = ref;
    c->run->state_bytes += (int64_t)(dtype_size(dtype, tensor_elements(like)));
    return ref;
}

/* Arguments of a kernel: pointers (BUFFER_NONE: null), the size of `over`, numbers, and whether this is frame 0. */
struct passed {
    const struct buffer_ref *buffers;
    int buffer_count, real_count;
    double reals[2];
    bool first;
};

static void add_arg(struct step *s, struct arg arg)
{
    snprintf(arg.name, sizeof arg.name, "%d", s->arg_count + 1);
    s->args[s->arg_count++] = arg;
}

static void add_kernel(struct changing *c, const char *name, int link, bool prepare, const struct tensor *over, struct passed passed)
{
    struct step *s = compose_changes_add_step(c, STEP_KERNEL, name, link, prepare);
    int64_t words = over->dim[2] * ((over->dim[3] + 31) / 32);
    s->unit = c->kernels;
    memcpy(s->grid, (uint32_t[]){(uint32_t)((words + BLOCK_WORDS - 1) / BLOCK_WORDS), 1, (uint32_t)over->dim[0]}, sizeof s->grid);
    memcpy(s->block, (uint32_t[]){32, BLOCK_WORDS, 1}, sizeof s->block);
    for (int i = 0; i < passed.buffer_count; i++)
        add_arg(s, (struct arg){.kind = passed.buffers[i].kind == BUFFER_NONE ? ARG_INT : ARG_BUFFER, .buffer = passed.buffers[i]});
    for (int i = 0; i < 3; i++)
        add_arg(s, (struct arg){.kind = ARG_INT, .i = over->dim[(int[]){2, 3, 1}[i]]});
    for (int i = 0; i < passed.real_count; i++)
        add_arg(s, (struct arg){.kind = ARG_REAL, .d = passed.reals[i]});
    if (passed.first)
        add_arg(s, (struct arg){.kind = ARG_BUFFER, .buffer = c->run->first});
}
#define BUFFERS(...) \
    .buffers = (const struct buffer_ref[]){__VA_ARGS__}, \
    .buffer_count = (int)(sizeof((const struct buffer_ref[]){__VA_ARGS__}) / sizeof(struct buffer_ref))

static struct sent make_sent(struct changing *c, int link)
{
    struct tensor input = {0}, mask = {0};
    work_tensor(&c->chain->links[link].work, "input", &input);
    work_tensor(&c->chain->links[link].work, "mask_in", &mask);
    return (struct sent){make_tensor(c, "input", link, &input), make_tensor(c, "marks", link, &mask)};
}

/* Sends the pixels of the frame that changed by more than the threshold since they were last sent. */
static void send_frame(struct changing *c)
{
    const struct tensor *frame = &c->out->tensors[0];
    struct buffer_ref sent = make_state(c, "sent of the frame", 0, frame, DTYPE_F32);
    c->given[0] = make_sent(c, 0);
    const struct buffer_ref in = {.kind = BUFFER_TENSOR, .index = 0};
    add_kernel(c, "sparsify", 0, false, frame,
               (struct passed){BUFFERS(in, sent, c->given[0].values, c->given[0].marks), .real_count = 1, .reals = {c->changes->threshold},
                               .first = true});
}

static struct sent add_layer(struct changing *c, int i, const struct program *part)
{
    const struct chain_link *l = &c->chain->links[i];
    struct changed_link *run = &c->run->links[i];
    static const struct sent none;
    struct sent left = none, second = l->residual >= 0 ? c->given[l->residual + 1] : none;
    struct program_move r = {0};
    struct buffer_ref stored = {0};
    char prefix[PROGRAM_NAME];
    snprintf(prefix, sizeof prefix, "%.40s %d", l->name, i);
    *run = (struct changed_link){.marks = c->given[i].marks, .second = second.marks};
    for (int k = 0; k < part->tensor_count; k++) {
        const struct tensor *t = &part->tensors[k];
        switch ((enum shape_slot)t->role->slot) {
        case SLOT_INPUT: r.tensors[k] = c->given[i].values; break;
        case SLOT_MASK_IN: r.tensors[k] = c->given[i].marks; break;
        case SLOT_SECOND: r.tensors[k] = second.values; break;
        case SLOT_MASK_SECOND: r.tensors[k] = second.marks; break;
        case SLOT_STORED: r.tensors[k] = stored = make_state(c, "stored", i, t, t->dtype); break;
        case SLOT_OUTPUT: r.tensors[k] = left.values = make_tensor(c, "output", i, t); break;
        case SLOT_MASK_OUT: r.tensors[k] = left.marks = run->left = make_tensor(c, "marks out", i, t); break;
        default: r.tensors[k] = compose_constant(c->out, prefix, i, 1, t); break;
        }
    }
    compose_part(c->out, part, prefix, i, &r);
    compose_part_end(&r);
    if (stored.kind != BUFFER_NONE) { /* a maximum's input so far, for the next frame */
        struct tensor input = part->tensors[program_tensor(part, "input")];
        add_kernel(c, "accumulate", i, false, &input, (struct passed){BUFFERS(c->given[i].values, c->given[i].marks, stored)});
    }
    return left;
}

/* Allocates the layer's sums, which start as its bias; those of the last layer are the result. */
static struct buffer_ref make_sums(struct changing *c, int i, const struct tensor *output, bool last)
{
    struct tensor bias;
    struct buffer_ref from = {0}, sums = {.kind = BUFFER_TENSOR, .index = 1};
    char prefix[PROGRAM_NAME];
    snprintf(prefix, sizeof prefix, "%.40s %d", c->chain->links[i].name, i);
    if (work_tensor(&c->changes->layers->links[i].work, "bias", &bias))
        from = compose_constant(c->out, prefix, i, 1, &bias);
    if (!last) {
        sums = make_scratch(c, "sums", i, DTYPE_F32, tensor_elements(output));
        c->out->scratch[sums.index].kind = SCRATCH_STATE;
    }
    c->run->state_bytes += (int64_t)(tensor_elements(output) * sizeof(float));
    add_kernel(c, "begin_sums", i, true, output, (struct passed){BUFFERS(sums, from)});
    return sums;
}

/* After a layer that keeps sums: applies its activation and sends on the pixels that differ enough from the value sent before. */
static void add_sums(struct changing *c, int i, struct sent left, const struct tensor *output, bool last)
{
    struct buffer_ref none = {0}, sums = make_sums(c, i, output, last), sent = none;
    struct sent next = {none, none};
    if (!last) {
        sent = make_state(c, "sent", i, output, DTYPE_F32);
        next = c->given[i + 1] = make_sent(c, i + 1);
    }
    add_kernel(c, "truncate_changes", i, false, output,
               (struct passed){BUFFERS(left.values, left.marks, sums, sent, next.values, next.marks), .real_count = 2,
                               .reals = {work_slope(&c->changes->layers->links[i].work), c->changes->above}, .first = true});
}

/* After a layer that keeps nothing: passes on its output, or a copy with zeros in unmarked pixels if the next layer reads them. */
static void hand_over(struct changing *c, int i, struct sent left, const struct tensor *output, bool zeros)
{
    if (!c->zero || zeros) {
        c->given[i + 1] = left;
        return;
    }
    struct sent next = c->given[i + 1] = make_sent(c, i + 1);
    add_kernel(c, "hand_over", i, false, output, (struct passed){BUFFERS(left.values, left.marks, next.values, next.marks)});
}

static int add_kernels(struct changing *c)
{
    const struct work *w = &c->chain->links[0].work;
    char *defines[] = {text_format("TYPE=%s", dtype_cuda(w->dtype)), text_format("NHWC=%d", w->layout == LAYOUT_NHWC),
                       text_format("MODE=%d", (int)c->changes->truncate), text_format("ZERO=%d", c->zero)};
    struct unit unit = {.path = (char *)(uintptr_t)c->changes->kernels,
                        .include = c->changes->include,
                        .label = (char *)(uintptr_t) "sequence/delta",
                        .defines = defines,
                        .define_count = 4};
    int at = program_unit(c->out, &unit, false);
    for (int i = 0; i < 4; i++)
        free(defines[i]);
    return at;
}

/* The frame and the sums of the last layer, both in f32. */
static void make_tensors(struct changing *c, const struct work *work)
{
    struct tensor *t = c->out->tensors = xcalloc(2, sizeof *t);
    c->out->tensor_count = 2;
    t[0] = shape_activation(work, SLOT_INPUT, work->c, work->h, work->w, work->layout);
    t[1] = shape_activation(work, SLOT_OUTPUT, work->k, work->p, work->q, work->layout);
    t[0].dtype = t[1].dtype = DTYPE_F32;
}

void compose_changes(const struct work *work, const struct program *const *parts, const struct changes *changes, struct changed *run,
                     struct program *out)
{
    struct changing c = {.out = out, .chain = work->chain, .changes = changes, .run = run};
    int count = c.chain->count;
    *out = (struct program){
        .work = *work, .feasible = true, .checked = true, .uses_mask = true, .tile_weight_bytes = -1, .predicted = {-1, -1, -1}};
    *run = (struct changed){.links = xcalloc((size_t)count, sizeof *run->links)};
    for (int i = 0; i < count; i++)
        c.zero |= parts[i]->reads_inactive;
    c.given = xcalloc((size_t)count + 1, sizeof *c.given);
    c.kernels = add_kernels(&c);
    make_tensors(&c, work);
    run->first = make_scratch(&c, "first", 0, DTYPE_U32, 1);
    send_frame(&c);
    for (int i = 0; i < count; i++) {
        struct tensor output = parts[i]->tensors[program_tensor(parts[i], "output")];
        bool last = i + 1 == count;
        struct sent left = add_layer(&c, i, parts[i]);
        if (last || c.chain->links[i].work.op->has_filter)
            add_sums(&c, i, left, &output, last);
        else
            hand_over(&c, i, left, &output, parts[i]->inactive == INACTIVE_ZERO);
    }
    program_sort_steps(out);
    program_scratch_kinds(out);
    free(c.given);
}
