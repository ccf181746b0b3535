/* Operators that a file spells out: GELU by Erf, LayerNorm by a mean, a difference and a root. The last node of each stands for all. */
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <string.h>

/* The node of one output behind a value that only one node reads; -1: none. */
static int reader(const struct graph *g, const char *value, int after)
{
    int found = -1;
    for (int i = after; i < g->m->node_count; i++)
        for (int k = 0; k < g->m->nodes[i].input_count; k++)
            if (!strcmp(g->m->nodes[i].inputs[k], value)) {
                if (found >= 0)
                    return -1;
                found = i;
            }
    return found >= 0 && g->m->nodes[found].output_count == 1 ? found : -1;
}

/* One constant; it may not have been walked yet. */
static bool is_constant(struct graph *g, const char *value, double *v)
{
    const struct place *p = graph_value(g, value);
    for (int i = 0; !p->constant && i < g->m->node_count; i++) {
        const struct onnx_node *n = &g->m->nodes[i];
        if (!strcmp(n->op, "Constant") && n->output_count == 1 && !strcmp(n->outputs[0], value))
            return graph_constant(g, n) && is_constant(g, value, v);
    }
    return p->constant && onnx_elements(p->constant) == 1 && onnx_number(p->constant, 0, v);
}

static bool is_number(struct graph *g, const char *value, double wanted)
{
    double v;
    return is_constant(g, value, &v) && fabs(v - wanted) < 1e-4 * fabs(wanted);
}

/* A mean along the last axis alone, which stays. */
static bool is_last_axis(struct graph *g, const struct onnx_node *n)
{
    const struct onnx_attribute *a = onnx_attribute(n, "axes");
    double v;
    bool given = a ? a->int_count == 1 && a->ints[0] == -1 : n->input_count == 2 && is_constant(g, n->inputs[1], &v) && v == -1;
    return given && graph_int(n, "keepdims", 1) != 0;
}

/* The other input of a node of two, if one is `value` (or NULL: a constant of that value). */
static const char *other(struct graph *g, const struct onnx_node *n, const char *value, double wanted)
{
    for (int k = 0; k < 2 && n->input_count == 2; k++)
        if (value ? !strcmp(n->inputs[k], value) : is_number(g, n->inputs[k], wanted))
            return n->inputs[1 - k];
    return NULL;
}

static int writer(const struct graph *g, const char *value)
{
    return FIRST_OF(i, g->m->node_count, g->m->nodes[i].output_count == 1 && !strcmp(g->m->nodes[i].outputs[0], value));
}

static bool find_gelu(struct graph *g, int erf)
{
    const struct onnx_node *all = g->m->nodes;
    int scaled = writer(g, all[erf].inputs[0]), plus = reader(g, all[erf].outputs[0], erf), times, end, half = -1;
    const char *plus_out;
    if (scaled < 0 || plus < 0 || strcmp(all[plus].op, "Add") || all[scaled].input_count != 2 || !other(g, &all[plus], NULL, 1))
        return false;
    plus_out = all[plus].outputs[0];
    bool divides = !strcmp(all[scaled].op, "Div") && is_number(g, all[scaled].inputs[1], 1.41421356);
    const char *x = divides ? all[scaled].inputs[0] : strcmp(all[scaled].op, "Mul") ? NULL : other(g, &all[scaled], NULL, 0.70710678);
    times = end = reader(g, all[plus].outputs[0], plus);
    if (x && times >= 0 && !strcmp(all[times].op, "Mul") && other(g, &all[times], NULL, 0.5)) { /* x * ((1 + erf) / 2) */
        half = times;
        times = end = reader(g, all[half].outputs[0], half);
        plus_out = all[half].outputs[0];
    }
    if (!x || times < 0 || strcmp(all[times].op, "Mul") || reader(g, all[scaled].outputs[0], scaled) != erf)
        return false;
    const char *by = other(g, &all[times], plus_out, 0);
    if (by && half >= 0) {
        if (strcmp(by, x))
            return false;
    } else if (by && !strcmp(by, x)) { /* x * (1 + erf), then / 2 */
        end = reader(g, all[times].outputs[0], times);
        if (end < 0 || strcmp(all[end].op, "Mul") || !other(g, &all[end], NULL, 0.5))
            return false;
    } else { /* (x / 2) * (1 + erf) */
        half = by ? writer(g, by) : -1;
        if (half < 0 || strcmp(all[half].op, "Mul") || all[half].input_count != 2 || reader(g, by, half) != times)
            return false;
        const char *of = other(g, &all[half], NULL, 0.5);
        if (!of || strcmp(of, x))
            return false;
    }
    const int inside[] = {scaled, erf, plus, times, half};
    for (int i = 0; i < 5; i++)
        if (inside[i] >= 0 && inside[i] != end)
            g->done[inside[i]] = true;
    g->gelu_of[end] = x;
    graph_value(g, x)->uses--;
    return true;
}

