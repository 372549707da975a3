/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The certificates of our web hooks, and when each is renewed: a plan without I/O. Others whose callers trust
 * a bundle that we keep use it as well.
 *
 * They live in one Secret that all replicas share. Whoever calls us trusts a bundle of authorities
 * (`caBundle` of the registrations); an authority is put into it one overlap before anything is
 * signed by it, and leaves it one overlap after nothing is any more. So whichever replica is asked,
 * and whichever version of the bundle the caller has, they fit.
 *
 * Glossary
 *   signer  the authority that signs now
 *   next    the one that will, already trusted
 *   bundle  all that are to be trusted */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"

enum hookcert_part {
	HOOKCERT_BUNDLE, /* ca.crt */
	HOOKCERT_CERT,	 /* tls.crt */
	HOOKCERT_KEY,	 /* tls.key */
	HOOKCERT_SIGNER, /* signer.crt */
	HOOKCERT_SIGNER_KEY,
	HOOKCERT_NEXT, /* next.crt */
	HOOKCERT_NEXT_KEY,
};
enum { HOOKCERT_PARTS = HOOKCERT_NEXT_KEY + 1, HOOKCERT_PART_MAX_BYTES = 64 * 1024 };

struct hookcert {
	struct strbuf part[HOOKCERT_PARTS]; /* PEM; "" for none */
};

struct hookcert_conf {
	const char *const
		*names;	     /* what callers call us by: host names, addresses; ends with NULL */
	const char *ca_name; /* how authorities are called; NULL: "fairlead webhooks" */
	bool is_client;	     /* the certificate is a client's */
	uint64_t ca_s;	     /* life of an authority; 0: a year. Renewed in its last third */
	uint64_t cert_s;     /* life of a certificate; 0: 90 days. Likewise */
	uint64_t overlap_s;  /* 0: ten minutes */
};

void hookcert_init(struct hookcert *hookcert);
void hookcert_done(struct hookcert *hookcert); /* wipes */

/* Does what is due at `now_s` (since 1970): 1 when something has changed, 0 when not, negative with
 * a sentence. Broken parts are made anew. */
MUST_CHECK int hookcert_plan(struct hookcert *hookcert, const struct hookcert_conf *conf,
			     uint64_t now_s, struct err_text err);

/* From and to the `data` of a Secret; parts that cannot be read count as none. Other keys of it are
 * left alone. */
void hookcert_load(struct hookcert *hookcert, const json_t *secret);
void hookcert_store(const struct hookcert *hookcert, json_t *secret);
