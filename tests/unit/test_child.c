/* run/parent/child: whose fault it is that a worker ended. */
#include "base/text.h"
#include "run/parent/child.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void takes_all_memory(void)
{
    free(xmalloc(PTRDIFF_MAX / 2));
}

/* A kernel's library function may print what it likes. */
static void says_so_and_dies(void)
{
    if (write(2, "bench: out of memory\n", 21) == 21)
        abort();
}

static void exits(void)
{
    _exit(1);
}

static void is_not_started(void)
{
    _exit(127);
}

static void is_killed(void)
{
    kill(getpid(), SIGKILL);
}

static bool ended_outside(void (*ends)(void), char *how, size_t bytes)
{
    struct child child = {.fd = -1, .errors = memfd_create("stderr", MFD_CLOEXEC), .guarded = -1};
    child.pid = fork();
    if (child.pid == 0) {
        dup2(child.errors, 2);
        ends();
        _exit(0);
    }
    siginfo_t info;
    waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT); /* gone, and not yet reaped: child_stop kills what takes 100 ms to end */
    return child_stop(&child, how, bytes);
}

static void an_end_has_its_author(void **state)
{
    static const struct {
        void (*ends)(void);
        bool outside;
        const char *how;
    } tries[] = {
#ifndef __SANITIZE_ADDRESS__ /* which ends the process itself */
        {takes_all_memory, true, "exited with 5; it said: bench: out of memory"},
#endif
        {says_so_and_dies, false, "killed by signal 6 (Aborted); it said: bench: out of memory"},
        {exits, false, "exited with 1"},
        {is_not_started, true, "exited with 127"},
        {is_killed, true, "killed by signal 9 (Killed)"},
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        char how[400];
        bool outside = ended_outside(tries[i].ends, how, sizeof how);
        assert_string_equal(how, tries[i].how);
        assert_int_equal(outside, tries[i].outside);
    }
}

/* Of a deadline that is past: whether somebody has said something, without a wait. */
static void who_has_spoken_is_known_at_once(void **state)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct child children[2] = {{.fd = -1, .errors = -1}, {.fd = ends[0], .errors = -1, .pid = getpid()}};
    double begun = clock_s();
    assert_int_equal(child_any(children, 2, begun, NULL), -1);
    assert_true(write(ends[1], "{", 1) == 1);
    assert_int_equal(child_any(children, 2, begun, NULL), 1);
    assert_int_equal(child_any(children, 1, begun, NULL), -1);
    close(ends[1]); /* gone */
    char said;
    assert_true(read(ends[0], &said, 1) == 1);
    assert_int_equal(child_any(children, 2, begun, NULL), 1);
    close(ends[0]);
}

struct beside {
    int fd, left; /* the child's answer comes when it was called so often; 0 left: nothing more to do */
};
static bool answers_later(void *context)
{
    struct beside *b = context;
    const char said[] = "{\"event\":\"done\"}\n";
    if (b->left && !--b->left)
        assert_true(write(b->fd, said, sizeof said - 1) == (ssize_t)sizeof said - 1);
    return b->left > 0;
}

/* Who waits for one process serves others meanwhile: else those would wait, too, and here nobody would ever answer. */
static void others_are_served_meanwhile(void **state)
{
    int ends[2];
    json_t *event = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct child child = {.fd = ends[0], .errors = -1, .pid = getpid()};
    struct beside beside = {ends[1], 3};
    assert_int_equal(child_next_beside(&child, clock_s() + 600, NULL, answers_later, &beside, &event), CHILD_EVENT);
    assert_int_equal(beside.left, 0);
    json_decref(event);
    beside.left = 1 << 30; /* never */
    assert_int_equal(child_next_beside(&child, clock_s() - 1, NULL, answers_later, &beside, &event), CHILD_LATE);
    close(ends[1]);
    assert_int_equal(child_next_beside(&child, clock_s() + 600, NULL, answers_later, &beside, &event), CHILD_DIED);
    close(ends[0]);
    free(child.buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_end_has_its_author), cmocka_unit_test(who_has_spoken_is_known_at_once),
                                       cmocka_unit_test(others_are_served_meanwhile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
