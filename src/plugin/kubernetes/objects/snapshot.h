/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshot of the API server's objects in a file, for a start while the server is away.
 *
 * The file is a line
 *	fairlead-kubernetes 1 SOURCE BYTES DIGEST
 * and BYTES bytes of lines, each a letter of the kind, a blank and the object as JSON in the API's
 * own form, with the fields that are kept. SOURCE tells one configuration's objects from another's,
 * DIGEST is of the lines (SHA-512, the first 32 digits). A file in any other form is not used. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "kube/decode/obj.h"

enum {
	KUBERNETES_SNAPSHOT_BYTES = 512 << 20, /* of a file */
	KUBERNETES_SNAPSHOT_LINE = 8 << 20,
};

enum kubernetes_kind {
	KUBERNETES_SERVICES,
	KUBERNETES_SLICES,
	KUBERNETES_NAMESPACES,
	KUBERNETES_PODS,
	KUBERNETES_IMPORTS, /* ServiceImports */
	KUBERNETES_IMPORTED_SLICES
};
enum { KUBERNETES_KINDS = KUBERNETES_IMPORTED_SLICES + 1 };

/* What a line of each kind begins with. */
extern const char kubernetes_snapshot_letters[KUBERNETES_KINDS];

/* The objects of a file's text, one after the other; false from fn stops. ERR_PARSE, ERR_LIMIT,
 * ERR_CONFLICT (of another source), with a sentence in err; then fn was not called. */
MUST_CHECK int kubernetes_snapshot_parse(struct slice text, struct slice source,
					 bool (*fn)(void *ctx, enum kubernetes_kind kind,
						    struct slice json),
					 void *ctx, struct err_text err);
/* Puts a file in place of another, or leaves that as it is. -errno. */
MUST_CHECK int kubernetes_snapshot_write(const char *path, struct slice source, struct slice lines);
