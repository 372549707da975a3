/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matching names against a rule, and building the new name. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

/* Completes a matcher whose `how` and `from` are set. */
void rewrite_matcher_init(struct rewrite_matcher *matcher, struct arena *arena);
/* Could a name match? Costs a few compares; never false for one that does. */
bool rewrite_matcher_may(const struct rewrite_matcher *matcher, const struct dns_qname *name);
MUST_CHECK bool rewrite_matcher_hits(const struct rewrite_matcher *matcher, struct query *q,
				     struct slice name);
/* The same, and what becomes of the name. */
MUST_CHECK bool rewrite_replace(const struct rewrite_matcher *matcher, struct slice to,
				struct query *q, struct slice name, struct rewrite_text *out);
/* TO with the groups of the last match for {0}, {1}, ... */
void rewrite_groups(struct slice to, const struct regex_scratch *scratch, unsigned groups,
		    struct rewrite_text *out);
void rewrite_text_set(struct rewrite_text *text, struct slice word);
void rewrite_text_add(struct rewrite_text *text, struct slice word);
void rewrite_text_wire(struct rewrite_text *text, const uint8_t *name);
