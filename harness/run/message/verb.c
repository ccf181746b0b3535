/* run/message/verb: see verb.h. */
#include "run/message/verb.h"
#include <stdarg.h>
#include <string.h>

#define WORD(name, word) word,
static const char *const command_words[] = {COMMANDS(WORD)};
static const char *const event_words[] = {EVENTS(WORD)};
#undef WORD

static json_t *message_new(const char *key, const char *word, const char *format, va_list arguments)
{
    json_t *message = json_vpack_ex(NULL, 0, format, arguments);
    json_object_set_new(message, key, json_string(word));
    return message;
}

json_t *command_new(enum command what, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *message = message_new("do", command_words[what], format, arguments);
    va_end(arguments);
    return message;
}

json_t *event_new(enum event what, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *message = message_new("event", event_words[what], format, arguments);
    va_end(arguments);
    return message;
}

static int word_index(const json_t *message, const char *key, const char *const *words, int count)
{
    const char *word = json_string_value(json_object_get(message, key));
    int i = word ? 0 : count;
    while (i < count && strcmp(words[i], word))
        i++;
    return i;
}

enum command command_of(const json_t *message)
{
    return (enum command)word_index(message, "do", command_words, COMMAND_UNKNOWN);
}

enum event event_of(const json_t *message)
{
    return (enum event)word_index(message, "event", event_words, EVENT_UNKNOWN);
}

const char *command_word(enum command what)
{
    return command_words[what];
}
