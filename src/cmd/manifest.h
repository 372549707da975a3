/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Manifests: the objects in files, folders or standard input, each with its place. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/srcpos.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/flags.h"

enum { MANIFEST_FILES_MAX = 10000 };

struct manifest_file {
	char *name; /* "<stdin>" for `-` */
	struct strbuf text;
};

struct manifest_object {
	json_t *o;
	const struct manifest_file *file;
	unsigned doc; /* which document of the file */
	char *inside; /* path inside of it: "" or "items[3]" */
};

struct manifests {
	VEC(struct manifest_file *) files;
	VEC(struct manifest_object) objects;
};

/* Reads all of them; folders mean their *.yaml, *.yml and *.json, by name, not deeper. Lists are
 * opened. False with a sentence in `err`: a file that cannot be read or parsed, an object without
 * kind or name. */
MUST_CHECK bool manifests_read(const struct flag_values *paths, struct manifests *ret,
			       struct err_text err);
/* The same for callers that only read the objects: these need no name (a Pod may have a
 * generateName), and items of a PodList and its like have the list's kind if they name none. */
MUST_CHECK bool manifests_read_unnamed(const struct flag_values *paths, struct manifests *ret,
				       struct err_text err);
void manifests_done(struct manifests *manifests);

/* Where a field of the object stands ("" for the object): "file.yaml:3:7". */
void manifest_place(const struct manifest_object *object, const char *field, struct strbuf *out);
