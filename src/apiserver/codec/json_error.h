/* What Go's decoder says of a text that is no JSON: clients show it to people, who look it up. */
#pragma once

#include <stdbool.h>

#include "base/slice.h"
#include "base/strbuf.h"

enum { APISERVER_JSON_DEPTH_MAX = 2047 }; /* and a value, as jansson; Go has 10000 */

/* "unexpected end of JSON input", "invalid character 'x' after top-level value", ...; false, and
 * nothing added, when the text is JSON. */
bool apiserver_json_error(struct slice text, struct strbuf *out);
