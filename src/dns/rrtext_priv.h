/* Inside of the record text parser: a lexer that yields words and quoted strings, a table of rdata
 * layouts written straight to wire, and libzscanner for the types with intricate text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libzscanner/scanner.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "dns/rrtext.h"

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

/* Lexer. start: goes to the first record; ERR_NOTFOUND when there is none, ERR_PARSE when its owner
 * is left out. next: the kind of the token; END is repeated at the end of the record. */
MUST_CHECK int dns_rrtext_lex_start(struct rrtext_lexer *lx, struct slice text, char *joined);
enum rrtext_kind dns_rrtext_lex_next(struct rrtext_lexer *lx, struct rrtext_token *ret);
/* Remembers a reason (static text) and returns ERR_PARSE. */
MUST_CHECK int dns_rrtext_fail(struct rrtext_lexer *lx, const char *reason);
/* The next token, which must be a word standing alone. */
MUST_CHECK int dns_rrtext_word(struct rrtext_lexer *lx, struct slice *ret);
/* Nothing may follow. */
MUST_CHECK int dns_rrtext_finish(struct rrtext_lexer *lx);

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

/* A name as it stands in a record: "@", or relative to the origin unless it ends with a dot. Its
 * wire length, or ERR_PARSE. */
MUST_CHECK int dns_rrtext_name(const struct rrtext_lexer *lx, struct slice text,
			       uint8_t out[DNS_NAME_MAX]);
/* TTL, class and type, up to the record data; then the data. has_ttl, has_class and has_type tell
 * what was there; fields not given keep their value. */
MUST_CHECK int dns_rrtext_head(struct rrtext_lexer *lx, struct rrtext_head *head);
MUST_CHECK int dns_rrtext_rdata(struct dns_rrtext *parser, uint16_t type, struct rrtext_out *out);

/* TTL text: a number, or numbers with units as in 1h30m. */
MUST_CHECK int dns_rrtext_ttl(struct slice text, uint32_t *ret);
/* Letters in any case. */
MUST_CHECK int dns_rrtext_type(struct slice text);

/* Layout table. NULL: the type has no row. */
struct rrtext_layout;
const struct rrtext_layout *dns_rrtext_layout_find(uint16_t type);
MUST_CHECK int dns_rrtext_layout_write(const struct rrtext_layout *layout, struct rrtext_lexer *lx,
				       struct rrtext_out *out);
/* Whether bytes given as RFC 3597 text have this layout. */
bool dns_rrtext_layout_check(const struct rrtext_layout *layout, const uint8_t *rdata, size_t len);

/* Writers for fields that are used outside the table too. */
MUST_CHECK int dns_rrtext_put(struct rrtext_lexer *lx, struct rrtext_out *out, const void *data,
			      size_t len);
MUST_CHECK int dns_rrtext_put_name(struct rrtext_lexer *lx, struct slice text,
				   struct rrtext_out *out);
MUST_CHECK int dns_rrtext_put_hex(struct rrtext_lexer *lx, struct slice text,
				  struct rrtext_out *out);
/* All words that follow; they need not hold whole bytes. */
MUST_CHECK int dns_rrtext_put_hex_rest(struct rrtext_lexer *lx, struct rrtext_out *out);
MUST_CHECK int dns_rrtext_put_base64(struct rrtext_lexer *lx, struct slice text,
				     struct rrtext_out *out);
MUST_CHECK int dns_rrtext_get_u(struct rrtext_lexer *lx, uint32_t max, uint32_t *ret);
bool dns_rrtext_ip4(struct slice text, uint8_t out[4]);
bool dns_rrtext_ip6(struct slice word, uint8_t out[16]);

/* Types with a structure of their own. */
MUST_CHECK int dns_rrtext_write_hinfo(struct rrtext_lexer *lx, struct rrtext_out *out);
MUST_CHECK int dns_rrtext_write_hip(struct rrtext_lexer *lx, struct rrtext_out *out);
MUST_CHECK int dns_rrtext_write_amtrelay(struct rrtext_lexer *lx, struct rrtext_out *out);
/* One token as a character string of at most 255 bytes. */
MUST_CHECK int dns_rrtext_put_string(struct rrtext_lexer *lx, struct slice text,
				     struct rrtext_out *out);

/* libzscanner. */
void dns_rrtext_scan_init(struct dns_rrtext *parser);
bool dns_rrtext_scan_knows(uint16_t type);
MUST_CHECK int dns_rrtext_scan(struct dns_rrtext *parser, uint16_t type, struct rrtext_out *out);

/* For tests: types in the layout table that libzscanner knows too go to it. */
void dns_rrtext_force_scanner(struct dns_rrtext *parser, bool on);
