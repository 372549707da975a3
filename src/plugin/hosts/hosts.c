/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hosts: answers A, AAAA and PTR from a hosts file, which is read again when it changes, and from
 * lines written into the Corefile. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/rcu/rcu.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "plugin/hosts/hostsfile.h"
#include "server/query.h"
#include "server/setup.h"
#include "net/task.h"

#define AREA "plugin/hosts"

/* What was read from the file; swapped as a whole. */
struct table {
	struct rcu_item rcu;
	struct hostsfile *hosts;
};

struct hosts_conf {
	const char *path;
	bool path_given;
	struct zone_list zones;
	struct fallthrough fall;
	bool fall_unsupported;
	bool no_reverse;
	uint64_t ttl_s;
	int64_t reload_ns;
	const char *inline_text;

	struct hostsfile *inlined;
	_Atomic(struct table *) table; /* written in prepare, then by the background thread */
	struct timespec mtime;	       /* of what is in the table */
	off_t size;
};

static const struct metrics_family entries_family = {
	.name = "coredns_hosts_entries",
	.help = "The combined number of entries in hosts and Corefile.",
	.kind = METRICS_GAUGE,
	.labels = { "hostsfile" },
};

static const struct metrics_family reload_family = {
	.name = "coredns_hosts_reload_timestamp_seconds",
	.help = "The timestamp of the last reload of hosts file.",
	.kind = METRICS_GAUGE,
};

/* ---- set-up ---- */

static const struct opt hosts_opts[] = {
	{ "<file>", OPT_STRING, offsetof(struct hosts_conf, path), .def = "/etc/hosts",
	  .args = "FILE", .help = "the hosts file, below `root` unless absolute" },
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...",
	  .help = "zones whose names are answered (default: those of the block)" },
	{ "ttl", OPT_UINT, offsetof(struct hosts_conf, ttl_s), 1, 65535, .def = "3600",
	  .repeatable = true, .args = "SECONDS", .help = "TTL of the answers" },
	{ "no_reverse", OPT_FLAG, offsetof(struct hosts_conf, no_reverse), .repeatable = true,
	  .help = "no PTR answers" },
	{ "reload", OPT_DURATION, offsetof(struct hosts_conf, reload_ns), .def = "5s",
	  .repeatable = true, .help = "how often to check the file for changes; 0: never" },
	{ "fallthrough", OPT_FN, offsetof(struct hosts_conf, fall), .fn = setup_fallthrough_opt,
	  .repeatable = true, .args = "[ZONE...]",
	  .help = "pass unknown names (of these zones) to the next plugin" },
	{ "fallthrough_unsupported", OPT_FLAG, offsetof(struct hosts_conf, fall_unsupported),
	  .repeatable = true, .help = "pass types other than A, AAAA and PTR on as well" },
};

static bool is_option(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(hosts_opts); i++) {
		if (strcmp(hosts_opts[i].name, word) == 0)
			return true;
	}
	return false;
}

/* Lines that are no option are entries of their own, as long as no `fallthrough` came before. */
static int parse_body(struct hosts_conf *conf, struct setup *setup, const struct corefile_dir *dir)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct opt_ctx ctx = {
		.arena = setup->arena, .conf = conf, .user = setup, .err = setup->err
	};
	uint64_t seen = 0;
	for (size_t i = 0; i < dir->n_body; i++) {
		const struct corefile_dir *b = &dir->body[i];
		struct opt_line line = { b->name, b->arg, b->n_arg };
		if (b->has_body)
			return setup_error(setup, b->name.pos, "'%s' takes no block", b->name.s);
		if (conf->fall.on || is_option(b->name.s)) {
			int r = opt_parse_line(hosts_opts, ARRAY_LEN(hosts_opts), &line, &seen,
					       &ctx);
			if (r < 0)
				return r;
			continue;
		}
		strbuf_adds(&text, b->name.s);
		for (size_t k = 0; k < b->n_arg; k++)
			strbuf_addf(&text, " %s", b->arg[k].s);
		strbuf_addc(&text, '\n');
	}
	conf->inline_text = arena_strndup(setup->arena, text.s, text.n);
	return 0;
}

static int hosts_parse(struct plugin_inst *self, struct setup *setup)
{
	struct hosts_conf *c = self->conf;
	const struct corefile_dir *d = setup->dir[0];
	struct opt_ctx ctx = { .arena = setup->arena, .conf = c, .user = setup, .err = setup->err };
	int r = setup_once(setup);
	if (r < 0)
		return r;
	opt_defaults(hosts_opts, ARRAY_LEN(hosts_opts), &ctx);
	c->path_given = d->n_arg > 0;
	if (c->path_given)
		c->path = setup_path(setup, arena_strdup(setup->arena, d->arg[0].s));
	r = setup_zones(setup, d->arg + c->path_given, d->n_arg - c->path_given, &c->zones);
	if (r < 0)
		return r;
	r = parse_body(c, setup, d);
	if (r < 0)
		return r;
	if (c->fall_unsupported && !c->fall.on)
		return setup_error(setup, d->name.pos,
				   "fallthrough_unsupported needs 'fallthrough' beside it");
	return 0;
}

