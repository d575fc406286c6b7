/* Student's t distribution, for degrees of freedom that need not be whole. */
#ifndef NUMALOAD_STUDENT_H
#define NUMALOAD_STUDENT_H

/* Share of the distribution beyond +-t: the two-sided p-value. df > 0. */
double student_two_sided(double t, double df);

/* The t that leaves `outside` (0.05 for a 95 % interval) beyond +-t. INFINITY when df <= 0. */
double student_quantile(double outside, double df);

#endif
