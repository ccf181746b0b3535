#include "counter/layout_kernels.h"
#include "base/file.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX_BYTES 65536

void layout_kernels_load(const char *path, struct layout_kernels *list)
{
    SCOPED char *own = path ? xstrdup(path) : file_share("harness/counter/groups/layout-kernels.txt");
    size_t bytes;
    char *text = file_read(own, LIST_MAX_BYTES, &bytes, NULL), *rest = text;
    *list = (struct layout_kernels){0};
    for (char *line; text && (line = strsep(&rest, "\n"));) {
        line[strcspn(line, "#")] = 0;
        line += strspn(line, " \t");
        line[strcspn(line, " \t\r")] = 0;
        if (!*line)
            continue;
        *APPEND(list->globs, list->count) = xstrdup(line);
    }
    free(text);
}

void layout_kernels_free(struct layout_kernels *list)
{
    pointers_free(list->globs, list->count);
    *list = (struct layout_kernels){0};
}

int layout_kernels_find(const struct layout_kernels *list, const char *kernel)
{
    return FIRST_OF(i, list->count, text_glob(list->globs[i], kernel));
}

void layout_kernels_name(const struct layout_kernels *list, int i, char *name, size_t bytes)
{
    size_t n = 0;
    for (const char *c = list->globs[i]; *c && n + 1 < bytes; c++)
        if (*c != '*')
            name[n++] = *c;
    name[n] = 0;
}

void layout_kernels_metric(const struct layout_kernels *list, int i, char *metric, size_t bytes)
{
    char name[64];
    layout_kernels_name(list, i, name, sizeof name);
    snprintf(metric, bytes, "chain.inside.%s_ns", name);
}
