/* gate/ci: JUnit XML and annotations for CI systems. */
#include "base/text.h"
#include "gate/document.h"
#include <sys/utsname.h>
#include <time.h>

/* GitHub's own escapes: three characters in a message, two more in a property. */
static void add_command_text(struct text *t, const char *s, bool property)
{
    for (; *s; s++)
        if (*s == '%' || *s == '\r' || *s == '\n' || (property && (*s == ':' || *s == ',')))
            text_addf(t, "%%%02X", (unsigned char)*s);
        else
            text_add_bytes(t, s, 1);
}

static void annotate(struct text *t, const struct gate_comparison *c, const struct gate_pair *p, const char *level)
{
    int line;
    const char *file = gate_place_file(c, p, &line);
    SCOPED_TEXT says = {0}, title = {0};
    gate_sentence(c, p, &says);
    text_addf(&title, "%s %s", gate_verdict_names[p->verdict], p->head ? p->head->id : p->base->id);
    text_addf(t, "::%s ", level);
    if (*file) {
        text_add(t, "file=");
        add_command_text(t, file, true);
        text_addf(t, line ? ",line=%d," : ",", line); /* no line number: the annotation refers to the whole file */
    }
    text_add(t, "title=");
    add_command_text(t, text_get(&title), true);
    text_add(t, "::");
    add_command_text(t, text_get(&says), false);
    text_add(t, "\n");
}

void gate_annotations(struct text *t, const struct gate_comparison *c)
{
    for (int i = 0; i < c->count; i++) {
        const struct gate_pair *p = &c->pairs[i];
        if (!gate_pair_passes(c, p))
            annotate(t, c, p, "error");
        else if (p->verdict == GATE_UNDECIDED || p->waived)
            annotate(t, c, p, "warning");
    }
    for (int i = 0; i < c->rules->waiver_count; i++) {
        const struct gate_waiver *w = &c->rules->waivers[i];
        if (w->expired) {
            text_add(t, "::error file=");
            add_command_text(t, c->rules->file, true);
            text_addf(t, ",line=%d::the waiver expired %s\n", w->line, w->until);
        }
    }
}

static void add_attribute(struct text *t, const char *name, const char *value)
{
    text_addf(t, " %s=\"", name);
    text_add_html(t, value);
    text_add(t, "\"");
}

/* Ant's schema stores a test's output in the suite, not in the case, so `says` collects it. */
static void add_case(struct text *t, struct text *says, const struct gate_comparison *c, const struct gate_pair *p, bool fails)
{
    const struct gate_entry *e = p->head ? p->head : p->base;
    SCOPED_TEXT sentence = {0}, class = {0};
    int line;
    const char *file = gate_place_file(c, p, &line);
    gate_sentence(c, p, &sentence);
    text_addf(&class, "%s.%s", e->scenario, e->layer);
    text_add(t, "    <testcase");
    add_attribute(t, "classname", text_get(&class));
    add_attribute(t, "name", e->id);
    text_add(t, " time=\"0\"");
    if (fails) {
        text_add(t, ">\n      <failure");
        add_attribute(t, "type", gate_verdict_names[p->verdict]);
        add_attribute(t, "message", text_get(&sentence));
        text_add(t, ">");
        text_add_html(t, file);
        if (line)
            text_addf(t, ":%d", line);
        text_add(t, "</failure>\n    </testcase>\n");
    } else {
        text_add(t, "/>\n");
    }
    text_addf(says, "%s: %s\n", e->id, text_get(&sentence));
}

static void add_properties(struct text *t, const struct gate_comparison *c)
{
    const struct {
        const char *name, *value;
    } all[] = {{"base", c->base->name},
               {"head", c->head->name},
               {"device", c->head->device},
               {"compiler", c->head->compiler},
               {"driver", c->head->driver}};
    text_add(t, "    <properties>\n");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value && *all[i].value) {
            text_add(t, "      <property");
            add_attribute(t, "name", all[i].name);
            add_attribute(t, "value", all[i].value);
            text_add(t, "/>\n");
        }
    text_add(t, "    </properties>\n");
}

void gate_junit(struct text *t, const struct gate_comparison *c)
{
    SCOPED_TEXT cases = {0}, says = {0};
    int failures = 0, waivers = 0;
    char now[24];
    time_t seconds = time(NULL);
    struct utsname machine;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
    for (int i = 0; i < c->count; i++) {
        const struct gate_pair *p = &c->pairs[i];
        bool fails = !gate_pair_passes(c, p);
        failures += fails;
        add_case(&cases, &says, c, p, fails);
    }
    for (int i = 0; i < c->rules->waiver_count; i++)
        if (c->rules->waivers[i].expired) {
            text_addf(&cases,
                      "    <testcase classname=\"waivers\" name=\"line %d\" time=\"0\">\n      <failure type=\"expired\" message=\"expired "
                      "%s\"/>\n    </testcase>\n",
                      c->rules->waivers[i].line, c->rules->waivers[i].until);
            failures++;
            waivers++;
        }
    text_addf(t,
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"bench gate\" package=\"bench\" id=\"0\" "
              "tests=\"%d\" "
              "failures=\"%d\" errors=\"0\" skipped=\"0\" time=\"0\" timestamp=\"%s\"",
              c->count + waivers, failures, now);
    add_attribute(t, "hostname", uname(&machine) == 0 && *machine.nodename ? machine.nodename : "localhost");
    text_add(t, ">\n");
    add_properties(t, c);
    text_add(t, text_get(&cases));
    text_add(t, "    <system-out>");
    text_add_html(t, text_get(&says));
    text_add(t, "</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
}
