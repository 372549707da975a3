/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading `rewrite` stanzas: the words of one become a rule. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

/* Reads all stanzas, in order. */
MUST_CHECK int rewrite_parse_stanzas(struct setup *setup, struct rewrite_conf *conf);
struct rewrite_pattern *rewrite_add_pattern(struct rewrite_words *words, const struct word *at,
					    const char *text, const char *to);
/* With a final dot; in lower case; both. */
const char *rewrite_absolute(struct setup *setup, const char *text);
const char *rewrite_lower(struct setup *setup, const char *text);
const char *rewrite_normal(struct setup *setup, const char *text);
struct rewrite_action *rewrite_add_actions(struct rewrite_words *words, size_t count);
MUST_CHECK int rewrite_parse_ttl(struct rewrite_words *words);
MUST_CHECK int rewrite_parse_rcode(struct rewrite_words *words);
MUST_CHECK int rewrite_parse_cname(struct rewrite_words *words);
/* Name matching words, in order of enum rewrite_how; -1 when it is none. */
int rewrite_how_parse(const char *word);
/* Fills in the matcher of a rule of the form [HOW] NAME. */
MUST_CHECK int rewrite_parse_matcher(struct rewrite_words *words, const struct word *how,
				     const struct word *name);
