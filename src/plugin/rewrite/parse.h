/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading `rewrite` stanzas: the words of one become a rule. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

/* Reads all stanzas, in order. */
MUST_CHECK int rewrite_parse_stanzas(struct setup *setup, struct rewrite_conf *conf);
struct rewrite_pattern *rewrite_add_pattern(struct rewrite_words *words, const struct word *at,
					    const char *text, const char *to);
/* A name of the Corefile with a final dot; rewrite_normal also in lower case. */
const char *rewrite_absolute(struct setup *setup, const char *text);
const char *rewrite_normal(struct setup *setup, const char *text);
struct rewrite_action *rewrite_add_actions(struct rewrite_words *words, size_t count);
/* Name matching words, in order of enum rewrite_how; -1 when it is none. */
int rewrite_how_parse(const char *word);
