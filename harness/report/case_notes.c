/* What is said of rows beside their numbers. */
#include "report/case_table.h"
#include <string.h>

void case_notes(const struct case_view *c, bool counters, struct text *t)
{
    for (int i = 0; i < c->count; i++) {
        const char *note = row_note(c->rows[i], counters);
        bool said = !note[0];
        int same = 0;
        for (int j = 0; j < c->count && !said; j++) {
            bool equal = strcmp(row_note(c->rows[j], counters), note) == 0;
            said = equal && j < i;
            same += equal;
        }
        if (said) {
            continue;
        }
        text_add(t, c->views[i].name);
        if (same > 1) {
            text_addf(t, " (and %d more)", same - 1);
        }
        text_add(t, counters ? ": no hardware counters: " : ": ");
        for (const char *p = note; *p; p++) {
            text_add_bytes(t, *p == '\n' ? " " : p, 1);
        }
        text_add(t, "\n");
    }
}

bool case_next_line(char **lines, const char **name, const char **text)
{
    char *line = strsep(lines, "\n"), *colon = line ? strstr(line, ": ") : NULL;
    if (!colon) {
        return false;
    }
    *colon = 0;
    *name = line;
    *text = colon + 2;
    return true;
}
