/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holds the Secret of a DNSRecord whose record set may be at a provider, so that its deletion finds the
 * credentials: a deleted namespace loses its Secrets first. A finalizer keeps a Secret of the object's own
 * namespace, over a restart too; what was read last is remembered, for Secrets that are gone all the same
 * (kept_credentials.h). A Secret of another namespace is never held: that namespace could not be deleted.
 *
 * The order of writes: status.state.secret names the Secret, then it gets the finalizer, then the object has
 * its own; the end is in the reverse order. So after any end of the process it is known which Secret may be held. */
#pragma once

#include "controller/dnsrecord/secrets/credentials.h"
#include "controller/dnsrecord/pass.h"

/* Reads the credentials, and remembers them. 1: read; a deletion gets the remembered ones if the Secret is missing.
 * 0: try again, in ctx->again_ns. Else as dnsrecord_credentials_read. */
int dnsrecord_secret_read(struct dnsrecord_pass *pass, struct dnsrecord_credentials *ret,
			  struct err_text err);
/* What status.state.secret has to be for the object, "": no Secret is held for it. Of pass->object. */
const char *dnsrecord_secret_to_hold(const struct dnsrecord_pass *pass);
/* After the status names it: the Secret that was read gets our finalizer, where we may. 0 or a negative code. */
int dnsrecord_secret_hold(struct dnsrecord_pass *pass,
			  const struct dnsrecord_credentials *credentials);
/* The Secret that the status names is not used by this object any more: the finalizer goes with its last user. 0
 * or a negative code. */
int dnsrecord_secret_release(struct dnsrecord_pass *pass);
/* The object is an extension's of Gardener from now on, which knows nothing of our finalizer: the Secret is released,
 * and the status does not name it any more. 0 or a negative code. */
int dnsrecord_secret_leave(struct dnsrecord_pass *pass);
/* The object is not served here. Maybe another instance holds its Secret, so it stays; what an instance with other
 * settings held is released when the object is gone. */
void dnsrecord_secret_follow(struct dnsrecord_pass *pass);
/* As dnsrecord_secret_release, of an object that does not exist any more; something else removed its finalizer. */
int dnsrecord_secret_release_gone(struct controller_ctx *ctx, const char *key);
/* A settled object: once after a start its Secret is read and held. 0 or a negative code. */
int dnsrecord_secret_hold_settled(struct dnsrecord_pass *pass);
/* Forgets the object. */
void dnsrecord_secret_drop(const struct controller_ctx *ctx, const char *key);
