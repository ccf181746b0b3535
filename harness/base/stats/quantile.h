/* base/stats/quantile: of samples, and of Student's distribution. */
#pragma once

/* Linear interpolation between order statistics (Hyndman and Fan's type 7, as NumPy and R do by default). */
double quantile_sorted(const double *sorted, int count, double share);
/* Sorts the values. */
double quantile_median(double *values, int count);

#define QUANTILE_NORMAL 1000 /* from as many degrees of freedom on it is the normal distribution */
/* How probable it is that the absolute value of a variable of Student's distribution exceeds t. */
double quantile_student_outside(double t, int freedom);
/* What the absolute value of a variable of Student's distribution exceeds with probability `level`. */
double quantile_student(double level, int freedom);
