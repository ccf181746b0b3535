/* counter/layout_kernels: which kernels of a library only change the layout of a tensor, by name.
 *
 * The list is data: harness/counter/groups/layout-kernels.txt, one glob a line, # begins a comment. */
#pragma once

#include <stddef.h>

struct layout_kernels {
    char **globs;
    int count;
};
/* NULL path: the installation's list. A missing file is an empty list. */
void layout_kernels_load(const char *path, struct layout_kernels *list);
void layout_kernels_free(struct layout_kernels *list);
/* Index of the first glob that fits the kernel; -1: none, it does more. */
int layout_kernels_find(const struct layout_kernels *list, const char *kernel);
/* Glob i without its stars: the kernel's common name. */
void layout_kernels_name(const struct layout_kernels *list, int i, char *name, size_t bytes);
/* The metric of a network's row that has the time in the kernels of glob i: chain.inside.NAME_ns. */
void layout_kernels_metric(const struct layout_kernels *list, int i, char *metric, size_t bytes);
