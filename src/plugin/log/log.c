/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log: a line per query, of a format cut into pieces at load, for the names and classes of replies
 * asked for. The first rule that covers the name decides. */
#include <string.h>

#include "base/log.h"
#include "dns/resp_kind.h"
#include "plugin/log/layout.h"
#include "server/block.h"
#include "server/query.h"
#include "server/setup.h"

struct rule {
	struct rule *next;
	const uint8_t *scope; /* NULL: not a name, covers nothing */
	unsigned classes;     /* bits of enum dns_reply_class */
	struct log_layout layout;
};

struct log_conf {
	struct rule *first, **last;
};

static const struct {
	const char *word;
	unsigned bits;
} classes[] = {
	{ "all", DNS_REPLY_SUCCESS | DNS_REPLY_DENIAL | DNS_REPLY_ERROR },
	{ "success", DNS_REPLY_SUCCESS },
	{ "denial", DNS_REPLY_DENIAL },
	{ "error", DNS_REPLY_ERROR },
};

static int parse_class(struct opt_ctx *ctx, const struct opt_line *line)
{
	unsigned *bits = ctx->conf;
	for (size_t i = 0; i < line->n_arg; i++) {
		size_t k = 0;
		while (k < ARRAY_LEN(classes) && strcmp(classes[k].word, line->arg[i].s) != 0)
			k++;
		if (k == ARRAY_LEN(classes))
			return srcerr_set(ctx->err, line->arg[i].pos,
					  "class: expected success, denial, error or all, got '%s'",
					  line->arg[i].s);
		*bits |= classes[k].bits;
	}
	return 0;
}

static const struct opt log_opts[] = {
	{ "class", OPT_FN, 0, 1, INT64_MAX, .fn = parse_class, .repeatable = true,
	  .args = "success|denial|error|all...", .help = "replies that are logged" },
};

static void add_rule(struct log_conf *conf, struct arena *arena, const char *scope,
		     const struct rule *like)
{
	uint8_t wire[DNS_NAME_MAX];
	struct rule *r = arena_memdup(arena, like, sizeof(*like));
	int n = dns_name_from_text(slice_of(scope), wire);
	r->scope = n > 0 ? arena_memdup(arena, wire, (size_t)n) : NULL;
	*conf->last = r;
	conf->last = &r->next;
}

/* `log [NAME...] [FORMAT]`: one word alone is always a name, and so is a last word without braces.
 */
static int parse_stanza(struct log_conf *conf, struct setup *setup, const struct corefile_dir *dir)
{
	struct rule like = { 0 };
	size_t names = dir->n_arg;
	const char *format = LOG_LAYOUT_COMMON;
	int r = setup_body(setup, dir, log_opts, ARRAY_LEN(log_opts), &like.classes, setup);
	if (r < 0)
		return r;
	if (like.classes == 0)
		like.classes = classes[0].bits;
	if (names > 1 && strchr(dir->arg[names - 1].s, '{') != NULL)
		format = dir->arg[--names].s;
	log_layout_parse(&like.layout, setup->arena, format);
	for (size_t i = 0; i < names; i++)
		add_rule(conf, setup->arena, dir->arg[i].s, &like);
	if (names == 0)
		add_rule(conf, setup->arena, ".", &like);
	return 0;
}

static int log_parse(struct plugin_inst *self, struct setup *setup)
{
	struct log_conf *c = self->conf;
	c->last = &c->first;
	for (size_t i = 0; i < setup->n_dir; i++) {
		int r = parse_stanza(c, setup, setup->dir[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Nothing was sent: an error. */
static enum dns_kind kind_of(const struct query *q)
{
	return q->written ? dns_resp_kind(&q->resp, q->req.qtype) : DNS_KIND_OTHER;
}

/* The labels log/type and log/class, which exist when the reply does. */
static struct slice label_value(struct plugin_inst *self, struct query *q, struct slice label)
{
	(void)self;
	if (!q->written && q->outcome != V_DROP)
		return (struct slice){ NULL, 0 };
	enum dns_kind kind = kind_of(q);
	return slice_of(slice_is(label, "log/type") ? dns_kind_str(kind)
						    : dns_reply_class_str(dns_kind_class(kind)));
}

static void log_metadata(struct plugin_inst *self, struct query *q)
{
	query_meta_set(q, self, "log/type", label_value);
	query_meta_set(q, self, "log/class", label_value);
}

static const struct rule *find_rule(const struct log_conf *conf, const uint8_t *name)
{
	for (const struct rule *r = conf->first; r != NULL; r = r->next) {
		if (r->scope != NULL && (r->scope[0] == 0 || dns_name_is_below(name, r->scope)))
			return r;
	}
	return NULL;
}

/* A zone that a plugin serves to other parts of the program: those ask all the time. Attempts of others fail. */
static bool is_internal(const struct query *q)
{
	return q->zone->owner != NULL && q->written && query_rcode(q) == DNS_RCODE_NOERROR;
}

static void log_done(struct plugin_inst *self, struct query *q)
{
	const struct log_conf *c = self->conf;
	const struct rule *r = q->in_walk ? NULL : find_rule(c, q->question);
	if (r == NULL || UNLIKELY(is_internal(q)))
		return;
	if ((r->classes & dns_kind_class(kind_of(q))) == 0)
		return;
	char text[LOG_LINE_BYTES], json[LOG_JSON_BYTES];
	struct slice extra = SLICE("");
	if (log_get_format() == LOG_JSON)
		extra = log_layout_json(q, json);
	query_log(q, LOG_INFO, NULL, log_layout_put(&r->layout, q, text), extra);
}

const struct plugin log_plugin = {
	.name = "log",
	.opts = log_opts,
	.n_opts = ARRAY_LEN(log_opts),
	.conf_size = sizeof(struct log_conf),
	.parse = log_parse,
	.done = log_done,
	.ops.metadata = log_metadata,
};
