/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the status of an object means: is its controller done with it? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/strbuf.h"

struct api_kind;

/* Has it the reason Waiting for less than a minute? Providers may be busy for so long. */
bool settled_is_short_wait(const json_t *condition, uint64_t now_wall_ns);

/* Do controllers report in the status of its objects how far they are? */
bool settled_is_reported(const struct api_kind *kind);

enum settled_state {
	SETTLED_WAITING, /* the controller is not done with this generation */
	SETTLED_DONE,
	SETTLED_FAILED,
};
/* Of an object whose kind reports. Adds to `why` what it waits for, or why it failed. */
enum settled_state settled_state_of(const json_t *object, struct strbuf *why);
