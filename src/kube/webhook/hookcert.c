/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides when the certificates of web hooks are made and their bundle is changed. */
#include "kube/webhook/hookcert.h"

#include <stdio.h>
#include <string.h>

#include "api/tree.h"
#include "base/err_text.h"
#include "base/text/base64.h"
#include "net/certgen.h"

enum {
	BACKDATE_S = 300, /* callers' clocks may be behind ours */
	DAY_S = 24 * 3600,
	CA_DAYS = 365,
	CERT_DAYS = 90,
	OVERLAP_S = 600,
};

static const char *const keys[HOOKCERT_PARTS] = {
	[HOOKCERT_BUNDLE] = "ca.crt",	      [HOOKCERT_CERT] = "tls.crt",
	[HOOKCERT_KEY] = "tls.key",	      [HOOKCERT_SIGNER] = "signer.crt",
	[HOOKCERT_SIGNER_KEY] = "signer.key", [HOOKCERT_NEXT] = "next.crt",
	[HOOKCERT_NEXT_KEY] = "next.key",
};

void hookcert_init(struct hookcert *hookcert)
{
	for (int i = 0; i < HOOKCERT_PARTS; i++)
		strbuf_init(&hookcert->part[i]);
}

static void clear_part(struct hookcert *hookcert, enum hookcert_part part)
{
	explicit_bzero(hookcert->part[part].s, hookcert->part[part].n);
	strbuf_reset(&hookcert->part[part]);
}

void hookcert_done(struct hookcert *hookcert)
{
	for (int i = 0; i < HOOKCERT_PARTS; i++) {
		clear_part(hookcert, (enum hookcert_part)i);
		strbuf_done(&hookcert->part[i]);
	}
}

static struct slice part_of(const struct hookcert *hookcert, enum hookcert_part part)
{
	return strbuf_slice(&hookcert->part[part]);
}

/* ---- questions ---- */

/* When it was made, and when its last third begins; false when it is no certificate in force. */
static bool times_of(struct slice pem, uint64_t now_s, uint64_t *ret_made, uint64_t *ret_renew)
{
	struct net_certinfo i;
	if (net_certinfo(pem, &i) < 0 || now_s >= i.not_after_s || now_s < i.not_before_s)
		return false;
	*ret_made = i.not_before_s + BACKDATE_S;
	*ret_renew = i.not_after_s - (i.not_after_s - MIN(*ret_made, i.not_after_s)) / 3;
	return true;
}

static bool is_old(struct slice pem, uint64_t now_s)
{
	uint64_t made, renew;
	return !times_of(pem, now_s, &made, &renew) || now_s >= renew;
}

static bool is_dead(struct slice pem, uint64_t now_s)
{
	uint64_t made, renew;
	return !times_of(pem, now_s, &made, &renew);
}

static bool is_settled(struct slice pem, const struct hookcert_conf *conf, uint64_t now_s)
{
	uint64_t made, renew;
	return times_of(pem, now_s, &made, &renew) && now_s >= made + conf->overlap_s;
}

static bool cert_fits(const struct hookcert *hookcert, const struct hookcert_conf *conf,
		      uint64_t now_s)
{
	if (is_old(part_of(hookcert, HOOKCERT_CERT), now_s) ||
	    !net_cert_signed_by(part_of(hookcert, HOOKCERT_CERT),
				part_of(hookcert, HOOKCERT_SIGNER)))
		return false;
	for (size_t i = 0; conf->names[i] != NULL; i++) {
		if (!net_cert_has_name(part_of(hookcert, HOOKCERT_CERT), conf->names[i]))
			return false;
	}
	return net_cert_has_key(part_of(hookcert, HOOKCERT_CERT), part_of(hookcert, HOOKCERT_KEY));
}

/* An authority that can sign. */
static bool is_whole(const struct hookcert *hookcert, enum hookcert_part cert,
		     enum hookcert_part key, uint64_t now_s)
{
	return !is_dead(part_of(hookcert, cert), now_s) &&
	       net_cert_has_key(part_of(hookcert, cert), part_of(hookcert, key));
}

/* ---- what is made ---- */

static int make_pair(struct hookcert *hookcert, enum hookcert_part cert, enum hookcert_part key,
		     struct net_certgen *certgen, uint64_t now_s, uint64_t life_s,
		     struct err_text err)
{
	clear_part(hookcert, cert);
	clear_part(hookcert, key);
	certgen->not_before_s = now_s - BACKDATE_S;
	certgen->not_after_s = now_s + life_s;
	return net_certgen(certgen, &hookcert->part[cert], &hookcert->part[key], err);
}

static int make_ca(struct hookcert *hookcert, enum hookcert_part cert, enum hookcert_part key,
		   const struct hookcert_conf *conf, uint64_t now_s, struct err_text err)
{
	char cn[64];
	snprintf(cn, sizeof(cn), "%s %llu",
		 conf->ca_name != NULL ? conf->ca_name : "fairlead webhooks",
		 (unsigned long long)now_s);
	struct net_certgen g = { .cn = cn, .ca = true };
	return make_pair(hookcert, cert, key, &g, now_s, conf->ca_s, err);
}

static int make_cert(struct hookcert *hookcert, const struct hookcert_conf *conf, uint64_t now_s,
		     struct err_text err)
{
	struct net_certgen g = { .cn = conf->names[0],
				 .names = conf->names,
				 .client = conf->is_client,
				 .ca_cert = hookcert->part[HOOKCERT_SIGNER].s,
				 .ca_key = hookcert->part[HOOKCERT_SIGNER_KEY].s };
	return make_pair(hookcert, HOOKCERT_CERT, HOOKCERT_KEY, &g, now_s, conf->cert_s, err);
}

