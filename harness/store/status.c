/* The statuses of a row, by name. */
#include "store/row.h"
#include <string.h>

static const char *const status_names[ROW_STATUS_COUNT] = {
    [ROW_PLANNED] = "planned",
    [ROW_OK] = "ok",
    [ROW_FOIL] = "foil",
    [ROW_WRONG] = "wrong",
    [ROW_UNSAFE] = "unsafe",
    [ROW_STATEFUL] = "stateful",
    [ROW_IMPOSSIBLE] = "impossible",
    [ROW_CRASHED] = "crashed",
    [ROW_HUNG] = "hung",
    [ROW_BROKEN] = "broken",
    [ROW_INFEASIBLE] = "infeasible",
    [ROW_SKIPPED] = "skipped",
};

const char *row_status_name(enum row_status s)
{
    return (unsigned)s < ROW_STATUS_COUNT ? status_names[s] : "planned";
}

enum row_status row_status_parse(const char *name)
{
    for (int i = 0; name && i < ROW_STATUS_COUNT; i++)
        if (strcmp(name, status_names[i]) == 0)
            return (enum row_status)i;
    return ROW_PLANNED; /* an unknown status: the row must run again */
}

bool row_status_failed(enum row_status s)
{
    return s >= ROW_WRONG && s <= ROW_BROKEN;
}
