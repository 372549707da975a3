/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lexer of record text: one record of a master file into words and quoted strings. */
#pragma once

#include "dns/rrtext/parser.h"

/* start: goes to the first record; ERR_NOTFOUND when there is none, ERR_PARSE when its owner
 * is left out. next: the kind of the token; END is repeated at the end of the record. */
MUST_CHECK int dns_rrtext_lex_start(struct rrtext_lexer *lx, struct slice text, char *joined);
enum rrtext_kind dns_rrtext_lex_next(struct rrtext_lexer *lx, struct rrtext_token *ret);
/* Remembers a reason (static text) and returns ERR_PARSE. */
MUST_CHECK int dns_rrtext_fail(struct rrtext_lexer *lx, const char *reason);
/* The next token, which must be a word standing alone. */
MUST_CHECK int dns_rrtext_word(struct rrtext_lexer *lx, struct slice *ret);
/* Nothing may follow. */
MUST_CHECK int dns_rrtext_finish(struct rrtext_lexer *lx);

/* TTL text: a number, or numbers with units as in 1h30m. */
MUST_CHECK int dns_rrtext_ttl(struct slice text, uint32_t *ret);
/* Letters in any case. */
MUST_CHECK int dns_rrtext_type(struct slice text);
