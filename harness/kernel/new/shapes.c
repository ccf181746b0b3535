#include "kernel/new/index.h"
#include "base/code_only.h"
#include "base/dtype.h"
#include "base/text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the body says of its names ---- */

/* The pointer that `p + n`, `&p[n]` or `p` at the text is; -1: it is another value. */
static int begins_with(struct reader *r, const char *p)
{
    char name[64];
    size_t n = strspn(p, " \t\r\n&(");
    const char *after = index_skip(index_word(p + n, name));
    const struct local *local = index_local(r, name);
    bool address = memchr(p, '&', n) || strchr("+;,)", *after);
    return !address ? -1 : local ? local->of : index_pointer(r, name);
}

static void find_locals(struct reader *r)
{
    char name[64];
    for (const char *p = r->body; p < r->end; p++) {
        if (!index_is_word(*p) || isdigit((unsigned char)*p) || index_is_word(p[-1]))
            continue;
        const char *after = index_skip(index_word(p, name));
        bool is = *after == '=' && after[1] != '=' && p[-1] != '.' && r->local_count < LOCALS_MAX && !index_local(r, name);
        if (is)
            r->locals[r->local_count++] = (struct local){.value = index_skip(after + 1), .of = begins_with(r, after + 1)};
        if (is)
            memcpy(r->locals[r->local_count - 1].name, name, sizeof name);
    }
}

/* The size at p, up to which something runs; false: it is none. */
static bool read_size(struct reader *r, const char *p, char out[SHAPE_TEXT])
{
    struct sum *s = xcalloc(1, sizeof *s);
    r->p = p;
    index_parse(r, s);
    bool is = index_size(s, out);
    free(s);
    return is;
}

/* `i < n` and `i >= n`; a number counts only in the head of a loop. */
static void find_bounds(struct reader *r)
{
    for (const char *p = r->body + 1; p < r->end && r->bound_count < LOCALS_MAX; p++) {
        const bool less = *p == '<' && p[1] != '<' && p[-1] != '<' && p[1] != '=', more = *p == '>' && p[1] == '=' && p[-1] != '>';
        const char *end = p, *begin;
        while (end > r->body && isspace((unsigned char)end[-1]))
            end--;
        for (begin = end; begin > r->body && index_is_word(begin[-1]);)
            begin--;
        const char *before = begin;
        while (before > r->body && isspace((unsigned char)before[-1]))
            before--;
        while (before > r->body && before[-1] == '+') { /* `y + j < n`: y runs up to n */
            for (end = before - 1; end > r->body && isspace((unsigned char)end[-1]);)
                end--;
            for (begin = end; begin > r->body && index_is_word(begin[-1]);)
                begin--;
            for (before = begin; before > r->body && isspace((unsigned char)before[-1]);)
                before--;
        }
        struct bound *b = &r->bounds[r->bound_count];
        if ((!less && !more) || begin == end || isdigit((unsigned char)*begin) || before[-1] == '.' || before[-1] == '>')
            continue;
        index_word(begin, b->name);
        b->at = p;
        r->bound_count +=
            read_size(r, p + 1 + more, b->bound) && strcmp(b->bound, "1") && (before[-1] == ';' || !isdigit((unsigned char)b->bound[0]));
    }
}

/* ---- shapes ---- */

/* Removes the sizes of `less` from `all`; false if one is missing. */
static bool without(const struct product *all, const struct product *less, struct product *rest)
{
    *rest = *all;
    for (int i = 0; i < less->size_count; i++) {
        int k = 0;
        while (k < rest->size_count && strcmp(rest->sizes[k], less->sizes[i]))
            k++;
        if (k == rest->size_count)
            return false;
        memmove(rest->sizes[k], rest->sizes[k + 1], sizeof rest->sizes[0] * (size_t)(--rest->size_count - k));
    }
    return true;
}

static bool same_sizes(const struct product *a, const struct product *b)
{
    struct product rest;
    return a->size_count == b->size_count && without(a, b, &rest);
}

/* True if the body has the word. */
static bool uses(const struct reader *r, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = r->body; n && (p = strstr(p, word)) && p < r->end; p += n)
        if (!index_is_word(p[-1]) && !index_is_word(p[n]))
            return true;
    return false;
}

