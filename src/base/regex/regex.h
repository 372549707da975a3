/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regular expressions in Go's (RE2) syntax and with its meaning. PCRE2 with JIT matches them: what
 * RE2 and PCRE2 read differently is translated at load, what RE2 refuses is refused: look-around,
 * back references, \k, possessive quantifiers, atomic groups, (?x), (?#...), (*VERB), \h, \Z,
 * counts over 1000. Where PCRE2 would have to try too much, and for what it cannot do as Go does
 * (loops whose body can match nothing, bytes that are not UTF-8), a matcher of our own takes time
 * proportional to the text. Matching is unanchored. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"

struct regex;
struct regex_scratch; /* match data; one per worker and regex user, never shared by threads */

enum { REGEX_PATTERN_MAX = 10000, REGEX_MATCH_LIMIT = 10000, REGEX_HEAP_KB = 256 };

/* `pattern` is kept as a copy. Errors as Go words them where possible:
 * "error parsing regexp: missing closing ): `...`". */
MUST_CHECK int regex_new(struct slice pattern, struct regex **ret, struct srcerr *reterr);
void regex_free(struct regex *re);
static inline void regex_freep(struct regex **re)
{
	regex_free(*re);
}
const char *regex_pattern(const struct regex *re);
/* Groups without group 0. */
unsigned regex_groups(const struct regex *re);
/* Name of group i (1..regex_groups) or NULL. Names may be of any length and, as in Go, stand twice.
 */
const char *regex_group_name(const struct regex *re, unsigned index);
/* True when the pattern matches any text (".*" or ""), so that matching may be skipped. */
bool regex_matches_all(const struct regex *re);
/* True when a text of some 200 bytes was found on which PCRE2 gives up, so that matching takes tens
 * of microseconds: worth a warning. */
bool regex_is_costly(const struct regex *re);

/* For patterns of up to `max_groups` groups; further groups read as absent. */
struct regex_scratch *regex_scratch_new(unsigned max_groups);
void regex_scratch_free(struct regex_scratch *scratch);
/* One without groups that the calling thread has until it ends. To make one costs more than most matches:
 * it has a stack of its own. */
struct regex_scratch *regex_scratch_of_thread(void);

/* Thread-safe with separate scratches. The scratch grows to what the largest pattern needs when it
 * is first needed: REGEX_HEAP_KB where the system forbids JIT, the state of the linear matcher
 * (commonly some KB) when PCRE2 gives up. Bytes that are not UTF-8 are U+FFFD, as in Go. */
MUST_CHECK bool regex_match(const struct regex *re, struct regex_scratch *scratch,
			    struct slice subject);
/* After a match: text of group i of the last subject; {NULL, 0} when it did not take part. */
struct slice regex_group(const struct regex_scratch *scratch, unsigned index);
