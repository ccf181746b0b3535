/* base/talk: another program that answers questions: a line to its standard input, which is a socket, and one byte back when it is done. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

struct talk;
/* The Python interpreter: BENCH_PYTHON, else python3 as the shell finds it. */
const char *talk_python(void);
/* Starts it, without a shell; `log`: the file for what it prints. It should end when the socket closes. NULL: err. */
struct talk *talk_open(const char *const *argv, const char *log, struct error *err);
/* Sends a line (without its end) and waits for the byte. After a failure nothing more can be asked. */
bool talk_ask(struct talk *t, const char *line, double seconds, struct error *err);
/* Sends all of it to a socket. */
bool talk_send(int end, const char *s, size_t n);
/* True: it had ended by itself, without an error, instead of an answer. NULL is allowed. */
bool talk_close(struct talk *t);
