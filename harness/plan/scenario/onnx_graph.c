/* Values and layers of a model on its way to a scenario: what the files of its operators share. */
#include "plan/scenario/onnx_graph.h"
#include "base/text.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

struct place *graph_inner(struct graph *g)
{
    struct place *p = xcalloc(1, sizeof *p);
    p->name = text_format("\1%d", g->inner_count);
    p->layer = LAYER_NONE;
    return *APPEND(g->inner, g->inner_count) = p;
}

struct place *graph_find(struct graph *g, const char *name)
{
    long inner = *name == 1 ? strtol(name + 1, NULL, 10) : -1;
    if (inner >= 0 && inner < g->inner_count && g->inner[inner]->name == name) /* not one that the file names like it */
        return g->inner[inner];
    uint64_t hash = 1469598103934665603u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    for (size_t i = hash % g->slots;; i = (i + 1) % g->slots) {
        if (!g->values[i].name)
            g->values[i] = (struct place){.name = name, .layer = LAYER_NONE};
        if (!strcmp(g->values[i].name, name))
            return &g->values[i];
    }
}

struct place *graph_value(struct graph *g, const char *name)
{
    struct place *p = graph_find(g, name);
    for (int i = 0; p->alias && i < 1000; i++) /* a file may make a ring */
        p = p->alias;
    return p;
}

struct place *graph_in(struct graph *g, const struct onnx_node *n, int i)
{
    static struct place nothing = {.name = "", .layer = LAYER_NONE};
    return i < n->input_count && n->inputs[i][0] ? graph_value(g, n->inputs[i]) : &nothing;
}

int64_t graph_int(const struct onnx_node *n, const char *name, int64_t usual)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a ? a->whole : usual;
}

double graph_real(const struct onnx_node *n, const char *name, double usual)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a ? a->real : usual;
}

bool graph_is(const struct onnx_node *n, const char *name, const char *text)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a && a->text && !strcmp(a->text, text);
}

const char *graph_word(const struct onnx_node *n, const char *name, const char *usual)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a && a->text ? a->text : usual;
}

/* A number of a list attribute, or of a constant input. */
bool graph_list(const struct onnx_node *n, const char *name, const struct place *input, int i, int64_t *out)
{
    const struct onnx_attribute *a = name ? onnx_attribute(n, name) : NULL;
    double v;
    if (a && i < a->int_count)
        return *out = a->ints[i], true;
    if (!input || !input->constant || !onnx_number(input->constant, i, &v) || isnan(v))
        return false;
    return *out = (int64_t)fmax(fmin(v, 1e15), -1e15), true; /* the largest of all stands for "to the end" */
}

bool graph_rename(struct graph *g, const struct onnx_node *n, struct place *x)
{
    struct place *out = graph_value(g, n->outputs[0]);
    if (out == x)
        return false;
    x->uses += out->uses - 1;
    if (x->view) /* who reads the view reads its image */
        x->view->of->uses += out->uses - 1;
    if (x->view && x->image && x->image != x->view->of)
        x->image->uses += out->uses - 1;
    out->alias = x;
    return true;
}

bool graph_lacks(const char **why, const char *text)
{
    *why = text;
    return false;
}

int64_t view_elements(const struct view *l)
{
    int64_t count = 1;
    for (int i = 0; i < l->rank; i++)
        count = count > INT32_MAX || l->dim[i] > INT32_MAX ? INT64_MAX : count * l->dim[i];
    return count;
}

/* ---- layers ---- */

/* A name that a scenario takes and no other layer has. */
static char *name_for(struct graph *g, const struct onnx_node *n)
{
    SCOPED_TEXT t = {0};
    char base[64];
    const char *from = n->name[0] ? n->name : n->output_count && n->outputs[0][0] ? n->outputs[0] : n->op;
    size_t length = strlen(from), skip = length > 60 ? length - 60 : 0;
    snprintf(base, sizeof base, "%s", from + skip);
    for (char *c = base; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' && *c != '.')
            *c = '_';
    const char *first = base + strspn(base, "_.-");
    text_add(&t, *first ? first : "layer");
    for (int turn = 0, i = 0; i <= g->layer_count && turn < 9; i++) {
        const char *taken = i < g->layer_count ? g->layers[i].name : "input"; /* a word of networks */
        if (strcmp(taken, text_get(&t)) != 0)
            continue;
        t.len = 0;
        text_addf(&t, "%s_%d", *first ? first : "layer", g->layer_count + turn++);
        i = -1;
    }
    return text_take(&t);
}

struct made_layer *graph_layer(struct graph *g, const struct onnx_node *n, const char *op, const struct place *in)
{
    char *name = name_for(g, n);
    struct made_layer *l = APPEND(g->layers, g->layer_count);
    *l = (struct made_layer){
        .name = name, .op = op, .input = in->layer, .with = LAYER_NONE, .residual = LAYER_NONE, .k = in->dim[1], .foldable = true};
    memcpy(l->in, in->dim, sizeof l->in);
    return l;
}

/* The node's output is what the last layer leaves. */
bool graph_leaves(struct graph *g, const struct onnx_node *n, int64_t c, int64_t h, int64_t w)
{
    struct place *out = graph_find(g, n->output_count ? n->outputs[0] : "");
    struct made_layer *l = &g->layers[g->layer_count - 1];
    bool fits = c > 0 && h > 0 && w > 0 && c <= SIZE_MAX_LAYER && h <= SIZE_MAX_LAYER && w <= SIZE_MAX_LAYER;
    if (!fits) { /* the layer cannot be */
        free(l->name);
        text_free(&l->keys);
        text_free(&l->epilogue);
        weights_free(&l->weights);
        g->layer_count--;
        return false;
    }
    out->known = true;
    memcpy(out->dim, (int64_t[]){l->in[0], c, h, w}, sizeof out->dim);
    out->layer = g->layer_count - 1;
    return true;
}

/* The layer to whose epilogue a node may be added: its output is `v`, which nothing else reads. */
struct made_layer *graph_open(struct graph *g, const struct place *v)
{
    struct made_layer *l = v->layer >= 0 ? &g->layers[v->layer] : NULL;
    return l && l->foldable && v->uses == 1 && l->items < 7 ? l : NULL;
}

/* Moves a node that became an item of an epilogue: its output is the layer's. */
bool graph_folded(struct graph *g, const struct onnx_node *n, const struct place *v, struct made_layer *l, const char *item)
{
    struct place *out = graph_find(g, n->outputs[0]);
    const char *name = item + (*item == '{');
    SCOPED char *word = xstrndup(name, strcspn(name, ":, }"));
    bool joins = !strcmp(item, "bias") && l->items == 1 && !strcmp(text_get(&l->epilogue), item); /* two constants are one */
    if (!joins && l->items && strstr(text_get(&l->epilogue), word))
        return false; /* an epilogue has each item once */
    if (!joins)
        text_addf(&l->epilogue, "%s%s", l->items++ ? ", " : "", item);
    const struct place was = *v;
    out->known = was.known;
    memcpy(out->dim, was.dim, sizeof out->dim);
    out->layer = was.layer;
    return true;
}

struct place *view_inner(struct graph *g, const struct onnx_node *n, struct onnx_node *inner, char *outputs[1])
{
    struct place *made = graph_inner(g);
    *inner = *n;
    if (!*n->name && n->output_count)
        inner->name = n->outputs[0];
    outputs[0] = (char *)(uintptr_t)made->name;
    inner->outputs = outputs;
    inner->output_count = 1;
    return made;
}
