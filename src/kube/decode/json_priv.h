/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tokenizer of JSON (RFC 8259) that copies nothing and does not recurse. Strict: UTF-8
 * in its shortest form, no control characters inside strings, no half surrogates, numbers as the
 * grammar has them, one value and nothing behind it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "kube/decode/frame.h"
#include "kube/decode/json_type.h"

enum { KUBE_JSON_DONE = KUBE_JSON_END + 1 }; /* the value was complete, and so is the text */

struct kube_json {
	/* Of a string, a key (both without escapes) or a number (as written), until the next token
	 * is asked for. */
	struct slice text;
	unsigned depth; /* containers that are open */

	/* Private to json.c: */
	const char *pos, *end;
	uint8_t state;
	bool map;				  /* the innermost container is one */
	struct strbuf plain;			  /* a text that had escapes */
	uint64_t maps[KUBE_FRAME_DEPTH_MAX / 64]; /* a bit per container: it is a map */
};

void kube_json_init(struct kube_json *json, struct slice text);
void kube_json_done(struct kube_json *json);

/* An enum kube_json_type or KUBE_JSON_DONE; ERR_PARSE, ERR_LIMIT (more than KUBE_FRAME_DEPTH_MAX
 * containers), after which nothing more may be asked. */
MUST_CHECK int kube_json_next(struct kube_json *json);
/* Reads on, at least one token and as strictly, until no more than `depth` containers are open.
 * 0 or as above. */
MUST_CHECK int kube_json_skip(struct kube_json *json, unsigned depth);
