/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chaos: reports name and version of the server, in TXT records of class CH (version.bind and its
 * like). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "server/query.h"
#include "server/setup.h"

enum { TEXT_MAX = 255, AUTHORS_MAX = 256 };

/* Record data of one TXT record: a length and so many bytes. */
struct text {
	uint16_t n;
	uint8_t rdata[1 + TEXT_MAX];
};

struct chaos_conf {
	const char *version_text;
	struct opt_list author_words;
	struct text version, host;
	struct text *author;
	size_t n_authors;
};

static const struct opt chaos_opts[] = {
	{ "<version>", OPT_STRING, offsetof(struct chaos_conf, version_text), .args = "VERSION",
	  .help = "version to return (default: name and version of this program)" },
	{ "<author>", OPT_LIST, offsetof(struct chaos_conf, author_words),
	  .def = "Fairlead-authors", .args = "AUTHOR...", .help = "authors to return" },
};

enum question { Q_VERSION, Q_HOST, Q_AUTHORS };

static const struct {
	const char *name; /* wire form, without the root label */
	enum question q;
} names[] = {
	{ "\7version\4bind", Q_VERSION }, { "\7version\6server", Q_VERSION },
	{ "\10hostname\4bind", Q_HOST },  { "\2id\6server", Q_HOST },
	{ "\7authors\4bind", Q_AUTHORS },
};

/* One byte of master-file text, where a backslash starts \DDD or stands before any other byte:
 * CoreDNS uses these texts for that. */
static uint8_t next_byte(const char **at)
{
	const char *p = *at;
	if (p[0] != '\\' || p[1] == '\0') {
		*at = p + 1;
		return (uint8_t)p[0];
	}
	if (!ascii_isdigit(p[1]) || !ascii_isdigit(p[2]) || !ascii_isdigit(p[3])) {
		*at = p + 2;
		return (uint8_t)p[1];
	}
	*at = p + 4;
	return (uint8_t)((p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0'));
}

/* What is longer than TEXT_MAX characters is cut. */
static void set_text(struct text *text, const char *string)
{
	char cut[TEXT_MAX + 1];
	size_t n = 0, len = MIN(strlen(string), (size_t)TEXT_MAX);
	memcpy(cut, string, len);
	cut[len] = '\0';
	for (const char *p = cut; *p != '\0'; n++)
		text->rdata[1 + n] = next_byte(&p);
	text->rdata[0] = (uint8_t)n;
	text->n = (uint16_t)(1 + n);
}

static int cmp_words(const void *left, const void *right)
{
	const struct word *const *x = left, *const *y = right;
	return strcmp((*x)->s, (*y)->s);
}

/* Each author once. */
static int set_authors(struct chaos_conf *conf, struct setup *setup)
{
	struct opt_list *l = &conf->author_words;
	if (l->n > AUTHORS_MAX)
		return setup_error(setup, l->v[AUTHORS_MAX]->pos, "chaos: more than %d authors",
				   AUTHORS_MAX);
	qsort(l->v, l->n, sizeof(l->v[0]), cmp_words);
	conf->author = arena_calloc(setup->arena, l->n * sizeof(*conf->author));
	for (size_t i = 0; i < l->n; i++) {
		if (i == 0 || strcmp(l->v[i]->s, l->v[i - 1]->s) != 0)
			set_text(&conf->author[conf->n_authors++], l->v[i]->s);
	}
	return 0;
}

/* Lines after the first one are ignored. */
static int chaos_parse(struct plugin_inst *self, struct setup *setup)
{
	struct chaos_conf *c = self->conf;
	char host[TEXT_MAX + 1] = "localhost";
	c->version_text = "Fairlead-" FAIRLEAD_VERSION;
	int r = setup_options(setup, setup->dir[0], chaos_opts, ARRAY_LEN(chaos_opts), c, NULL);
	if (r < 0)
		return r;
	set_text(&c->version, c->version_text);
	if (gethostname(host, sizeof(host)) < 0)
		memcpy(host, "localhost", sizeof("localhost"));
	host[TEXT_MAX] = '\0';
	set_text(&c->host, host);
	setup->conf->any_class = true;
	return set_authors(c, setup);
}

static int add_text(struct query *q, const struct text *text)
{
	struct dns_rr rr = {
		.owner = q->req.qname,
		.owner_len = q->qname.len,
		.type = DNS_TYPE_TXT,
		.cls = DNS_CLASS_CH,
		.rdata = text->rdata,
		.rdlen = text->n,
	};
	return dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &rr);
}

/* In a random order, so that none is always first. */
static int add_authors(struct query *q, const struct chaos_conf *conf)
{
	uint16_t order[AUTHORS_MAX];
	int r = 0;
	for (size_t i = 0; i < conf->n_authors; i++) {
		size_t k = rng_below(query_rng(q), (uint32_t)i + 1);
		order[i] = order[k];
		order[k] = (uint16_t)i;
	}
	for (size_t i = 0; i < conf->n_authors && r == 0; i++)
		r = add_text(q, &conf->author[order[i]]);
	return r;
}

static int add_answer(struct query *q, const struct chaos_conf *conf, enum question what)
{
	switch (what) {
	case Q_VERSION:
		return add_text(q, &conf->version);
	case Q_HOST:
		return add_text(q, &conf->host);
	case Q_AUTHORS:
		return add_authors(q, conf);
	}
	return ERR_INTERNAL;
}

static enum verdict chaos_serve(struct plugin_inst *self, struct query *q)
{
	if (q->req.qclass != DNS_CLASS_CH || q->req.qtype != DNS_TYPE_TXT)
		return V_NEXT;
	size_t i = 0;
	while (i < ARRAY_LEN(names) &&
	       !dns_name_eq_case(q->qname.wire, (const uint8_t *)names[i].name))
		i++;
	if (i == ARRAY_LEN(names))
		return V_NEXT;
	query_reply(q);
	if (add_answer(q, self->conf, names[i].q) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	return V_ANSWERED;
}

const struct plugin chaos_plugin = {
	.name = "chaos",
	.opts = chaos_opts,
	.n_opts = ARRAY_LEN(chaos_opts),
	.conf_size = sizeof(struct chaos_conf),
	.parse = chaos_parse,
	.serve = chaos_serve,
};
