/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times, base64 and quantities: Go's message for a malformed one. All return false, and leave `err`
 * alone, when the value is well-formed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>
#include "base/err_text.h"

/* `micro`: a MicroTime, which needs six digits after the point. */
bool apiserver_strict_value_bad_time(const char *text, bool micro, struct err_text err);
bool apiserver_strict_value_bad_base64(const char *text, struct err_text err);
/* A value that is no string is read as its JSON text. */
bool apiserver_strict_value_bad_quantity(const json_t *value, struct err_text err);
