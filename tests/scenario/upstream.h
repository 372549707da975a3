/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The upstreams of a scenario: scripted servers on loopback sockets that answer when they are
 * served, on the scenario's clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "base/err_text.h"

struct upstreams;

struct upstreams *upstreams_new(void);
void upstreams_free(struct upstreams *u);

/* Adds an upstream, or gives one that is there another script; false and `why` when it is wrong. */
MUST_CHECK bool upstreams_set(struct upstreams *u, const char *name, const char *script,
			      struct err_text why);
/* From now on nobody listens there. False when there is no such upstream. */
MUST_CHECK bool upstreams_stop(struct upstreams *u, const char *name);
/* Its address with the port, or NULL. */
const char *upstreams_address(const struct upstreams *u, struct slice name);

/* Takes what was asked and sends what is due at `now_ns`; true when anything was done. */
bool upstreams_serve(struct upstreams *u, uint64_t now_ns);
/* When the next waiting reply is due; UINT64_MAX: none waits. */
uint64_t upstreams_due(const struct upstreams *u);
/* What could not be done since the last call, or NULL. */
const char *upstreams_problem(struct upstreams *u);

/* Lines of what this upstream was asked since the last call: transport, name, class, type, header
 * bits, EDNS. Health checks (`. NS`) only with `checks`. False when there is no such upstream. */
MUST_CHECK bool upstreams_asked(struct upstreams *u, const char *name, bool checks,
				struct strbuf *out);
