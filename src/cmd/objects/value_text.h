/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of records for a terminal: they are those of a zone that others may write. */
#pragma once

#include "base/slice.h"
#include "base/strbuf.h"

/* Printable ASCII as it is; other bytes, \ and ", as \DDD. */
void value_text_add(struct strbuf *out, struct slice value);
