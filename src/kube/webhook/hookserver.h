/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The HTTPS server of all web hooks: POST /validate/NAME and POST /mutate/NAME, or
 * /validate and /mutate for all hooks of a kind, with an AdmissionReview
 * (kube/webhook/admission.h has the answers). Its certificate comes from files, which are read again
 * when they change, or from a Secret that we manage ourselves (kube/webhook/hookcert.h); then we keep
 * the caBundle of the registrations up to date, too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/webhook/admission.h"
#include "kube/webhook/hookcert.h"

struct hookserver;
struct kube_client;

struct hookserver_conf {
	const char *listen;		    /* "0.0.0.0:8443" */
	const struct admission_hook *hooks; /* copied */
	size_t n_hooks;
	/* Certificates from files: */
	const char *cert_file, *key_file;
	/* Or managed, when cert_file is NULL: */
	struct kube_client *client;
	struct kube_client *secret_client; /* where the Secret is; NULL: in the same cluster */
	const char *ns, *secret;
	const char *registration; /* name of the webhook configurations whose caBundle is ours;
				     those that are not there are passed over */
	struct hookcert_conf certs;
	uint64_t interval_ns; /* between two checks of the files or the Secret; 0: 10 s */
	/* Called on the server's thread when a step failed; it is repeated. */
	void (*on_error)(void *ctx, const char *text);
	void *ctx;
};

/* Returns when it listens. Certificate files must exist. A managed certificate is loaded as soon
 * as the API server answers; until then a certificate that no caller trusts is served, so that
 * the start does not wait for the API server. */
MUST_CHECK int hookserver_start(const struct hookserver_conf *conf, struct hookserver **ret,
				struct err_text err);
void hookserver_stop(struct hookserver *hookserver); /* NULL is fine */
uint16_t hookserver_port(const struct hookserver *hookserver);
/* Is the certificate in force one that callers trust? */
bool hookserver_is_ready(const struct hookserver *hookserver);
