/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Credentials in force: the bearer token, and the certificates for TLS. Both are renewed while the
 * program runs; the old ones stay in force when the new ones cannot be read. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "http/client/memfile.h"
#include "base/secret.h"

struct kube_config;

/* One version of all that TLS needs, as files in memory; shared by references
 * until the last connection made with it is closed. */
struct kube_tls {
	_Atomic unsigned refs;
	struct secret ca, cert, key;		    /* PEM */
	struct http_memfile files[3];		    /* the same as files */
	const char *ca_path, *cert_path, *key_path; /* of those; NULL: none */
	bool system_ca;				    /* no CA was named: the system's */
};

struct kube_token_ask {
	bool fresh;		  /* read it again at once (after a 401), ... */
	uint64_t asked_ns;	  /* ... unless that was done since then (monotonic) */
	const _Atomic bool *stop; /* ends the wait for an exec plugin; NULL: nobody will */
};
/* The bearer token now in force, appended; nothing when there is none. Files are read again at most
 * once a minute, exec plugins run when their credential has expired. The old token stays when
 * reading fails; an error only when there is none, with a sentence in `err`. -ECANCELED after
 * `stop`. Any thread. Wipe `out` after use. */
MUST_CHECK int kube_config_token(struct kube_config *config, const struct kube_token_ask *ask,
				 struct strbuf *out, struct err_text err);
/* Makes all callers that wait for an exec plugin check their `stop`. Any thread. */
void kube_config_wake(struct kube_config *config);

/* Reads all files once, so that what is missing is found at start. */
MUST_CHECK int kube_config_check(struct kube_config *config, struct err_text err);

/* The TLS material in force, a reference of the caller's. Files are read again every 5 min;
 * `fresh`: at once (after a failed handshake or a 401). The old one stays when reading fails.
 * `stop` as kube_config_token's. */
MUST_CHECK int kube_config_tls(struct kube_config *config, bool fresh, const _Atomic bool *stop,
			       struct kube_tls **ret, struct err_text err);
void kube_tls_unref(struct kube_tls *tls); /* NULL is fine */
