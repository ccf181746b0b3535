/* base/stats/change: where a series of measurements changed.
 *
 * E-divisive (Matteson and James, Journal of the American Statistical Association 109, 2014) splits a window where the distances between
 * its parts most exceed those within them, repeatedly. As in Hunter and Otava (Fleming and others, ICPE 2023), windows have a fixed length
 * and overlap, Student's t-test replaces permutations (so that a series always gives the same result), and weak changes are accepted first
 * and removed if they do not hold between their neighbours. tests/unit/test_change.c compares with Otava's published series. */
#pragma once

#include <stdbool.h>

struct change_search {
    int window;       /* window length; Otava uses 50, at least 2 */
    double level;     /* p-value below which a change is accepted; 0.001 */
    double magnitude; /* a share of the value on either side: smaller changes are left out; 0: none are */
    /* Otava 1ceb153 re-tests the wrong neighbour after it removes a weak change, and its t-test uses the population's standard deviation.
     * Both are reproduced here, to match its published series exactly. */
    bool as_otava;
};
struct change_point {
    int index;            /* the first value after it */
    double before, after; /* means of the segments before and after */
    double p;             /* of equal means on both sides */
};
/* The changes in order, malloc'd; returns how many. */
int change_find(const double *value, int count, const struct change_search *search, struct change_point **points);