/* The node that writes the value, if it is that operator with that many inputs at least; -1: it is another. */
static int written_by(const struct graph *g, const char *value, const char *op, int inputs)
{
    int at = writer(g, value);
    return at >= 0 && !strcmp(g->m->nodes[at].op, op) && g->m->nodes[at].input_count >= inputs ? at : -1;
}

/* (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps), both means along the last axis; then `divides` is the quotient. */
static bool find_layer_norm(struct graph *g, int root)
{
    const struct onnx_node *all = g->m->nodes;
    int add = written_by(g, all[root].inputs[0], "Add", 2), divides = reader(g, all[root].outputs[0], root);
    double eps = 0;
    if (add < 0 || divides < 0 || strcmp(all[divides].op, "Div") || all[divides].input_count != 2)
        return false;
    bool second = is_constant(g, all[add].inputs[1], &eps);
    if (!second && !is_constant(g, all[add].inputs[0], &eps))
        return false;
    int mean = written_by(g, all[add].inputs[!second], "ReduceMean", 1);
    int square = mean < 0 ? -1 : written_by(g, all[mean].inputs[0], "Pow", 2);
    bool power = square >= 0 && is_number(g, all[square].inputs[1], 2);
    if (square >= 0 && !power)
        return false;
    if (square < 0 && mean >= 0)
        square = written_by(g, all[mean].inputs[0], "Mul", 2);
    if (square < 0 || (!power && strcmp(all[square].inputs[0], all[square].inputs[1])))
        return false;
    int minus = written_by(g, all[square].inputs[0], "Sub", 2);
    int center = minus < 0 ? -1 : written_by(g, all[minus].inputs[1], "ReduceMean", 1);
    if (center < 0 || strcmp(all[divides].inputs[0], all[minus].outputs[0]) || strcmp(all[center].inputs[0], all[minus].inputs[0]) ||
        !is_last_axis(g, &all[center]) || !is_last_axis(g, &all[mean]) || graph_value(g, all[minus].outputs[0])->uses != (power ? 2 : 3))
        return false;
    const int inside[] = {minus, center, square, mean, add, root};
    for (int i = 1; i < 6; i++)
        if (graph_value(g, all[inside[i]].outputs[0])->uses != 1)
            return false;
    for (int i = 0; i < 6; i++)
        g->done[inside[i]] = true;
    g->norm_of[divides] = all[minus].inputs[0];
    g->norm_eps[divides] = eps;
    graph_value(g, all[minus].inputs[0])->uses--;
    return true;
}

/* x / max(|x|, eps), the length along one axis that stays; with an Expand to the shape of x. */
static bool find_unit(struct graph *g, int divide)
{
    const struct onnx_node *all = g->m->nodes, *n = &all[divide];
    const char *by = n->inputs[1];
    double least, most, axis;
    int wide = written_by(g, by, "Expand", 2);
    int clip = written_by(g, wide < 0 ? by : all[wide].inputs[0], "Clip", 2), max = clip;
    if (clip < 0)
        max = written_by(g, wide < 0 ? by : all[wide].inputs[0], "Max", 2);
    if (max < 0 || !is_constant(g, all[max].inputs[1], &least) || !(least > 0 && least <= 1e-6) ||
        (clip >= 0 ? all[clip].input_count > 2 && all[clip].inputs[2][0] && !(is_constant(g, all[clip].inputs[2], &most) && most > 1e30)
                   : all[max].input_count != 2))
        return false;
    int length = written_by(g, all[max].inputs[0], "ReduceL2", 1);
    const struct onnx_attribute *axes = length < 0 ? NULL : onnx_attribute(&all[length], "axes");
    if (length < 0 || !(axes ? axes->int_count == 1 : all[length].input_count == 2 && is_constant(g, all[length].inputs[1], &axis)) ||
        !graph_int(&all[length], "keepdims", 1) || strcmp(all[length].inputs[0], n->inputs[0]))
        return false;
    const int inside[] = {length, max, wide};
    if (ANY_OF(i, 3, inside[i] >= 0 && graph_value(g, all[inside[i]].outputs[0])->uses != 1))
        return false;
    for (int i = 0; i < 3; i++)
        if (inside[i] >= 0)
            g->done[inside[i]] = true;
    g->norm_of[divide] = n->inputs[0];
    g->length_of[divide] = &all[length];
    graph_value(g, n->inputs[0])->uses--;
    return true;
}

#define TRIED_MOST 500 /* nodes of one pattern: each looks through the whole graph */

void patterns_find(struct graph *g)
{
    static const struct {
        const char *op; /* at which the pattern is looked for */
        int inputs;
        bool (*find)(struct graph *g, int node);
    } all[] = {{"Erf", 1, find_gelu}, {"Div", 2, find_unit}, {"Sqrt", 1, find_layer_norm}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (int i = 0, tried = 0; i < g->m->node_count && tried < TRIED_MOST; i++) {
            const struct onnx_node *n = &g->m->nodes[i];
            if (!strcmp(n->op, all[k].op) && n->input_count == all[k].inputs && n->output_count == 1) {
                all[k].find(g, i);
                tried++;
            }
        }
}
