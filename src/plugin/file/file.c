/* SPDX-License-Identifier: GPL-3.0-or-later */
/* file: serves zones from master files, which are read again when their serial changes. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "dns/zone/zone.h"
#include "dns/zone/zoneset.h"
#include "plugin/file/source.h"
#include "plugin/shared/zonecopy.h"
#include "plugin/shared/zoneserve.h"
#include "net/task.h"

#define AREA "plugin/file"

/* One zone of one stanza. */
struct file_zone {
	struct file_zone *next; /* the one given before it */
	struct file_source src;
	_Atomic(struct dns_zone *) zone; /* NULL: not read yet. Written in prepare, then by the
					    background thread */
	int64_t reload_ns;
	struct plugin_inst *transfer; /* notified of changes; NULL: none */
	struct file_conf *conf;
};

struct file_conf {
	int64_t reload_ns;
	bool by_mtime;
	struct fallthrough fall;
	struct file_zone *last;	   /* of those given */
	struct dns_zoneset *zones; /* of struct file_zone */
	bool alone;		   /* no plugin comes after this one */
	_Atomic bool has_large;	   /* some zone is, or was, worth prefetching from */
};

static int ignore_option(struct opt_ctx *ctx, const struct opt_line *line)
{
	(void)ctx;
	(void)line;
	return 0;
}

static const struct opt file_opts[] = {
	{ "<dbfile>", OPT_STRING, 0, .args = "DBFILE",
	  .help = "the master file, below `root` unless absolute" },
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...",
	  .help = "zones the file is read for (default: those of the block)" },
	{ "reload", OPT_DURATION, offsetof(struct file_conf, reload_ns), .def = "1m",
	  .repeatable = true, .help = "how often to check for a new serial; 0: never" },
	{ "reload_by_mtime", OPT_FLAG, offsetof(struct file_conf, by_mtime), .repeatable = true,
	  .help = "read the file again when its modification time changes, whatever the serial" },
	{ "fallthrough", OPT_FN, offsetof(struct file_conf, fall), .fn = setup_fallthrough_opt,
	  .repeatable = true, .args = "[ZONE...]",
	  .help = "pass names that do not exist (of these zones) to the next plugin" },
	{ "upstream", OPT_FN, 0, .fn = ignore_option, .repeatable = true, .args = "[...]",
	  .help = "ignored, for old Corefiles" },
};

/* ---- set-up ---- */

static int parse_stanza(struct file_conf *conf, struct setup *setup, const struct corefile_dir *dir)
{
	struct zone_list z;
	if (dir->n_arg == 0)
		return setup_error(setup, dir->name.pos, "file: expected a file name");
	int r = setup_zones(setup, dir->arg + 1, dir->n_arg - 1, &z);
	if (r == 0)
		r = setup_body(setup, dir, file_opts, ARRAY_LEN(file_opts), conf, setup);
	if (r < 0)
		return r;
	const char *path = setup_path(setup, arena_strdup(setup->arena, dir->arg[0].s));
	for (size_t i = 0; i < z.n; i++) {
		struct file_zone *fz = arena_calloc(setup->arena, sizeof(*fz));
		fz->conf = conf;
		fz->src.path = path;
		fz->src.origin = z.wire[i];
		fz->src.origin_text = z.text[i];
		fz->src.by_mtime = conf->by_mtime;
		fz->reload_ns = conf->reload_ns;
		fz->next = conf->last;
		conf->last = fz;
	}
	return 0;
}

/* Options that a stanza leaves out it inherits from the one before, as in CoreDNS. */
static int file_parse(struct plugin_inst *self, struct setup *setup)
{
	struct file_conf *c = self->conf;
	struct opt_ctx ctx = { .arena = setup->arena, .conf = c, .user = setup, .err = setup->err };
	int r = 0;
	opt_defaults(file_opts, ARRAY_LEN(file_opts), &ctx);
	for (size_t i = 0; i < setup->n_dir && r == 0; i++)
		r = parse_stanza(c, setup, setup->dir[i]);
	return r;
}

static void publish_zone(struct file_zone *fz, struct dns_zone *zone)
{
	if (dns_zone_is_large(zone))
		atomic_store_explicit(&fz->conf->has_large, true, memory_order_relaxed);
	rcu_publish(&fz->zone, zone);
}

