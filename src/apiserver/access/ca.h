/* The API's own authority and its certificate, and the kubeconfigs that trust it. All are files of
 * the data directory, made at the first start; what is near its end is made anew, while running
 *too.
 *
 *	ca.pem		the authority with its key, good for ten years; a new one is made a year
 *			before it ends, and kubeconfigs trust both from then on
 *	old-ca.pem	the one before
 *	server.pem	the certificate with its key, good for a year, renewed in its last third
 *	ca.crt		what to trust, for other programs' use
 *	kubeconfig, system.kubeconfig */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"

struct apiserver_trust {
	struct strbuf ca, ca_key, old_ca, cert, key; /* PEM */
};

struct apiserver_trust_conf {
	const char *dir;
	const char *const *names; /* what clients call us by, beside localhost; NULL-terminated */
};

void apiserver_trust_init(struct apiserver_trust *trust);
void apiserver_trust_done(struct apiserver_trust *trust); /* wipes */

/* Reads the files where nothing is known yet, and does what is due at `now_s`: 1 when something has
 * changed, 0 when not. What is damaged is made anew. Negative with a sentence. */
MUST_CHECK int apiserver_trust_renew(struct apiserver_trust *trust,
				     const struct apiserver_trust_conf *conf, uint64_t now_s,
				     char *err, size_t err_n);
/* The authorities to trust, as PEM. */
void apiserver_trust_bundle(const struct apiserver_trust *trust, struct strbuf *out);

struct apiserver_kubeconfig {
	const char *file; /* in dir */
	const char *server, *user, *token;
};
/* Writes the file, unless it says just that already. */
MUST_CHECK int apiserver_kubeconfig_write(const struct apiserver_trust *trust, const char *dir,
					  const struct apiserver_kubeconfig *kubeconfig, char *err,
					  size_t err_n);
