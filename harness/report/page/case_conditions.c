/* The lines above the table of a case: machine, compiler, mode, work and minimum time. */
#include "report/page/case_document.h"
#include "report/view/number.h"
#include <math.h>
#include <string.h>

/* The first that is known. */
static const char *known_of(const struct case_view *c, const char *run, bool compiler)
{
    const char *known = run ? run : "";
    for (int i = 0; i < c->count && !known[0]; i++) {
        const char *own = compiler ? c->rows[i]->compiler : c->rows[i]->arch;
        known = own ? own : "";
    }
    return known;
}

void case_machine(const struct case_view *c, struct text *t)
{
    const char *device = c->count && c->rows[0]->device ? c->rows[0]->device : c->counts ? "emu" : "";
    const char *compiler = known_of(c, c->run ? c->run->compiler : NULL, true), *arch = known_of(c, NULL, false);
    if (c->counts)
        text_addf(t, "%s · %s · %s", device, arch, compiler);
    else
        text_addf(t, "%s · %s %s", c->run && c->run->device_about ? c->run->device_about : device, compiler, arch);
    if (!c->counts && c->machine.library[0])
        text_addf(t, " · %s", c->machine.library);
}

void case_conditions(const struct case_view *c, bool machine, struct text *t)
{
    int rounds = 0, least = 0;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->ranked) {
            rounds = v->time->rounds > rounds ? v->time->rounds : rounds;
            least = !least || v->time->rounds < least ? v->time->rounds : least;
        }
    }
    if (machine)
        case_machine(c, t);
    text_add(t, machine ? " · " : "");
    if (c->counts || c->mode == MODE_NONE) {
        text_add(t, c->counts ? "emulated: counted, not timed" : "not timed");
        return;
    }
    text_addf(t, "%s, %s", mode_load(c->mode), mode_cache(c->mode));
    if (rounds)
        text_addf(t, least < rounds ? " · %d to %d rounds" : " · %d rounds", least, rounds);
    if (!isnan(c->noise)) {
        double p = c->noise * 100;
        text_addf(t, " · A/A ±%.*f %%", p < 10 ? 2 : 0, p);
    }
}

void case_work(const struct case_view *c, bool machine, struct text *t)
{
    const struct row *row = c->count ? c->rows[0] : NULL;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], p[NUMBER_TEXT];
    const char *dot = "";
    if (!row)
        return;
    if (row->flop > 0 && row->density_out >= 0) {
        text_addf(t, "dense D %s, useful E %s (%s %% of outputs)", number_si(row->flop, "FLOP", a),
                  number_si(row->flop * row->density_out, "FLOP", b), number_short(row->density_out * 100, p));
        dot = " · ";
    } else if (row->flop > 0) {
        text_addf(t, "%s", number_si(row->flop, "FLOP", a));
        dot = " · ";
    }
    if (row->bytes > 0) {
        text_addf(t, "%scompulsory %s", dot, number_si(row->bytes, "B", a));
        dot = " · ";
    }
    const char *name = "speed of light ";
    bool launch = (c->mode == MODE_SUSTAINED || c->mode == MODE_COLD_SUSTAINED) && !strcmp(row->floor_by, "launch");
    if (row->floor_ns > 0 && !c->counts && !launch) {
        text_addf(t, "%s%s%s (data sheet, %s)", dot, name, number_time(row->floor_ns, a), row->floor_by[0] ? row->floor_by : "?");
        dot = ", ";
        name = "";
    }
    if (!isnan(c->roof_ns)) {
        double compute = view_metric(&c->views[0], -1, METRIC_ROOF_COMPUTE_NS),
               memory = view_metric(&c->views[0], -1, METRIC_ROOF_MEMORY_NS);
        const char *by = compute >= c->roof_ns ? "compute" : memory >= c->roof_ns ? "memory" : isnan(memory) ? "" : "launch";
        bool date = c->machine.measured && machine;
        text_addf(t, "%s%s%s (measured%s%.10s%s%s)", dot, name, number_time(c->roof_ns, a), date ? " " : "",
                  date ? c->machine.ceilings.date : "", by[0] && c->machine.measured ? ", " : "", c->machine.measured ? by : "");
    }
}
