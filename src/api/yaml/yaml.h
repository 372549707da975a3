/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML and JSON texts into object trees, as kubectl reads them: libyaml's events, the types of YAML 1.1
 * (`yes` and `N` are booleans, 010 is eight), merge keys, and no duplicate keys. Every JSON text is
 * YAML. This header includes those of the writer and of api_yaml_locate.
 *
 * Errors carry their place. A tree carries no positions: api_yaml_locate reads the text again to
 * find where a field path stands, for messages about what was wrong in the object. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "api/yaml/yaml_locate.h"
#include "api/yaml/yaml_write.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"

enum {
	API_YAML_BYTES_MAX = 32 << 20,
	API_YAML_DEPTH_MAX = 128,
	/* Of one document; aliases count as often as they are used. */
	API_YAML_NODES_MAX = 1 << 20,
	API_YAML_DOCS_MAX = 10000,
};

/* All documents of the text; empty ones are left out. Free with api_docs_done. */
struct api_docs {
	json_t **v;
	unsigned *index; /* which document of the text each is, from 0, empty ones counted */
	size_t n;
};
void api_docs_done(struct api_docs *docs);

/* The text without byte order marks at its start, which some editors write. */
struct slice api_yaml_strip_bom(struct slice text);
/* ERR_PARSE with its place in `err`; ERR_LIMIT likewise. `file` is borrowed for the positions. */
MUST_CHECK int api_yaml_parse(const char *file, struct slice text, struct api_docs *ret,
			      struct srcerr *err);
/* Exactly one document. */
MUST_CHECK int api_yaml_parse_one(const char *file, struct slice text, json_t **ret,
				  struct srcerr *err);
