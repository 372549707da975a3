/* What Go's decoder says of a text that is no JSON: clients show it to people, who look it up. */
#pragma once

#include <stdbool.h>

#include "base/slice.h"
#include "base/strbuf.h"

/* "unexpected end of JSON input", "invalid character 'x' after top-level value", ...; false, and
 * nothing added, when the text is JSON (of any nesting; depth is somebody else's limit). */
bool apiserver_json_error(struct slice text, struct strbuf *out);
/* "array", "number", ...: what the text is, told by its first character. */
const char *apiserver_json_kind(struct slice text);