/* The number that is the size of a grid: `heads` of an index called head or h, else the only one that the body does not use; NULL: none. */
static const char *grid_number(const struct reader *r, const char *label)
{
    const struct shapes *out = r->out;
    const char *like = NULL, *unused = NULL;
    int likes = 0, left = 0;
    for (int i = 0; i < out->number_count; i++) {
        const char *name = out->numbers[i].name;
        bool taken = out->numbers[i].real || ANY_OF(k, 3, !strcmp(out->launch[k].size, name));
        if (!taken && *label && !strncasecmp(name, label, strlen(label)))
            like = name, likes++;
        if (!taken && !out->numbers[i].of[0] && !uses(r, name))
            unused = name, left++;
    }
    return likes == 1 ? like : left == 1 ? unused : NULL;
}

/* A size that no number gives, by a name that is free. */
static const char *new_size(struct reader *r, const char *name, const char *axis)
{
    struct shapes *out = r->out;
    bool taken = index_pointer(r, name) >= 0 || ANY_OF(i, out->number_count, !strcmp(out->numbers[i].name, name)) ||
                 ANY_OF(i, out->grid_count, !strcmp(out->grid[i].name, name));
    if (out->grid_count == SHAPE_AXES)
        return NULL;
    SCOPED char *free_name = taken ? text_format("blocks_%c", *axis ? axis[9] : 'n') : xstrdup(name);
    snprintf(out->grid[out->grid_count].name, sizeof out->grid[0].name, "%s", free_name);
    snprintf(out->grid[out->grid_count].axis, sizeof out->grid[0].axis, "%.15s", axis);
    return out->grid[out->grid_count++].name;
}

/* The axis of a block's index, 0 to 2; -1: it is none. */
static int grid_axis(const struct product *t)
{
    return t->runs == 1 && !strncmp(t->what, "blockIdx.", 9) && t->what[9] >= 'x' && t->what[9] <= 'z' ? t->what[9] - 'x' : -1;
}

/* The size of the grid along the axis of a block's index; NULL: it is no such index, or has no name yet. */
static const char *grid_size(struct reader *r, const struct product *t)
{
    int axis = grid_axis(t);
    if (axis < 0)
        return NULL;
    char *size = r->out->launch[axis].size, name[64];
    const size_t n = strlen(t->label);
    if (!*size && r->names) {
        snprintf(name, sizeof name, "%.50s%s", n > 2 ? t->label : "row", n > 2 && t->label[n - 1] == 's' ? "" : "s");
        const char *number = grid_number(r, t->label);
        if (!number)
            index_lower(name), number = new_size(r, name, t->what);
        snprintf(size, SHAPE_TEXT, "%s", number ? number : "");
        index_lower(size);
    }
    return *size ? size : NULL;
}

/* The number of lines of a tensor from which the elements of another one select. */
static const char *selected_size(struct reader *r, const struct product *t, int of)
{
    char name[80];
    if (!t->by || !r->names)
        return NULL;
    snprintf(name, sizeof name, "%.50s_rows", r->s->params[of].name);
    index_lower(name);
    for (int i = 0; i < r->out->grid_count; i++)
        if (!strcmp(r->out->grid[i].name, name))
            return r->out->grid[i].name;
    const char *size = new_size(r, name, "");
    if (size)
        snprintf(r->out->of[t->by - 1].selects, sizeof r->out->of[0].selects, "%s", size);
    return size;
}

static bool shape_add(struct shape_guess *out, const char *size)
{
    if (out->count < SHAPE_AXES)
        snprintf(out->axes[out->count], SHAPE_TEXT, "%s", size);
    return out->count++ < SHAPE_AXES;
}

/* The axes of "a * b", which a flat index runs over. */
static bool add_axes(struct shape_guess *out, const char *sizes)
{
    SCOPED char *copy = xstrdup(sizes);
    char *next = copy;
    bool ok = true;
    for (char *star; next && ok; next = star ? star + 3 : NULL) {
        star = strchr(sizes, '(') ? NULL : strstr(next, " * ");
        if (star)
            *star = 0;
        ok = shape_add(out, next);
    }
    return ok;
}

