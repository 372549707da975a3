/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Certificates of our own: authorities and servers, EC keys (P-256), PEM. And what a program must
 * know of a certificate to renew it in time. Times are seconds since 1970. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct net_certgen {
	const char *cn;
	uint64_t not_before_s, not_after_s;
	const char *const *names; /* host names and addresses, ended by NULL */
	bool ca;		  /* an authority */
	bool client;		  /* neither that nor a server */
	const char *ca_cert;	  /* who signs; NULL: itself */
	const char *ca_key;
};

/* Appends the certificate and its key. ERR_PARSE, ERR_INTERNAL with a sentence in `err`. */
MUST_CHECK int net_certgen(const struct net_certgen *certgen, struct strbuf *cert,
			   struct strbuf *key, struct err_text err);

struct net_certinfo {
	uint64_t not_before_s, not_after_s;
	bool ca;
};
/* Of the first certificate in the text. ERR_PARSE. */
MUST_CHECK int net_certinfo(struct slice pem, struct net_certinfo *ret);
/* How many there are; ERR_PARSE when one of them cannot be read, or there is none. */
MUST_CHECK int net_certs_count(struct slice pem);
/* Was the first certificate of `pem` signed by that of `ca`? Times do not matter. */
bool net_cert_signed_by(struct slice pem, struct slice ca);
/* Is `key` (PEM) the one of the first certificate? */
bool net_cert_has_key(struct slice pem, struct slice key);
/* Is it good for the host name or address? */
bool net_cert_has_name(struct slice pem, const char *name);
