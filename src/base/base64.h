/* Base64 (RFC 4648 section 4): how JSON carries bytes. */
#pragma once

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

/* Appends, with padding. */
void base64_encode(struct strbuf *out, struct slice bytes);
/* Appends what the text says; line breaks and blanks are passed over. ERR_PARSE, with nothing
 * appended. */
MUST_CHECK int base64_decode(struct strbuf *out, struct slice text);