/* The products of an index by their sizes, fewest first. `numbers`: numbers among the sizes count. */
static int grouped(const struct sum *s, bool numbers, struct product groups[TERMS_MAX])
{
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        struct product t = s->terms[i];
        for (int n = t.size_count - 1; n >= 0 && !numbers; n--)
            if (isdigit((unsigned char)t.sizes[n][0]))
                memmove(t.sizes[n], t.sizes[n + 1], sizeof t.sizes[0] * (size_t)(--t.size_count - n));
        int k = 0;
        while (k < count && !same_sizes(&groups[k], &t))
            k++;
        if (!t.runs)
            continue;
        if (k == count)
            groups[count++] = t;
        else if ((!groups[k].bound[0] && t.bound[0]) || (isdigit((unsigned char)groups[k].bound[0]) && !isdigit((unsigned char)t.bound[0])))
            groups[k] = t;
    }
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && groups[k].size_count < groups[k - 1].size_count; k--) {
            struct product other = groups[k];
            groups[k] = groups[k - 1], groups[k - 1] = other;
        }
    return count;
}

/* The axes that an index needs: each group of products has all the sizes of the one before it. */
static bool chained(struct reader *r, const struct product *groups, int count, int of, struct shape_guess *out)
{
    struct product rest;
    char size[SHAPE_TEXT];
    const struct product *last = &groups[count - 1];
    bool ok = true;
    for (int i = 1; i < count && ok; i++) {
        int axis = grid_axis(&groups[i - 1]);
        ok = without(&groups[i], &groups[i - 1], &rest);
        index_join(&rest, size);
        if (ok && axis >= 0 && !groups[i - 1].bound[0] && !r->out->launch[axis].size[0])
            snprintf(r->out->launch[axis].size, SHAPE_TEXT, "%s", size); /* what one row further is */
    }
    const char *outer = !ok ? NULL : last->bound[0] ? last->bound : grid_size(r, last);
    outer = outer || !ok ? outer : selected_size(r, last, of);
    ok = outer && add_axes(out, outer);
    for (int i = count - 1; ok && i > 0; i--) {
        without(&groups[i], &groups[i - 1], &rest);
        for (int k = 0; ok && k < rest.size_count; k++)
            ok = shape_add(out, rest.sizes[k]);
    }
    index_join(&groups[0], size);
    return ok && (!groups[0].size_count || shape_add(out, size));
}

static bool shape_of(struct reader *r, const struct sum *s, int of, struct shape_guess *out)
{
    struct product groups[TERMS_MAX];
    bool ok = false;
    for (int numbers = 1; numbers >= 0 && !ok && !s->unknown; numbers--) {
        int count = grouped(s, numbers, groups);
        *out = (struct shape_guess){0};
        ok = count && chained(r, groups, count, of, out);
    }
    return ok;
}

/* Elements of a vector type: 4 of float4. */
static int width_of(const char *type)
{
    const char *const words[] = {"float", "double", "int", "uint", "char", "uchar", "short", "ushort", "half", "__half", "__nv_bfloat16"};
    const size_t n = strlen(type);
    int width = n && strchr("2348", type[n - 1]) ? type[n - 1] - '0' : 1;
    return width > 1 && ANY_OF(i, (int)(sizeof words / sizeof *words), strlen(words[i]) == n - 1 && !strncmp(type, words[i], n - 1)) ? width
                                                                                                                                     : 1;
}

/* What follows an element: `= x` writes it, `+= x` and all else reads it. */
static bool is_read(const char *after)
{
    after = index_skip(after);
    return *after != '=' || after[1] == '=';
}

/* An element, or an address, of the pointer `of` at r->p, behind its name. */
static void take_index(struct reader *r, int of, const struct local *alias)
{
    struct sum *s = xcalloc(2, sizeof *s);
    struct shape_guess guess, *out = &r->out->of[of];
    const char *at = r->p = index_skip(r->p);
    bool element = *at == '[';
    r->p++;
    index_parse(r, &s[0]);
    if (element && is_read(index_closed(at)) && !r->s->params[of].added_to)
        out->read = true;
    if (alias) {
        char name[64];
        r->p = index_skip(index_word(alias->value + strspn(alias->value, " \t\r\n&("), name));
        if (*r->p == '[' || *r->p == '+') {
            r->p++;
            index_parse(r, &s[1]);
        }
        index_add(&s[0], &s[1]);
    }
    if (shape_of(r, &s[0], of, &guess) && guess.count > out->count) {
        guess.read = out->read;
        memcpy(guess.selects, out->selects, sizeof guess.selects);
        *out = guess;
    }
    free(s);
}

