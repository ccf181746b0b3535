/* The name that links to a row's page use. */
#include "report/page/row_document.h"

char *row_anchor(const struct row *row)
{
    return text_format("%s%s%s", row->id ? row->id : "?", row->side ? " " : "", row->side ? row->side : "");
}
