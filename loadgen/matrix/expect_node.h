/* A parsed statement; internal to expect*.c. */
#ifndef NUMALOAD_EXPECT_NODE_H
#define NUMALOAD_EXPECT_NODE_H

#include "expect.h"

enum { EXPECT_NODES_MAX = 128, EXPECT_LEAVES_MAX = 32, EXPECT_DEPTH_MAX = 32 };

enum node_kind { NODE_NUMBER, NODE_LEAF, NODE_ADD, NODE_SUBTRACT, NODE_MULTIPLY, NODE_DIVIDE };

struct node {
    enum node_kind kind;
    double number;
    unsigned leaf;        /* index into leaves */
    unsigned left, right; /* indices into nodes */
};

enum leaf_figure { LEAF_MEDIAN, LEAF_MEAN, LEAF_MIN, LEAF_MAX };

struct leaf {
    enum leaf_figure figure;
    char metric[64];
    char selectors[256]; /* as they were written */
    bool *cells;         /* which cells agree; NULL when parsed without cells */
    size_t cells_n;
};

enum relation { AT_LEAST, AT_MOST, ABOVE, BELOW, WITHIN };

struct expect {
    struct node nodes[EXPECT_NODES_MAX];
    struct leaf leaves[EXPECT_LEAVES_MAX];
    unsigned nodes_n, leaves_n, left, right; /* left, right: roots; WITHIN: right is the target */
    enum relation relation;
    double tolerance; /* of WITHIN, in the unit of the figure or of 1 when percent */
    bool percent;
};

/* False when the expression holds a figure of cells. */
bool expect_constant(const struct expect *e, unsigned node);

/* The expression, given the value of each leaf (not read when it is constant). */
double expect_evaluate(const struct expect *e, unsigned node, const double *leaves);

#endif
