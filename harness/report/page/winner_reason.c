/* What the slower of two rows does more of. */
#include "report/page/first_screen.h"

bool winner_reason(const struct case_view *c, const struct view *slow, const struct view *fast, enum why_words words, struct text *t)
{
    if (c->counts)
        why_compared(t, c, slow, fast, false, words);
    return c->counts || why_against(t, c, slow, fast, words);
}
