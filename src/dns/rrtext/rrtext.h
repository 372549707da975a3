/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One resource record from its master-file text, through libzscanner (plus our own small table for
 * types and SVCB keys it lacks, turned into RFC 3597 form). A scanner costs 200 KB: one per worker,
 * reused. Origin is the root, default TTL 3600, default class IN; only the first record of the text
 * is used; directives ($TTL ...) and empty owners are refused. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "dns/resp.h"

struct dns_rrtext;

/* NULL never: aborts when memory is gone. Not thread-safe: one per thread. */
struct dns_rrtext *dns_rrtext_new(void);
void dns_rrtext_free(struct dns_rrtext *parser);

/* Parses into `ret`, its owner and rdata allocated from `arena`. 0; ERR_PARSE with a reason in
 * dns_rrtext_error(p) for malformed text; ERR_NOTFOUND when the text holds no record (only blanks
 * or comments); ERR_SPACE when the arena is used up. No allocation beyond the arena. */
MUST_CHECK int dns_rrtext_parse(struct dns_rrtext *parser, struct slice text, struct arena *arena,
				struct dns_rr *ret);
const char *dns_rrtext_error(const struct dns_rrtext *parser);

/* ---- for the reader of master files, which runs the lexer itself ---- */

struct rrtext_lexer;
struct rrtext_head;
struct rrtext_out;

/* A name as it stands in a record: "@", or relative to the origin unless it ends with a dot. Its
 * wire length, or ERR_PARSE. */
MUST_CHECK int dns_rrtext_name(const struct rrtext_lexer *lx, struct slice text,
			       uint8_t out[DNS_NAME_MAX]);
/* TTL, class and type, up to the record data; then the data. has_ttl, has_class and has_type say
 * which were present; other fields keep their value. */
MUST_CHECK int dns_rrtext_head(struct rrtext_lexer *lx, struct rrtext_head *head);
MUST_CHECK int dns_rrtext_rdata(struct dns_rrtext *parser, uint16_t type, struct rrtext_out *out);
