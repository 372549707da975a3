/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Upstream objects: configuration with defaults, and what is measured. */
#include "resolve/upstream.h"

#include "resolve/upstream_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "dns/name.h"
#include "resolve/types_priv.h"

static const char *dup_text(const char *text)
{
	return text != NULL && text[0] != '\0' ? xstrdup(text) : NULL;
}

/* Without credentials of their own, TLS and HTTPS trust what the system trusts. */
static struct net_tls_cred *cred_of(const struct resolve_conf *conf)
{
	struct net_tls_cred *system = NULL;
	char err[256];
	if (conf->cred != NULL)
		return net_tls_cred_ref(conf->cred);
	/* Without any, every handshake fails with that error. */
	if (conf->transport != RESOLVE_PLAIN)
		IGNORE(net_tls_client_cred(&(struct net_tls_files){ 0 }, &system, ERR_TEXT(err)) <
		       0);
	return system;
}

struct resolve_upstream *resolve_upstream_new(const struct resolve_conf *conf)
{
	struct resolve_upstream *upstream = xcalloc(1, sizeof(*upstream));
	upstream->conf = *conf;
	upstream->conf.server_name = dup_text(conf->server_name);
	upstream->conf.http_host = dup_text(conf->http_host);
	upstream->conf.http_path = dup_text(conf->http_path);
	if (conf->probe_domain != NULL)
		upstream->conf.probe_domain =
			xmemdup(conf->probe_domain, dns_name_len(conf->probe_domain));
	if (conf->expire_ns == 0)
		upstream->conf.expire_ns = 10 * NS_PER_S;
	if (conf->probe_interval_ns == 0)
		upstream->conf.probe_interval_ns = NS_PER_S / 2;
	upstream->conf.cred = cred_of(conf);
	net_addr_str(&conf->addr, upstream->text);
	atomic_init(&upstream->refs, 1);
	return upstream;
}

struct resolve_upstream *resolve_upstream_ref(struct resolve_upstream *upstream)
{
	unsigned before = atomic_fetch_add_explicit(&upstream->refs, 1, memory_order_relaxed);
	assert(before > 0);
	return upstream;
}

/* The struct's texts are const for readers; here they go. */
static void free_const(const void *ptr)
{
	void *q;
	memcpy(&q, &ptr, sizeof(q));
	free(q);
}

void resolve_upstream_unref(struct resolve_upstream *upstream)
{
	if (upstream == NULL)
		return;
	unsigned before = atomic_fetch_sub_explicit(&upstream->refs, 1, memory_order_acq_rel);
	assert(before > 0);
	if (before != 1)
		return;
	free_const(upstream->conf.server_name);
	free_const(upstream->conf.http_host);
	free_const(upstream->conf.http_path);
	free_const(upstream->conf.probe_domain);
	net_tls_cred_unref(upstream->conf.cred);
	free(upstream);
}

const char *resolve_proto_name(enum resolve_proto proto)
{
	static const char *const names[] = {
		[RESOLVE_UDP] = "udp",
		[RESOLVE_TCP] = "tcp",
		[RESOLVE_TCP_TLS] = "tcp-tls",
		[RESOLVE_DOH] = "https",
	};
	return names[proto];
}

/* As Go words them, since CoreDNS's users search their logs for these. */
const char *resolve_error_text(int code)
{
	static const struct {
		int code;
		const char *text;
	} texts[] = {
		{ -ECONNREFUSED, "connection refused" },
		{ -EHOSTUNREACH, "no route to host" },
		{ -ENETUNREACH, "network is unreachable" },
		{ -ECONNRESET, "connection reset by peer" },
		{ -EPIPE, "broken pipe" },
		{ -EMFILE, "too many open files" },
		{ -ENFILE, "too many open files in system" },
		{ -EADDRNOTAVAIL, "cannot assign requested address" },
		{ -ETIMEDOUT, "i/o timeout" },
		{ ERR_TIMEOUT, "i/o timeout" },
		{ ERR_CLOSED, "EOF" },
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (texts[i].code == code)
			return texts[i].text;
	}
	return err_str(code);
}

/* Smoothed by 1/8 as TCP does. All workers see the same upstream, so each publishes its own value,
 * and only when it moved by more than an eighth: the line stays shared in every cache. */
void upstream_measured(struct resolve_pool *pool, uint64_t rtt_ns)
{
	uint64_t known = atomic_load_explicit(&pool->up->srtt_ns, memory_order_relaxed);
	pool->srtt_ns =
		pool->srtt_ns == 0 ? rtt_ns : pool->srtt_ns - pool->srtt_ns / 8 + rtt_ns / 8;
	uint64_t moved = pool->srtt_ns > known ? pool->srtt_ns - known : known - pool->srtt_ns;
	if (moved > known / 8)
		atomic_store_explicit(&pool->up->srtt_ns, MAX(pool->srtt_ns, 1),
				      memory_order_relaxed);
}
