/* Which chains pass the marks of a mask from link to link. */
#include "op/chain/chain.h"

/* Why a link cannot pass marks on; NULL: it can. */
static const char *hindrance(const struct chain *chain, int i)
{
    const struct chain_link *l = &chain->links[i];
    const struct work *w = &l->work;
    struct tensor t;
    int64_t dim[4];
    if (w->mask.pattern == MASK_NONE)
        return l->layer < 0 ? "changes the layout, which takes no mask" : "has no mask";
    if (w->mask.marks_output)
        return "marks outputs";
    if (l->input != i - 1 || l->residual != CHAIN_NONE || work_tensor(w, "second", &t) || work_tensor(w, "stored", &t))
        return "reads more than the output of the layer before it";
    if (!work_tensor(w, "output", &t) || (tensor_fold(&t, dim), dim[2] != w->p) || dim[3] != w->q)
        return "moves pixels in its epilogue";
    return NULL;
}

bool chain_passes_marks(const struct chain *chain, struct error *err)
{
    bool masked = ANY_OF(i, chain->count, chain->links[i].work.mask.pattern != MASK_NONE);
    for (int i = 0; masked && i < chain->count; i++) {
        const char *why = hindrance(chain, i);
        if (why)
            return error_set(err, ERROR_USAGE,
                             "network: layer '%s' %s; masks pass only through layers that each read only the layer before",
                             chain->links[i].name, why);
    }
    return true;
}
