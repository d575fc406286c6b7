/* /proc/self/mountinfo: the mount that is found holds the path, and each of its fields lies in the
 * text, unescaped. */
#include "fuzz_text.h"

#include "../../loadgen/matrix/remount.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[] = {"/", "/a", "/mnt/nfs/data", "/a b\\c"};
    char *text = fuzz_text(data, size);
    for (int i = 0; i < 4; i++) {
        struct mount_line m;
        if (mount_line_find(text, paths[i], &m)) {
            size_t n = strlen(m.point);
            must(n > 0 && m.source && m.fstype && m.options);
            must(n == 1 || strncmp(m.point, paths[i], n) == 0);
            must(strlen(m.options) + strlen(m.source) + strlen(m.fstype) + n <= size);
        }
        mount_line_free(&m);
    }
    free(text);
    return 0;
}
