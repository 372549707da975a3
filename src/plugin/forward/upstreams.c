/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From TO arguments to upstreams: files are read and names looked up when a configuration is
 * loaded, duplicates are dropped. */
#include "plugin/forward/upstreams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "dns/resolvconf.h"
#include "net/tls.h"
#include "plugin/forward/lookup.h"
#include "plugin/forward/upstream_address.h"
#include "resolve/types.h"
#include "resolve/upstream.h"

#define AREA "plugin/forward"

struct maker {
	const struct forward_stanza *stanza;
	const struct prepare *prepare;
	struct net_tls_cred *cred;
	struct resolve_upstream **up;
	unsigned n_made; /* made for this stanza */
	unsigned n_to;	 /* TOs that stand for something */
	unsigned named;	 /* names not looked up (dry) */
};

static int fail_at_word(const struct maker *maker, const struct word *word, const char *text)
{
	return srcerr_set(maker->prepare->err, word->pos, "%s", text);
}

/* ---- one upstream ---- */

static bool same_text(const char *left, const char *right)
{
	return slice_eq_nocase(slice_of(left), slice_of(right));
}

static bool is_known(const struct maker *maker, const struct resolve_conf *conf)
{
	for (unsigned i = 0; i < maker->n_made; i++) {
		const struct resolve_conf *o = &maker->up[i]->conf;
		if (o->transport == conf->transport && net_addr_same_ip(&o->addr, &conf->addr) &&
		    net_addr_port(&o->addr) == net_addr_port(&conf->addr) &&
		    same_text(o->server_name, conf->server_name))
			return true;
	}
	return false;
}

static int add_upstream(struct maker *maker, const struct word *word,
			const struct forward_address *to, const union net_addr *addr)
{
	const struct forward_stanza *stanza = maker->stanza;
	char name[FORWARD_ADDRESS_TEXT_MAX + 1] = "";
	bool secure = to->transport != RESOLVE_PLAIN;
	struct slice given = to->name.n != 0 ? to->name : (struct slice){ NULL, 0 };
	if (stanza->tls_servername != NULL)
		given = slice_of(stanza->tls_servername);
	else if (given.n == 0 && to->kind == FORWARD_ADDRESS_FILE_OR_HOST)
		given = to->host; /* the name that was written is the one to be proved */
	if (secure)
		snprintf(name, sizeof(name), "%.*s", (int)given.n, given.n != 0 ? given.p : "");
	struct resolve_conf conf = {
		.transport = to->transport,
		.addr = *addr,
		.source = stanza->source,
		.server_name = name,
		.http_get = stanza->doh == FORWARD_DOH_GET,
		.cred = secure ? maker->cred : NULL,
		/* None at all is not the default: such connections are used once. */
		.expire_ns = stanza->expire_ns > 0 ? (uint64_t)stanza->expire_ns : 1,
		.max_age_ns = (uint64_t)stanza->max_age_ns,
		.max_idle = (unsigned)MIN(stanza->max_idle, (uint64_t)UINT32_MAX),
		.probe_interval_ns = (uint64_t)MAX(stanza->check_ns, FORWARD_CHECK_MIN_NS),
		.probe_domain = stanza->check_domain,
		.probe_no_rec = stanza->check_no_rec,
		.probe_tcp = stanza->force_tcp,
	};
	if (is_known(maker, &conf))
		return 0;
	if (maker->n_made == FORWARD_UPSTREAMS_MAX)
		return fail_at_word(maker, word, "more than 255 upstreams");
	maker->up[maker->n_made++] = resolve_upstream_new(&conf);
	return 0;
}

/* ---- the kinds of TO ---- */

static int add_file(struct maker *maker, const struct word *word, const struct forward_address *to,
		    int fd, const char *path)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct arena arena;
	struct dns_resolvconf conf = { 0 };
	if (to->transport != RESOLVE_PLAIN)
		return fail_at_word(
			maker, word,
			"the servers of a file are asked over plain DNS; leave tls:// out "
			"or name the servers");
	arena_init(&arena);
	int r = readfile_fd(fd, DNS_RESOLVCONF_BYTES_MAX, &text);
	if (r >= 0)
		r = dns_resolvconf_parse(strbuf_slice(&text), &arena, &conf);
	if (r < 0)
		r = srcerr_set(maker->prepare->err, word->pos, "cannot read '%s': %s", path,
			       err_str(r));
	maker->n_to += conf.n_nameserver > 0;
	for (size_t i = 0; i < conf.n_nameserver && r >= 0; i++) {
		union net_addr a;
		struct forward_address plain = { .kind = FORWARD_ADDRESS_IP };
		if (forward_address_nameserver(slice_of(conf.nameserver[i]), &a) == 0)
			r = add_upstream(maker, word, &plain, &a);
		else
			log_warn(AREA, "'%s' of '%s' is not an address, ignored",
				 conf.nameserver[i], path);
	}
	arena_done(&arena);
	return r;
}

