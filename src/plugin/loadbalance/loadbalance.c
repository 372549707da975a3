/* SPDX-License-Identifier: GPL-3.0-or-later */
/* loadbalance: puts the addresses of replies into another order each time, by chance or by the
 * weights of a file, so that clients that use the first one spread over all. */
#include "plugin/loadbalance/loadbalance.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "base/text/duration.h"
#include "base/vec.h"
#include "plugin/loadbalance/order.h"
#include "plugin/loadbalance/order_wire.h"
#include "plugin/loadbalance/weights.h"
#include "server/query.h"
#include "server/setup.h"
#include "net/task.h"

#define AREA "plugin/loadbalance"

struct table {
	struct rcu_item rcu;
	struct loadbalance_weights *weights;
};

struct networks {
	const struct net_cidr *v;
	size_t n;
};

struct loadbalance_conf {
	const char *file; /* weighted; NULL: by chance */
	struct srcpos file_pos;
	int64_t reload_ns;
	struct networks prefer;

	_Atomic(struct table *) table; /* written in prepare, then by the background thread */
	uint64_t text_hash;	       /* of the file's text when last read */
};

/* ---- set-up ---- */

static int parse_prefer(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct networks *p = ctx->field;
	struct net_cidr *v = arena_alloc(ctx->arena, (p->n + line->n_arg + 1) * sizeof(*v));
	if (p->n != 0)
		memcpy(v, p->v, p->n * sizeof(*v));
	for (size_t i = 0; i < line->n_arg; i++) {
		struct slice text = slice_of(line->arg[i].s);
		if (slice_find(text, '/') < 0 || net_cidr_parse(text, &v[p->n + i]) < 0)
			return srcerr_set(ctx->err, line->arg[i].pos,
					  "prefer: expected a network such as 10.0.0.0/8, got '%s'",
					  line->arg[i].s);
	}
	p->v = v;
	p->n += line->n_arg;
	return 0;
}

enum { ROW_POLICY, ROW_RELOAD, ROW_PREFER };

static const struct opt loadbalance_opts[] = {
	[ROW_POLICY] = { "<policy>", OPT_LIST, 0, .args = "round_robin | weighted FILE",
			 .help = "random order (default), or by the weights of a file" },
	[ROW_RELOAD] = { "reload", OPT_DURATION, offsetof(struct loadbalance_conf, reload_ns),
			 .def = "30s", .repeatable = true,
			 .help = "how often to read the weight file; 0: once" },
	[ROW_PREFER] = { "prefer", OPT_FN, offsetof(struct loadbalance_conf, prefer),
			 .fn = parse_prefer, .repeatable = true, .args = "CIDR...",
			 .help = "addresses of these networks first" },
};

/* Of several stanzas the last one decides; networks add up until a weighted one comes. */
static int parse_stanza(struct setup *setup, const struct corefile_dir *dir,
			struct loadbalance_conf *conf)
{
	const char *policy = dir->n_arg != 0 ? dir->arg[0].s : "round_robin";
	if (strcmp(policy, "round_robin") == 0) {
		if (dir->n_arg > 1)
			return setup_error(setup, dir->arg[1].pos,
					   "round_robin takes no arguments");
		conf->file = NULL;
		return setup_body(setup, dir, &loadbalance_opts[ROW_PREFER], 1, conf, setup);
	}
	if (strcmp(policy, "weighted") != 0)
		return setup_error(setup, dir->arg[0].pos,
				   "expected round_robin or weighted, got '%s'", policy);
	if (dir->n_arg != 2)
		return setup_error(setup, dir->arg[dir->n_arg == 1 ? 0 : 2].pos,
				   "expected one weight file behind 'weighted'");
	struct opt_ctx ctx = { .arena = setup->arena, .conf = conf, .err = setup->err };
	*conf = (struct loadbalance_conf){ .file = setup_path(setup, arena_strdup(setup->arena,
										  dir->arg[1].s)),
					   .file_pos = dir->arg[1].pos };
	opt_defaults(&loadbalance_opts[ROW_RELOAD], 1, &ctx);
	return setup_body(setup, dir, &loadbalance_opts[ROW_RELOAD], 1, conf, setup);
}

