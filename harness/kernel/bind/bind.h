/* kernel/bind/bind: the state while one configuration of a head becomes a program. Private to kernel/bind.
 *
 * These functions return false in two cases: the head is broken (err is set), or the configuration is infeasible (program->reason is set,
 * err is untouched). */
#pragma once

#include "device/chip/chip.h"
#include "kernel/head/head.h"
#include "kernel/variant.h"

#define BIND_MAX_DEPTH 6 /* variants within variants */

struct bind {
    const struct variant_set *set;
    const struct variant_config *config;
    const struct head *h;
    const struct work *work; /* as asked for */
    struct work own;         /* with the fused items of the epilogue, and without mask if it runs dense */
    const struct chip *chip;
    int depth;
    bool with_mask;
    struct tensor tensors[OP_MAX_TENSORS]; /* tensors of `own`, in the layouts that the head wants */
    int tensor_count;
    bool completed;           /* further steps follow, so its own output goes to a scratch buffer */
    struct buffer_ref output; /* where the own steps write */
    int scratch_at;           /* index of the head's first scratch buffer in the program */
    int map_at[HEAD_MAX_ITEMS];
    struct value lets[HEAD_MAX_ITEMS];
    bool let_known[HEAD_MAX_ITEMS];
    unsigned sides_asked;     /* bit set of enum work_side: what the head's expressions have used */
    int row[HEAD_MAX_TABLES]; /* row of `candidates:`, counted from 1, that was chosen or is being tried; 0: not known yet */
    bool trying[HEAD_MAX_TABLES];
    struct expr_env env;
    struct program *program;
    /* Binds another variant, for a step or a choice that is one. */
    bool (*bind)(const struct variant_set *set, const struct variant_config *config, const struct work *work, const struct chip *chip,
                 int depth, struct program *program, struct error *err);
};

/* Set the reason why the configuration cannot run, and return false; `clause`: the only clause of the reason, which has values, or NULL. */
#define bind_infeasible(b, ...) bind_refused(b, NULL, __VA_ARGS__)
bool bind_refused(struct bind *b, const char *clause, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Checks all conditions. `config`: text about the configuration for the reason. */
bool bind_conditions(struct bind *b, const struct expr_list *all, const char *config, struct error *err);

/* Sets program->claims: the head claims to be at par with the library on this work. */
bool bind_claim(struct bind *b, struct error *err);

/* choose.c */
/* The value of a name of `candidates:`: the name of the chosen row (column -1) or one of its values. */
bool bind_chosen(struct bind *b, int table, int column, struct value *out, struct error *err);

/* env.c */
void bind_env_init(struct bind *b);
const struct tensor *bind_tensor(const struct bind *b, int slot); /* NULL: this work has none */
const struct tensor *bind_result(const struct bind *b);           /* the tensor that an epilogue continues from; NULL: the op has none */
enum dtype bind_scratch_dtype(const struct bind *b, int scratch);

/* sides.c */
/* Value of a symbol of the op. `pad`, a number for all sides, has no value if the layer sets the sides apart: then reason and err are set.
 */
bool bind_symbol(struct bind *b, const char *name, struct value *out, struct error *err);
/* Checks that a head with code of its own has used the sides that the layer sets apart. */
bool bind_sides(struct bind *b);

/* match.c: checks that the variant takes this work; fills own, tensors, with_mask, completed */
int bind_fused(const struct head *h, const struct work *work);
bool bind_match(struct bind *b, struct error *err);

/* Checks that the head takes the tensors that are slices of larger ones (work->pitch) as such: `slices:`. */
bool bind_slices(struct bind *b, struct error *err);

/* buffers.c */
bool bind_scratch(struct bind *b, struct error *err);
struct buffer_ref bind_buffer(const struct bind *b, const struct head_buffer *of); /* BUFFER_NONE: this work has no such tensor */
uint64_t bind_buffer_bytes(const struct program *p, struct buffer_ref ref);

/* steps.c */
bool bind_maps(struct bind *b, struct error *err);
bool bind_steps(struct bind *b, struct error *err);
bool bind_columns(struct bind *b, struct error *err);

/* prepare.c */
/* Checks the steps that the head's step `s` became, from `from` on. Steps of `prepare:` may only read buffers that stay the same over
 * launches, and only write scratch. Else an error at the argument or the step. */
bool bind_check_prepare(const struct bind *b, const struct head_step *s, int from, struct error *err);

/* spans.c: the launches of a step `stages:`, and the -D names of its unit */
bool bind_spans(struct bind *b, const struct head_step *s, struct error *err);

/* complete.c */
/* Adds the steps for what the variant does not fuse, from b->output to the program's output. */
bool bind_complete(struct bind *b, struct error *err);
/* Moves the steps of `inner` into the program; `at`: by slot, the program's buffer for each tensor of `inner`. Frees inner. */
bool bind_embed(struct bind *b, struct program *inner, const struct buffer_ref at[OP_MAX_TENSORS], bool prepare, struct error *err);
/* A step that is another variant. */
bool bind_variant_step(struct bind *b, const struct head_step *s, struct error *err);

/* python.c: replaces the program by that of the sidecar that Python makes for this work. */
bool bind_python(struct bind *b, struct error *err);

/* select.c */
/* The configuration of a variant that a step or an item names (`what`). False: there are several, and *config is NULL. */
bool bind_one_config(const struct head_step *s, const char *what, const struct variant *v, struct variant_config **config,
                     struct error *err);
/* Gives the rule's program the steps of the chosen variant: `conv2d/auto[is=wgmma_rs]`. */
void bind_adopt(struct bind *b, const struct variant *v, struct program *inner);
/* Appends the configurations of `race:` whose conditions hold, feasible or not. */
bool bind_race(struct bind *b, struct variant_config **configs, int *count, struct error *err);
/* Replaces the program by that of the first variant of `select:` that can do the work. */
bool bind_select(struct bind *b, struct error *err);