static int add_name(struct maker *maker, const struct word *word, const struct forward_address *to)
{
	char name[FORWARD_ADDRESS_TEXT_MAX + 1];
	char err[FORWARD_ERR_MAX];
	union net_addr addr[FORWARD_LOOKUP_MAX];
	if (!forward_address_is_name(to->host) || slice_find(to->host, '/') >= 0) {
		char text[FORWARD_ERR_MAX];
		snprintf(text, sizeof(text), "not an IP address, file, or valid domain: \"%.80s\"",
			 word->s);
		return fail_at_word(maker, word, text);
	}
	if (to->port == 0)
		return fail_at_word(maker, word, "the port is not a number from 1 to 65535");
	maker->n_to++;
	if (maker->prepare->dry) {
		maker->named++;
		return 0;
	}
	snprintf(name, sizeof(name), "%.*s", (int)to->host.n, to->host.p);
	int n = forward_lookup(name, maker->stanza->resolver, maker->stanza->n_resolver, addr, err);
	if (n < 0)
		return srcerr_set(maker->prepare->err, word->pos, "failed to resolve \"%s\": %s",
				  name, err);
	int r = 0;
	for (int i = 0; i < n && r >= 0; i++) {
		net_addr_set_port(&addr[i], to->port);
		r = add_upstream(maker, word, to, &addr[i]);
	}
	return r;
}

static int add_other(struct maker *maker, const struct word *word, const struct forward_address *to)
{
	char path[FORWARD_ADDRESS_TEXT_MAX + 1];
	struct stat s;
	snprintf(path, sizeof(path), "%.*s", (int)to->path.n, to->path.p);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && strchr(path, '/') != NULL)
		return srcerr_set(maker->prepare->err, word->pos, "cannot open '%s': %s", path,
				  err_str(-errno));
	if (fd < 0)
		return add_name(maker, word, to);
	int r;
	if (fstat(fd, &s) == 0 && S_ISDIR(s.st_mode))
		r = srcerr_set(maker->prepare->err, word->pos, "'%s' is a directory", path);
	else
		r = add_file(maker, word, to, fd, path);
	close(fd);
	return r;
}

/* ---- all of a stanza ---- */

static bool wants_tls(const struct forward_stanza *st)
{
	struct forward_address to;
	char err[FORWARD_ERR_MAX];
	for (size_t i = 0; i < st->to.n; i++) {
		if (forward_address_parse(slice_of(st->to.v[i]->s), &to, err) == 0 &&
		    to.transport != RESOLVE_PLAIN)
			return true;
	}
	return false;
}

static int make_cred(struct maker *maker)
{
	const struct forward_stanza *stanza = maker->stanza;
	char err[FORWARD_ERR_MAX] = "";
	struct net_tls_files files = {
		.cert = stanza->tls_file[FORWARD_TLS_CERT],
		.key = stanza->tls_file[FORWARD_TLS_KEY],
		.ca = stanza->tls_file[FORWARD_TLS_CA],
	};
	bool named = files.cert != NULL || files.ca != NULL;
	if (!named && !wants_tls(stanza))
		return 0;
	int r = net_tls_client_cred(&files, &maker->cred, ERR_TEXT(err));
	if (r < 0)
		return srcerr_set(maker->prepare->err, stanza->pos, "tls: %s", err);
	return 0;
}

static int make_all(struct maker *maker)
{
	char err[FORWARD_ERR_MAX];
	for (size_t i = 0; i < maker->stanza->to.n; i++) {
		const struct word *word = maker->stanza->to.v[i];
		struct forward_address to;
		if (forward_address_parse(slice_of(word->s), &to, err) < 0)
			return fail_at_word(maker, word, err);
		int r;
		if (to.kind == FORWARD_ADDRESS_IP) {
			maker->n_to++;
			r = add_upstream(maker, word, &to, &to.addr);
		} else {
			r = add_other(maker, word, &to);
		}
		if (r < 0)
			return r;
	}
	if (maker->n_to > FORWARD_TO_MAX)
		return srcerr_set(maker->prepare->err, maker->stanza->pos,
				  "more than %d TOs configured: %u", FORWARD_TO_MAX, maker->n_to);
	if (maker->n_made + maker->named == 0)
		return srcerr_set(maker->prepare->err, maker->stanza->pos,
				  "no valid upstream addresses found");
	return 0;
}

int forward_upstreams_make(const struct forward_stanza *stanza, const struct prepare *prepare,
			   struct resolve_upstream **upstream, unsigned *ret_count)
{
	struct maker maker = { .stanza = stanza, .prepare = prepare, .up = upstream };
	int r = make_cred(&maker);
	if (r >= 0)
		r = make_all(&maker);
	net_tls_cred_unref(maker.cred);
	*ret_count = maker.n_made; /* also after an error: what was made is the caller's to free */
	return r;
}