/* ---- the tables ---- */

struct source {
	const struct hosts_conf *c;
	const char *name; /* for messages */
};

static bool keeps_name(void *ctx, const uint8_t *name)
{
	const struct source *src = ctx;
	const struct zone_list *z = &src->c->zones;
	for (size_t i = 0; i < z->n; i++) {
		if (dns_name_is_below(name, z->wire[i]))
			return true;
	}
	return false;
}

static void too_long(void *ctx, unsigned line, bool is_address)
{
	const struct source *src = ctx;
	log_error(AREA, "%s, line %u: %s longer than %d bytes, dropping the %s", src->name, line,
		  is_address ? "address" : "name", HOSTSFILE_FIELD_MAX,
		  is_address ? "line" : "name");
}

static int parse_text(const struct hosts_conf *conf, const char *name, struct slice text,
		      struct hostsfile **ret)
{
	struct source src = { .c = conf, .name = name };
	struct hostsfile_opts o = {
		.reverse = !conf->no_reverse, .keep = keeps_name, .too_long = too_long, .ctx = &src
	};
	return hostsfile_parse(text, &o, ret);
}

static void free_table(struct rcu_item *item)
{
	struct table *t = CONTAINER_OF(item, struct table, rcu);
	hostsfile_free(t->hosts);
	free(t);
}

static void publish_table(struct hosts_conf *conf, struct hostsfile *hosts)
{
	struct table *t = xcalloc(1, sizeof(*t));
	t->hosts = hosts;
	struct table *old = rcu_get(&conf->table);
	rcu_publish(&conf->table, t);
	if (old != NULL)
		rcu_defer(&old->rcu, free_table);
}

static int load_file(const struct hosts_conf *conf, int fd, struct hostsfile **ret)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, name = STRBUF_INIT;
	strbuf_adds(&name, "Hosts file ");
	strbuf_add_quoted(&name, slice_of(conf->path));
	int r = readfile_fd(fd, HOSTSFILE_BYTES_MAX, &text);
	return r < 0 ? r : parse_text(conf, name.s, strbuf_slice(&text), ret);
}

static void set_metrics(const struct hosts_conf *conf, const struct hostsfile *file)
{
	const char *labels[] = { conf->path };
	metrics_set(metrics_get(&entries_family, labels),
		    (double)(hostsfile_entries(conf->inlined) + hostsfile_entries(file)));
	metrics_set(metrics_get(&reload_family, NULL),
		    (double)conf->mtime.tv_sec + (double)conf->mtime.tv_nsec / 1e9);
}

/* Reads the file when its time or size changed. Without a file the table stays. */
static void refresh_table(struct hosts_conf *conf)
{
	struct stat st;
	struct hostsfile *hosts = NULL;
	int fd = open(conf->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 &&
	    (st.st_mtim.tv_sec != conf->mtime.tv_sec || st.st_mtim.tv_nsec != conf->mtime.tv_nsec ||
	     st.st_size != conf->size || rcu_get(&conf->table) == NULL)) {
		conf->mtime = st.st_mtim;
		conf->size = st.st_size;
		int r = load_file(conf, fd, &hosts);
		if (r < 0)
			log_error(AREA, "cannot read hosts file '%s': %s", conf->path, err_str(r));
	}
	close(fd);
	if (hosts == NULL)
		return;
	set_metrics(conf, hosts);
	log_debug(AREA, "Parsed hosts file into %zu entries", hostsfile_entries(hosts));
	publish_table(conf, hosts);
}

static void on_task(void *ctx)
{
	refresh_table(ctx);
}

/* A missing file may appear later. */
static int check_file(const struct hosts_conf *conf, const struct plugin_inst *self,
		      const struct prepare *prepare)
{
	struct stat st;
	if (!conf->path_given)
		return 0;
	if (stat(conf->path, &st) < 0) {
		if (errno != ENOENT)
			return srcerr_set(prepare->err, self->pos,
					  "cannot access hosts file '%s': %s", conf->path,
					  err_str(-errno));
		log_warn(AREA, "File does not exist: %s", conf->path);
	} else if (S_ISDIR(st.st_mode)) {
		log_warn(AREA, "Hosts file \"%s\" is a directory", conf->path);
	}
	return 0;
}

static int hosts_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct hosts_conf *c = self->conf;
	int r = check_file(c, self, prepare);
	if (r < 0)
		return r;
	r = parse_text(c, "Inline hosts entries", slice_of(c->inline_text), &c->inlined);
	if (r < 0)
		return r;
	if (!prepare->dry)
		refresh_table(c);
	return 0;
}

static void hosts_commit(struct plugin_inst *self)
{
	struct hosts_conf *c = self->conf;
	if (c->reload_ns > 0)
		task_every(&self->tasks, (uint64_t)c->reload_ns, on_task, c);
}

