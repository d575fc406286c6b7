#include "expect.h"

#include "bootstrap.h"
#include "expect_node.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *expect_word(enum expect_verdict v)
{
    static const char *const words[] = {"reproduced", "not reproduced", "undecided"};
    return words[v];
}

int expect_exit_status(const enum expect_verdict *verdicts, size_t n)
{
    int status = 0;
    for (size_t i = 0; i < n; i++) {
        if (verdicts[i] == EXPECT_NOT_REPRODUCED)
            return 1;
        if (verdicts[i] == EXPECT_UNDECIDED)
            status = 125;
    }
    return status;
}

bool expect_constant(const struct expect *e, unsigned node)
{
    const struct node *n = &e->nodes[node];
    if (n->kind == NODE_NUMBER || n->kind == NODE_LEAF)
        return n->kind == NODE_NUMBER;
    return expect_constant(e, n->left) && expect_constant(e, n->right);
}

double expect_evaluate(const struct expect *e, unsigned node, const double *leaves)
{
    const struct node *n = &e->nodes[node];
    if (n->kind == NODE_NUMBER)
        return n->number;
    if (n->kind == NODE_LEAF)
        return leaves[n->leaf];
    double a = expect_evaluate(e, n->left, leaves), b = expect_evaluate(e, n->right, leaves);
    switch (n->kind) {
    case NODE_ADD:
        return a + b;
    case NODE_SUBTRACT:
        return a - b;
    case NODE_MULTIPLY:
        return a * b;
    default:
        return b == 0 ? NAN : a / b;
    }
}

/* One figure of a leaf: its runs by value. */
struct sorted {
    size_t run;
    double value;
};

struct leaf_runs {
    struct sorted *sorted;
    size_t n;
    bool *member; /* of all runs */
};

struct evaluation {
    const struct expect *e;
    struct leaf_runs leaves[EXPECT_LEAVES_MAX];
};

static int by_value(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static double weighted_median(const struct leaf_runs *l, const unsigned *weights, size_t total)
{
    size_t seen = 0;
    double low = NAN;
    for (size_t i = 0; i < l->n; i++) {
        seen += weights[l->sorted[i].run];
        if (isnan(low) && 2 * seen >= total) {
            if (2 * seen > total)
                return l->sorted[i].value;
            low = l->sorted[i].value;
        } else if (!isnan(low) && weights[l->sorted[i].run]) {
            return (low + l->sorted[i].value) / 2;
        }
    }
    return low;
}

static double leaf_value(const struct leaf *leaf, const struct leaf_runs *l,
                         const unsigned *weights)
{
    size_t total = 0, first = SIZE_MAX, last = 0;
    double sum = 0;
    for (size_t i = 0; i < l->n; i++) {
        unsigned w = weights[l->sorted[i].run];
        if (!w)
            continue;
        total += w;
        sum += w * l->sorted[i].value;
        first = first == SIZE_MAX ? i : first;
        last = i;
    }
    if (total == 0)
        return NAN;
    switch (leaf->figure) {
    case LEAF_MEDIAN:
        return weighted_median(l, weights, total);
    case LEAF_MEAN:
        return sum / (double)total;
    case LEAF_MIN:
        return l->sorted[first].value;
    default:
        return l->sorted[last].value;
    }
}

/* The left side, less the right one unless that is a constant. */
static double figure(void *data, const unsigned *weights)
{
    struct evaluation *v = data;
    double leaves[EXPECT_LEAVES_MAX];
    for (unsigned i = 0; i < v->e->leaves_n; i++)
        leaves[i] = leaf_value(&v->e->leaves[i], &v->leaves[i], weights);
    double left = expect_evaluate(v->e, v->e->left, leaves);
    if (expect_constant(v->e, v->e->right))
        return left;
    return left - expect_evaluate(v->e, v->e->right, leaves);
}

static bool collect(struct evaluation *v, unsigned i, const struct stats_run *runs, size_t n,
                    expect_getter *value, const void *data)
{
    const struct leaf *leaf = &v->e->leaves[i];
    struct leaf_runs *l = &v->leaves[i];
    l->sorted = malloc((n + 1) * sizeof(*l->sorted));
    l->member = calloc(n + 1, sizeof(*l->member));
    if (!l->sorted || !l->member)
        return false;
    for (size_t k = 0; k < n; k++) {
        if (!leaf->cells || runs[k].cell >= leaf->cells_n || !leaf->cells[runs[k].cell])
            continue;
        double x = value(data, k, leaf->metric);
        if (!isfinite(x))
            continue;
        l->sorted[l->n++] = (struct sorted){k, x};
        l->member[k] = true;
    }
    qsort(l->sorted, l->n, sizeof(*l->sorted), by_value);
    return true;
}

static enum expect_verdict judge(const struct expect *e, double low, double high)
{
    double c = expect_constant(e, e->right) ? expect_evaluate(e, e->right, NULL) : 0;
    double tolerance = e->percent ? e->tolerance / 100 * fabs(c) : e->tolerance;
    bool yes, no;
    switch (e->relation) {
    case AT_LEAST:
        yes = low >= c;
        no = high < c;
        break;
    case AT_MOST:
        yes = high <= c;
        no = low > c;
        break;
    case ABOVE:
        yes = low > c;
        no = high <= c;
        break;
    case BELOW:
        yes = high < c;
        no = low >= c;
        break;
    default:
        yes = low >= c - tolerance && high <= c + tolerance;
        no = high < c - tolerance || low > c + tolerance;
    }
    return yes ? EXPECT_REPRODUCED : no ? EXPECT_NOT_REPRODUCED : EXPECT_UNDECIDED;
}

/* Why there is no figure: the first leaf that no run answers. */
static void explain(const struct evaluation *v, struct expect_answer *out)
{
    for (unsigned i = 0; i < v->e->leaves_n; i++)
        if (v->leaves[i].n == 0) {
            snprintf(out->reason, sizeof(out->reason), "no counted run of '%.60s' has %.60s",
                     *v->e->leaves[i].selectors ? v->e->leaves[i].selectors : "any cell",
                     v->e->leaves[i].metric);
            return;
        }
    if (isnan(out->figure))
        snprintf(out->reason, sizeof(out->reason), "a division by 0");
    else if (!out->interval.known)
        snprintf(out->reason, sizeof(out->reason),
                 "a cell with a single run has no interval: repeat it");
}

void expect_answer(const struct expect *e, const struct stats_run *runs, size_t n,
                   expect_getter *value, const void *data, uint64_t seed, struct expect_answer *out)
{
    struct evaluation v = {.e = e};
    struct bootstrap_part parts[EXPECT_LEAVES_MAX];
    *out = (struct expect_answer){.verdict = EXPECT_UNDECIDED, .figure = NAN};
    bool ok = true;
    for (unsigned i = 0; ok && i < e->leaves_n; i++) {
        ok = collect(&v, i, runs, n, value, data);
        parts[i].member = v.leaves[i].member;
    }
    if (ok) {
        out->figure = bootstrap(runs, n, parts, e->leaves_n, figure, &v, seed, &out->interval);
        explain(&v, out);
        if (out->interval.known)
            out->verdict = judge(e, out->interval.low, out->interval.high);
    } else {
        snprintf(out->reason, sizeof(out->reason), "out of memory");
    }
    for (unsigned i = 0; i < e->leaves_n; i++) {
        free(v.leaves[i].sorted);
        free(v.leaves[i].member);
    }
}
