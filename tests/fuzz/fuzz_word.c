/* A word that is taken has the argument that its kind needs. */
#include "fuzz_text.h"

#include "../../placement/word.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err;
    struct word w;
    char *text = fuzz_text(data, size);
    if (word_parse(&w, "cpus", text, ACCEPT_WORD(WORD_KINDS) - 1, &err)) {
        must(w.kind < WORD_KINDS);
        must((w.kind == WORD_CPUS) == (w.cpus != NULL));
        must((w.kind == WORD_NODE || w.kind == WORD_SOCKET) == (w.id >= 0));
    } else {
        must(err.text[0] != '\0');
    }
    word_free(&w);
    free(text);
    return 0;
}
