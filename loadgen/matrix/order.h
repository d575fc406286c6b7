/* The order in which the cells of a block run: the same for the same seed, on every machine. */
#ifndef NUMALOAD_MATRIX_ORDER_H
#define NUMALOAD_MATRIX_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Fills cells[0 .. n-1] with a permutation of 0 .. n-1, every one as likely as any other: Fisher
 * and Yates, with numbers from splitmix64. Each block (counted from 0) has a sequence of its own,
 * so that more blocks never change the order of earlier ones. */
void order_random(uint64_t seed, unsigned block, unsigned *cells, unsigned n);

#endif