static void move_part(struct hookcert *hookcert, enum hookcert_part from, enum hookcert_part to)
{
	clear_part(hookcert, to);
	strbuf_add_slice(&hookcert->part[to], part_of(hookcert, from));
	clear_part(hookcert, from);
}

/* ---- the bundle ---- */

static bool bundle_has(const struct hookcert *hookcert, enum hookcert_part part)
{
	const struct strbuf *s = &hookcert->part[part];
	return s->n != 0 && strstr(hookcert->part[HOOKCERT_BUNDLE].s, s->s) != NULL;
}

static bool add_to_bundle(struct hookcert *hookcert, enum hookcert_part part)
{
	if (hookcert->part[part].n == 0 || bundle_has(hookcert, part))
		return false;
	strbuf_add_slice(&hookcert->part[HOOKCERT_BUNDLE], part_of(hookcert, part));
	return true;
}

/* Only those in use are left. */
static bool shrink_bundle(struct hookcert *hookcert)
{
	size_t want = hookcert->part[HOOKCERT_SIGNER].n + hookcert->part[HOOKCERT_NEXT].n;
	if (hookcert->part[HOOKCERT_BUNDLE].n == want)
		return false;
	clear_part(hookcert, HOOKCERT_BUNDLE);
	add_to_bundle(hookcert, HOOKCERT_SIGNER);
	add_to_bundle(hookcert, HOOKCERT_NEXT);
	return true;
}

/* ---- the plan ---- */

static int plan_signer(struct hookcert *hookcert, const struct hookcert_conf *conf, uint64_t now_s,
		       struct err_text err)
{
	bool next = is_whole(hookcert, HOOKCERT_NEXT, HOOKCERT_NEXT_KEY, now_s);
	if (next && is_settled(part_of(hookcert, HOOKCERT_NEXT), conf, now_s) &&
	    bundle_has(hookcert, HOOKCERT_NEXT)) {
		move_part(hookcert, HOOKCERT_NEXT, HOOKCERT_SIGNER);
		move_part(hookcert, HOOKCERT_NEXT_KEY, HOOKCERT_SIGNER_KEY);
		return 1;
	}
	if (!is_whole(hookcert, HOOKCERT_SIGNER, HOOKCERT_SIGNER_KEY, now_s)) {
		int r = make_ca(hookcert, HOOKCERT_SIGNER, HOOKCERT_SIGNER_KEY, conf, now_s, err);
		return r < 0 ? r : 1;
	}
	if (is_old(part_of(hookcert, HOOKCERT_SIGNER), now_s) && !next) {
		int r = make_ca(hookcert, HOOKCERT_NEXT, HOOKCERT_NEXT_KEY, conf, now_s, err);
		return r < 0 ? r : 1;
	}
	return 0;
}

int hookcert_plan(struct hookcert *hookcert, const struct hookcert_conf *conf, uint64_t now_s,
		  struct err_text err)
{
	struct hookcert_conf c = *conf;
	if (c.ca_s == 0)
		c.ca_s = (uint64_t)CA_DAYS * DAY_S;
	if (c.cert_s == 0)
		c.cert_s = (uint64_t)CERT_DAYS * DAY_S;
	if (c.overlap_s == 0)
		c.overlap_s = OVERLAP_S;
	struct net_certinfo info;
	if (net_certinfo(part_of(hookcert, HOOKCERT_BUNDLE), &info) < 0)
		clear_part(hookcert,
			   HOOKCERT_BUNDLE); /* what is added to it would not be read either */
	int r = plan_signer(hookcert, &c, now_s, err);
	if (r < 0)
		return r;
	bool changed = r > 0;
	changed |= add_to_bundle(hookcert, HOOKCERT_SIGNER);
	changed |= add_to_bundle(hookcert, HOOKCERT_NEXT);
	if (!cert_fits(hookcert, &c, now_s)) {
		r = make_cert(hookcert, &c, now_s, err);
		if (r < 0)
			return r;
		changed = true;
	} else if (is_settled(part_of(hookcert, HOOKCERT_CERT), &c, now_s)) {
		changed |= shrink_bundle(hookcert);
	}
	return changed;
}

/* ---- the Secret ---- */

void hookcert_load(struct hookcert *hookcert, const json_t *secret)
{
	const json_t *data = json_object_get(secret, "data");
	for (int i = 0; i < HOOKCERT_PARTS; i++) {
		const char *text = api_text_or(json_object_get(data, keys[i]), NULL);
		clear_part(hookcert, (enum hookcert_part)i);
		if (text == NULL || strlen(text) > HOOKCERT_PART_MAX_BYTES)
			continue;
		if (base64_decode(&hookcert->part[i], slice_of(text)) < 0 ||
		    memchr(hookcert->part[i].s, '\0', hookcert->part[i].n) != NULL)
			clear_part(hookcert, (enum hookcert_part)i);
	}
}

void hookcert_store(const struct hookcert *hookcert, json_t *secret)
{
	json_t *data = json_object_get(secret, "data");
	if (!json_is_object(data)) {
		data = json_object();
		json_object_set_new(secret, "data", data);
	}
	for (int i = 0; i < HOOKCERT_PARTS; i++) {
		struct strbuf text = STRBUF_INIT;
		base64_encode(&text, strbuf_slice(&hookcert->part[i]));
		json_object_set_new(data, keys[i], json_string(text.s));
		explicit_bzero(text.s, text.n);
		strbuf_done(&text);
	}
}
