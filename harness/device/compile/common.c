/* What both compilers and the cache need. */
#include "base/file.h"
#include "device/compile/private.h"
#include <stdlib.h>
#include <string.h>

pthread_mutex_t compile_loading = PTHREAD_MUTEX_INITIALIZER;

char *compile_cuda_include(void)
{
    static const char *const places[] = {".deps/nvidia/cu13/include", "nvidia/cu13/include", "/usr/local/cuda/include"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *dir = *places[i] == '/' ? xstrdup(places[i]) : file_share(places[i]);
        SCOPED char *probe = file_join(dir, "cuda_fp16.h");
        bool found = file_exists(probe);
        if (found)
            return dir;
        free(dir);
    }
    return NULL;
}

/* Both compilers define the macro before the source begins. */
char *compile_prelude(const struct compile_request *r)
{
    if (!r->bounds.threads)
        return xstrdup("");
    return text_format("#undef __launch_bounds__\n#define __launch_bounds__(...) __attribute__((launch_bounds(%d, %d)))\n",
                       r->bounds.threads, r->bounds.blocks);
}

char *compile_entry(const char *log, const char *kernel)
{
    SCOPED char *line = text_format(COMPILE_ENTRY_LINE, kernel, "");
    line[strlen(line) - 1] = 0; /* without its end */
    const char *at = log ? strstr(log, line) : NULL;
    return at ? xstrndup(at + strlen(line), strcspn(at + strlen(line), "\n")) : xstrdup(kernel);
}

void compiled_free(struct compiled *c)
{
    FREE_ALL(c->ptx, c->cubin, c->log, c->paths);
    *c = (struct compiled){0};
}
