/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API server's own CA and serving certificate: when they are renewed, and how they are stored
 * in the data directory. */
#include "apiserver/access/ca.h"

#include <string.h>

#include "apiserver/access/atomic_file.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "net/certgen.h"

enum {
	DAY_S = 24 * 3600,
	BACKDATE_S = 300, /* clients' clocks may be behind ours */
	CA_DAYS = 3650,
	CA_OVERLAP_DAYS = 365,
	CERT_DAYS = 365,
	NAMES_MAX = 32,
	/* The clock may be wrong when a machine starts, and be corrected later. Certificates
	 * created meanwhile must be valid before and after: they begin no later than EARLIEST_S
	 * (2020) and last as if created no earlier than RELEASED_S (2026). */
	EARLIEST_S = 1577836800,
	RELEASED_S = 1767225600,
};

static const char *const own_names[] = { "localhost",
					 "127.0.0.1",
					 "::1",
					 "kubernetes",
					 "kubernetes.default",
					 "kubernetes.default.svc",
					 "kubernetes.default.svc.cluster.local" };

void apiserver_ca_init(struct apiserver_ca *ca)
{
	strbuf_init(&ca->ca_cert);
	strbuf_init(&ca->ca_key);
	strbuf_init(&ca->old_ca_cert);
	strbuf_init(&ca->server_cert);
	strbuf_init(&ca->server_key);
}

static void wipe_text(struct strbuf *out)
{
	explicit_bzero(out->s, out->n);
	strbuf_reset(out);
}

void apiserver_ca_done(struct apiserver_ca *ca)
{
	struct strbuf *all[] = { &ca->ca_cert, &ca->ca_key, &ca->old_ca_cert, &ca->server_cert,
				 &ca->server_key };
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		wipe_text(all[i]);
		strbuf_done(all[i]);
	}
}

/* --- files: certificate and key are in one file, so that they always match --- */

static int load_pem(const char *dir, const char *name, struct strbuf *cert, struct strbuf *key,
		    struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (cert->n > 0)
		return 0;
	int r = apiserver_atomic_file_read(dir, name, &text, err);
	if (r < 0)
		return r == ERR_NOTFOUND ? 0 : r;
	/* The key is the last PEM block. */
	const char *at = key != NULL ? strstr(text.s, "PRIVATE KEY-----") : NULL;
	while (at != NULL && at > text.s && at[-1] != '\n')
		at--;
	size_t n = at != NULL ? (size_t)(at - text.s) : text.n;
	strbuf_add(cert, text.s, n);
	if (at != NULL)
		strbuf_adds(key, at);
	wipe_text(&text);
	return 0;
}

static int load_all(struct apiserver_ca *ca, const char *dir, struct err_text err)
{
	int r = load_pem(dir, "ca.pem", &ca->ca_cert, &ca->ca_key, err);
	if (r == 0)
		r = load_pem(dir, "old-ca.pem", &ca->old_ca_cert, NULL, err);
	if (r == 0)
		r = load_pem(dir, "server.pem", &ca->server_cert, &ca->server_key, err);
	return r;
}

static int write_pem(const char *dir, const char *name, const struct strbuf *cert,
		     const struct strbuf *key, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_add_slice(&text, strbuf_slice(cert));
	if (key != NULL)
		strbuf_add_slice(&text, strbuf_slice(key));
	int r = apiserver_atomic_file_write(dir, name, strbuf_slice(&text), err);
	wipe_text(&text);
	return r;
}

/* --- validity --- */

/* Valid now and for at least `left_s` more. */
static bool is_valid_for(const struct strbuf *pem, uint64_t now_s, uint64_t left_s)
{
	struct net_certinfo i;
	return pem->n > 0 && net_certinfo(strbuf_slice(pem), &i) == 0 && now_s >= i.not_before_s &&
	       now_s + left_s < i.not_after_s;
}

static bool is_cert_usable(const struct apiserver_ca *ca, const char *const *names, uint64_t now_s)
{
	struct slice cert = strbuf_slice(&ca->server_cert);
	if (ca->server_key.n == 0 ||
	    !is_valid_for(&ca->server_cert, now_s, CERT_DAYS / 3 * (uint64_t)DAY_S) ||
	    !net_cert_signed_by(cert, strbuf_slice(&ca->ca_cert)))
		return false;
	for (; *names != NULL; names++) {
		if (!net_cert_has_name(cert, *names))
			return false;
	}
	return true;
}

