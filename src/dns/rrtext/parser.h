/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record text parser's data, which its files and the reader of master files share: the lexer's
 * state, the head of a record, and the buffers of libzscanner for types with intricate text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libzscanner/scanner.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "dns/rrtext/rrtext.h"

enum {
	RRTEXT_MAX_BYTES = 65536, /* of one text */
	RRTEXT_RDATA_MAX = 65535,
	/* Re-escaping a byte takes four; a word in front of it and the record's head come on top.
	 */
	RRTEXT_LINE_MAX = 4 * RRTEXT_MAX_BYTES + 64,
	RRTEXT_ERROR_MAX = 120,
};

enum rrtext_kind { RRTEXT_END, RRTEXT_WORD, RRTEXT_QUOTED, RRTEXT_BAD };

struct rrtext_token {
	enum rrtext_kind kind;
	bool glued;	   /* nothing but quotes between it and the token before */
	struct slice text; /* escapes still inside; quotes not */
};

struct rrtext_lexer {
	const char *p;
	const char *end;
	const char *at; /* where the last token began: the place of an error */
	const char *error;
	char *joined;	       /* room for words that are not one piece in the text */
	const uint8_t *origin; /* completes names without a final dot; NULL: the root */
	unsigned depth;
};

/* What stands before the record data. A reader of many records sets the defaults. */
struct rrtext_head {
	uint8_t owner[DNS_NAME_MAX];
	uint8_t owner_len;
	bool has_ttl;
	bool has_class;
	bool has_type;
	uint16_t type;
	uint16_t cls;
	uint32_t ttl;
};

struct rrtext_out {
	uint8_t *p;
	const uint8_t *end;
};

struct dns_rrtext {
	struct rrtext_lexer lex;
	bool force_scanner;
	char error[RRTEXT_ERROR_MAX];
	char joined[RRTEXT_MAX_BYTES];
	char line[RRTEXT_LINE_MAX];
	uint8_t rdata[RRTEXT_RDATA_MAX];
	zs_scanner_t scanner;
	zs_scanner_t fresh; /* its state before any record, without buffers */
};

/* One byte of escaped text at *i; advances. Negative: the escape is broken. */
static inline int dns_rrtext_byte(struct slice text, size_t *index)
{
	int c = (unsigned char)text.p[(*index)++];
	if (LIKELY(c != '\\'))
		return c;
	size_t left = text.n - *index;
	if (left == 0)
		return -1;
	const char *d = text.p + *index;
	if (left >= 3 && ascii_isdigit(d[0]) && ascii_isdigit(d[1]) && ascii_isdigit(d[2])) {
		*index += 3;
		c = (d[0] - '0') * 100 + (d[1] - '0') * 10 + (d[2] - '0');
		return c <= 255 ? c : -1;
	}
	(*index)++;
	return (unsigned char)d[0];
}
