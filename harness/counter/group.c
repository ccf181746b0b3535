#include "counter/group.h"
#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 60, UNIT_MAX_BYTES = 15, METRIC_MAX_BYTES = 200 };

const char *const counter_bottleneck_names[] = {"latency",    "memory", "compute", "occupancy",  "spills", "conflicts",
                                                "divergence", "launch", "tail",    "small_grid", NULL};

const struct counter_fact counter_facts[] = {
    {"occupancy_theoretical", "%", "theoretical occupancy: warps per SM that fit, over the maximum"},
    {"waves", "", "waves: blocks of the grid over the blocks that fit on the GPU"},
    {"blocks_per_sm", "", "blocks that fit on one SM"},
    {"registers", "", "registers a thread"},
    {"spill_bytes", "B", "bytes of spill stores of a thread, by the compiler"},
    {"sm_count", "", "SMs of the GPU"},
    {"flop", "FLOP", "useful FLOP of the work"},
    {"bytes", "B", "compulsory bytes of the work"},
    {"time_ns", "ns", "the measured time, in the cache state of the counters"},
    {"counted", "", "1 if the row has hardware counters, else 0"},
    {"headroom", "%", "time of the longest step above its speed of light; 100 if the speed of light is unknown, absent without a time"},
    {"occupancy_limit", "text", "what limits the occupancy, and how to raise it"},
    {"fullest", "%", "share of its peak of the busiest unit, over all cycles of the launch"},
    {"busiest", "%", "as `fullest`, of the units that were counted or that the model knows; 0 if there are none"},
    {"near", "%", "speed of light over time, of the longest step; from the data sheet if no ceilings were measured"},
    {"near_memory", "%", "the same for the bytes alone"},
    {"near_compute", "%", "the same for the operations alone, at the rate of the pipe that the code uses"},
    {"launch_ns", "ns", "time of an empty launch: measured, else 1000"},
    {"stall_unknown", "%",
     "on emu: time of a warp in its largest state of waiting, where schedulers seldom issue and emu does not know what it waits for"},
    {"part_sector_ps", "ps", "what L2 takes more for a sector that is stored in parts (docs/MODEL.md); absent without a model of the chip"},
    {"idle_places", "%", "block slots of the launch that stay empty"},
    {"tensor", "", "1 if the machine code has tensor instructions, else 0"},
    {"pipe_idle", "x", "the same ratio if the machine code has no tensor instructions; 1 if it has some, or if that is unknown"},
    {"pipe_width", "x", "rate of the fastest pipe for the math mode over the rate of f32 multiply-adds"},
    {"emu_moved", "x", "emu: bytes moved per compulsory byte; absent for a cropped layer"},
    {"emu_moved_here", "x", "emu: the same for the part that ran, cropped or not"},
    {"intensity", "FLOP/B", "FLOP of the work per compulsory byte; for a cropped layer, of the whole layer"},
    {"cropped", "", "1 if only a cropped part of the layer ran, else 0"},
    {"balance", "FLOP/B", "ridge: FLOP in the math mode that the chip does while DRAM moves a byte, by the data sheet"},
    {NULL, NULL, NULL},
};

static bool is_fact(const char *name)
{
    for (const struct counter_fact *f = counter_facts; f->name; f++)
        if (!strcmp(f->name, name))
            return true;
    return false;
}

static bool known(void *context, const char *name, bool call)
{
    const struct counter_group *g = context;
    return !call && (is_fact(name) || !isnan(counter_limit(g->limits, name)) || counter_group_metric(g, name) >= 0 ||
                     counter_group_value(g, name) >= 0);
}

/* Everything a formula (with metrics) or a rule may name so far, NULL-terminated; the caller frees the array. */
static const char **names_of(const struct counter_group *g, bool metrics)
{
    int facts = 0, n = 0, limits = g->limits ? g->limits->count : 0;
    while (counter_facts[facts].name)
        facts++;
    const char **names = xcalloc((size_t)(g->metric_count + g->value_count + facts + limits) + 1, sizeof *names);
    for (int i = 0; i < g->metric_count && metrics; i++)
        names[n++] = g->metrics[i].name;
    for (int i = 0; i < g->value_count; i++)
        names[n++] = g->values[i].name;
    for (int i = 0; i < facts; i++)
        names[n++] = counter_facts[i].name;
    for (int i = 0; i < limits; i++)
        names[n++] = g->limits->items[i].name;
    return names;
}

