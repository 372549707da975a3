/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a Corefile's text comes from: a file, standard input, a ConfigMap, or the built-in default.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"

enum { CONFSOURCE_MAX_BYTES = 16 << 20 };

struct confsource;

/* `name` as given to -conf: a path, "stdin", or NULL: ./Corefile if there is one, else the default
 * `.:PORT { whoami; log }`. Never NULL. */
struct confsource *confsource_new(const char *name, unsigned default_port);
void confsource_free(struct confsource *confsource);

/* As that; `name` may also be "configmap:NAMESPACE/NAME[/KEY]", which is read and watched through
 * the API. ERR_CONFIG, with a sentence, when it is misspelt. */
struct confsource_opts {
	const char *name;
	unsigned default_port;
	const char *kubeconfig; /* NULL: the pod's service account */
	const char *state_dir;	/* for the last good copy; NULL: none is kept */
};
MUST_CHECK int confsource_open(const struct confsource_opts *opts, struct confsource **ret,
			       struct err_text err);
/* Does it report changes and keep a copy? The functions below are only for such sources. */
bool confsource_is_watched(const struct confsource *confsource);
/* Readable after a change, until confsource_changed is called. */
int confsource_fd(const struct confsource *confsource);
bool confsource_changed(struct confsource *confsource);
/* What was loaded last serves. */
void confsource_accepted(struct confsource *confsource);
/* As confsource_load: what served before. */
MUST_CHECK int confsource_last_good(struct confsource *confsource, struct strbuf *out,
				    struct err_text why);

/* What is served when there is no configuration: `.:PORT { whoami; log }`. */
const char *confsource_default(const struct confsource *confsource);
/* The file it is; NULL when it is none. */
const char *confsource_path(const struct confsource *confsource);
/* Shown in error positions. */
const char *confsource_name(const struct confsource *confsource);
/* The text now, replacing *out; standard input is read once and remembered. 0, or a negative code
 * with a text in `why`. */
MUST_CHECK int confsource_load(struct confsource *confsource, struct strbuf *out,
			       struct err_text why);
