/* report/view/number: how numbers are printed: three significant digits unless the interval supports more; no exponent; absent is "-". */
#pragma once

#define NUMBER_TEXT 32

/* 154.7 -> "155", 17.13 -> "17.1", 0.5263 -> "0.526", 1234567 -> "1,234,567" (integer digits are never rounded away). NaN, inf: "-". */
const char *number_3(double v, char out[NUMBER_TEXT]);
/* As number_3 without the zeros at the end: 2.00 -> "2". */
const char *number_short(double v, char out[NUMBER_TEXT]);
/* A count: "2,654,208". */
const char *number_count(double v, char out[NUMBER_TEXT]);
/* A value and half of its interval, with the digits that the interval supports: 154.7, 0.4 -> "154.7" "0.4"; 230.2, 1 -> "230" "1". Three
 * or four significant digits. half NaN or <= 0: value as number_3, half "". */
void number_pair(double v, double half, char value[NUMBER_TEXT], char spread[NUMBER_TEXT]);
/* "67.9 GFLOP", "354 MB": SI prefix before `unit`. */
const char *number_si(double v, const char *unit, char out[NUMBER_TEXT]);
/* A time in ns with the unit that suits it: "17.1 us", "6.17 ms". */
const char *number_time(double ns, char out[NUMBER_TEXT]);
/* A wall time: "3.2 s", "6 min 12 s", "1 h 03 min". */
const char *number_duration(double seconds, char out[NUMBER_TEXT]);
/* A share 0..1 as "6", "0.4", "100" (the % is the caller's). */
const char *number_percent(double share, char out[NUMBER_TEXT]);
