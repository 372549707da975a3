/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a Corefile's text comes from: a file, standard input, a ConfigMap, or the built-in default.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"

enum { COREFILE_SOURCE_MAX_BYTES = 16 << 20 };

struct corefile_source;

/* `name` as given to -conf: a path, "stdin", or NULL: ./Corefile if there is one, else the default
 * `.:PORT { whoami; log }`. Never NULL. */
struct corefile_source *corefile_source_new(const char *name, unsigned default_port);
void corefile_source_free(struct corefile_source *source);

/* As that; `name` may also be "configmap:NAMESPACE/NAME[/KEY]", which is read and watched through
 * the API. ERR_CONFIG, with a sentence, when it is misspelt. */
struct corefile_source_opts {
	const char *name;
	unsigned default_port;
	const char *kubeconfig; /* NULL: the pod's service account */
	const char *state_dir;	/* for the last good copy; NULL: none is kept */
};
MUST_CHECK int corefile_source_open(const struct corefile_source_opts *opts,
				    struct corefile_source **ret, struct err_text err);
/* Does it report changes and keep a copy? The functions below are only for such sources. */
bool corefile_source_is_watched(const struct corefile_source *source);
/* Readable after a change, until corefile_source_changed is called. */
int corefile_source_fd(const struct corefile_source *source);
bool corefile_source_changed(struct corefile_source *source);
/* What was loaded last serves. */
void corefile_source_accepted(struct corefile_source *source);
/* As corefile_source_load: what served before. */
MUST_CHECK int corefile_source_last_good(struct corefile_source *source, struct strbuf *out,
					 struct err_text why);

/* What is served when there is no configuration: `.:PORT { whoami; log }`. */
const char *corefile_source_default(const struct corefile_source *source);
/* The file it is; NULL when it is none. */
const char *corefile_source_path(const struct corefile_source *source);
/* Shown in error positions. */
const char *corefile_source_name(const struct corefile_source *source);
/* The text now, replacing *out; standard input is read once and remembered. 0, or a negative code
 * with a text in `why`. */
MUST_CHECK int corefile_source_load(struct corefile_source *source, struct strbuf *out,
				    struct err_text why);
