#include "base/signature.h"
#include "base/code_only.h"
#include "base/text.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_space(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* Behind the bracket that closes the one at p, or NULL. */
static const char *close_of(const char *p, char open, char close)
{
    int depth = 0;
    for (; *p; p++) {
        depth += (*p == open) - (*p == close);
        if (!depth)
            return p + 1;
    }
    return NULL;
}

/* The word that ends before `end`, blanks skipped. */
static void last_word(const char *begin, const char *end, char *out, size_t bytes)
{
    while (end > begin && !word_char(end[-1]))
        end--;
    const char *start = end;
    while (start > begin && word_char(start[-1]))
        start--;
    snprintf(out, bytes, "%.*s", (int)(end - start), start);
}

static bool has_word(const char *begin, const char *end, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = begin; p + n <= end; p++)
        if (!strncmp(p, word, n) && (p == begin || !word_char(p[-1])) && (p + n == end || !word_char(p[n])))
            return true;
    return false;
}

/* The type of a parameter: its last word that is not a qualifier. True if it stands in a namespace. */
static bool type_word(const char *begin, const char *end, char *out, size_t bytes)
{
    static const char *const qualifiers[] = {"const", "volatile", "__restrict__", "restrict", "__grid_constant__", "struct", NULL};
    bool qualified = false;
    out[0] = 0;
    for (const char *p = begin; p < end;) {
        if (!word_char(*p)) {
            p++;
            continue;
        }
        const char *start = p;
        while (p < end && word_char(*p))
            p++;
        char word[KERNEL_NAME];
        snprintf(word, sizeof word, "%.*s", (int)(p - start), start);
        bool qualifier = false;
        for (int i = 0; qualifiers[i]; i++)
            qualifier |= !strcmp(word, qualifiers[i]);
        if (!qualifier) {
            snprintf(out, bytes, "%.*s", (int)bytes - 1, word);
            qualified = start > begin && start[-1] == ':';
        }
    }
    return qualified;
}

static void read_param(const char *begin, const char *end, struct signature_param *out)
{
    const char *name = end, *bracket = memchr(begin, '[', (size_t)(end - begin));
    if (bracket)
        name = bracket;
    last_word(begin, name, out->name, sizeof out->name);
    while (name > begin && !word_char(name[-1]))
        name--;
    name -= strlen(out->name) <= (size_t)(name - begin) ? strlen(out->name) : 0;
    const char *star = memchr(begin, '*', (size_t)(name - begin));
    out->pointer = star || bracket;
    out->constant = out->pointer && has_word(begin, star ? star : name, "const");
    out->map = !out->pointer && has_word(begin, name, "CUtensorMap");
    out->qualified = type_word(begin, star ? star : name, out->type, sizeof out->type);
    out->no_sign = has_word(begin, star ? star : name, "unsigned") || out->type[0] == 'u';
}

static bool read_params(const char *open, const char *close, struct signature *out, struct error *err)
{
    const char *begin = open + 1;
    int depth = 0;
    for (const char *p = begin; p < close; p++) {
        depth += (*p == '(' || *p == '<' || *p == '[') - (*p == ')' || *p == '>' || *p == ']');
        bool last = p == close - 1;
        if (!last && !(*p == ',' && depth == 0))
            continue;
        if (out->count == SIGNATURE_MAX)
            return error_set(err, ERROR_USAGE, "kernel %s has more than %d parameters", out->name, SIGNATURE_MAX);
        if (skip_space(begin) < p && !(last && out->count == 0 && has_word(begin, p, "void") && !memchr(begin, '*', (size_t)(p - begin))))
            read_param(begin, p, &out->params[out->count++]);
        begin = p + 1;
    }
    return true;
}

/* Behind the angle bracket that closes the one at p, or NULL. */
static const char *angle_close(const char *p)
{
    int depth = 0;
    for (; *p && *p != ';' && *p != '{'; p++) {
        depth += (*p == '<') - (*p == '>');
        if (!depth)
            return p + 1;
    }
    return NULL;
}

