/* kernel/head/load: reads variants from their files, and lists the configurations of their parameters. */
#pragma once

#include "kernel/variant.h"

/* Loads every variant under the installation's kernels/variants and each extra "NAME=DIR" or "NAME=FILE" (that file alone; NULL-terminated
 * list; may be NULL). One bad head is an error naming FILE:LINE:COLUMN. */
bool variant_set_load(const char *const *extra, struct variant_set *set, struct error *err);
/* The same for another build: its variants under `root`, their shared headers under `include` (borrowed); NULL: the installation's. */
bool variant_set_load_from(const char *root, const char *include, const char *const *extra, struct variant_set *set, struct error *err);
void variant_set_free(struct variant_set *set);
/* One file alone (bench try, bench list). Name is `folder`/basename. */
struct variant *variant_load(const char *path, const char *folder, struct error *err);
void variant_free(struct variant *v);
/* The file as it is. For a head that is like another: one file with every key, a comment with the key's file and line, and the code. */
void variant_show(const struct variant *v, struct text *t);

/* True if its head has a `mask:`. A variant without one always runs dense. */
bool variant_reads_mask(const struct variant *v);
/* True if it is a rule (`select:`), whose steps are another variant's. */
bool variant_selects(const struct variant *v);
/* True if it is a rule that names other variants to be timed beside its choice (`race:`). *hash then covers its file and theirs: a stored
 * choice depends on it. */
bool variant_races(const struct variant_set *set, const struct variant *v, char hash[HASH_TEXT]);
/* Expands parameters: `override` is a scenario's map {TH: [8, 16], CC: 16} (NULL: defaults only). Values outside the head's list are an
 * error at their place unless the head gives a range. Returns the count, configurations malloc'd; -1 on error. */
int variant_configs(const struct variant *v, const struct node *override, struct variant_config **configs, struct error *err);
/* The same, but a parameter that the override does not name takes all its values: the space of a search. */
int variant_space(const struct variant *v, const struct node *override, struct variant_config **configs, struct error *err);
/* The configuration with a label ("BPS=2,CC=16"). False: the variant no longer has it. */
bool variant_at(const struct variant *v, const char *label, struct variant_config **config, struct error *err);