static void hosts_teardown(struct plugin_inst *self)
{
	struct hosts_conf *c = self->conf;
	struct table *t = rcu_get(&c->table);
	if (t != NULL)
		free_table(&t->rcu);
	hostsfile_free(c->inlined);
}

/* ---- queries ---- */

/* The file first, then what the Corefile has. */
enum { TABLES = 2 };
struct view {
	const struct hostsfile *h[TABLES];
};

/* Data is copied: the table may be gone when the reply is written. What the query has no room for
 * would not fit into a reply either, so it is cut like one. */
static bool add_record(struct query *q, const struct hosts_conf *conf, uint16_t type,
		       const uint8_t *data, size_t len)
{
	struct dns_rr rr = {
		.owner = q->qname.wire,
		.owner_len = q->qname.len,
		.type = type,
		.cls = DNS_CLASS_IN,
		.ttl = (uint32_t)conf->ttl_s,
		.rdata = arena_memdup(&q->arena, data, len),
		.rdlen = (uint16_t)len,
	};
	if (rr.rdata != NULL && dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &rr) == 0)
		return true;
	q->resp.flags |= DNS_FLAG_TC;
	return false;
}

static void add_addresses(struct query *q, const struct hosts_conf *conf, const struct view *view,
			  enum hostsfile_family family)
{
	bool v4 = family == HOSTSFILE_V4;
	for (int i = 0; i < TABLES; i++) {
		const struct hostsfile_addr *a =
			view->h[i] != NULL ? hostsfile_find(view->h[i], &q->qname, family) : NULL;
		for (; a != NULL; a = hostsfile_next(view->h[i], a)) {
			if (!add_record(q, conf, v4 ? DNS_TYPE_A : DNS_TYPE_AAAA,
					a->ip + (v4 ? 12 : 0), v4 ? 4 : 16))
				return;
		}
	}
}

static void add_names(struct query *q, const struct hosts_conf *conf, const struct view *view)
{
	uint8_t ip[16];
	if (!hostsfile_reverse_ip(&q->qname, ip))
		return;
	for (int i = 0; i < TABLES; i++) {
		const struct hostsfile_name *n =
			view->h[i] != NULL ? hostsfile_reverse(view->h[i], ip) : NULL;
		for (; n != NULL; n = hostsfile_next_name(view->h[i], n)) {
			if (!add_record(q, conf, DNS_TYPE_PTR, n->wire, dns_name_len(n->wire)))
				return;
		}
	}
}

static bool name_known(const struct query *q, const struct view *view)
{
	for (int i = 0; i < TABLES; i++) {
		if (view->h[i] != NULL &&
		    (hostsfile_find(view->h[i], &q->qname, HOSTSFILE_V4) != NULL ||
		     hostsfile_find(view->h[i], &q->qname, HOSTSFILE_V6) != NULL))
			return true;
	}
	return false;
}

static enum verdict answer_query(struct query *q, const struct hosts_conf *conf,
				 const struct view *view)
{
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	switch (q->req.qtype) {
	case DNS_TYPE_PTR:
		add_names(q, conf, view);
		if (q->resp.count[DNS_ANSWER] == 0)
			return V_NEXT;
		break;
	case DNS_TYPE_A:
		add_addresses(q, conf, view, HOSTSFILE_V4);
		break;
	case DNS_TYPE_AAAA:
		add_addresses(q, conf, view, HOSTSFILE_V6);
		break;
	default:
		if (conf->fall_unsupported && fallthrough_covers(&conf->fall, &q->qname))
			return V_NEXT;
	}
	if (q->resp.count[DNS_ANSWER] != 0 || name_known(q, view))
		return V_ANSWERED;
	/* A denial would need an SOA record, which a hosts file has not. */
	return fallthrough_covers(&conf->fall, &q->qname) ? V_NEXT
							  : query_fail(q, DNS_RCODE_SERVFAIL, NULL);
}

static enum verdict hosts_serve(struct plugin_inst *self, struct query *q)
{
	struct hosts_conf *c = self->conf;
	if (q->req.qtype != DNS_TYPE_PTR && zone_list_match(&c->zones, &q->qname) < 0)
		return V_NEXT;
	rcu_enter();
	const struct table *t = rcu_get(&c->table);
	struct view v = { { t != NULL ? t->hosts : NULL, c->inlined } };
	enum verdict verdict = answer_query(q, c, &v);
	rcu_leave();
	return verdict;
}

const struct plugin hosts_plugin = {
	.name = "hosts",
	.opts = hosts_opts,
	.n_opts = ARRAY_LEN(hosts_opts),
	.conf_size = sizeof(struct hosts_conf),
	.parse = hosts_parse,
	.prepare = hosts_prepare,
	.commit = hosts_commit,
	.teardown = hosts_teardown,
	.serve = hosts_serve,
};