/* The pieces of a list in angle brackets, given from behind its first bracket. */
static int angle_list(const char *p, const char *end, const char *begins[SIGNATURE_MAX], const char *ends[SIGNATURE_MAX])
{
    int depth = 0, count = 0;
    const char *begin = p;
    for (; p < end && count < SIGNATURE_MAX; p++) {
        depth += (*p == '<' || *p == '(') - (*p == '>' || *p == ')');
        if (p == end - 1 || (*p == ',' && !depth)) {
            begins[count] = begin;
            ends[count++] = p;
            begin = p + 1;
        }
    }
    return count;
}

static void copy_piece(const char *begin, const char *end, char *out, size_t bytes)
{
    begin = skip_space(begin);
    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    snprintf(out, bytes, "%.*s", end > begin ? (int)(end - begin) : 0, begin);
}

/* `template <typename T, int N = 4>` before __global__, with the values of the file's first launch, NAME<float, 32>. */
static void read_template(const char *code, const char *global, struct signature *out)
{
    const char *begins[SIGNATURE_MAX], *ends[SIGNATURE_MAX], *open = NULL, *close, *launch = code;
    for (const char *p = code; (p = strstr(p, "template")) && p < global; p++)
        open = skip_space(p + 8);
    close = open && *open == '<' ? angle_close(open) : NULL;
    if (!close)
        return;
    out->choice_count = angle_list(open + 1, close, begins, ends);
    for (int i = 0; i < out->choice_count; i++) {
        struct signature_choice *c = &out->choices[i];
        const char *equals = memchr(begins[i], '=', (size_t)(ends[i] - begins[i])), *end = equals ? equals : ends[i];
        last_word(begins[i], end, c->name, sizeof c->name);
        c->type = has_word(begins[i], end, "typename") || has_word(begins[i], end, "class");
        if (equals)
            copy_piece(equals + 1, ends[i], c->value, sizeof c->value);
    }
    size_t n = strlen(out->name);
    while ((launch = strstr(launch, out->name))) {
        const char *at = launch + n, *end = *at == '<' && at[1] != '<' ? angle_close(at) : NULL;
        launch = at;
        for (int i = 0, count = end ? angle_list(at + 1, end, begins, ends) : 0; i < count && i < out->choice_count; i++)
            copy_piece(begins[i], ends[i], out->choices[i].value, sizeof out->choices[i].value);
        if (end)
            return;
    }
}

/* An instance, `template __global__ void NAME<128>(...)`, and a declaration before some body are no kernels: those stand elsewhere. */
static bool is_definition(const char *start, const char *open, const char *close)
{
    while (open > start && isspace((unsigned char)open[-1]))
        open--;
    return open > start && open[-1] != '>' && (*skip_space(close) != ';' || !strchr(close, '{'));
}

/* Reads on behind __global__: attributes with parentheses, the return type, then NAME(. Returns where reading stopped. */
static const char *read_kernel(const char *p, struct signature *out, const char **open, const char **close)
{
    const char *start = p;
    *open = *close = NULL;
    while (*p && *p != ';' && *p != '{') {
        if (!strncmp(p, "__global__", 10))
            return p;
        if (*p != '(') {
            p++;
            continue;
        }
        char word[KERNEL_NAME];
        const char *end = close_of(p, '(', ')');
        if (!end)
            return p + strlen(p);
        last_word(start, p, word, sizeof word);
        if (!strncmp(word, "__", 2)) {
            if (!strcmp(word, "__launch_bounds__"))
                snprintf(out->bounds, sizeof out->bounds, "%.*s", (int)strcspn(p + 1, ",)"), p + 1);
            p = end;
            continue;
        }
        if (!is_definition(start, p, end))
            return end;
        snprintf(out->name, sizeof out->name, "%s", word);
        *open = p;
        *close = end;
        return end;
    }
    return p;
}

/* Behind the brace that closes the one at p, or the end. */
static const char *brace_close(const char *p)
{
    const char *end = close_of(p, '{', '}');
    return end ? end : p + strlen(p);
}

