/* Files of wisdom. What is taken is written again and must be taken again. */
#include "fuzz/common.h"
#include "store/store.h"
#include <stdlib.h>
#include <string.h>

void fuzz_one(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    struct wisdom *list, *again;
    int count = wisdom_parse("fuzz.json", (const char *)data, bytes, &list, &err);
    if (count < 0) {
        must_explain(&err);
        return;
    }
    struct text t = {0};
    wisdom_write(&t, list, count);
    if (wisdom_parse("again.json", text_get(&t), t.len, &again, &err) != count)
        abort();
    for (int i = 0; i < count; i++) {
        if (strcmp(list[i].signature, again[i].signature) || strcmp(list[i].variant, again[i].variant))
            abort();
        wisdom_clear(&list[i]);
        wisdom_clear(&again[i]);
    }
    free(list);
    free(again);
    text_free(&t);
}
