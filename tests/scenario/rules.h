/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The script of an upstream: which queries get which replies. The words are those of
 * tests/lib/README.md, "A scripted upstream". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/err_text.h"
#include "dns/name.h"
#include "dns/types.h"

/* A query as it came, for matching and for filling in. */
struct rules_query {
	const uint8_t *msg;
	size_t n;
	size_t question_end;
	bool tcp, edns, dnssec_ok;
	uint16_t flags;
	uint16_t udp_size;
	unsigned nth;		      /* of its name and type, from 1 */
	char name[DNS_NAME_TEXT_MAX]; /* as asked */
	char type[DNS_MNEMONIC_MAX];
	char cls[DNS_MNEMONIC_MAX];
};

struct rules_word {
	char *word;
	char *rest; /* "" if none */
};

/* One message to send. */
struct rules_reply {
	struct rules_word *word;
	size_t n;
};

struct rules;

/* NULL when the script is wrong; `why` then tells where and what. */
struct rules *rules_parse(const char *script, struct err_text why);
void rules_free(struct rules *r); /* NULL is fine */

/* Replies of the first rule that fits; REFUSED when none does. */
const struct rules_reply *rules_find(const struct rules *r, const struct rules_query *q,
				     size_t *ret_n);
/* What stands behind a word of a reply, its last use; NULL when it is not there. */
const char *rules_get(const struct rules_reply *r, const char *word);

/* A header bit by its name in lower case, 0: none. */
uint16_t rules_flag(struct slice name);
/* Fills `q` from a query; false when it cannot be read. `nth` is the caller's. */
bool rules_read_query(const uint8_t *msg, size_t n, bool tcp, struct rules_query *q);