/* `*total = s` or atomicAdd(total, s), without an index: one element. */
static bool is_scalar(const struct reader *r, const struct signature_param *p)
{
    size_t n = strlen(p->name);
    for (const char *at = r->body; n && (at = strstr(at, p->name)) && at < r->end; at += n)
        if (!index_is_word(at[-1]) && !index_is_word(at[n]) && at[-1] == '*' && *index_skip(at + n) == '=')
            return true;
    return p->added_to;
}

static void take_indices(struct reader *r)
{
    char name[64];
    for (const char *p = r->body; p < r->end; p++) {
        if (!index_is_word(*p) || index_is_word(p[-1]))
            continue;
        const char *after = index_skip(index_word(p, name));
        const struct local *local = index_local(r, name);
        int of = local ? local->of : index_pointer(r, name);
        bool index = *after == '[' || (*after == '+' && after[1] != '+' && after[1] != '=' && !local);
        r->p = after;
        if (of >= 0 && index)
            take_index(r, of, local && index_pointer(r, name) < 0 ? local : NULL);
    }
}

/* First without names: a grid's size may follow from another tensor. */
static void find_shapes(struct reader *r)
{
    for (int names = 0; names < 2; names++) {
        r->names = names;
        take_indices(r);
    }
    for (int i = 0; i < r->s->count; i++)
        if (r->s->params[i].pointer && !r->out->of[i].count && is_scalar(r, &r->s->params[i]))
            shape_add(&r->out->of[i], "1");
    for (int i = 0; i < r->s->count; i++) {
        struct shape_guess *g = &r->out->of[i];
        int width = width_of(r->s->params[i].type);
        SCOPED char *wide = g->count && width > 1 ? text_format("%s * %d", g->axes[g->count - 1], width) : NULL;
        if (wide && strlen(wide) < SHAPE_TEXT)
            snprintf(g->axes[g->count - 1], SHAPE_TEXT, "%s", wide);
    }
}

/* ---- the launch ---- */

/* `int row = blockIdx.x * blockDim.x + threadIdx.x` with `row < rows`: the blocks along x cover rows, blockDim of them each. */
static void take_launch(struct reader *r, const struct local *local, const struct product *t)
{
    int axis = t->what[9] - 'x';
    const char *size = index_bound(r, local->name, local->value);
    struct product alone = *t;
    snprintf(alone.label, sizeof alone.label, "%s", local->name);
    size = size ? size : t->runs == 1 && !t->size_count ? grid_size(r, &alone) : NULL;
    bool threads = t->runs == 2 && !strncmp(t->with, SHAPE_THREADS, 8);
    if (axis < 0 || axis > 2 || !size || r->out->launch[axis].size[0] || t->runs > 2 || (t->runs == 2 && (!threads || t->size_count)))
        return;
    snprintf(r->out->launch[axis].size, SHAPE_TEXT, "%s", size);
    if (threads)
        snprintf(r->out->launch[axis].each, SHAPE_TEXT, SHAPE_THREADS "%s", strchr(t->with, '/') ? strchr(t->with, '/') - 1 : "");
    else if (t->size_count)
        index_join(t, r->out->launch[axis].each);
}

/* `for (int i = threadIdx.x; i < n; i += THREADS)` */
static void find_threads(struct reader *r)
{
    for (const char *p = r->body; (p = strstr(p, "threadIdx.x;")) && p < r->end && !r->out->threads[0]; p++) {
        const char *step = strstr(p, "+=");
        if (step && !memchr(p, '{', (size_t)(step - p)) && !memchr(p, '\n', (size_t)(step - p)))
            index_word(index_skip(step + 2), r->out->threads);
    }
}

