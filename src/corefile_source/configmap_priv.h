/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Corefile in a ConfigMap, read and watched through the API by a thread of its own, with a copy
 * on disk of the last text that served.
 *
 * It asks for that one object only (by field selector), so a Role with get, list and watch for its
 * `resourceNames` is enough. All calls come from one thread, and none but the first load waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"

struct configmap;

struct configmap_conf {
	const char *where;	/* "NAMESPACE/NAME[/KEY]"; KEY is "Corefile" by default */
	const char *kubeconfig; /* NULL: the pod's service account */
	const char *state_dir;	/* for the copy; NULL: there is none */
	uint64_t wait_ns;	/* of the first load for the text; 0: 30 s */
	uint64_t wait_copy_ns;	/* ... where a copy is at hand; 0: 3 s */
	uint64_t backoff_ns;	/* after failures, at least; 0: 0.8 s */
};

/* Opens nothing yet. ERR_CONFIG with a sentence in `err`. */
MUST_CHECK int configmap_new(const struct configmap_conf *conf, struct configmap **ret,
			     struct err_text err);
void configmap_free(struct configmap *configmap);	       /* NULL is fine */
const char *configmap_name(const struct configmap *configmap); /* "configmap:NAMESPACE/NAME/KEY" */

/* The Corefile as the API server has it now. The first call starts the watch and waits for the object;
 * where a copy exists, it gives up at the first failure. Errors have a sentence in `why`. */
MUST_CHECK int configmap_load(struct configmap *configmap, struct strbuf *out, struct err_text why);
/* The copy. */
MUST_CHECK int configmap_last_good(struct configmap *configmap, struct strbuf *out,
				   struct err_text why);
/* The Corefile that was loaded last is in use: it becomes the copy. */
void configmap_accepted(struct configmap *configmap);

/* Readable after a change, until configmap_changed is called. */
int configmap_fd(const struct configmap *configmap);
bool configmap_changed(struct configmap *configmap);
