/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a running `fairlead up` reports to `fairlead status`: the state of its controllers and children
 * at that moment, over a unix socket in the data directory. Nothing is written to disk for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct upstatus;

/* One line of the report: `what` is "controllers" or "child NAME". */
void upstatus_add(json_t *lines, const char *what, bool well, const char *text);

/* Answers on DATA/up.sock (mode 0600) from a thread of its own. `collect` is called on that thread
 * for each question, and adds lines. */
MUST_CHECK int upstatus_start(const char *data, void (*collect)(void *ctx, json_t *lines),
			      void *ctx, struct upstatus **ret, struct err_text err);
/* Removes the socket. NULL is fine. */
void upstatus_stop(struct upstatus *upstatus);

/* Asks the program that runs on a data directory: an array of {"what", "well", "text"}, for
 * json_decref(). ERR_NOTFOUND when none runs there; ERR_TIMEOUT when it does not answer; else what
 * went wrong. */
MUST_CHECK int upstatus_ask(const char *data, json_t **ret);
