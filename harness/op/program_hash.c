/* The hash of what a program launches (op/program.h). */
#include "op/program.h"

static void hash_numbers(struct hash *h, const int64_t *numbers, size_t count)
{
    hash_add(h, numbers, count * sizeof *numbers);
}
#define HASH_NUMBERS(h, ...) hash_numbers(h, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void hash_step(struct hash *h, const struct step *s, const char *code)
{
    hash_add_text(h, s->name);
    hash_add_text(h, code ? code : "");
    HASH_NUMBERS(h, s->kind, s->prepare, s->cooperative, s->pdl, s->carveout, s->smem, s->fill, (int64_t)s->bytes, s->cudnn_epilogue,
                 s->link, s->own_work);
    HASH_NUMBERS(h, s->to.kind, s->to.index, s->from.kind, s->from.index);
    for (int k = 0; k < 3; k++)
        HASH_NUMBERS(h, s->grid[k], s->block[k], s->cluster[k]);
    hash_add_text(h, s->symbol);
    if (s->stream)
        HASH_NUMBERS(h, s->stream);
    for (int i = 0; i < s->arg_count; i++) {
        const struct arg *a = &s->args[i];
        HASH_NUMBERS(h, a->kind, a->buffer.kind, a->buffer.index, a->map, a->i);
        if (a->buffer.offset)
            HASH_NUMBERS(h, a->buffer.offset);
        hash_add(h, &a->d, sizeof a->d);
    }
    if (s->own_work) {
        char work[HASH_TEXT];
        work_key(&s->work, work);
        hash_add_text(h, work);
    }
    for (int i = 0; s->kind == STEP_CALL && i < OP_MAX_TENSORS; i++)
        HASH_NUMBERS(h, s->operand[i].kind, s->operand[i].index, s->operand_layout[i]);
}

static void hash_map(struct hash *h, const struct tensor_map *m)
{
    HASH_NUMBERS(h, m->buffer.kind, m->buffer.index, m->dtype, m->rank, m->swizzle, m->interleave, m->l2_promotion, m->oob_nan);
    for (int k = 0; k < m->rank && k < 5; k++)
        HASH_NUMBERS(h, (int64_t)m->dim[k], k ? (int64_t)m->stride_bytes[k] : 0, m->box[k], m->element_stride[k]);
    if (m->buffer.offset)
        HASH_NUMBERS(h, m->buffer.offset);
}

static void hash_tensor(struct hash *h, const struct tensor *t)
{
    HASH_NUMBERS(h, t->dtype, t->layout, t->rank, t->written);
    hash_numbers(h, t->dim, (size_t)t->rank);
}

void program_hash(const struct program *p, const struct work *of, const char *const *codes, char out[HASH_TEXT])
{
    char work[HASH_TEXT];
    struct hash *h = hash_begin();
    work_key(of, work);
    hash_add_text(h, "launches 1");
    hash_add_text(h, work);
    HASH_NUMBERS(h, p->graph, p->uses_mask, p->tensor_count, p->scratch_count, p->constant_count, p->tensor_map_count, p->step_count);
    for (int i = 0; i < p->tensor_count; i++)
        hash_tensor(h, &p->tensors[i]);
    for (int i = 0; i < p->scratch_count; i++)
        HASH_NUMBERS(h, p->scratch[i].dtype, p->scratch[i].elements, p->scratch[i].kind);
    for (int i = 0; i < p->constant_count; i++) {
        HASH_NUMBERS(h, p->constants[i].scratch, p->constants[i].link, p->constants[i].span);
        hash_tensor(h, &p->constants[i].tensor);
    }
    for (int i = 0; i < p->tensor_map_count; i++)
        hash_map(h, &p->tensor_maps[i]);
    for (int i = 0; i < p->step_count; i++)
        hash_step(h, &p->steps[i], codes[i]);
    hash_end(h, out);
}
