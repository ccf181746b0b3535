/* ONNX models that tests write, field by field. */
#ifndef BENCH_TESTS_ONNX_MODEL_H
#define BENCH_TESTS_ONNX_MODEL_H

#include "base/text.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct text model;

static void number(struct text *t, uint64_t v)
{
    for (; v > 127; v >>= 7)
        text_add_bytes(t, (char[]){(char)(v | 128)}, 1);
    text_add_bytes(t, (char[]){(char)v}, 1);
}
static void whole(struct text *t, int field, uint64_t v)
{
    number(t, (uint64_t)field << 3);
    number(t, v);
}
static void bytes(struct text *t, int field, const void *data, size_t count)
{
    number(t, (uint64_t)field << 3 | 2);
    number(t, count);
    text_add_bytes(t, data, count);
}
static void word(struct text *t, int field, const char *s)
{
    bytes(t, field, s, strlen(s));
}
static void part(struct text *t, int field, struct text *inner)
{
    bytes(t, field, inner->len ? inner->data : "", inner->len);
    text_free(inner);
}

/* Inputs and outputs are words with blanks between; `ints`: an attribute "name 3 3", or one number: "=name 3". */
static void node(struct text *graph, const char *op, const char *inputs, const char *output, const char *ints)
{
    struct text n = {0}, a = {0};
    char copy[128], *save, *next;
    snprintf(copy, sizeof copy, "%s", inputs);
    for (next = strtok_r(copy, " ", &save); next; next = strtok_r(NULL, " ", &save))
        word(&n, 1, next);
    word(&n, 2, output);
    word(&n, 3, output);
    word(&n, 4, op);
    snprintf(copy, sizeof copy, "%s", ints);
    if ((next = strtok_r(copy, " ", &save))) {
        bool one = *next == '=';
        word(&a, 1, next + one);
        while ((next = strtok_r(NULL, " ", &save)))
            whole(&a, one ? 3 : 8, (uint64_t)strtoll(next, NULL, 10));
        part(&n, 5, &a);
    }
    part(graph, 1, &n);
}

/* A constant of ones, float, whose values are one number more or less than its sizes say. */
static void constant(struct text *graph, const char *name, int rank, const int *dim, float value, int more)
{
    struct text t = {0}, values = {0};
    int count = 1;
    for (int i = 0; i < rank; i++) {
        whole(&t, 1, (uint64_t)dim[i]);
        count *= dim[i];
    }
    for (int i = 0; i < count + more; i++)
        text_add_bytes(&values, (const char *)&value, sizeof value);
    whole(&t, 2, 1);
    word(&t, 8, name);
    part(&t, 9, &values);
    part(graph, 5, &t);
}

/* A list of whole numbers. */
static void numbers(struct text *graph, const char *name, int count, const int64_t *values)
{
    struct text t = {0};
    whole(&t, 1, (uint64_t)count);
    whole(&t, 2, 7);
    word(&t, 8, name);
    bytes(&t, 9, values, (size_t)count * sizeof *values);
    part(graph, 5, &t);
}

static void value(struct text *graph, int field, const char *name, const int dim[4])
{
    struct text v = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; dim && i < 4; i++) {
        struct text d = {0};
        if (dim[i])
            whole(&d, 1, (uint64_t)dim[i]);
        part(&shape, 1, &d);
    }
    whole(&tensor, 1, 1);
    part(&tensor, 2, &shape);
    part(&type, 1, &tensor);
    word(&v, 1, name);
    part(&v, 2, &type);
    part(graph, field, &v);
}

/* The model of the graph, of that version of the operators. */
static void finish(struct text *graph, int opset)
{
    struct text set = {0};
    part(&model, 7, graph);
    whole(&set, 2, (uint64_t)opset);
    part(&model, 8, &set);
}

#endif
