/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Certificates that follow their files: read when a configuration names them, and again by the
 * background thread when they change, without a reload. A new file that cannot be used leaves the
 * old one in force. Two configurations that name the same files share one object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "net/tls.h"

struct certs;

/* ERR_PARSE or -errno with a sentence in err. `dry`: nothing is watched or shared. Control thread.
 */
MUST_CHECK int certs_open(const struct net_tls_files *files, bool dry, struct certs **ret,
			  struct err_text err);
void certs_close(struct certs *certs); /* NULL is fine */
/* Those in force; the caller's reference. Any thread. */
struct net_tls_cred *certs_cred(struct certs *certs);
/* May two blocks with these share a listener? NULL, or the reason against it. Either may be NULL:
 * no TLS. */
const char *certs_conflict(const struct certs *left, const struct certs *right);
