/* gate/document: what CI systems read of a gate. */
#include "base/text.h"
#include "gate/document.h"
#include <stdlib.h>
#include <string.h>

/* GitHub's own escapes: in a message three characters, in a property two more. */
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
    struct text says = {0}, title = {0};
    gate_sentence(c, p, &says);
    text_addf(&title, "%s %s", gate_verdict_names[p->verdict], p->head ? p->head->id : p->base->id);
    text_addf(t, "::%s ", level);
    if (*file) {
        text_add(t, "file=");
        add_command_text(t, file, true);
        text_addf(t, ",line=%d,", line ? line : 1);
    }
    text_add(t, "title=");
    add_command_text(t, text_get(&title), true);
    text_add(t, "::");
    add_command_text(t, text_get(&says), false);
    text_add(t, "\n");
    text_free(&says);
    text_free(&title);
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

/* XML 1.0 has no control characters. */
static void add_xml(struct text *t, const char *s)
{
    struct text clean = {0};
    for (; *s; s++)
        text_add_bytes(&clean, (unsigned char)*s < 32 && *s != '\n' && *s != '\t' ? "?" : s, 1);
    text_add_html(t, text_get(&clean));
    text_free(&clean);
}

static void add_case(struct text *t, const struct gate_comparison *c, const struct gate_pair *p, bool fails)
{
    const struct gate_entry *e = p->head ? p->head : p->base;
    struct text says = {0};
    int line;
    const char *file = gate_place_file(c, p, &line);
    gate_sentence(c, p, &says);
    text_add(t, "    <testcase classname=\"");
    add_xml(t, e->scenario);
    text_add(t, ".");
    add_xml(t, e->layer);
    text_add(t, "\" name=\"");
    add_xml(t, e->id);
    text_add(t, "\" time=\"0\">\n");
    if (fails) {
        text_addf(t, "      <failure type=\"%s\" message=\"", gate_verdict_names[p->verdict]);
        add_xml(t, text_get(&says));
        text_add(t, "\">");
        add_xml(t, file);
        if (line)
            text_addf(t, ":%d", line);
        text_add(t, "</failure>\n");
    } else {
        text_add(t, "      <system-out>");
        add_xml(t, text_get(&says));
        text_add(t, "</system-out>\n");
    }
    text_add(t, "    </testcase>\n");
    text_free(&says);
}

void gate_junit(struct text *t, const struct gate_comparison *c)
{
    struct text cases = {0};
    int failures = 0, waivers = 0;
    for (int i = 0; i < c->count; i++) {
        const struct gate_pair *p = &c->pairs[i];
        bool fails = !gate_pair_passes(c, p);
        failures += fails;
        add_case(&cases, c, p, fails);
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
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"bench gate\" tests=\"%d\" failures=\"%d\" "
              "errors=\"0\" skipped=\"0\" time=\"0\">\n",
              c->count + waivers, failures);
    text_add(t, text_get(&cases));
    text_add(t, "  </testsuite>\n</testsuites>\n");
    text_free(&cases);
}
