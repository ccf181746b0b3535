/* run/message/verb: see verb.h. */
#include "run/message/verb.h"
#include <string.h>

#define MEMBER(kind, name) {#name, MEMBER_##kind, offsetof(struct message, name), 0},
#define MEMBER_ID(kind, name) ID_##name,
static const struct member members[] = {MESSAGE_MEMBERS(MEMBER)};
enum { MESSAGE_MEMBERS(MEMBER_ID) MEMBERS };
_Static_assert(MEMBERS <= 64, "a message's members are bits of a uint64_t");

struct kind {
    const char *word;
    uint64_t members;
};
#define HAS(name) | UINT64_C(1) << ID_##name
#define KIND(name, word, has) {word, 0 has},
static const struct kind commands[] = {COMMANDS(KIND)}, events[] = {EVENTS(KIND)};

static json_t *message_new(const char *key, const struct kind *kind, const struct message *m, bool *whole)
{
    json_t *message = members_write(members, MEMBERS, m ? kind->members : 0, m, whole);
    json_object_set_new(message, key, json_string(kind->word));
    return message;
}

json_t *command_new(enum command what, const struct message *m)
{
    return message_new("do", &commands[what], m, NULL);
}

json_t *event_new(enum event what, const struct message *m)
{
    bool whole = true;
    json_t *message = message_new("event", &events[what], m, &whole);
    if (whole)
        return message;
    json_decref(message);
    return NULL;
}

void message_read(const json_t *json, struct message *out)
{
    members_read(members, MEMBERS, json, out);
}

void message_free(struct message *m)
{
    members_free(members, MEMBERS, m);
}

static int word_index(const json_t *message, const char *key, const struct kind *kinds, int count)
{
    const char *word = json_string_value(json_object_get(message, key));
    int i = word ? 0 : count;
    while (i < count && strcmp(kinds[i].word, word))
        i++;
    return i;
}

enum command command_of(const json_t *message)
{
    return (enum command)word_index(message, "do", commands, COMMAND_UNKNOWN);
}

enum event event_of(const json_t *message)
{
    return (enum event)word_index(message, "event", events, EVENT_UNKNOWN);
}

const char *command_word(enum command what)
{
    return commands[what].word;
}