static struct expr *formula(const struct counter_group *g, const struct node *n, struct error *err)
{
    struct expr *e = expr_parse(n, err);
    SCOPED const char **names = names_of(g, true);
    if (e && !expr_check(e, known, (void *)g, names, err)) {
        expr_free(e);
        e = NULL;
    }
    return e;
}

/* What a rule may name: facts, limits, values of its own group and of all others. Not metrics: a row stores values only. */
struct neighbours {
    const struct counter_group *group;
    const struct counter_groups *others; /* NULL: none */
};

static bool known_to_rule(void *context, const char *name, bool call)
{
    const struct neighbours *n = context;
    bool found = known((void *)n->group, name, call) && counter_group_metric(n->group, name) < 0;
    for (int i = 0; !call && n->others && i < n->others->count && !found; i++)
        found = counter_group_value(n->others->items[i], name) >= 0;
    return found;
}

static bool check_rules(const struct counter_group *g, const struct counter_groups *others, struct error *err)
{
    struct neighbours n = {g, others};
    SCOPED const char **names = names_of(g, false);
    bool ok = ALL_OF(i, g->value_count,
                     (!g->values[i].more_if || expr_check(g->values[i].more_if, known_to_rule, &n, names, err)) &&
                         (!g->values[i].shown_if || expr_check(g->values[i].shown_if, known_to_rule, &n, names, err)));
    for (int i = 0; i < g->rule_count && ok; i++) {
        ok = expr_check(g->rules[i].when, known_to_rule, &n, names, err);
        ok = ok && ALL_OF(k, g->rules[i].gain_count, expr_check(g->rules[i].gains[k], known_to_rule, &n, names, err));
        ok = ok && (!g->rules[i].unit || expr_check(g->rules[i].unit, known_to_rule, &n, names, err));
    }
    return ok;
}

/* A valid name for formulas that is not taken. */
static bool check_name(const struct counter_group *g, const struct node *key, struct error *err)
{
    static const char *const words[] = {"and", "or", "not", NULL};
    const char *s = key->text;
    bool good = isalpha((unsigned char)*s) && strlen(s) <= NAME_MAX_BYTES;
    for (const char *c = s; *c; c++)
        good = good && (islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
    for (int i = 0; words[i]; i++)
        good = good && strcmp(s, words[i]);
    if (!good)
        return node_error(key, err, "'%.80s' is not a name: lower case letters, digits and _ are expected, at most %d", s, NAME_MAX_BYTES);
    if (is_fact(s))
        return node_error(key, err, "'%s' is the name of a fact: use another name", s);
    if (!isnan(counter_limit(g->limits, s)))
        return node_error(key, err, "'%s' is the name of a limit: use another name", s);
    if (counter_group_metric(g, s) >= 0 || counter_group_value(g, s) >= 0)
        return node_error(key, err, "'%s' is listed twice", s);
    return true;
}

/* CUPTI's names are unit, two underscores, name and roll-up. Whether a chip has the metric is checked when a set is made. emu's counters
 * begin with "emu.". */
static bool add_choice(struct counter_metric *m, const struct node *n, struct error *err)
{
    const char *name = node_text(n, "metric", err);
    if (!name)
        return false;
    const char *bar = strstr(name, "__");
    bool emu = strncmp(name, "emu.", 4) == 0 && name[4];
    bool good = (emu || (bar && bar > name && strchr(bar, '.'))) && strlen(name) <= METRIC_MAX_BYTES;
    for (const char *c = name; *c; c++)
        good = good && (isalnum((unsigned char)*c) || *c == '_' || *c == '.');
    if (!good)
        return node_error(n, err, "'%.80s' is not a CUPTI metric: unit__name.roll-up is expected, such as dram__bytes.sum", name);
    for (int i = 0; i < m->count; i++)
        if (!strcmp(m->choices[i], name))
            return node_error(n, err, "'%s' is listed twice", name);
    m->choices[m->count++] = name;
    return true;
}

static bool parse_metric(struct counter_group *g, const struct node *key, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"optional", "else", NULL};
    if (!check_name(g, key, err))
        return false;
    struct counter_metric *m = &g->metrics[g->metric_count++];
    *m = (struct counter_metric){.name = key->text, .node = n, .otherwise = NAN};
    const struct node *list = n;
    if (n->kind == NODE_MAP) {
        if (!node_check_keys(n, "metric", keys, err))
            return false;
        list = node_get(n, "optional");
        if (!list)
            return node_error(n, err, "metric '%s': optional: and its names are expected", m->name);
        m->optional = true;
        if (node_get(n, "else") && !node_real(node_get(n, "else"), "else", -1e30, 1e30, &m->otherwise, err))
            return false;
    }
    if (list->kind == NODE_LIST && !list->count)
        return node_error(list, err, "metric '%s' has no names", m->name);
    m->choices = xcalloc(list->kind == NODE_LIST ? (size_t)list->count : 1, sizeof *m->choices);
    if (list->kind != NODE_LIST)
        return add_choice(m, list, err);
    return ALL_OF(i, list->count, add_choice(m, list->items[i], err));
}

