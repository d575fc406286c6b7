/* Fields of CSV (RFC 4180). */
#ifndef NUMALOAD_CSV_H
#define NUMALOAD_CSV_H

#include <stdio.h>

/* One field, quoted where it must be; never a formula to a spreadsheet. */
void csv_text(FILE *out, const char *text);

#endif
