#include "op/work.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const epilogue_names[] = {"bias",    "relu", "leaky_relu", "residual",  "depth_to_space", "layout", "prelu", "silu",
                                      "sigmoid", "tanh", "gelu",       "gelu_tanh", "hard_swish",     "elu",    "clip",  NULL};
const char *const truncate_names[] = {"max", "l2", "rms", NULL};
const char *const data_kind_names[] = {"normal", "relu", NULL};
#define MASK_NAME(upper, lower, keys) #lower,
const char *const mask_pattern_names[] = {MASK_PATTERNS(MASK_NAME) NULL};
#define MASK_KEYS(upper, lower, keys) keys,
const unsigned mask_pattern_keys[] = {MASK_PATTERNS(MASK_KEYS)};

const char *epilogue_name(enum epilogue_kind kind)
{
    return kind >= 0 && kind < EPILOGUE_COUNT ? epilogue_names[kind] : "none";
}

int epilogue_kind_of(const char *name)
{
    for (int i = 0; epilogue_names[i]; i++)
        if (!strcmp(epilogue_names[i], name))
            return i;
    return -1;
}

bool epilogue_activates(enum epilogue_kind kind)
{
    return kind == EPILOGUE_RELU || kind == EPILOGUE_LEAKY_RELU || (kind >= EPILOGUE_PRELU && kind < EPILOGUE_COUNT);
}

bool epilogue_curves(enum epilogue_kind kind)
{
    return kind >= EPILOGUE_SILU && kind <= EPILOGUE_ELU;
}

const char *mask_marks(const struct mask *mask)
{
    return mask->pattern == MASK_NONE ? "none" : mask->marks_both ? "both" : mask->marks_output ? "output" : "input";
}

bool mask_same(const struct mask *a, const struct mask *b)
{
    return a->pattern == b->pattern && a->density == b->density && a->radius == b->radius && a->seed == b->seed &&
           a->marks_output == b->marks_output && a->marks_both == b->marks_both && !strcmp(a->path, b->path);
}

void mask_density_text(double density, char *out, size_t bytes)
{
    snprintf(out, bytes, "%.2f", density);
    if (strtod(out, NULL) != density)
        snprintf(out, bytes, "%.9g", density);
}

enum dtype work_result_dtype(const struct work *work)
{
    return work->dtype == DTYPE_I8 ? DTYPE_F32 : work->dtype;
}

int work_epilogue_find(const struct work *work, enum epilogue_kind kind)
{
    return FIRST_OF(i, work->epilogue_count, work->epilogue[i].kind == kind);
}

double work_scale(const struct work *work)
{
    int residual = work_epilogue_find(work, EPILOGUE_RESIDUAL);
    return residual >= 0 && work->epilogue[residual].scale != 0 ? work->epilogue[residual].scale : 1;
}

enum epilogue_kind work_activation(const struct work *work)
{
    for (int i = 0; i < work->epilogue_count; i++)
        if (epilogue_activates(work->epilogue[i].kind))
            return work->epilogue[i].kind;
    return EPILOGUE_COUNT;
}

double work_slope(const struct work *work)
{
    int leaky = work_epilogue_find(work, EPILOGUE_LEAKY_RELU);
    return work_epilogue_find(work, EPILOGUE_RELU) >= 0 ? 0 : leaky >= 0 ? work->epilogue[leaky].alpha : 1;
}

void mask_frame_path(const struct mask *mask, int frame, char *out, size_t bytes)
{
    const char *percent = strchr(mask->path, '%');
    const char *end = percent ? percent + 1 : NULL;
    while (end && isdigit((unsigned char)*end))
        end++;
    if (!end || *end != 'd' || end - percent > 3) { /* no frame number in it */
        snprintf(out, bytes, "%s", mask->path);
        return;
    }
    bool zeros = percent[1] == '0';
    int width = atoi(percent + 1);
    char number[128];
    snprintf(number, sizeof number, zeros ? "%0*d" : "%*d", width, frame);
    snprintf(out, bytes, "%.*s%s%s", (int)(percent - mask->path), mask->path, number, end + 1);
}

bool mask_pattern_has_density(const char *name)
{
    for (int p = 0; p < MASK_PATTERN_COUNT; p++)
        if (strcmp(mask_pattern_names[p], name) == 0)
            return mask_pattern_keys[p] & (MASK_DENSITY | MASK_PATH);
    return false;
}

bool mask_pattern_is_end(const char *name)
{
    return strcmp(name, mask_pattern_names[MASK_FULL]) == 0 || strcmp(name, mask_pattern_names[MASK_EMPTY]) == 0;
}

void chain_free(struct chain *chain)
{
    if (!chain)
        return;
    free(chain->links);
    *chain = (struct chain){0};
}

struct work chain_input(const struct work *work)
{
    struct work first = work->chain->links[0].work;
    first.set_seed = work->set_seed;
    return first;
}