/* All metrics, none, or those of a list. */
static bool parse_slow(struct counter_group *g, const struct node *n, struct error *err)
{
    bool all = false;
    if (n->kind != NODE_LIST && !node_bool(n, "slow", &all, err))
        return false;
    for (int m = 0; m < g->metric_count; m++)
        g->metrics[m].slow = all;
    for (int i = 0; n->kind == NODE_LIST && i < n->count; i++) {
        const char *name = node_text(n->items[i], "slow", err);
        int m = name ? counter_group_metric(g, name) : -1;
        if (m < 0)
            return name ? node_error(n->items[i], err, "slow: the group has no metric '%.60s'", name) : false;
        g->metrics[m].slow = true;
    }
    return true;
}

/* In a sentence about two rows, each {word} is one of these, and [ ] are balanced. */
static bool check_more(const struct node *n, const char *s, struct error *err)
{
    static const char *const words[] = {"ratio", "this", "that", "other", NULL};
    bool open = false;
    for (; *s; s++) {
        if (*s == '{') {
            SCOPED char *word = xstrndup(s + 1, strcspn(s + 1, "}"));
            int w = 0;
            while (words[w] && strcmp(words[w], word))
                w++;
            if (!words[w])
                return node_error(n, err, "{%.80s}: only {ratio}, {this}, {that} and {other} are allowed", word);
        } else if (open ? *s == '[' : *s == ']') {
            return node_error(n, err, "a %c has no other", *s);
        }
        open = *s == '[' || (open && *s != ']');
    }
    return !open || node_error(n, err, "a [ has no ]");
}

/* How tables and comparisons show the value: head:, brief:, more:, from:. */
static bool parse_shown(struct counter_value *v, const struct node *n, struct error *err)
{
    const struct node *head = node_get(n, "head"), *brief = node_get(n, "brief"), *more = node_get(n, "more"), *from = node_get(n, "from");
    const struct node *when = node_get(n, "more_if"), *shown = node_get(n, "shown_if"), *state = node_get(n, "state");
    SCOPED_TEXT name = {0};
    if (state && !(v->state = node_text(state, "state", err)))
        return false;
    text_addf(&name, "stall_%s", v->state ? v->state : "");
    if (state && strcmp(text_get(&name), v->name))
        return node_error(state, err, "value '%s': the share of the state '%.60s' must have the name '%.70s'", v->name, v->state,
                          text_get(&name));
    if (head && !(v->head = node_text(head, "head", err)))
        return false;
    if (more && !((v->more = node_text(more, "more", err)) && check_more(more, v->more, err)))
        return false;
    if (brief && !head)
        return node_error(brief, err, "value '%s': brief: needs head:", v->name);
    if (!more != !from)
        return node_error(n, err, "value '%s': more: and from: need each other", v->name);
    if ((when && !(v->more_if = expr_parse(when, err))) || (shown && !(v->shown_if = expr_parse(shown, err))))
        return false;
    return (!brief || node_bool(brief, "brief", &v->brief, err)) && (!from || node_real(from, "from", 0, 1e9, &v->from, err));
}

