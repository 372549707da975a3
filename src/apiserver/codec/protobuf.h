/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Protobuf bodies, which client-go and kubectl send for built-in kinds, decoded into JSON trees. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

enum {
	/* Values in one object: two bytes of a body may stand for an empty object, which takes a
	 * hundred bytes here. */
	APISERVER_PROTOBUF_VALUES_MAX = 200000,
};

/* Decodes a body ("k8s\0" and an envelope) of a built-in kind or DeleteOptions into a new tree.
 * ERR_PARSE, ERR_LIMIT, ERR_UNSUPPORTED with a message in `err`. */
MUST_CHECK int apiserver_protobuf_decode(struct slice body, json_t **ret, struct err_text err);
