/* The choices of plans, and those of earlier runs in the compiler's cache folder: one JSON file for each machine state, replaced as a
 * whole, which GPUs of one kind share. An unreadable file counts as absent: the plans are timed again. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "device/cudnn/private.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_MAX_BYTES (16u << 20)

static json_t *read_file(const char *path)
{
    size_t bytes;
    SCOPED char *data = file_exists(path) ? file_read(path, FILE_MAX_BYTES, &bytes, NULL) : NULL;
    json_t *all = data ? json_loadb(data, bytes, 0, NULL) : NULL;
    if (json_is_object(all))
        return all;
    json_decref(all);
    return json_object();
}

static json_t *choice_plans(struct cudnn *handle)
{
    json_t *plans = json_object_get(handle->choice_file, "plans");
    if (json_is_object(plans) || !handle->choice_file)
        return plans;
    json_object_set_new(handle->choice_file, "plans", json_object());
    return json_object_get(handle->choice_file, "plans");
}

/* Adds what other processes have chosen meanwhile: they replace the file. */
static void take_theirs(struct cudnn *handle)
{
    struct stat now, *seen = &handle->choices_seen;
    if (!handle->choice_file || stat(handle->choices_path, &now) ||
        (now.st_ino == seen->st_ino && now.st_size == seen->st_size && now.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == seen->st_mtim.tv_nsec))
        return;
    *seen = now;
    json_t *theirs = read_file(handle->choices_path), *plans = json_object_get(theirs, "plans");
    if (json_is_object(plans))
        json_object_update_missing(choice_plans(handle), plans);
    json_decref(theirs);
}

void cudnn_open_choices(struct cudnn *handle, const char *state)
{
    char hash[HASH_TEXT], why[512], name[64];
    SCOPED char *folder = compile_cache_folder(why, sizeof why);
    if (!folder)
        return;
    hash_bytes(state, strlen(state), hash);
    snprintf(name, sizeof name, "cudnn-plans-%.24s.json", hash);
    free(handle->choices_path);
    json_decref(handle->choice_file);
    handle->choices_path = file_join(folder, name);
    handle->choice_file = json_object();
    handle->choices_seen = (struct stat){0};
    take_theirs(handle);
    json_object_set_new(handle->choice_file, "state", json_string(state));
}

static bool cudnn_choice_read(struct cudnn *handle, const struct cudnn_conv *conv, struct cudnn_choice *out)
{
    SCOPED char *key = cudnn_conv_text(conv);
    if (!json_object_get(choice_plans(handle), key))
        take_theirs(handle);
    const json_t *one = json_object_get(choice_plans(handle), key);
    const char *text = json_string_value(json_object_get(one, "text")), *notes = json_string_value(json_object_get(one, "notes")),
               *raced = json_string_value(json_object_get(one, "raced")), *mode = json_string_value(json_object_get(one, "mode"));
    *out = (struct cudnn_choice){.conv = *conv, .among = (int)json_integer_value(json_object_get(one, "among"))};
    bool known = text && notes && raced && strlen(raced) == 10 && mode && mode[0] && strchr("ABF", mode[0]) && out->among > 0;
    if (!known)
        return false;
    out->facts.mode = mode[0];
    out->facts.engine = (int)json_integer_value(json_object_get(one, "engine"));
    out->facts.rank = (int)json_integer_value(json_object_get(one, "rank"));
    snprintf(out->facts.text, sizeof out->facts.text, "%s", text);
    snprintf(out->facts.notes, sizeof out->facts.notes, "%s", notes);
    snprintf(out->raced, sizeof out->raced, "%s", raced);
    return true;
}

static void cudnn_choice_delete(struct cudnn *handle, const struct cudnn_conv *conv)
{
    SCOPED char *key = cudnn_conv_text(conv);
    json_object_del(choice_plans(handle), key);
}

static void cudnn_choice_write(struct cudnn *handle, const struct cudnn_choice *choice)
{
    if (!handle->choice_file)
        return;
    char day[16], *key = cudnn_conv_text(&choice->conv);
    time_t now = time(NULL);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    take_theirs(handle);
    json_object_set_new(choice_plans(handle), key,
                        json_pack("{s:s,s:s,s:s,s:s#,s:i,s:i,s:i}", "raced", day, "text", choice->facts.text, "notes", choice->facts.notes,
                                  "mode", &choice->facts.mode, 1, "engine", choice->facts.engine, "rank", choice->facts.rank, "among",
                                  choice->among));
    SCOPED char *text = json_dumps(handle->choice_file, JSON_INDENT(1) | JSON_SORT_KEYS);
    if (text)
        file_write(handle->choices_path, text, strlen(text), NULL); /* a full disk costs the next run its time, not this one its result */
    free(key);
}

/* -1: none. */
static int choice_find(const struct cudnn *handle, const struct cudnn_conv *conv)
{
    return FIRST_OF(i, handle->choice_count, cudnn_conv_same(&handle->choices[i].conv, conv));
}

static const struct cudnn_choice *choice_add(struct cudnn *handle, const struct cudnn_choice *choice)
{
    struct cudnn_choice *added = APPEND(handle->choices, handle->choice_count);
    *added = *choice;
    return added;
}

void cudnn_choose(struct cudnn *handle, const struct cudnn_conv *conv, const struct cudnn_plan_facts *facts, int among)
{
    if (choice_find(handle, conv) >= 0)
        return;
    cudnn_choice_write(handle, choice_add(handle, &(struct cudnn_choice){.conv = *conv, .facts = *facts, .among = among}));
}

const struct cudnn_choice *cudnn_chosen(struct cudnn *handle, const struct cudnn_conv *conv)
{
    struct cudnn_choice recalled;
    int i = choice_find(handle, conv);
    const struct cudnn_choice *choice = i >= 0                                       ? &handle->choices[i]
                                        : cudnn_choice_read(handle, conv, &recalled) ? choice_add(handle, &recalled)
                                                                                     : NULL;
    return choice && cudnn_allows(handle, &choice->facts) ? choice : NULL;
}

void cudnn_drop_choice(struct cudnn *handle, const struct cudnn_conv *conv)
{
    int i = choice_find(handle, conv);
    if (i >= 0)
        handle->choices[i] = handle->choices[--handle->choice_count];
    cudnn_choice_delete(handle, conv);
}
