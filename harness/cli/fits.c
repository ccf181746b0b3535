/* Where a variant that fits none of the layers that were run would fit: the shipped scenarios are planned with it alone. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "device/chip/chip.h"
#include <string.h>

#define SCENARIOS_MOST 3 /* that are named */
#define LAYERS_MOST 4    /* of each */
#define SCENARIO_BYTES (1 << 20)

/* The layers of a plan that the variant fits, each once: "image, head". */
static void add_layers(const struct plan *plan, const char *variant, struct text *t)
{
    const struct layer *last = NULL;
    int count = 0;
    for (int i = 0; i < plan->row_count; i++) {
        const struct plan_row *r = &plan->rows[i];
        const struct layer *layer = r->kind == PLAN_LAYER ? plan->cases[r->case_index].layer : NULL;
        if (!layer || layer == last || r->broken || !r->facts.feasible || strcmp(plan_row_variant(r), variant) != 0)
            continue;
        last = layer;
        if (count++ < LAYERS_MOST)
            text_addf(t, "%s%s", t->len ? ", " : "", layer->name);
    }
    if (count > LAYERS_MOST)
        text_addf(t, " and %d more", count - LAYERS_MOST);
}

/* Planning takes a while; a scenario of that op names it. */
static bool names_op(const char *path, const char *op)
{
    size_t bytes;
    struct error ignored = {0};
    SCOPED char *text = file_read(path, SCENARIO_BYTES, &bytes, &ignored);
    return text && strstr(text, op);
}

int cli_fits(const struct plan_options *like, const char *variant, const char *op, struct text *t)
{
    SCOPED char *folder = file_share("scenarios"), **names = NULL;
    const char *const only[] = {variant, NULL};
    int count = file_list(folder, ".yaml", &names, NULL), found = 0;
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(folder, names[i]);
        SCOPED_TEXT layers = {0};
        struct error ignored = {0};
        struct plan plan;
        const struct plan_options options = {.scenario_path = path,
                                             .variant_dirs = like->variant_dirs,
                                             .op_files = like->op_files,
                                             .variant_names = only,
                                             .layers_only = true};
        if (found < SCENARIOS_MOST && names_op(path, op) && plan_make(&options, "emu", chip_find("GH100"), &plan, &ignored)) {
            add_layers(&plan, variant, &layers);
            if (layers.len)
                text_addf(t, "%s%s (%s)", found++ ? "; " : "", plan.scenario->name, text_get(&layers));
            plan_free(&plan);
        }
    }
    return found;
}
