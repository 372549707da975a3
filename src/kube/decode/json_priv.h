/* Pulls JSON (RFC 8259) apart, token by token, without a copy and without recursion. Strict: UTF-8
 * in its shortest form, no control characters inside strings, no half surrogates, numbers as the
 * grammar has them, one value and nothing behind it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "kube/decode/frame.h"
#include "kube/decode/sax.h"

enum { KUBE_JSON_DONE = KUBE_SAX_END + 1 }; /* the value was complete, and so is the text */

struct kube_json {
	/* Of a string, a key (both without escapes) or a number (as written), until the next token
	 * is asked for. */
	struct slice text;
	unsigned depth; /* containers that are open */

	/* private */
	const char *p, *end;
	uint8_t state;
	bool map;				/* the innermost container is one */
	struct strbuf plain;			/* a text that had escapes */
	uint64_t maps[KUBE_CUT_DEPTH_MAX / 64]; /* a bit per container: it is a map */
};

void kube_json_init(struct kube_json *json, struct slice text);
void kube_json_done(struct kube_json *json);

/* An enum kube_sax_type or KUBE_JSON_DONE; ERR_PARSE, ERR_LIMIT (more than KUBE_CUT_DEPTH_MAX
 * containers), after which nothing more may be asked. */
MUST_CHECK int kube_json_next(struct kube_json *json);
/* Reads on, at least one token and as strictly, until no more than `depth` containers are open.
 * 0 or as above. */
MUST_CHECK int kube_json_skip(struct kube_json *json, unsigned depth);
