/* The program's buffers for the names in a head. */
#include "kernel/bind/bind.h"

bool bind_scratch(struct bind *b, struct error *err)
{
    b->scratch_at = b->program->scratch_count;
    for (int i = 0; i < b->h->scratch_count; i++) {
        const struct head_scratch *s = &b->h->scratch[i];
        enum dtype dtype = bind_scratch_dtype(b, i);
        int64_t elements;
        if (!expr_eval_int(s->elements, &b->env, &elements, err))
            return false;
        if (elements < 1)
            return expr_fail(s->elements, err, "scratch buffer '%s' has %lld elements", s->name, (long long)elements);
        if (elements > (INT64_C(1) << 40) / (int64_t)dtype_bytes(dtype))
            return bind_infeasible(b, "scratch %s: %lld elements of %s are more than 1 TiB", s->name, (long long)elements,
                                   dtype_name(dtype));
        int at = program_add_scratch(b->program, s->name, dtype, elements);
        b->program->scratch[at].kind = s->state ? SCRATCH_STATE : SCRATCH_WORK;
    }
    return true;
}

/* The buffer of the program; BUFFER_NONE when this work has no such tensor. */
struct buffer_ref bind_buffer(const struct bind *b, const struct head_buffer *of)
{
    if (of->kind == BUFFER_SCRATCH)
        return (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = b->scratch_at + of->index};
    const struct tensor *t = bind_tensor(b, of->index);
    if (!t)
        return (struct buffer_ref){.kind = BUFFER_NONE};
    return t->role->result ? b->output : (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(b->program, t->role->name)};
}

uint64_t bind_buffer_bytes(const struct program *p, struct buffer_ref ref)
{
    if (ref.kind == BUFFER_TENSOR)
        return tensor_bytes(&p->tensors[ref.index]);
    return ref.kind == BUFFER_SCRATCH ? scratch_bytes(&p->scratch[ref.index]) : 0;
}
