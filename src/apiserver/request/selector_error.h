/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server's message about a malformed label selector. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

/* Appends the message; false, and nothing appended, when the selector is well-formed. */
bool apiserver_selector_error(const char *text, struct strbuf *out);
