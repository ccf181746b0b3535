/* The measured ceilings of GPUs, by UUID and date. */
#include "store/seal.h"
#include <stdio.h>

bool store_ceilings_put(struct store *store, const char *uuid, const struct ceiling_list *ceilings, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    if (!store_writable(store, err) || !store_exec(store, "BEGIN IMMEDIATE", "storing ceilings", err))
        return false;
    bool ok = store_prepare(store, "INSERT OR REPLACE INTO roof (uuid, measured, name, value, unit, how) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                            &s, err);
    for (int i = 0; ok && i < ceilings->count; i++) {
        const struct ceiling *r = &ceilings->items[i];
        const char *const texts[] = {uuid, ceilings->measured, r->name};
        sqlite3_reset(s);
        for (int k = 0; k < 3; k++)
            sqlite3_bind_text(s, k + 1, texts[k], -1, SQLITE_TRANSIENT);
        sqlite3_bind_double(s, 4, r->value);
        sqlite3_bind_text(s, 5, r->unit, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(s, 6, r->how, -1, SQLITE_TRANSIENT);
        ok = sqlite3_step(s) == SQLITE_DONE || store_error(store, "storing ceilings", err);
    }
    return store_commit(store, ok && seal_loose(store, err), "storing ceilings", err);
}

static void copy(char *to, size_t bytes, sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    snprintf(to, bytes, "%s", text ? text : "");
}

bool store_ceilings(struct store *store, const char *uuid, struct ceiling_list *ceilings, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int step;
    *ceilings = (struct ceiling_list){0};
    if (!seal_check_loose(store, err) ||
        !store_prepare(store,
                       "SELECT measured, name, value, unit, how FROM roof WHERE uuid = ?1 AND measured = (SELECT max(measured) FROM roof "
                       "WHERE uuid = ?1)"
                       " ORDER BY name",
                       &s, err))
        return false;
    sqlite3_bind_text(s, 1, uuid, -1, SQLITE_TRANSIENT);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && ceilings->count < ROOFS_MAX) {
        struct ceiling *r = &ceilings->items[ceilings->count++];
        copy(ceilings->measured, sizeof ceilings->measured, s, 0);
        copy(r->name, sizeof r->name, s, 1);
        r->value = sqlite3_column_double(s, 2);
        copy(r->unit, sizeof r->unit, s, 3);
        copy(r->how, sizeof r->how, s, 4);
    }
    bool ok = step == SQLITE_ROW || step == SQLITE_DONE || store_error(store, "reading ceilings", err);
    return ok && ceilings->count > 0;
}

bool store_ceilings_each(struct store *store, void (*visit)(void *context, const char *uuid, const struct ceiling_list *ceilings),
                         void *context, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int step;
    if (!store_prepare(store, "SELECT DISTINCT uuid FROM roof ORDER BY uuid", &s, err))
        return false;
    bool ok = true;
    while (ok && (step = sqlite3_step(s)) != SQLITE_DONE) {
        char uuid[80] = "";
        struct ceiling_list ceilings;
        if (step != SQLITE_ROW) {
            ok = store_error(store, "reading ceilings", err);
            break;
        }
        copy(uuid, sizeof uuid, s, 0);
        struct error why = {0};
        if (store_ceilings(store, uuid, &ceilings, &why))
            visit(context, uuid, &ceilings);
        ok = why.kind == ERROR_NONE;
        if (!ok && err)
            *err = why;
    }
    return ok;
}
