/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of what is wrong, as Events and in the log: each once, and a bounded number of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"

struct controller_ctx;
struct poddns_state;

/* Whether the text is another one than at the last time; "" forgets it. */
bool poddns_is_news(struct poddns_state *state, const char *key, const char *text);

/* Counts an Event about pods of one kind in a namespace, which the key names, at a time of the monotonic
 * clock; false: it had enough of them in this hour. */
bool poddns_count_event(struct poddns_state *state, const char *key, uint64_t now_ns);
/* The namespace is gone. */
void poddns_forget_events(struct poddns_state *state, const char *key);

void poddns_emit_warning(const struct controller_ctx *ctx, const json_t *regarding,
			 const char *reason, const char *action, const char *text);
