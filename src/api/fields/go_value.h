/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON values as Go prints them, for messages that equal the API server's. */
#pragma once

#include <jansson.h>

#include "base/strbuf.h"

/* %v; NULL is an empty list. */
void fieldset_go_value(struct strbuf *out, const json_t *value);
/* %#v */
void fieldset_go_syntax(struct strbuf *out, const json_t *value);
/* %T; `nil` where there is no value. */
const char *fieldset_go_type(const json_t *value, const char *nil);
