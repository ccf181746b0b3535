/* The sizes that every op of images has, and where struct work keeps them. */
#include "op/file/private.h"
#include <string.h>

#define SIZE(yaml, member, least, words) \
    { \
        .name = yaml, .kind = FIELD_INT, .offset = offsetof(struct work, member), .fallback = least, .min = 1, \
        .max = (least) == 1 ? 1 << 24 : 1 << 20, .what = words \
    }
const struct op_field op_image_fields[OP_IMAGE_FIELDS] = {SIZE("n", n, 1, "images"), SIZE("c", c, OP_REQUIRED, "input channels"),
                                                          SIZE("h", h, OP_REQUIRED, "input height, pixels"),
                                                          SIZE("w", w, OP_REQUIRED, "input width, pixels")};

/* Finds the names that mean the same in every op of images. */
bool op_image_member(const struct op_file *f, const char *name, size_t *offset, enum field_kind *kind)
{
#define MEMBER(member) \
    { \
#member, offsetof(struct work, member), FIELD_INT \
    }
    static const struct {
        const char *name;
        size_t offset;
        enum field_kind kind;
    } flat[] = {MEMBER(n),
                MEMBER(c),
                MEMBER(h),
                MEMBER(w),
                MEMBER(k),
                MEMBER(p),
                MEMBER(q),
                MEMBER(stride),
                MEMBER(pad),
                MEMBER(dilation),
                MEMBER(groups),
                MEMBER(output_pad),
                MEMBER(block),
                {"kernel", offsetof(struct work, r), FIELD_INT},
                {"mode", offsetof(struct work, mode), FIELD_D2S_MODE},
                {"to", offsetof(struct work, to), FIELD_LAYOUT},
                {"norm", offsetof(struct work, norm), FIELD_WORD},
                {"above", offsetof(struct work, above), FIELD_REAL},
                {"slope", offsetof(struct work, slope), FIELD_REAL}},
      volume[] = {MEMBER(d), MEMBER(o), {"h", offsetof(struct work, plane), FIELD_INT}, {"p", offsetof(struct work, plane_out), FIELD_INT}};
#undef MEMBER
    for (size_t i = 0; f->op.volume && i < sizeof volume / sizeof *volume; i++)
        if (!strcmp(volume[i].name, name))
            return *offset = volume[i].offset, true;
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
        if (!strcmp(flat[i].name, name))
            return *offset = flat[i].offset, *kind = flat[i].kind, true;
    return false;
}
