#include "gate/rules.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 0.01
#define FLOOR_NS 5e3
#define ALPHA 0.001

void gate_rules_default(struct gate_rules *rules)
{
    *rules = (struct gate_rules){.margin = MARGIN, .floor_ns = FLOOR_NS, .alpha = ALPHA, .ratchet = true};
}

/* ---- reading ---- */

static void put_text(char **to, const char *text)
{
    free(*to);
    *to = text ? xstrdup(text) : NULL;
}

static bool read_text(const struct node *m, const char *key, char **to, struct error *err)
{
    const struct node *n = node_get(m, key);
    const char *text = n ? node_text(n, key, err) : NULL;
    if (text && !*text) /* an empty base or reason would make the rule meaningless */
        return node_error(n, err, "%s: it is empty", key);
    if (text)
        put_text(to, text);
    return !n || text;
}

/* Globs on row ids. */
static bool read_rows(const struct node *m, struct glob_list *rows, struct error *err)
{
    const struct node *n = node_get(m, "rows");
    const char *text = n ? node_text(n, "rows", err) : NULL;
    struct error why = {0};
    if (n && !text)
        return false;
    return glob_list_parse(text, "rows:", rows, &why) || node_error(n, err, "%s", why.text);
}

/* One text or a list of them. */
static bool read_texts(const struct node *n, const char *what, char ***to, struct error *err)
{
    int count = !n ? 0 : n->kind == NODE_LIST ? n->count : 1;
    char **texts = xcalloc((size_t)count + 1, sizeof *texts);
    *to = texts;
    if (n && n->kind == NODE_LIST && !n->count)
        return node_error(n, err, "%s: the list is empty", what);
    for (int i = 0; i < count; i++) {
        const char *text = node_text(n->kind == NODE_LIST ? n->items[i] : n, what, err);
        if (!text)
            return false;
        texts[i] = xstrdup(text);
    }
    return true;
}

static void free_texts(char **texts)
{
    pointers_free(texts, -1);
}

/* "0", "4": an absolute allowance; "1 %": a share of the base. */
static bool read_allow(const struct node *n, struct gate_rule *r, struct error *err)
{
    bool share = n && n->text && strchr(n->text, '%');
    if (!n)
        return true;
    if (share)
        return node_quantity(n, "allow", "%", &r->allow_share, err) &&
               ((r->allow_share >= 0 && r->allow_share < 10) || node_error(n, err, "allow: from 0 %% to 1000 %%"));
    return node_real(n, "allow", 0, 1e18, &r->allow, err);
}

static bool read_seconds(const struct node *n, const char *what, double *ns, struct error *err)
{
    double s;
    if (!n)
        return true;
    if (!node_quantity(n, what, "s", &s, err))
        return false;
    *ns = s * 1e9;
    return (s >= 0 && s < 1e6) || node_error(n, err, "%s: a time is expected, such as 5 us", what);
}

/* A glob of facts must match one. */
static bool known_fact(const struct node *at, const char *glob, struct error *err)
{
    const char *words[64];
    size_t count = 0;
    words[count++] = "time";
    bool found = text_glob(glob, "time");
    for (const struct gate_kind *k = gate_kinds; k->what; k++) {
        found = found || text_glob(glob, k->what);
        words[count++] = k->what;
    }
    if (found)
        return true;
    const char *near = text_nearest(glob, words, count);
    node_error(at, err, "what: there is no fact '%s'", glob);
    return error_hint(err, near ? "%s" : "time, registers, spill_store_bytes, occupancy, emu.global_sectors_*, ... (docs/GATE.md)%s",
                      near ? near : "");
}

static bool read_rule(const struct node *n, struct gate_rule *r, struct error *err)
{
    static const char *const keys[] = {"what", "rows", "allow", "floor", NULL};
    *r = (struct gate_rule){.line = n->line, .floor_ns = NAN};
    if (!node_check_keys(n, "a rule", keys, err))
        return false;
    const struct node *what = node_get(n, "what");
    if (!what)
        return node_error(n, err, "a rule needs `what`: the fact that it judges");
    if (!read_texts(what, "what", &r->what, err) || !read_rows(n, &r->rows, err) || !read_allow(node_get(n, "allow"), r, err) ||
        !read_seconds(node_get(n, "floor"), "floor", &r->floor_ns, err))
        return false;
    for (int i = 0; r->what[i]; i++)
        if (!known_fact(what->kind == NODE_LIST ? what->items[i] : what, r->what[i], err))
            return false;
    for (int i = 0; r->what[i]; i++)
        if (!strcmp(r->what[i], "time") && r->allow > 0)
            return node_error(node_get(n, "allow"), err, "allow: a share such as 2 %% is expected for `time`");
    return true;
}