/* A file that cannot be opened may appear later, if reload checks for it. */
static int read_first(struct file_zone *fz, struct prepare *prepare)
{
	struct dns_zone *z = NULL;
	struct srcerr err = { 0 };
	char line[1024];
	int r = file_source_read(&fz->src, &err, &z);
	if (r == 0) {
		publish_zone(fz, z);
		return 0;
	}
	if (r <= ERR_PARSE || fz->reload_ns == 0) {
		if (prepare->err != NULL)
			*prepare->err = err;
		return r;
	}
	log_warn(AREA, "Failed to open zone \"%s\": %s; trying again in %gs", fz->src.origin_text,
		 srcerr_str(&err, line, sizeof(line)), (double)fz->reload_ns / (double)NS_PER_S);
	return 0;
}

static void file_teardown(struct plugin_inst *self)
{
	struct file_conf *c = self->conf;
	for (struct file_zone *fz = c->last; fz != NULL; fz = fz->next) {
		dns_zone_unref(rcu_get(&fz->zone));
		rcu_publish(&fz->zone, NULL);
	}
	dns_zoneset_free(c->zones);
	c->zones = NULL;
}

static int file_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct file_conf *c = self->conf;
	uint32_t seq = 0;
	c->alone = block_next(self->block, self) == NULL;
	c->zones = dns_zoneset_new();
	/* The later one of two for the same zone comes first, and so is the one found. */
	for (struct file_zone *fz = c->last; fz != NULL; fz = fz->next) {
		int r = read_first(fz, prepare);
		if (r < 0) {
			file_teardown(self);
			return r;
		}
		dns_zoneset_add(c->zones, fz->src.origin, seq++, fz);
	}
	return 0;
}

/* ---- transfers ---- */

static const struct file_zone *find_exactly(const struct file_conf *conf, const uint8_t *zone)
{
	struct dns_qname q;
	unsigned label;
	dns_qname_set(&q, zone);
	const struct dns_zone_entry *e = dns_zoneset_longest(conf->zones, &q, 0, &label);
	return e != NULL && label == 0 ? e->value : NULL;
}

static bool file_has_zone(struct plugin_inst *self, const uint8_t *zone)
{
	return find_exactly(self->conf, zone) != NULL;
}

static struct zone_copy *file_copy_zone(struct plugin_inst *self, const uint8_t *zone)
{
	const struct file_zone *fz = find_exactly(self->conf, zone);
	rcu_enter();
	struct dns_zone *z = rcu_get(&fz->zone);
	struct zone_copy *copy = z != NULL ? zonecopy_new(z) : NULL;
	rcu_leave();
	return copy;
}

static void notify_transfer(const struct file_zone *fz)
{
	if (fz->transfer != NULL)
		fz->transfer->plugin->ops.zone_changed(fz->transfer, fz->src.origin);
}

/* ---- reading again ---- */

static void on_task(void *ctx)
{
	struct file_zone *fz = ctx;
	struct dns_zone *old = rcu_get(&fz->zone);
	struct dns_zone *z = file_source_reload(&fz->src, old);
	if (z == NULL)
		return;
	publish_zone(fz, z);
	dns_zone_retire(old);
	notify_transfer(fz);
}

static void file_commit(struct plugin_inst *self)
{
	struct file_conf *c = self->conf;
	for (struct file_zone *fz = c->last; fz != NULL; fz = fz->next) {
		fz->transfer = block_find(self->block, "transfer");
		notify_transfer(fz);
		if (fz->reload_ns > 0)
			task_every(&self->tasks, (uint64_t)fz->reload_ns, on_task, fz);
	}
}

/* ---- announced queries ---- */

enum { ANNOUNCED_MAX = 64 };

/* The names of a batch on their way from memory, for one worker. Each goes through the steps of
 * dns_zone_prefetch some queries apart. */
struct file_worker {
	struct {
		const struct file_zone *zone;
		uint32_t hash;
	} announced[ANNOUNCED_MAX];
	unsigned n_announced;
	unsigned done[DNS_ZONE_PREFETCH_STEPS]; /* of each step: names that are through */
	bool served;				/* the batch at hand is being served */
};

static int file_worker_init(struct plugin_inst *self, struct worker *worker)
{
	self->worker_data[worker_slot(worker)] = xcalloc(1, sizeof(struct file_worker));
	return 0;
}

