/* The images between the stages of a work: their sizes and types, FLOP, and the -D names for the compiler. */
#include "op/stage/stage.h"
#include "base/text.h"
#include "op/op_file.h"
#include <string.h>

static bool stage_value(struct stage_env *e, const struct expr *x, struct value *out, struct error *err);
static bool stage_name(void *context, const char *name, struct value *out, struct error *err)
{
    struct stage_env *e = context;
    const struct {
        const char *name;
        int64_t value;
    } in[] = {{"n", e->in.n}, {"c", e->in.c}, {"h", e->in.h}, {"w", e->in.w}};
    static const char *const pixel[] = {"y", "x"};
    for (int axis = 0; axis < 2; axis++)
        if (e->asked[axis] && !strcmp(pixel[axis], name)) {
            *e->asked[axis] = true;
            *out = value_int(e->at[axis]);
            return true;
        }
    for (int i = 0, outer = e->inside; i < (outer ? outer - 1 : e->use->stage->let_count); i++)
        if (!strcmp(e->use->stage->lets[i].name, name)) {
            e->inside = i + 1;
            bool ok = stage_value(e, e->use->stage->lets[i].value, out, err);
            e->inside = outer;
            return ok;
        }
    for (int i = 0; i < e->use->stage->param_count; i++)
        if (!strcmp(e->use->stage->params[i].name, name) && e->use->counts[i] == 1)
            return work_value(e->work, e->use->values[i][0], out, err);
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        if (!strcmp(in[i].name, name)) {
            *out = value_int(in[i].value);
            return true;
        }
    return false;
}

static const char *const stage_names[] = {"n", "c", "h", "w", NULL};

static bool stage_value(struct stage_env *e, const struct expr *x, struct value *out, struct error *err)
{
    const struct expr_env env = {e, stage_name, NULL, stage_names};
    return expr_eval(x, &env, out, err);
}

bool stage_int(struct stage_env *e, const struct expr *x, int64_t *out, struct error *err)
{
    const struct expr_env env = {e, stage_name, NULL, stage_names};
    return !x || expr_eval_int(x, &env, out, err);
}

/* What a stage makes of `in`; false on error. */
static bool stage_make(const struct work *work, const struct stage_use *u, const struct stage_image *in, struct stage_image *to,
                       struct error *err)
{
    struct stage_env e = {.work = work, .use = u, .in = *in};
    *to = *in;
    to->use = u;
    to->dtype = u->stage->dtype < 0 ? u->dtype : u->stage->dtype ? (enum dtype)u->stage->dtype : in->dtype;
    if (!stage_int(&e, u->stage->batch, &to->n, err) || !stage_int(&e, u->stage->channels, &to->c, err) ||
        !stage_int(&e, u->stage->size[0], &to->h, err) || !stage_int(&e, u->stage->size[1], &to->w, err))
        return false;
    if (to->n < 1 || to->c < 1 || to->c > 4 || to->h < 1 || to->w < 1)
        return node_error(u->node, err, "stage %s makes %lld images of %lld channels, %lld x %lld", u->stage->name, (long long)to->n,
                          (long long)to->c, (long long)to->h, (long long)to->w);
    return u->branches < 2 || to->n == in->n ||
           node_error(u->node, err, "stage %s: in a branch the number of images must not change", u->stage->name);
}

/* The image in which branches meet; `ends` are known. */
static bool stage_join(const struct stage_use *u, const struct stage_image *all, const int *ends, struct stage_image *to, struct error *err)
{
    const struct stage_image *first = &all[ends[0]];
    for (int k = 1; k < u->branches; k++) {
        const struct stage_image *other = &all[ends[k]];
        if (other->c != first->c || other->h != first->h || other->w != first->w || other->dtype != first->dtype)
            return node_error(u->node, err, "branch %d ends in %lld x %lld x %lld of %s, the first in %lld x %lld x %lld of %s", k + 1,
                              (long long)other->c, (long long)other->h, (long long)other->w, dtype_name(other->dtype), (long long)first->c,
                              (long long)first->h, (long long)first->w, dtype_name(first->dtype));
    }
    *to = *first;
    to->use = u;
    memcpy(to->ends, ends, sizeof to->ends);
    return true;
}

int stage_images(const struct work *work, struct stage_image out[STAGE_MOST + 1], struct error *err)
{
    const struct op_file *f = work->op->file;
    struct tensor input;
    int count = 1, part = 0, ends[STAGE_BRANCHES] = {0}; /* part: where the branches part */
    if (!work_tensor(work, "input", &input))
        return -1;
    out[0] = (struct stage_image){.dtype = input.dtype, .n = input.dim[0], .c = input.dim[1], .h = input.dim[2], .w = input.dim[3]};
    for (int i = 0; i < f->stage_count; i++) {
        const struct stage_use *u = &f->stages[i], *last = i ? u - 1 : NULL;
        bool join = u->stage->kind == STAGE_JOIN,
             begins =
                 u->branches > 1 && !join && (!last || last->branches < 2 || last->stage->kind == STAGE_JOIN || last->branch != u->branch);
        int64_t times = 1;
        if (u->times && !work_int(work, u->times, &times, err))
            return -1;
        if (begins && u->branch == 0)
            part = count - 1;
        for (int64_t k = 0; k < times; k++) {
            int before = join || (begins && k == 0) ? part : count - 1;
            if (count > STAGE_MOST) {
                node_error(u->node, err, "more than %d stages", STAGE_MOST);
                return -1;
            }
            if (!(join ? stage_join(u, out, ends, &out[count], err) : stage_make(work, u, &out[before], &out[count], err)))
                return -1;
            out[count].before = before;
            ends[u->branch] = count++;
        }
    }
    return count;
}

