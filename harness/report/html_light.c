/* report/html_light: how near each row of a case comes to the limits of the machine, in one table: the counters that say where to look
 * first. */
#include "report/account.h"
#include "report/html.h"
#include "report/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *head, *what;
    bool share; /* a % with a bar */
} shown[] = {
    {"hw.issue_active", "issue %", "cycles in which a scheduler issued", true},
    {"hw.tensor_active", "tensor %", "cycles in which the tensor pipe worked", true},
    {"hw.l1_busy", "L1 %", "passes of the L1's and shared memory's data banks, of the most there can be", true},
    {"hw.l2_busy", "L2 %", "sectors that L2 served, of the most it can", true},
    {"hw.dram_throughput", "DRAM %", "of DRAM's peak", true},
    {"hw.dram_over_compulsory", "DRAM / comp.", "bytes that DRAM moved over those that any kernel must", false},
    {"hw.sectors_per_request_ld", "sect/ld", "sectors of 32 bytes a global load touches", false},
    {"hw.shared_conflict_share", "confl. %", "passes through shared memory that are bank conflicts", true},
    {"hw.occupancy_achieved", "warps %", "active warps, of the most an SM holds", true},
    {"hw.sm_busy", "SMs %", "cycles in which an average SM had a block", true},
};
#define SHOWN (sizeof shown / sizeof *shown)

/* A row of several steps has the sums and means of all of them. */
static double value_of(const struct view *v, int step, size_t k)
{
    return counter_step(v->row, step, shown[k].name);
}

/* The state that takes most of a warp's time, issuing and being passed over left out. */
static void put_wait(struct text *t, const struct view *v, int step)
{
    const struct row_metric *most = NULL;
    for (int i = 0; i < v->row->metric_count; i++) {
        const struct row_metric *m = &v->row->metrics[i];
        if (m->step == step && !m->line && !strncmp(m->name, "hw.stall_", 9) && strcmp(m->name + 9, "selected") &&
            strcmp(m->name + 9, "not_selected") && (!most || m->value > most->value))
            most = m;
    }
    text_add(t, "<td>");
    if (most) {
        html_text(t, most->name + 9);
        text_addf(t, " <small>%.0f %%</small>", most->value);
    }
    text_add(t, "</td>");
}

static bool any_value(const struct view *v, int step)
{
    bool any = false;
    for (size_t k = 0; k < SHOWN; k++)
        any |= !isnan(value_of(v, step, k));
    return any;
}

static bool is_counted(const struct view *v)
{
    bool any = any_value(v, -1);
    for (int s = 0; s < v->row->step_count; s++)
        any |= any_value(v, s);
    return any;
}

static void put_row(struct text *t, const struct view *v, int step)
{
    char a[NUMBER_TEXT];
    text_addf(t, "<tr%s><td class=\"name\">", step >= 0 ? " class=\"step\"" : "");
    html_text(t, step >= 0 ? v->row->steps[step].name : v->name);
    text_add(t, "</td>");
    for (size_t k = 0; k < SHOWN; k++) {
        double value = value_of(v, step, k);
        if (shown[k].share)
            html_share(t, value);
        else
            text_addf(t, "<td class=\"n\">%s</td>", isnan(value) ? "" : number_3(value, a));
    }
    put_wait(t, v, step);
    text_add(t, "</tr>\n");
}

void html_light(struct text *t, const struct case_view *c)
{
    bool open = false;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        if (!v->ranked || !is_counted(v))
            continue;
        if (!open) {
            text_add(t, "<h3>Against the machine's limits <small>hardware counters, % of peak</small></h3>\n<div class=\"scroll\"><table "
                        "class=\"metrics\"><thead><tr><th></th>");
            for (size_t k = 0; k < SHOWN; k++)
                text_addf(t, "<th class=\"n\" title=\"%s\">%s</th>", shown[k].what, shown[k].head);
            text_add(t, "<th title=\"the state that takes most of a warp's time\">warps wait for</th></tr></thead><tbody>\n");
            open = true;
        }
        put_row(t, v, -1);
        for (int s = 0; view_itemises(v) && s < v->row->step_count; s++)
            if (!v->row->steps[s].prepare && any_value(v, s))
                put_row(t, v, s);
    }
    text_add(t, open ? "</tbody></table></div>\n" : "");
}