static int loadbalance_parse(struct plugin_inst *self, struct setup *setup)
{
	for (size_t i = 0; i < setup->n_dir; i++) {
		int r = parse_stanza(setup, setup->dir[i], self->conf);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the weight file ---- */

static void free_table(struct rcu_item *item)
{
	struct table *t = CONTAINER_OF(item, struct table, rcu);
	loadbalance_weights_free(t->weights);
	free(t);
}

static void publish_table(struct loadbalance_conf *conf, struct loadbalance_weights *weights)
{
	struct table *t = xcalloc(1, sizeof(*t));
	struct table *old = rcu_get(&conf->table);
	t->weights = weights;
	rcu_publish(&conf->table, t);
	if (old != NULL)
		rcu_defer(&old->rcu, free_table);
}

/* Reads the file when its text is new: 1. A text that was read before is not parsed again, be it
 * good or bad: 0. ERR_NOTFOUND when it cannot be opened. */
static int refresh_weights(struct loadbalance_conf *conf, struct srcerr *err)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct loadbalance_weights *w;
	int fd = open(conf->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		srcerr_set(err, conf->file_pos, "cannot open weight file '%s': %s", conf->file,
			   err_str(-errno));
		return ERR_NOTFOUND;
	}
	int r = readfile_fd(fd, LOADBALANCE_WEIGHTS_BYTES_MAX, &text);
	close(fd);
	if (r < 0) {
		srcerr_set(err, conf->file_pos, "cannot read weight file '%s': %s", conf->file,
			   err_str(r));
		return r;
	}
	uint64_t hash = hash_bytes(hash_process_key(), text.s, text.n);
	if (hash == conf->text_hash && rcu_get(&conf->table) != NULL)
		return 0;
	conf->text_hash = hash;
	r = loadbalance_weights_parse(conf->file, strbuf_slice(&text), &w, err);
	if (r < 0)
		return r;
	publish_table(conf, w);
	return 1;
}

static void on_task(void *ctx)
{
	struct loadbalance_conf *c = ctx;
	struct srcerr err = { 0 };
	char text[1024];
	int r = refresh_weights(c, &err);
	if (r < 0)
		log_error(AREA, "%s; the old weights stay in use",
			  srcerr_str(&err, text, sizeof(text)));
	else if (r > 0)
		log_info(AREA, "Successfully reloaded weight file %s", c->file);
}

static int loadbalance_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct loadbalance_conf *c = self->conf;
	struct srcerr err = { 0 };
	char period[64];
	if (c->file == NULL)
		return 0;
	int r = refresh_weights(c, &err);
	if (r == ERR_NOTFOUND && c->reload_ns != 0) {
		log_warn(AREA, "%s; will try again in %s", err.text,
			 duration_str(c->reload_ns, period, sizeof(period)));
		return 0;
	}
	if (r < 0) {
		*prepare->err = err;
		return r;
	}
	if (!prepare->dry)
		log_info(AREA, "Successfully reloaded weight file %s", c->file);
	return 0;
}

static void loadbalance_commit(struct plugin_inst *self)
{
	struct loadbalance_conf *c = self->conf;
	if (c->file != NULL && c->reload_ns > 0)
		task_every(&self->tasks, (uint64_t)c->reload_ns, on_task, c);
}

static void loadbalance_teardown(struct plugin_inst *self)
{
	struct loadbalance_conf *c = self->conf;
	struct table *t = rcu_get(&c->table);
	if (t != NULL)
		free_table(&t->rcu);
}

/* ---- replies ---- */

static void weigh_reply(struct loadbalance_conf *conf, const struct loadbalance_job *job)
{
	rcu_enter();
	const struct table *t = rcu_get(&conf->table);
	const struct loadbalance_weights *w = t != NULL ? t->weights : NULL;
	if (job->resp->msg == NULL || !loadbalance_weigh_wire(job, w)) {
		/* Without memory to open the reply it keeps its order. */
		if (dns_resp_thaw(job->resp, job->arena) == 0)
			loadbalance_weigh(job, w);
	}
	rcu_leave();
}

static void shuffle_reply(const struct loadbalance_job *job)
{
	if (job->resp->msg != NULL && loadbalance_shuffle_wire(job))
		return;
	if (dns_resp_thaw(job->resp, job->arena) == 0)
		loadbalance_shuffle(job);
}

static bool is_orderable(const struct query *q, uint16_t qtype)
{
	const struct dns_resp *r = &q->resp;
	return q->outcome == V_ANSWERED && r->rcode == DNS_RCODE_NOERROR &&
	       qtype != DNS_TYPE_AXFR && qtype != DNS_TYPE_IXFR &&
	       (r->count[DNS_ANSWER] > 1 || r->count[DNS_AUTHORITY] > 1 ||
		r->count[DNS_ADDITIONAL] > 1);
}

static enum verdict loadbalance_respond(struct plugin_inst *self, struct query *q)
{
	struct loadbalance_conf *c = self->conf;
	uint16_t qtype = dns_get16(q->question + q->question_len - 4);
	if (!is_orderable(q, qtype))
		return V_NEXT;
	const struct loadbalance_job j = { &q->resp, &q->arena, query_rng(q) };
	if (c->file == NULL)
		shuffle_reply(&j);
	else if (qtype == DNS_TYPE_A || qtype == DNS_TYPE_AAAA || qtype == DNS_TYPE_SRV)
		weigh_reply(c, &j);
	if (c->prefer.n != 0 && dns_resp_thaw(&q->resp, &q->arena) == 0)
		loadbalance_prefer(&j, c->prefer.v, c->prefer.n);
	return V_NEXT;
}

const struct plugin loadbalance_plugin = {
	.name = "loadbalance",
	.opts = loadbalance_opts,
	.n_opts = ARRAY_LEN(loadbalance_opts),
	.conf_size = sizeof(struct loadbalance_conf),
	.parse = loadbalance_parse,
	.prepare = loadbalance_prepare,
	.commit = loadbalance_commit,
	.teardown = loadbalance_teardown,
	.respond = loadbalance_respond,
};
