/* What the tests of measure/verify/device_check share: the check on emu. Tests are skipped if there is no compiler; any other obstacle is a
 * failure. */
#ifndef BENCH_TESTS_UNIT_CARD_WORLD_H
#define BENCH_TESTS_UNIT_CARD_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "measure/verify/device_check_private.h"
#include "run/child/devices.h"
#include <stdio.h>
#include <stdlib.h>

static struct device *dev;
static struct card *card;
static char why_not[300];
static enum error_kind why_kind;

static void need_card(void)
{
    if (card)
        return;
    if (why_kind != ERROR_ENVIRONMENT)
        fail_msg("%s", why_not);
    print_message("%s\n", why_not);
    skip();
}

static int card_set_up(void **state)
{
    struct error err = {0};
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1);
    bool ok = device_open("emu", &dev, &err) && card_open(dev, NULL, &card, &err);
    why_kind = err.kind;
    if (!ok)
        snprintf(why_not, sizeof why_not, "%.250s", err.text);
    return 0;
}

static int card_tear_down(void **state)
{
    card_close(card);
    device_close(dev);
    return 0;
}

#endif
