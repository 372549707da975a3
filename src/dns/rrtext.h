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
