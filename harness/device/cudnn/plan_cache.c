/* Plans that are made once: those that the handle keeps for later calls, and prefetched ones. */
#include "base/text.h"
#include "device/cudnn/private.h"
#include <stdlib.h>
#include <string.h>

struct cudnn_cached *cudnn_cache_keep(struct cudnn *h, const struct cudnn_conv *conv, const struct cudnn_plan *plan)
{
    struct cudnn_plan *own = plan->of ? plan->of : (struct cudnn_plan *)(uintptr_t)plan;
    for (int i = 0; i < h->cached_count; i++)
        if (cudnn_conv_same(&h->cached[i].conv, conv) && !strcmp(h->cached[i].plan->facts.text, own->facts.text))
            return &h->cached[i];
    struct cudnn_cached *made = APPEND(h->cached, h->cached_count);
    *made = (struct cudnn_cached){.conv = *conv, .plan = own};
    own->users++;
    return made;
}

void cudnn_keep(struct cudnn *h, const struct cudnn_conv *conv, const struct cudnn_plan *plan)
{
    cudnn_cache_keep(h, conv, plan);
}

void cudnn_cache_free(struct cudnn *h)
{
    for (int i = 0; i < h->cached_count; i++)
        cudnn_plan_free(h->cached[i].plan);
    free(h->cached);
    for (int i = 0; i < h->prefetched_count; i++) {
        while (h->prefetched[i].count > 0)
            cudnn_plan_free(h->prefetched[i].plans[--h->prefetched[i].count]);
        free(h->prefetched[i].plans);
    }
    FREE_ALL(h->prefetched, h->slow, h->seen);
}

void cudnn_mark_slow(struct cudnn *h, const struct cudnn_conv *conv, int engine)
{
    if (cudnn_is_slow(h, conv, engine))
        return;
    __typeof__(h->slow) one = APPEND(h->slow, h->slow_count);
    one->conv = *conv;
    one->engine = engine;
}

bool cudnn_is_slow(const struct cudnn *h, const struct cudnn_conv *conv, int engine)
{
    bool found = false;
    for (int i = 0; i < h->slow_count && !found; i++) {
        const struct cudnn_conv *c = &h->slow[i].conv;
        struct cudnn_conv like = *c; /* in these it may differ */
        like.n = conv->n, like.c = conv->c, like.k = conv->k, like.pad = conv->pad;
        like.d = conv->d, like.h = conv->h, like.w = conv->w, like.o = conv->o, like.p = conv->p, like.q = conv->q;
        memcpy(like.more_before, conv->more_before, sizeof like.more_before);
        memcpy(like.more_after, conv->more_after, sizeof like.more_after);
        like.bias = conv->bias, like.residual = conv->residual, like.activation = conv->activation, like.alpha = conv->alpha,
        like.most = conv->most, like.scale = conv->scale;
        int64_t was = c->n * (c->o ? c->o : 1) * c->p * c->q, is = conv->n * (conv->o ? conv->o : 1) * conv->p * conv->q;
        found = h->slow[i].engine == engine && cudnn_conv_same(&like, conv) && conv->c >= c->c && conv->k >= c->k && is >= was;
    }
    return found;
}

struct cudnn_prefetched *cudnn_prefetched_find(struct cudnn *h, const struct cudnn_conv *conv, int most)
{
    for (int i = 0; i < h->prefetched_count && !h->only; i++)
        if (cudnn_conv_same(&h->prefetched[i].conv, conv) && h->prefetched[i].most == most)
            return &h->prefetched[i];
    return NULL;
}

/* A plan that shares the cuDNN plan but has its own addresses and 16-bit bias. NULL on error. */
static struct cudnn_plan *share(struct cudnn_plan *made, struct error *err)
{
    struct cudnn_graph *graph = cudnn_graph_share(made->graph, err);
    if (!graph)
        return NULL;
    struct cudnn_plan *p = xcalloc(1, sizeof *p);
    *p = *made;
    p->graph = graph;
    p->pack = NULL;
    p->users = 1;
    p->of = made;
    made->users++;
    return p;
}

struct cudnn_plan *cudnn_cache_find(struct cudnn *h, const struct cudnn_conv *conv, const char *text, struct error *err)
{
    for (int i = 0; i < h->cached_count; i++)
        if (cudnn_conv_same(&h->cached[i].conv, conv) && (text ? !strcmp(h->cached[i].plan->facts.text, text) : h->cached[i].first))
            return share(h->cached[i].plan, err);
    return NULL;
}