static bool parse_value(struct counter_group *g, const struct node *key, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"value", "unit", "what", "head", "brief", "more", "from", "more_if", "shown_if", "state", NULL};
    if (!check_name(g, key, err) || !node_check_keys(n, "value", keys, err))
        return false;
    struct counter_value v = {.name = key->text, .node = n};
    const struct node *value = node_get(n, "value"), *unit = node_get(n, "unit");
    if (!value || !node_get(n, "what"))
        return node_error(n, err, "value '%s' needs value: and what:", v.name);
    v.what = node_text(node_get(n, "what"), "what", err);
    v.unit = !unit || unit->kind == NODE_NULL ? "" : node_text(unit, "unit", err);
    if (!v.what || !v.unit)
        return false;
    if (strlen(v.unit) > UNIT_MAX_BYTES)
        return node_error(unit, err, "unit '%.40s' is longer than %d characters", v.unit, UNIT_MAX_BYTES);
    bool ok = parse_shown(&v, n, err) && (v.expr = formula(g, value, err));
    g->values[g->value_count++] = v; /* freed with the group, whatever is wrong with it */
    return ok;
}

/* Every {name} of a rule's sentence is a value or a fact. */
static bool check_sentence(const struct counter_group *g, const struct node *n, const char *s, struct error *err)
{
    for (const char *c = strchr(s, '{'); c; c = strchr(c + 1, '{')) {
        const char *end = strchr(c, '}');
        if (!end)
            return node_error(n, err, "a { has no }");
        SCOPED char *name = xstrndup(c + 1, (size_t)(end - c) - 1);
        bool ok = known((void *)g, name, false) && counter_group_metric(g, name) < 0;
        if (!ok) {
            const char **names = names_of(g, false), *near = text_nearest_in(name, names);
            node_error(n, err, "{%.80s} is neither a value nor a fact", name);
            if (near)
                error_hint(err, "{%s}", near);
            free(names);
        }
        if (!ok)
            return false;
    }
    return true;
}

/* gain: a formula, a list of which the first that can be computed counts, or `none`. */
static bool parse_gain(const struct node *n, struct counter_rule *r, struct error *err)
{
    bool list = n->kind == NODE_LIST;
    int count = list ? n->count : 1;
    if (!list && n->text && !strcmp(n->text, "none"))
        return true;
    if (!count || count > COUNTER_GAINS)
        return node_error(n, err, "gain: none, a formula, or up to %d formulas are expected", COUNTER_GAINS);
    for (int i = 0; i < count; i++) {
        r->gains[i] = expr_parse(list ? n->items[i] : n, err);
        if (!r->gains[i])
            return false;
        r->gain_count++;
    }
    return true;
}

static bool parse_rule(struct counter_group *g, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"when", "bottleneck", "says", "try", "gain", "why", "unit", NULL};
    if (!node_check_keys(n, "rule", keys, err))
        return false;
    for (int i = 0; i < 4; i++)
        if (!node_get(n, keys[i]))
            return node_error(n, err, "a rule needs when:, bottleneck:, says: and try:; %s: is missing", keys[i]);
    const struct node *gain = node_get(n, "gain"), *why = node_get(n, "why");
    if (!gain != !why)
        return node_error(n, err, "a rule needs both gain: and why:, a whole sentence that explains the gain");
    struct counter_rule *r = &g->rules[g->rule_count++]; /* freed with the group, whatever is wrong with it */
    int bottleneck = node_word(node_get(n, "bottleneck"), "bottleneck", counter_bottleneck_names, err);
    if (bottleneck < 0)
        return false;
    r->bottleneck = (enum counter_bottleneck)bottleneck;
    r->says = node_text(node_get(n, "says"), "says", err);
    r->remedy = r->says ? node_text(node_get(n, "try"), "try", err) : NULL;
    if (why && !(r->why = node_text(why, "why", err)))
        return false;
    if (!r->remedy || !check_sentence(g, node_get(n, "says"), r->says, err) || !check_sentence(g, node_get(n, "try"), r->remedy, err))
        return false;
    if (node_get(n, "unit") && !(r->unit = expr_parse(node_get(n, "unit"), err)))
        return false;
    r->when = expr_parse(node_get(n, "when"), err);
    return r->when && (!gain || parse_gain(gain, r, err));
}

struct use {
    const char *name;
    bool found;
};

static void see(void *context, const char *name)
{
    struct use *u = context;
    u->found = u->found || !strcmp(u->name, name);
}

/* A metric that no formula uses would cost passes for nothing. */
static bool check_used(const struct counter_group *g, struct error *err)
{
    for (int i = 0; i < g->metric_count; i++) {
        struct use use = {.name = g->metrics[i].name};
        for (int k = 0; k < g->value_count; k++)
            expr_names(g->values[k].expr, see, &use);
        if (!use.found)
            return node_error(g->metrics[i].node, err, "metric '%s' is collected but no formula uses it", use.name);
    }
    return true;
}

