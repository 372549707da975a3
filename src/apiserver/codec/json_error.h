/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The message of Go's decoder for a text that is not JSON; kubectl prints it and people search
 * it. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/slice.h"
#include "base/strbuf.h"

enum { APISERVER_JSON_DEPTH_MAX = 2047 }; /* and a value, as jansson; Go has 10000 */

/* Appends "unexpected end of JSON input", "invalid character 'x' after top-level value", ...;
 * false, and nothing appended, when the text is JSON. */
bool apiserver_json_error(struct slice text, struct strbuf *out);
/* The type of a value other than null as Go's decoder names it: "object", "bool", ... */
const char *apiserver_json_go_type(const json_t *value);
