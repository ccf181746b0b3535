/* driver ROW.so FUNCTION TENSORS DTYPE...: calls the row once for each type, at one size, in one process, like a worker with several
 * layers. */
#include "foreign.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *open_library(const char *soname)
{
    printf("open %s\n", soname);
    return dlopen("./fake.so", RTLD_NOW);
}

int main(int argc, char **argv)
{
    static char names[3][2] = {"a", "b", "c"}, message[200];
    void *row = dlopen(argv[1], RTLD_NOW);
    bench_function *function = row ? (bench_function *)dlsym(row, argv[2]) : 0;
    if (!function)
        return puts(dlerror()), 1;
    for (int i = 4; i < argc; i++) {
        struct bench_tensor tensors[3];
        struct bench_shape shapes[3] = {{2, {5, 3}}, {2, {3, 7}}, {2, {5, 7}}};
        struct bench_tensor workspace = {"workspace", "u8", "linear", {1, 1, 1, 64}, message, 64};
        for (int k = 0; k < 3; k++)
            tensors[k] = (struct bench_tensor){names[k], argv[i], "linear", {0}, names[k], 64};
        struct bench_call call = {.version = 1,
                                  .op = "x",
                                  .math = "f32",
                                  .tensor_count = atoi(argv[3]),
                                  .workspace_count = 1,
                                  .tensors = tensors,
                                  .workspaces = &workspace,
                                  .epilogue = "",
                                  .slope = 1,
                                  .message = message,
                                  .message_bytes = sizeof message,
                                  .shapes = shapes,
                                  .open_library = open_library};
        printf("%s: returns %d\n", argv[i], function(&call));
    }
    return 0;
}