/* The group's place on a page, and the order of its values there. */
static bool parse_order(struct counter_group *g, struct error *err)
{
    const struct node *order = node_get(g->root, "order"), *largest = node_get(g->root, "largest_first");
    double place = INT_MAX;
    if (order && !node_real(order, "order", 0, 1000, &place, err))
        return false;
    g->order = (int)place;
    g->largest_first = largest != NULL;
    return !largest || node_real(largest, "largest_first", 0, 100, &g->least, err);
}

static bool parse_least_gain(struct counter_group *g, struct error *err)
{
    const struct node *least = node_get(g->root, "least_gain");
    g->least_gain = least ? node_text(least, "least_gain", err) : NULL;
    if (!least || !g->least_gain)
        return !least;
    return !isnan(counter_limit(g->limits, g->least_gain)) || node_error(least, err, "least_gain: there is no limit '%s'", g->least_gain);
}

static bool group_parse(struct counter_group *g, struct error *err)
{
    static const char *const keys[] = {"group", "about", "teaches", "metrics",       "values",     "rules",
                                       "basic", "slow",  "order",   "largest_first", "least_gain", NULL};
    const struct node *root = g->root;
    if (!node_check_keys(root, "counter group", keys, err))
        return false;
    for (int i = 0; i < 5; i++)
        if (!node_get(root, keys[i]))
            return node_error(root, err, "a counter group needs %s:", keys[i]);
    const struct node *metrics = node_get(root, "metrics"), *values = node_get(root, "values"), *rules = node_get(root, "rules");
    g->name = node_text(node_get(root, "group"), "group", err);
    g->about = g->name ? node_text(node_get(root, "about"), "about", err) : NULL;
    g->teaches = g->about ? node_text(node_get(root, "teaches"), "teaches", err) : NULL;
    if (!g->teaches)
        return false;
    if (node_get(root, "basic") && !node_bool(node_get(root, "basic"), "basic", &g->basic, err))
        return false;
    if (!parse_order(g, err) || !parse_least_gain(g, err))
        return false;
    if (metrics->kind != NODE_MAP) /* {}: rules for rows without counters */
        return node_error(metrics, err, "metrics: a map of names is expected");
    if (values->kind != NODE_MAP || !values->count)
        return node_error(values, err, "values: a map of names is expected");
    if (rules && rules->kind != NODE_LIST)
        return node_error(rules, err, "rules: a list is expected");
    g->metrics = xcalloc((size_t)metrics->count + 1, sizeof *g->metrics);
    g->values = xcalloc((size_t)values->count, sizeof *g->values);
    g->rules = xcalloc(rules ? (size_t)rules->count + 1 : 1, sizeof *g->rules);
    if (!ALL_OF(i, metrics->count, parse_metric(g, metrics->keys[i], metrics->items[i], err)))
        return false;
    if (node_get(root, "slow") && !parse_slow(g, node_get(root, "slow"), err))
        return false;
    if (!ALL_OF(i, values->count, parse_value(g, values->keys[i], values->items[i], err)))
        return false;
    for (int i = 0; rules && i < rules->count; i++)
        if (!parse_rule(g, rules->items[i], err))
            return false;
    g->computed = true;
    for (int i = 0; i < g->metric_count; i++)
        g->computed = g->computed && !strncmp(g->metrics[i].choices[0], "emu.", 4);
    return check_used(g, err);
}

static struct counter_group *group_take(struct node *root, const char *path, const struct counter_limits *limits, struct error *err)
{
    if (!root)
        return NULL;
    struct counter_group *g = xcalloc(1, sizeof *g);
    g->root = root;
    g->path = xstrdup(path);
    g->limits = limits;
    if (!group_parse(g, err)) {
        counter_group_free(g);
        return NULL;
    }
    return g;
}

struct counter_group *counter_group_parse(const char *file, const char *text, size_t bytes, const struct counter_limits *limits,
                                          struct error *err)
{
    struct counter_group *g = group_take(node_parse_text(file, text, bytes, 1, 1, err), file, limits, err);
    return g && !check_rules(g, NULL, err) ? (counter_group_free(g), NULL) : g;
}

