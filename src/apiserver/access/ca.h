/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API server's own CA, its serving certificate, and when to renew them. Both are files of the
 * data directory, created at the first start and renewed while the server runs.
 *
 *	ca.pem		CA certificate and key, valid for ten years; a new CA is created a year
 *			before it expires, and kubeconfigs trust both from then on
 *	old-ca.pem	the certificate of the CA before
 *	server.pem	serving certificate and key, valid for a year, renewed in its last third
 *	ca.crt		the certificates to trust, for other programs */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"

struct apiserver_ca {
	struct strbuf ca_cert, ca_key, old_ca_cert, server_cert, server_key; /* PEM */
};

struct apiserver_ca_conf {
	const char *dir;
	const char *const *names; /* DNS names and addresses besides localhost; NULL-terminated */
};

void apiserver_ca_init(struct apiserver_ca *ca);
void apiserver_ca_done(struct apiserver_ca *ca); /* wipes */

/* Loads the files if that was not done yet, and renews what is due at `now_s`: 1 when something has
 * changed, 0 when not. Damaged files are replaced. Negative with a message in `err`. */
MUST_CHECK int apiserver_ca_renew(struct apiserver_ca *ca, const struct apiserver_ca_conf *conf,
				  uint64_t now_s, struct err_text err);
/* Appends the CA certificates to trust, as PEM. */
void apiserver_ca_bundle(const struct apiserver_ca *ca, struct strbuf *out);