/* `extern __shared__ float red[];` */
static void find_shared(struct reader *r)
{
    const char *p = r->body;
    while ((p = strstr(p, "extern __shared__")) && p < r->end) {
        const char *open = strchr(p, '['), *end = open, *begin, *stop;
        for (begin = end; begin && begin > p && index_is_word(begin[-1]);)
            begin--;
        for (stop = begin; stop && stop > p && isspace((unsigned char)stop[-1]);)
            stop--;
        const char *type = stop;
        while (type && type > p && index_is_word(type[-1]))
            type--;
        if (!open || index_skip(open + 1) != strchr(open, ']'))
            return;
        char name[64];
        index_word(begin, r->out->shared);
        index_word(type, name);
        size_t bytes = dtype_bytes(dtype_of_c(name, false)) * (size_t)width_of(name);
        r->out->shared_bytes = bytes ? bytes : 4;
        return;
    }
}

static void find_launch(struct reader *r)
{
    struct sum *s = xcalloc(1, sizeof *s);
    for (int i = 0; i < r->local_count; i++) {
        r->p = r->locals[i].value;
        *s = (struct sum){0};
        if (r->locals[i].of < 0)
            index_parse(r, s);
        for (int k = 0; k < s->count && !s->unknown; k++)
            if (!strncmp(s->terms[k].what, "blockIdx.", 9))
                take_launch(r, &r->locals[i], &s->terms[k]);
    }
    free(s);
}

/* ---- sums ---- */

/* Behind the statement or the block at p. */
static const char *statement_end(const char *p)
{
    p = index_skip(p);
    if (*p == '{')
        return index_closed(p);
    for (; *p && *p != ';'; p++)
        if (*p == '(' || *p == '{')
            p = index_closed(p) - 1;
    return p;
}

/* Multiplies the bounds of the loops around p; how many there are. */
static int loops_around(const struct reader *r, const char *p, char out[SHAPE_TEXT])
{
    SCOPED_TEXT t = {0};
    char tile[SHAPE_TEXT] = "";
    int count = 0;
    for (int i = 0; i < r->bound_count; i++) {
        const char *head = r->bounds[i].at;
        for (int depth = 0; head > r->body && *head != '{' && (depth || *head != '('); head--)
            depth += (*head == ')') - (*head == '(');
        const char *word = head;
        while (word > r->body && isspace((unsigned char)word[-1]))
            word--;
        if (*head != '(' || word - r->body < 3 || strncmp(word - 3, "for", 3))
            continue;
        const char *body = index_closed(head), *step = memmem(head, (size_t)(body - head), "+=", 2);
        if (p <= body || p >= statement_end(body))
            continue;
        if (tile[0] && !strcmp(tile, r->bounds[i].bound)) /* within a tile of the loop around it */
            continue;
        struct sum *s = xcalloc(1, sizeof *s);
        struct reader at = *r;
        at.p = step ? index_skip(step + 2) : "";
        if (step)
            index_parse(&at, s);
        if (!step || !index_size(s, tile))
            tile[0] = 0;
        free(s);
        text_addf(&t, "%s%s", count++ ? " * " : "", r->bounds[i].bound);
    }
    snprintf(out, SHAPE_TEXT, "%s", text_get(&t));
    return count;
}

static void find_terms(struct reader *r)
{
    int most = 0;
    char around[SHAPE_TEXT], name[64];
    for (const char *p = r->body; (p = strstr(p, "+=")) && p < r->end; p += 2) {
        const char *end = p;
        while (end > r->body && isspace((unsigned char)end[-1]))
            end--;
        const char *begin = end;
        while (begin > r->body && index_is_word(begin[-1]))
            begin--;
        index_word(begin, name);
        const struct local *local = index_local(r, name);
        int count = local && local->of >= 0 ? 0 : loops_around(r, p, around);
        if (count > most)
            memcpy(r->out->terms, around, sizeof around);
        most = count > most ? count : most;
    }
}

void shapes_read(const char *source, const struct signature *s, struct shapes *out)
{
    SCOPED char *code = code_only(source);
    struct reader *r = xcalloc(1, sizeof *r);
    *out = (struct shapes){0};
    *r = (struct reader){.s = s, .out = out, .file = code};
    r->body = strchr(code + s->at, '{');
    index_numbers(r);
    if (r->body) {
        r->end = index_closed(r->body);
        find_locals(r);
        find_bounds(r);
        find_threads(r);
        find_shared(r);
        find_launch(r); /* by bounds */
        find_shapes(r);
        find_launch(r); /* by the names that sizes have now */
        find_terms(r);
    }
    free(r);
}