static void file_worker_done(struct plugin_inst *self, struct worker *worker)
{
	free(self->worker_data[worker_slot(worker)]);
}

/* The next name of each step after the first, if the step before is `ahead` names further. */
static void prefetch_next(struct file_worker *fw, unsigned ahead)
{
	for (unsigned step = 1; step < DNS_ZONE_PREFETCH_STEPS; step++) {
		unsigned at = fw->done[step];
		if (fw->done[step - 1] < at + ahead)
			continue;
		/* The zone may have been replaced since. */
		const struct dns_zone *z = rcu_get(&fw->announced[at].zone->zone);
		if (z != NULL)
			dns_zone_prefetch(z, fw->announced[at].hash, step);
		fw->done[step]++;
	}
}

/* ---- queries ---- */

static const struct file_zone *find_zone(const struct file_conf *conf, const struct query *q)
{
	unsigned label;
	const struct dns_zone_entry *e = dns_zoneset_longest(conf->zones, &q->qname, 0, &label);
	return e != NULL ? e->value : NULL;
}

static enum verdict drop_notify(struct query *q, const struct file_zone *fz)
{
	struct slice client = query_client_text(q);
	query_logf(q, LOG_INFO, AREA, "Dropping notify from %.*s for %s", (int)client.n, client.p,
		   fz->src.origin_text);
	return V_DROP;
}

static void file_announce(struct plugin_inst *self, struct query *q)
{
	enum { AHEAD = 6 }; /* memory needs about the time of so many queries to come */
	const struct file_conf *c = self->conf;
	struct file_worker *fw = self->worker_data[query_slot(q)];
	if (!atomic_load_explicit(&c->has_large, memory_order_relaxed))
		return;
	const struct file_zone *fz = find_zone(c, q);
	const struct dns_zone *z = fz != NULL ? rcu_get(&fz->zone) : NULL;
	if (z == NULL || !dns_zone_is_large(z))
		return;
	if (fw->served || fw->n_announced == ANNOUNCED_MAX) { /* a new batch */
		memset(fw->done, 0, sizeof(fw->done));
		fw->n_announced = 0;
		fw->served = false;
	}
	dns_zone_prefetch(z, q->qname.hash[0], 0);
	fw->announced[fw->n_announced].zone = fz;
	fw->announced[fw->n_announced].hash = q->qname.hash[0];
	fw->done[0] = ++fw->n_announced;
	prefetch_next(fw, AHEAD);
}

static enum verdict file_serve(struct plugin_inst *self, struct query *q)
{
	const struct file_conf *c = self->conf;
	const struct file_zone *fz = find_zone(c, q);
	struct file_worker *fw = self->worker_data[query_slot(q)];
	if (fw->n_announced != 0) {
		fw->served = true;
		prefetch_next(fw, 1);
	}
	if (fz == NULL)
		return c->alone ? query_fail(q, DNS_RCODE_REFUSED, NULL) : V_NEXT;
	/* `transfer` comes before us; without it there is none. */
	if (q->req.qtype == DNS_TYPE_AXFR || q->req.qtype == DNS_TYPE_IXFR)
		return query_fail(q, DNS_RCODE_REFUSED, NULL);
	if (q->req.opcode == DNS_OPCODE_NOTIFY)
		return drop_notify(q, fz);
	const struct dns_zone *z = rcu_get(&fz->zone);
	if (z == NULL)
		return query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	return zoneserve_answer(self, q, z, &c->fall);
}

static enum verdict file_resume(struct plugin_inst *self, struct query *q)
{
	const struct file_zone *fz = find_zone(self->conf, q);
	return zoneserve_resume(self, q, rcu_get(&fz->zone));
}

const struct plugin file_plugin = {
	.name = "file",
	.opts = file_opts,
	.n_opts = ARRAY_LEN(file_opts),
	.conf_size = sizeof(struct file_conf),
	.state_size = sizeof(struct zoneserve_state),
	.parse = file_parse,
	.prepare = file_prepare,
	.commit = file_commit,
	.teardown = file_teardown,
	.worker_init = file_worker_init,
	.worker_done = file_worker_done,
	.announce = file_announce,
	.serve = file_serve,
	.resume = file_resume,
	.ops = { .has_zone = file_has_zone, .copy_zone = file_copy_zone },
};
