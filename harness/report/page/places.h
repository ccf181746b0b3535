/* report/page/places: a run of several GPUs or hosts: what each of them is, and where their values differ. */
#pragma once

#include "report/form/document.h"

/* Nothing if all rows have one place. */
void places_document(struct document *d, const struct run *run, struct row *const *rows, int count);
