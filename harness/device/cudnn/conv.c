/* A convolution as a key: compared, and as text. */
#include "base/text.h"
#include "device/cudnn/private.h"
#include <string.h>

bool cudnn_conv_same(const struct cudnn_conv *a, const struct cudnn_conv *b)
{
    const int64_t x[] = {a->n, a->c, a->h, a->w, a->k, a->r, a->s, a->p, a->q, a->stride, a->pad, a->dilation, a->groups, a->d, a->t, a->o},
                  y[] = {b->n, b->c, b->h, b->w, b->k, b->r, b->s, b->p, b->q, b->stride, b->pad, b->dilation, b->groups, b->d, b->t, b->o};
    return !memcmp(x, y, sizeof x) && !memcmp(a->more_stride, b->more_stride, sizeof a->more_stride) &&
           !memcmp(a->more_dilation, b->more_dilation, sizeof a->more_dilation) &&
           !memcmp(a->more_before, b->more_before, sizeof a->more_before) && !memcmp(a->more_after, b->more_after, sizeof a->more_after) &&
           !memcmp(a->pitch, b->pitch, sizeof a->pitch) && a->dtype == b->dtype && a->layout == b->layout && a->math == b->math &&
           a->bias == b->bias && a->residual == b->residual && a->activation == b->activation && a->alpha == b->alpha &&
           a->most == b->most && a->scale == b->scale;
}

char *cudnn_conv_text(const struct cudnn_conv *c)
{
    const struct {
        const char *name;
        const int64_t *of;
    } more[] = {{"stride", c->more_stride}, {"dilation", c->more_dilation}, {"before", c->more_before}, {"after", c->more_after}};
    struct text t = {0};
    text_addf(&t,
              "n%lld c%lld h%lld w%lld k%lld r%lld s%lld p%lld q%lld stride%lld pad%lld dilation%lld groups%lld d%lld t%lld o%lld %s "
              "%s %s bias%d residual%d activation%d %.17g",
              (long long)c->n, (long long)c->c, (long long)c->h, (long long)c->w, (long long)c->k, (long long)c->r, (long long)c->s,
              (long long)c->p, (long long)c->q, (long long)c->stride, (long long)c->pad, (long long)c->dilation, (long long)c->groups,
              (long long)c->d, (long long)c->t, (long long)c->o, dtype_name(c->dtype), layout_name(c->layout), math_name(c->math), c->bias,
              c->residual, c->activation, c->alpha);
    if (c->most != 0)
        text_addf(&t, " most%.17g", c->most);
    if (c->scale != 0)
        text_addf(&t, " scale%.17g", c->scale);
    if (c->pitch[0] || c->pitch[1] || c->pitch[2])
        text_addf(&t, " pitch %lld %lld %lld", (long long)c->pitch[0], (long long)c->pitch[1], (long long)c->pitch[2]);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (more[i].of[0] || more[i].of[1] || more[i].of[2])
            text_addf(&t, " %s+%lld+%lld+%lld", more[i].name, (long long)more[i].of[0], (long long)more[i].of[1], (long long)more[i].of[2]);
    return text_take(&t);
}
