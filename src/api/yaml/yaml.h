/* YAML and JSON text into object trees, as kubectl reads it: libyaml's events, the types of
 * YAML 1.1
 * (`yes` and `N` are booleans, 010 is eight), merge keys, and no key twice. Every JSON text is
 * YAML.
 *
 * Errors carry their place. A tree carries no positions: api_yaml_locate reads the text again to
 * find where a field path stands, for messages about what was wrong in the object. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "base/strbuf.h"

enum {
	API_YAML_BYTES_MAX = 32 << 20,
	API_YAML_DEPTH_MAX = 128,
	API_YAML_NODES_MAX =
		1 << 20, /* of one document, aliases counted as often as they are used */
	API_YAML_DOCS_MAX = 10000,
};

/* All documents of the text; empty ones are left out. Free with api_docs_done. */
struct api_docs {
	json_t **v;
	unsigned *index; /* which document of the text each is, from 0, empty ones counted */
	size_t n;
};
void api_docs_done(struct api_docs *docs);

/* ERR_PARSE with its place in `err`; ERR_LIMIT likewise. `file` is borrowed for the positions. */
/* The text without the byte order marks before it, which editors put there. */
struct slice api_yaml_unmarked(struct slice text);
MUST_CHECK int api_yaml_parse(const char *file, struct slice text, struct api_docs *ret,
			      struct srcerr *err);
/* Exactly one document. */
MUST_CHECK int api_yaml_parse_one(const char *file, struct slice text, json_t **ret,
				  struct srcerr *err);

/* Where `path` ("spec.templates[1].name"; "" is the document itself) begins in document `index`;
 * the nearest parent that is there when it is not. False when there is no such document. */
bool api_yaml_locate(const char *file, struct slice text, unsigned index, const char *path,
		     struct srcpos *ret);

/* The tree as YAML in block style, keys in the order of the tree, strings quoted where a reader
 * could take them for something else. */
void api_yaml_write(struct strbuf *out, const json_t *value);