/* Its rules are not checked yet. */
static struct counter_group *group_load(const char *path, const struct counter_limits *limits, struct error *err)
{
    struct counter_group *g = group_take(node_parse_file(path, err), path, limits, err);
    if (!g)
        return NULL;
    const char *base = file_base(path), *end = strrchr(base, '.');
    size_t length = end ? (size_t)(end - base) : strlen(base);
    if (strlen(g->name) != length || strncmp(g->name, base, length)) {
        node_error(node_get(g->root, "group"), err, "the group has the name '%.80s', but the file %.80s", g->name, base);
        counter_group_free(g);
        return NULL;
    }
    return g;
}

void counter_group_free(struct counter_group *group)
{
    if (!group)
        return;
    for (int i = 0; i < group->metric_count; i++)
        free(group->metrics[i].choices);
    for (int i = 0; i < group->value_count; i++) {
        expr_free(group->values[i].expr);
        expr_free(group->values[i].more_if);
        expr_free(group->values[i].shown_if);
    }
    for (int i = 0; i < group->rule_count; i++) {
        expr_free(group->rules[i].when);
        expr_free(group->rules[i].unit);
        for (int k = 0; k < group->rules[i].gain_count; k++)
            expr_free(group->rules[i].gains[k]);
    }
    FREE_ALL(group->metrics, group->values, group->rules);
    node_free(group->root);
    free(group->path);
    free(group);
}

static void group_add(struct counter_groups *groups, struct counter_group *group)
{
    *APPEND(groups->items, groups->count) = group;
}

ORDER_POINTERS(by_order, struct counter_group, ORDER_UP(order) ?: strcmp(x->name, y->name))

bool counter_groups_load(const char *dir, const struct counter_groups *others, struct counter_groups *groups, struct error *err)
{
    SCOPED char *folder = dir ? xstrdup(dir) : file_share("harness/counter/groups"), **names = NULL;
    int count = file_list(folder, ".yaml", &names, err);
    *groups = (struct counter_groups){0};
    if (!count)
        error_set(err, ERROR_USAGE, "%s: the folder has no counter groups (*.yaml)", folder);
    bool ok = count > 0 && (groups->limits = counter_limits_load(err));
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(folder, names[i]);
        struct counter_group *g = ok ? group_load(path, groups->limits, err) : NULL;
        if (g)
            group_add(groups, g);
        ok = g != NULL;
    }
    ok = ok && ALL_OF(i, groups->count, check_rules(groups->items[i], others ? others : groups, err));
    if (groups->count)
        qsort(groups->items, (size_t)groups->count, sizeof *groups->items, by_order);
    if (!ok)
        counter_groups_free(groups);
    return ok;
}

void counter_groups_free(struct counter_groups *groups)
{
    for (int i = 0; i < groups->count; i++)
        counter_group_free(groups->items[i]);
    free(groups->items);
    counter_limits_free(groups->limits);
    *groups = (struct counter_groups){0};
}

const struct counter_group *counter_groups_find(struct counter_groups *groups, const char *name, struct error *err)
{
    size_t length = strlen(name);
    bool file = length > 5 && !strcmp(name + length - 5, ".yaml");
    for (int i = 0; i < groups->count; i++)
        if (!strcmp(file ? groups->items[i]->path : groups->items[i]->name, name))
            return groups->items[i];
    if (file) {
        struct counter_group *g = group_load(name, groups->limits, err);
        if (g && !check_rules(g, groups, err)) {
            counter_group_free(g);
            g = NULL;
        }
        if (g)
            group_add(groups, g);
        return g;
    }
    SCOPED const char **names = xcalloc((size_t)groups->count + 1, sizeof *names);
    SCOPED_TEXT all = {0};
    for (int i = 0; i < groups->count; i++)
        names[i] = groups->items[i]->name;
    const char *near = text_nearest(name, names, (size_t)groups->count);
    text_add_list(&all, names, (size_t)groups->count);
    error_set(err, ERROR_USAGE, "no counter group '%.80s'; there are %s", name, text_get(&all));
    error_hint(err, near ? "%s" : "%sbench counters lists them", near ? near : "");
    return NULL;
}

bool counter_groups_check(struct counter_groups *groups, const struct node *list, struct error *err)
{
    for (int i = 0; list && i < list->count; i++) {
        const char *name = node_text(list->items[i], "counters", err);
        if (!name)
            return false;
        if (!counter_groups_find(groups, name, err))
            return error_where(err, "%s:%d:%d", list->items[i]->file, list->items[i]->line, list->items[i]->column);
    }
    return true;
}