int64_t stage_count_of(const struct stage_image *image)
{
    const struct stage_use *u = image->use;
    return !u || u->branches < 2 || u->stage->kind == STAGE_JOIN ? image->n : (image->n - u->branch + u->branches - 1) / u->branches;
}

double stage_flop(const struct work *work)
{
    SCOPED struct stage_image *all = xcalloc(STAGE_MOST + 1, sizeof *all);
    int count = stage_images(work, all, NULL);
    double flop = 0;
    for (int i = 1; i < count; i++) {
        struct stage_env e = {.work = work, .use = all[i].use, .in = all[all[i].before]};
        int64_t each = 1;
        if (all[i].use->stage->kind != STAGE_JOIN && stage_int(&e, all[i].use->stage->flop, &each, NULL))
            flop += (double)each * (double)stage_count_of(&all[i]) * (double)all[i].c * (double)all[i].h * (double)all[i].w;
    }
    return flop;
}

/* Writes a number of a stage as C++; R is the type of the computation. */
static bool add_number(const struct work *work, const struct expr *e, bool real, struct text *t, struct error *err)
{
    struct value v;
    if (!work_value(work, e, &v, err))
        return false;
    if (v.kind == VALUE_TEXT || (!real && v.kind != VALUE_INT))
        return expr_fail(e, err, "a%s number is expected", real ? "" : " whole");
    if (real)
        text_addf(t, "R(%.17g)", v.kind == VALUE_INT ? (double)v.i : v.d);
    else
        text_addf(t, "%lld", (long long)v.i);
    return true;
}

static bool add_arguments(const struct work *work, const struct stage_use *u, struct text *t, struct error *err)
{
    for (int i = 0; i < u->stage->param_count; i++) {
        const struct stage_param *p = &u->stage->params[i];
        text_add(t, ",");
        if (p->type == STAGE_DTYPE)
            text_addf(t, "kind_of<%s>()", dtype_cuda(u->dtype));
        else if (p->type != STAGE_REALS && !add_number(work, u->values[i][0], p->type == STAGE_REAL, t, err))
            return false;
        if (p->type != STAGE_REALS)
            continue;
        text_add(t, "quad<R>(");
        for (int k = 0; k < 4; k++) { /* one for all channels, or one for each; unused ones repeat the last */
            text_add(t, k ? "," : "");
            if (!add_number(work, u->values[i][u->counts[i] == 1 ? 0 : k < u->counts[i] ? k : u->counts[i] - 1], true, t, err))
                return false;
        }
        text_add(t, ")");
    }
    return true;
}

int stage_defines(const struct work *work, char ***out, struct error *err)
{
    static const char *const kinds[] = {[STAGE_POINT] = "POINT", [STAGE_SAMPLE] = "SAMPLE", [STAGE_BOXES] = "BOXES", [STAGE_JOIN] = "JOIN"};
    SCOPED struct stage_image *all = xcalloc(STAGE_MOST + 1, sizeof *all);
    int count = stage_images(work, all, err), files = 0;
    struct text t = {0};
    bool ok = count > 0;
    *out = xcalloc((size_t)work->op->file->stage_count + 16, sizeof **out);
    for (int i = 0; ok && i < count; i++) {
        const struct stage_image *s = &all[i];
        text_addf(&t, "%s(%d,%d,%s,%s,%lld,%lld,%lld,%lld", s->use ? kinds[s->use->stage->kind] : "STAGES=SOURCE", i, s->before,
                  s->use ? s->use->stage->name : "input", dtype_cuda(s->dtype), (long long)s->c, (long long)s->n, (long long)s->h,
                  (long long)s->w);
        bool join = s->use && s->use->stage->kind == STAGE_JOIN;
        for (int k = 0; join && k < s->use->branches; k++)
            text_addf(&t, k ? ",%d" : ",%d,%d", k ? s->ends[k] : s->use->branches, s->ends[0]);
        ok = !s->use || join || add_arguments(work, s->use, &t, err);
        text_add(&t, ") ");
    }
    for (int i = 0; ok && i < work->op->file->stage_count; i++) {
        bool again = work->op->file->stages[i].stage->kind == STAGE_JOIN;
        for (int k = 0; k < i; k++)
            again |= work->op->file->stages[k].stage == work->op->file->stages[i].stage;
        if (!again) {
            (*out)[files] = text_format("STAGE_FILE_%d=\"%s\"", files, work->op->file->stages[i].stage->include);
            files++;
        }
    }
    (*out)[files++] = text_take(&t);
    struct tensor in, to;
    if (ok && work_tensor(work, "input", &in) && work_tensor(work, "output", &to)) {
        const struct stage_image *last = &all[count - 1];
        const struct {
            const char *name;
            int64_t value;
        } numbers[] = {{"LAST", count - 1},
                       {"IN_PLANAR", in.layout == LAYOUT_NCHW},
                       {"OUT_PLANAR", to.layout == LAYOUT_NCHW},
                       {"OUT_N", last->n},
                       {"OUT_C", last->c},
                       {"OUT_H", last->h},
                       {"OUT_W", last->w}};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            (*out)[files++] = text_format("%s=%lld", numbers[i].name, (long long)numbers[i].value);
    }
    if (ok)
        return files;
    pointers_free(*out, files);
    *out = NULL;
    return -1;
}