/* Marks the pointers to which the body applies atomicAdd(&NAME[...], ...) and the like. */
static void find_atomics(const char *close, struct signature *out)
{
    static const char *const sums[] = {"atomicAdd", "atomicAdd_block", "atomicAdd_system", "atomicOr",
                                       "atomicXor", "atomicMax",       "atomicInc"};
    const char *body = close + strcspn(close, "{;"), *end = *body == '{' ? brace_close(body) : body;
    for (const char *p = body; (p = strstr(p, "atomic")) && p < end; p++) {
        char word[64], name[64];
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        const char *at = skip_space(p + n);
        at = *at == '(' ? at + 1 + strspn(at + 1, " \t\n&(") : at;
        snprintf(name, sizeof name, "%.*s", (int)strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"), at);
        for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
            for (int k = 0; k < out->count && !strcmp(word, sums[i]); k++)
                out->params[k].added_to |= out->params[k].pointer && !strcmp(out->params[k].name, name);
    }
}

/* The last axis of blockIdx and threadIdx that the body uses, as .y or .z. */
static int count_axes(const char *close)
{
    static const char *const words[] = {"blockIdx.", "threadIdx.", "blockDim.", "gridDim."};
    const char *body = close + strcspn(close, "{;"), *end = *body == '{' ? brace_close(body) : body;
    int axes = 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (const char *p = body; (p = strstr(p, words[i])) && p < end;) {
            p += strlen(words[i]);
            const char axis = *p && !word_char(p[1]) ? *p : 0;
            axes = axis == 'z' ? 3 : axis == 'y' && axes < 2 ? 2 : axes;
        }
    return axes;
}

/* The namespaces around `at`. */
static void read_scope(const char *code, const char *at, struct signature *out)
{
    for (const char *p = code; (p = strstr(p, "namespace")) && p < at; p += 9) {
        char name[128];
        const char *word = skip_space(p + 9);
        size_t n = strcspn(word, " \t\r\n{;=");
        const char *open = skip_space(word + n);
        if ((p > code && word_char(p[-1])) || word_char(p[9]) || *open != '{' || brace_close(open) <= at)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n, word);
        if (n && strlen(out->scope) + n + 3 < sizeof out->scope) {
            strcat(out->scope, name);
            strcat(out->scope, "::");
        }
    }
}

/* `seen`: those that the file has, ", " between them. */
static void no_kernel(const char *name, const struct text *seen, struct error *err)
{
    SCOPED char *copy = xstrdup(text_get(seen));
    char *rest = copy;
    SCOPED const char **names = xcalloc(strlen(copy) / 3 + 2, sizeof *names);
    size_t count = 0;
    for (char *one; (one = strsep(&rest, ","));)
        names[count++] = one + (*one == ' ');
    const char *near = text_nearest(name, names, count);
    error_set(err, ERROR_USAGE, "no kernel '%s' in the file; it has %s", name, text_get(seen));
    if (near)
        error_hint(err, "--kernel %s", near);
}

bool signature_read(const char *text, const char *name, struct signature *out, struct error *err)
{
    SCOPED char *code = code_only(text);
    const char *p = code, *open, *close;
    SCOPED_TEXT seen = {0};
    bool found = false, done = false;
    while (!found && (p = strstr(p, "__global__"))) {
        const char *line = p, *least = p - code > 256 ? p - 256 : code; /* extern "C" may stand on the line above */
        for (int lines = 0; line > least && line[-1] != ';' && line[-1] != '}' && (line[-1] != '\n' || lines < 1); line--)
            lines += line[-1] == '\n';
        memset(out, 0, sizeof *out);
        out->external_c = has_word(line, p, "extern");
        out->template = has_word(line, p, "template");
        out->at = (size_t)(p - code);
        const char *global = p;
        p = read_kernel(p + strlen("__global__"), out, &open, &close);
        if (!open || !out->name[0])
            continue;
        if (out->template)
            read_template(code, global, out);
        text_addf(&seen, "%s%s", seen.len ? ", " : "", out->name);
        found = !name || !strcmp(name, out->name);
    }
    if (found && (done = read_params(open, close, out, err))) {
        find_atomics(close, out);
        out->axes = count_axes(close);
        read_scope(code, open, out);
    }
    if (found)
        return done;
    if (seen.len)
        no_kernel(name, &seen, err);
    else
        error_set(err, ERROR_USAGE, "the file has no __global__ function%s",
                  strstr(text, "__global__") ? " outside of comments and `#if 0`" : "");
    return false;
}
