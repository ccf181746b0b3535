/* base/date: the time of day, as runs and rows store it. */
#pragma once

/* Now: "2026-11-29T22:00:00Z". Two of them compare as text. */
void date_now(char out[32]);
