/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base64 (RFC 4648 section 4), in which JSON, keys and kubeconfigs carry bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

/* Appends, with padding. */
void base64_encode(struct strbuf *out, struct slice bytes);
/* What a digit stands for, 0 to 63, or -1. */
int base64_value(char ch);
/* Into out, which has room for text.n / 4 * 3 + 3 bytes: for secrets, of which no copy may stay
 * elsewhere. Their number, or ERR_PARSE (what was written is then of no use). Blanks and line
 * breaks are passed over; bits that say nothing may be anything, as Go's decoder has it. */
MUST_CHECK ssize_t base64_decode_to(uint8_t *out, struct slice text);
/* Appends the decoded bytes; line breaks and blanks are skipped. ERR_PARSE, with nothing
 * appended. */
MUST_CHECK int base64_decode(struct strbuf *out, struct slice text);
