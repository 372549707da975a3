/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: any texts in all fields of a DNS object. Whatever they are, the rendered text has the
 * blocks, directives and numbers of arguments that the accepted fields call for: nothing breaks out
 * of its place. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/meta.h"
#include "base/slice.h"
#include "controller/dnsoperator/plan/plan.h"
#include "corefile/corefile.h"

enum { SHAPE_PARTS = 16, SHAPE_SEPARATOR = 0xff };

/* Words that may begin a line, in a block or in a directive's body. */
static const char *const shape_directives[] = {
	"bind",	      "bufsize", "errors", "log",    "health", "ready", "template",    "kubernetes",
	"prometheus", "forward", "cache",  "reload", "chaos",  "loop",	"loadbalance",
};
static const char *const shape_lines[] = { "class",	"lameduck",	  "answer", "rcode",
					   "pods",	"fallthrough",	  "ttl",    "policy",
					   "force_tcp", "tls_servername", "tls",    "denial",
					   "kubeconfig" };

static inline bool shape_has(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i], word) == 0)
			return true;
	}
	return false;
}

/* The next piece of the bytes as a text; bytes that are not UTF-8 cannot be in an object. */
static inline json_t *shape_text(struct slice *rest)
{
	struct slice s = slice_cut(rest, (char)SHAPE_SEPARATOR);
	json_t *v = json_stringn(s.p != NULL ? s.p : "", s.n);
	return v != NULL ? v : json_string("\xef\xbf\xbd");
}

static inline json_t *shape_object(struct slice in)
{
	json_t *v[SHAPE_PARTS];
	for (size_t i = 0; i < SHAPE_PARTS; i++)
		v[i] = shape_text(&in);
	json_t *how = json_pack("{so,so,s{so,s{so,s{so}}}}", "policy", v[0], "protocolStrategy",
				v[1], "transportConfig", "transport", v[2], "tls", "serverName",
				v[3], "caBundle", "name", v[4]);
	json_t *resolvers = json_pack("{s[{so,so}],sO}", "upstreams", "type", v[5], "address", v[6],
				      "transportConfig", json_object_get(how, "transportConfig"));
	json_t *server =
		json_pack("{so,s[o],so}", "name", v[7], "zones", v[8], "forwardPlugin", how);
	json_object_set_new(how, "upstreams", json_pack("[o]", v[9]));
	json_t *tmpl = json_pack("{so,s[o],s{s{so}}}", "name", v[10], "zones", v[11], "action",
				 "generateResponse", "answerTemplate", v[12]);
	return json_pack("{s{ss,si},s{s[o],so,s[o],so,s{so,so}}}", "metadata", "name", "default",
			 "generation", 1, "spec", "servers", server, "upstreamResolvers", resolvers,
			 "templates", tmpl, "logLevel", v[13], "cache", "positiveTTL", v[14],
			 "negativeTTL", v[15]);
}

static inline void shape_check_block(const struct corefile_block *b)
{
	for (size_t i = 0; i < b->n_dir; i++) {
		const struct corefile_dir *d = &b->dir[i];
		assert(shape_has(shape_directives, ARRAY_LEN(shape_directives), d->name.s));
		for (size_t k = 0; k < d->n_body; k++) {
			assert(shape_has(shape_lines, ARRAY_LEN(shape_lines), d->body[k].name.s));
			assert(!d->body[k].has_body);
		}
		/* one upstream, one zone (the marker's are those of its block); the cluster's three
		 */
		if (strcmp(d->name.s, "forward") == 0)
			assert(d->n_arg == 2);
		else if (strcmp(d->name.s, "template") == 0)
			assert(d->n_arg == (strcmp(d->arg[1].s, "TXT") == 0 ? 2 : 3));
		else if (strcmp(d->name.s, "kubernetes") == 0)
			assert(d->n_arg == 3);
	}
}

static inline void shape_check(const struct dnsoperator_plan *p)
{
	struct corefile *cf = NULL;
	struct srcerr err;
	bool server = json_array_size(json_object_get(p->accepted, "servers")) == 1;
	bool tmpl = json_array_size(json_object_get(p->accepted, "templates")) == 1;
	int r = corefile_parse("x", strbuf_slice(&p->corefile), NULL, &cf, &err);
	assert(r == 0);
	assert(server == (p->servers.n == 0) && tmpl == (p->templates.n == 0));
	bool covered = strstr(p->corefile.s, "# excluded from templates: ") != NULL;
	assert(!covered || tmpl);
	/* root and CHAOS; the server's, the cluster's, the marker's */
	assert(cf->n_block == 2u + server + covered + tmpl);
	for (size_t i = 0; i < cf->n_block; i++) {
		assert(cf->block[i].n_key == 1 || (tmpl && cf->block[i].n_key == 2) ||
		       (covered && cf->block[i].n_key <= 3));
		shape_check_block(&cf->block[i]);
	}
	assert((p->hash[0] != '\0') == tmpl);
	corefile_free(cf);
}

/* True when all was accepted. */
static inline bool shape_try(struct slice in)
{
	static const struct dnsoperator_ca ca[] = { { "ca", "ca-ca-1" } };
	const struct dnsoperator_facts facts = { .platform = DNSOPERATOR_OPENSHIFT,
						 .domain = "cluster.local",
						 .families = { true, true, true },
						 .gate = DNSOPERATOR_GATE_ON,
						 .ca = ca,
						 .n_ca = 1 };
	json_t *o = shape_object(in);
	assert(o != NULL);
	struct dnsoperator_plan_in input = { .dns = o, .facts = &facts };
	struct dnsoperator_plan p;
	dnsoperator_plan_make(&input, &p);
	shape_check(&p);
	bool accepted = p.servers.n == 0 && p.templates.n == 0;
	dnsoperator_plan_done(&p);
	json_decref(o);
	return accepted;
}