/* "2027-03-01" */
static bool is_date(const char *s)
{
    if (strlen(s) != 10 || s[4] != '-' || s[7] != '-')
        return false;
    if (ANY_OF(i, 10, i != 4 && i != 7 && (s[i] < '0' || s[i] > '9')))
        return false;
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = atoi(s), month = atoi(s + 5), day = atoi(s + 8);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

static bool read_waiver(const struct node *n, const char *today, struct gate_waiver *w, struct error *err)
{
    static const char *const keys[] = {"row", "what", "to", "why", "owner", "until", NULL};
    static const char *const needed[] = {"row", "what", "why", "owner", "until", NULL};
    *w = (struct gate_waiver){.line = n->line, .to = NAN};
    if (!node_check_keys(n, "a waiver", keys, err))
        return false;
    for (int i = 0; needed[i]; i++)
        if (!node_get(n, needed[i]))
            return node_error(n, err, "a waiver without `%s`: it needs %s", needed[i], "row, what, why, owner and until");
    const struct node *to = node_get(n, "to"), *what = node_get(n, "what"), *until = node_get(n, "until");
    if (!read_text(n, "row", &w->row, err) || !read_text(n, "what", &w->what, err) || !read_text(n, "why", &w->why, err) ||
        !read_text(n, "owner", &w->owner, err) || !read_text(n, "until", &w->until, err) ||
        (to && !node_real(to, "to", -1e18, 1e18, &w->to, err)))
        return false;
    if (!is_date(w->until))
        return node_error(until, err, "until: a date such as 2027-03-01 is expected, not '%s'", w->until);
    w->expired = strcmp(w->until, today) < 0;
    return !strcmp(w->what, "MISSING") || known_fact(what, w->what, err);
}

/* {my: .}: folders of variants, as --variants my=. has them. */
static bool read_variants(const struct node *n, char ***to, struct error *err)
{
    if (n && n->kind != NODE_MAP)
        return node_error(n, err, "variants: a map of names and folders is expected, such as {my: .}");
    char **all = *to = xcalloc((size_t)(n ? n->count : 0) + 1, sizeof *all);
    for (int i = 0; n && i < n->count; i++) {
        const char *dir = node_text(n->items[i], "variants", err);
        if (!dir)
            return false;
        all[i] = text_format("%s=%s", n->keys[i]->text, dir);
    }
    return true;
}

static bool read_lists(const struct node *root, const char *today, struct gate_rules *g, struct error *err)
{
    const struct node *rules = node_get(root, "rules"), *waivers = node_get(root, "waivers");
    if ((rules && (rules->kind != NODE_LIST || !rules->count)) || (waivers && waivers->kind != NODE_LIST))
        return node_error(rules && (rules->kind != NODE_LIST || !rules->count) ? rules : waivers, err, "a list is expected here");
    g->items = xcalloc((size_t)(rules ? rules->count : 0) + 1, sizeof *g->items);
    for (int i = 0; rules && i < rules->count; i++, g->count++)
        if (!read_rule(rules->items[i], &g->items[i], err)) {
            g->count++;
            return false;
        }
    g->waivers = xcalloc((size_t)(waivers ? waivers->count : 0) + 1, sizeof *g->waivers);
    for (int i = 0; waivers && i < waivers->count; i++, g->waiver_count++)
        if (!read_waiver(waivers->items[i], today, &g->waivers[i], err)) {
            g->waiver_count++;
            return false;
        }
    return true;
}

static bool read_numbers(const struct node *root, struct gate_rules *g, struct error *err)
{
    const struct node *margin = node_get(root, "margin"), *alpha = node_get(root, "alpha"), *decide = node_get(root, "decide"),
                      *ratchet = node_get(root, "ratchet");
    if ((margin && !node_quantity(margin, "margin", "%", &g->margin, err)) ||
        (alpha && !node_quantity(alpha, "alpha", "%", &g->alpha, err)) ||
        !read_seconds(node_get(root, "floor"), "floor", &g->floor_ns, err) || (decide && !node_bool(decide, "decide", &g->decide, err)) ||
        (ratchet && !node_bool(ratchet, "ratchet", &g->ratchet, err)))
        return false;
    if (!(g->margin >= 0 && g->margin < 10))
        return node_error(margin, err, "margin: from 0 %% to 1000 %%");
    return (g->alpha > 0 && g->alpha < 0.5) || node_error(alpha, err, "alpha: above 0 %% and below 50 %%");
}

bool gate_rules_read(const char *path, const char *today, struct gate_rules *g, struct error *err)
{
    static const char *const keys[] = {"against", "scenario", "variants", "ops",     "device", "rows",    "margin",
                                       "floor",   "alpha",    "decide",   "ratchet", "rules",  "waivers", NULL};
    gate_rules_default(g);
    struct node *root = node_parse_file(path, err);
    bool ok = root && node_check_keys(root, "a gate", keys, err);
    const struct node *ops = root ? node_get(root, "ops") : NULL,
                      *scenarios = root ? node_get(root, "scenario") : NULL; /* the command line may name it instead */
    ok = ok && read_text(root, "against", &g->against, err) && (!scenarios || read_texts(scenarios, "scenario", &g->scenarios, err)) &&
         read_variants(node_get(root, "variants"), &g->variants, err) && (!ops || read_texts(ops, "ops", &g->ops, err)) &&
         read_text(root, "device", &g->device, err) && read_rows(root, &g->rows, err) && read_numbers(root, g, err) &&
         read_lists(root, today, g, err);
    g->file = xstrdup(path);
    if (root && !ok && node_get(root, "layers"))
        error_hint(err, "it is a scenario, and rules are expected: --scenario %s", path);
    if (root)
        node_free(root);
    if (!ok)
        gate_rules_free(g);
    return ok;
}

void gate_rules_free(struct gate_rules *g)
{
    for (int i = 0; i < g->count; i++) {
        free_texts(g->items[i].what);
        glob_list_free(&g->items[i].rows);
    }
    for (int i = 0; i < g->waiver_count; i++)
        FREE_ALL(g->waivers[i].row, g->waivers[i].what, g->waivers[i].why, g->waivers[i].owner, g->waivers[i].until);
    free(g->items);
    free(g->waivers);
    free_texts(g->scenarios);
    free_texts(g->variants);
    free_texts(g->ops);
    FREE_ALL(g->file, g->against, g->device);
    glob_list_free(&g->rows);
    *g = (struct gate_rules){0};
}

/* ---- asking ---- */

bool gate_rules_take(const struct gate_rules *g, const char *id)
{
    return glob_list_match(&g->rows, id);
}

/* The last rule for that fact of that row. */
static const struct gate_rule *rule_of(const struct gate_rules *g, const char *id, const char *what)
{
    const struct gate_rule *found = NULL;
    for (int i = 0; i < g->count; i++)
        for (int k = 0; g->items[i].what[k]; k++)
            if (text_glob(g->items[i].what[k], what) && glob_list_match(&g->items[i].rows, id))
                found = &g->items[i];
    return found;
}

int gate_rules_judge(const struct gate_rules *g, const char *id, const struct gate_kind *kind, double base, double head)
{
    const struct gate_rule *r = rule_of(g, id, kind->what);
    if (g->count ? !r : kind->direction == GATE_NEUTRAL)
        return 0;
    double allow = r ? r->allow + r->allow_share * fabs(base) : kind->allow * fabs(base);
    double worse = kind->direction == GATE_LESS_IS_WORSE ? base - head : head - base; /* for a fact without a direction that a rule names,
                                                                                         more is worse */
    allow += 1e-9 * fabs(base);                                                       /* shares that are not whole numbers */
    return worse > allow ? 1 : -worse > allow ? -1 : 0;
}

bool gate_rules_margin(const struct gate_rules *g, const char *id, double base_ns, double *margin)
{
    const struct gate_rule *r = rule_of(g, id, "time");
    double floor_ns = r && !isnan(r->floor_ns) ? r->floor_ns : g->floor_ns;
    *margin = r && r->allow_share > 0 ? r->allow_share : g->margin;
    return (r || !g->count) && base_ns >= floor_ns;
}

struct gate_waiver *gate_rules_waiver(const struct gate_rules *g, const char *id, const char *what, const struct gate_kind *kind,
                                      double head)
{
    for (int i = 0; i < g->waiver_count; i++) {
        struct gate_waiver *w = &g->waivers[i];
        bool beyond = !isnan(w->to) && kind && (kind->direction == GATE_LESS_IS_WORSE ? head < w->to : head > w->to);
        if (text_glob(w->row, id) && text_glob(w->what, what) && !beyond) {
            w->used = true;
            return w;
        }
    }
    return NULL;
}
