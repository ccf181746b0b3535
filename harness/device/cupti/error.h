/* device/cupti/error: what CUPTI's result codes mean for a user, and what to do about each. */
#pragma once

#include "base/error.h"

/* One line a code of cupti_result.h. */
struct cupti_cause {
    int code;
    const char *name; /* as in the header, without CUPTI_ERROR_ */
    bool machine;     /* true: this machine or this moment refuses (exit 5 when counters are required); false: bench asked wrongly */
    const char *what; /* a sentence */
    const char *cure; /* what to do; "" = nothing to be done by the user */
};
extern const struct cupti_cause cupti_causes[]; /* ends with name NULL */
/* NULL for a code that the header does not know. */
const struct cupti_cause *cupti_cause(int code);
/* True for code 0. Else sets "CALL: sentence (CUPTI error 35, INSUFFICIENT_PRIVILEGES)" and the remedy as hint; ERROR_ENVIRONMENT if the
 * machine refuses, else ERROR_INTERNAL. */
bool cupti_ok(int code, const char *call, struct error *err);
