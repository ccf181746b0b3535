/* base/date: the time of day, as runs and rows store it. */
#ifndef BENCH_BASE_DATE_H
#define BENCH_BASE_DATE_H

/* Now: "2026-11-29T22:00:00Z". Two of them compare as text. */
void date_now(char out[32]);

#endif