/* --- creation --- */

static uint64_t not_before_of(uint64_t now_s)
{
	return MIN(now_s - MIN(now_s, (uint64_t)BACKDATE_S), (uint64_t)EARLIEST_S);
}

static uint64_t not_after_of(uint64_t now_s, uint64_t days)
{
	return MAX(now_s, (uint64_t)RELEASED_S) + days * DAY_S;
}

static int make_ca(struct apiserver_ca *ca, const char *dir, uint64_t now_s, struct err_text err)
{
	CLEANUP(freep) char *cn = xasprintf("fairlead %llu", (unsigned long long)now_s);
	struct net_certgen g = { .cn = cn,
				 .ca = true,
				 .not_before_s = not_before_of(now_s),
				 .not_after_s = not_after_of(now_s, CA_DAYS) };
	/* Clients with the old CA stay able to connect until it expires. */
	bool keeps_old = is_valid_for(&ca->ca_cert, MAX(now_s, (uint64_t)EARLIEST_S), 0);
	strbuf_reset(&ca->old_ca_cert);
	if (keeps_old)
		strbuf_add_slice(&ca->old_ca_cert, strbuf_slice(&ca->ca_cert));
	wipe_text(&ca->ca_cert);
	wipe_text(&ca->ca_key);
	int r = net_certgen(&g, &ca->ca_cert, &ca->ca_key, err);
	if (r == 0)
		r = write_pem(dir, "old-ca.pem", &ca->old_ca_cert, NULL, err);
	/* What clients read comes before what a later start finds and takes for complete. */
	if (r == 0)
		r = write_pem(dir, "ca.crt", &ca->ca_cert, &ca->old_ca_cert, err);
	return r == 0 ? write_pem(dir, "ca.pem", &ca->ca_cert, &ca->ca_key, err) : r;
}

static int make_cert(struct apiserver_ca *ca, const char *dir, const char *const *names,
		     uint64_t now_s, struct err_text err)
{
	struct net_certgen g = { .cn = "fairlead",
				 .names = names,
				 .ca_cert = ca->ca_cert.s,
				 .ca_key = ca->ca_key.s,
				 .not_before_s = not_before_of(now_s),
				 .not_after_s = not_after_of(now_s, CERT_DAYS) };
	wipe_text(&ca->server_cert);
	wipe_text(&ca->server_key);
	int r = net_certgen(&g, &ca->server_cert, &ca->server_key, err);
	return r == 0 ? write_pem(dir, "server.pem", &ca->server_cert, &ca->server_key, err) : r;
}

int apiserver_ca_renew(struct apiserver_ca *ca, const struct apiserver_ca_conf *conf,
		       uint64_t now_s, struct err_text err)
{
	const char *names[ARRAY_LEN(own_names) + NAMES_MAX + 1] = { NULL };
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_LEN(own_names); i++)
		names[n++] = own_names[i];
	for (size_t i = 0; i < NAMES_MAX && conf->names != NULL && conf->names[i] != NULL; i++)
		names[n++] = conf->names[i];
	int r = load_all(ca, conf->dir, err);
	bool changed = false;
	/* A clock before EARLIEST_S is wrong: validity is not checked against it. */
	uint64_t judged_s = MAX(now_s, (uint64_t)EARLIEST_S);
	if (r == 0 && (ca->ca_key.n == 0 ||
		       !is_valid_for(&ca->ca_cert, judged_s, CA_OVERLAP_DAYS * (uint64_t)DAY_S))) {
		r = make_ca(ca, conf->dir, now_s, err);
		changed = true;
	}
	if (r == 0 && !is_cert_usable(ca, names, judged_s)) {
		r = make_cert(ca, conf->dir, names, now_s, err);
		changed = true;
		/* The CA's key does not match its certificate: both are replaced. */
		if (r == ERR_PARSE || (r == 0 && !is_cert_usable(ca, names, judged_s))) {
			r = make_ca(ca, conf->dir, now_s, err);
			if (r == 0)
				r = make_cert(ca, conf->dir, names, now_s, err);
		}
	}
	return r < 0 ? r : changed;
}

void apiserver_ca_bundle(const struct apiserver_ca *ca, struct strbuf *out)
{
	strbuf_add_slice(out, strbuf_slice(&ca->ca_cert));
	strbuf_add_slice(out, strbuf_slice(&ca->old_ca_cert));
}
