/* run/message/server: the interface that takes commands and answers with events. The parent uses a worker in its own process
 * (--in-process) only through it. */
#pragma once

#include "base/error.h"
#include <jansson.h>
#include <stdbool.h>

struct message_server {
    /* `emit` takes the reference to each event. */
    void *(*open)(void (*emit)(void *context, json_t *event), void *context);
    bool (*handle)(void *server, const json_t *command, struct error *err);
    void (*close)(void *server);
};
