/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread of the links. A link is never freed: a cluster has few thousand nodes, and a query that waits may
 * keep one as long as it likes. Its connection comes and goes. */
#include "plugin/egressfirewall/hold/links.h"
#include "plugin/egressfirewall/hold/links_test.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "addrset/agent/agent_set.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "net/tls.h"

#define AREA	 "plugin/egressfirewall"
#define TICK_NS	 NS_PER_S
#define IDLE_NS	 (60 * NS_PER_S) /* without a request and without known pairs: it is closed */
#define FILES_NS (5 * NS_PER_S)	 /* how often the TLS files are checked for changes */

/* The part of a link that is the thread's, but for the address. */
struct egressfirewall_link_own {
	struct egressfirewall_link link;
	struct agent_set *agent; /* NULL: no connection */
	union net_addr used;	 /* where it goes to */
	union net_addr addr;	 /* guarded by the lock of the links */
	uint64_t last_ask_ns;
	size_t n_asked; /* requests without an answer */
	struct egressfirewall_ask *first, **end;
	bool was_reachable;
	char node[];
};

/* What a file was when it was read. */
struct file_mark {
	struct timespec changed;
	ino_t inode;
	off_t bytes;
};

struct egressfirewall_links {
	char *node, *socket, *tls_name;
	char *file[3]; /* certificate, key, authorities; NULL: no TLS */
	uint16_t port;
	uint64_t answer_ns;
	struct addrset *(*preset)(const char *node);

	pthread_mutex_t lock; /* guards by_node, the links' addresses, counts, and on_tick */
	struct map by_node;   /* struct egressfirewall_link_own */
	struct egressfirewall_links_counts counts;
	void (*on_tick)(void *ctx);
	void *on_tick_ctx;

	/* the thread's own */
	struct loop *loop;
	pthread_t thread;
	bool is_running;
	struct net_tls_cred *cred;
	struct file_mark mark[3];
	uint64_t files_ns;
	struct loop_timer tick;
};

static struct addrset *(*preset)(const char *node);

void egressfirewall_links_preset(struct addrset *(*set_of)(const char *node))
{
	preset = set_of;
}

/* ---- certificates ---- */

static void mark_files(const struct egressfirewall_links *links, struct file_mark mark[3])
{
	for (size_t i = 0; i < ARRAY_LEN(links->file); i++) {
		struct stat st;
		mark[i] = (struct file_mark){ { 0 }, 0, 0 };
		if (stat(links->file[i], &st) == 0)
			mark[i] = (struct file_mark){ st.st_mtim, st.st_ino, st.st_size };
	}
}

/* A Secret that is mounted and does not exist yet has no files; names of rules get SERVFAIL until it does, all
 * others are answered. */
static bool is_missing(const struct egressfirewall_links *links)
{
	for (size_t i = 0; i < ARRAY_LEN(links->file); i++) {
		if (access(links->file[i], F_OK) < 0 && errno == ENOENT)
			return true;
	}
	return false;
}

/* The files as they are now. They are marked first: what changes while they are read is read again. */
static int read_cred(struct egressfirewall_links *links, struct err_text err)
{
	struct net_tls_files files = { .cert = links->file[0],
				       .key = links->file[1],
				       .ca = links->file[2] };
	struct net_tls_cred *cred = NULL;
	mark_files(links, links->mark);
	int r = net_tls_client_cred(&files, &cred, err);
	if (r < 0)
		return r;
	net_tls_cred_unref(links->cred);
	links->cred = cred;
	return 0;
}

static int read_first_cred(struct egressfirewall_links *links, struct err_text err)
{
	if (!is_missing(links))
		return read_cred(links, err);
	mark_files(links, links->mark);
	log_warn(AREA,
		 "'%s', '%s' or '%s' does not exist yet: agents of other nodes are asked when all "
		 "of them do",
		 links->file[0], links->file[1], links->file[2]);
	return 0;
}

static void reread_files(struct egressfirewall_links *links, uint64_t now)
{
	struct file_mark mark[3];
	char reason[512] = "";
	const struct map_entry *entry;
	size_t pos = 0;
	if (links->file[0] == NULL || now < links->files_ns)
		return;
	links->files_ns = now + FILES_NS;
	mark_files(links, mark);
	if (memcmp(mark, links->mark, sizeof(mark)) == 0)
		return;
	bool is_first = links->cred == NULL;
	if (read_cred(links, ERR_TEXT(reason)) < 0) {
		log_warn(AREA, "keeps the certificate of before: %s", reason);
		return;
	}
	pthread_mutex_lock(&links->lock);
	while ((entry = map_next(&links->by_node, &pos)) != NULL) {
		struct egressfirewall_link_own *own = entry->value;
		if (own->agent != NULL)
			agent_set_use_cred(own->agent, links->cred);
	}
	pthread_mutex_unlock(&links->lock);
	log_info(AREA, "read the certificate for agents of nodes%s", is_first ? "" : " again");
}

/* ---- connections ---- */

static bool is_local(const struct egressfirewall_links *links,
		     const struct egressfirewall_link_own *own)
{
	if (links->socket == NULL)
		return false;
	return links->node != NULL ? strcmp(links->node, own->node) == 0 : links->file[0] == NULL;
}

static int open_agent(struct egressfirewall_links *links, struct egressfirewall_link_own *own)
{
	struct agent_set_conf conf = { .loop = links->loop, .answer_ns = links->answer_ns };
	if (is_local(links, own)) {
		conf.path = links->socket;
	} else {
		pthread_mutex_lock(&links->lock);
		own->used = own->addr;
		pthread_mutex_unlock(&links->lock);
		if (links->cred == NULL || own->used.family == AF_UNSPEC)
			return ERR_CLOSED;
		conf.addr = own->used;
		conf.cred = links->cred;
		conf.tls_name = links->tls_name != NULL ? links->tls_name : own->node;
	}
	int r = agent_set_new(&conf, &own->agent);
	if (r == 0)
		rcu_publish(&own->link.set, agent_set_set(own->agent));
	return r;
}

static void close_agent(struct egressfirewall_link_own *own)
{
	if (own->agent == NULL)
		return;
	rcu_publish(&own->link.set, NULL);
	rcu_wait(); /* workers that read what it knows */
	agent_set_free(own->agent);
	own->agent = NULL;
}

/* ---- asks ---- */

static void start_waiting(struct egressfirewall_links *links, struct egressfirewall_link_own *own);

static void finish_part(struct egressfirewall_ask *ask, int result)
{
	if (ask->result == 0)
		ask->result = result;
	assert(ask->n_left > 0);
	if (--ask->n_left == 0)
		ask->done(ask);
}

static void on_done(struct addrset_request *request, int result)
{
	struct egressfirewall_ask_part *part =
		CONTAINER_OF(request, struct egressfirewall_ask_part, request);
	struct egressfirewall_links *links = part->ask->links;
	struct egressfirewall_link_own *own = part->ask->link->own;
	assert(own->n_asked > 0);
	own->n_asked--;
	finish_part(part->ask, result);
	start_waiting(links, own);
}

static void send_ask(struct egressfirewall_ask *ask)
{
	struct addrset *set = rcu_get(&ask->link->set);
	const size_t most = EGRESSFIREWALL_ASK_PAIRS_MAX / EGRESSFIREWALL_ASK_PARTS;
	size_t n_parts = (ask->n_pairs + most - 1) / most;
	ask->n_left = n_parts;
	ask->link->own->n_asked += n_parts;
	for (size_t i = 0; i < n_parts; i++) {
		ask->part[i].ask = ask;
		ask->part[i].request = (struct addrset_request){
			.pairs = ask->pairs + i * most,
			.n_pairs = MIN(ask->n_pairs - i * most, most),
			.tenant = ask->tenant,
			.done = on_done,
		};
	}
	/* The last one's `done` may free the ask: nothing of it is read after that. */
	for (size_t i = 0; i < n_parts; i++)
		addrset_add(set, &ask->part[i].request);
}

static void fail_ask(struct egressfirewall_ask *ask, int result)
{
	ask->result = result;
	ask->done(ask);
}

static bool has_room(const struct egressfirewall_link_own *own)
{
	return own->n_asked + EGRESSFIREWALL_ASK_PARTS <= AGENT_REQUESTS_MAX;
}

/* Those that found too many requests before them. */
static void start_waiting(struct egressfirewall_links *links, struct egressfirewall_link_own *own)
{
	while (own->first != NULL && has_room(own)) {
		struct egressfirewall_ask *ask = own->first;
		own->first = ask->next;
		if (own->first == NULL)
			own->end = &own->first;
		if (own->agent == NULL)
			fail_ask(ask, ERR_CLOSED);
		else if (clock_mono_ns() - ask->asked_ns >= links->answer_ns)
			fail_ask(ask, ERR_TIMEOUT);
		else
			send_ask(ask);
	}
}

static void start_ask(struct egressfirewall_ask *ask)
{
	struct egressfirewall_links *links = ask->links;
	struct egressfirewall_link_own *own = ask->link->own;
	uint64_t now = clock_mono_ns();
	own->last_ask_ns = now;
	int r = own->agent == NULL && links->preset == NULL ? open_agent(links, own) : 0;
	if (r < 0 || rcu_get(&own->link.set) == NULL) {
		fail_ask(ask, ERR_CLOSED);
		return;
	}
	if (own->first == NULL && has_room(own)) {
		send_ask(ask);
		return;
	}
	ask->asked_ns = now;
	ask->next = NULL;
	*own->end = ask;
	own->end = &ask->next;
}

static void on_ask(struct loop_msg *msg)
{
	start_ask(CONTAINER_OF(msg, struct egressfirewall_ask, msg));
}

void egressfirewall_links_ask(struct egressfirewall_links *links, struct egressfirewall_ask *ask)
{
	assert(ask->n_pairs > 0 && ask->n_pairs <= EGRESSFIREWALL_ASK_PAIRS_MAX);
	ask->links = links;
	ask->result = 0;
	ask->msg.cb = on_ask;
	if (links->loop == NULL)
		start_ask(ask);
	else
		loop_post(links->loop, &ask->msg);
}

/* ---- once a second ---- */

static void log_change(struct egressfirewall_link_own *own, const struct agent_set_state *state)
{
	if (state->is_reachable == own->was_reachable)
		return;
	own->was_reachable = state->is_reachable;
	if (state->is_reachable)
		log_info(AREA, "the agent of node %s answers", own->node);
	else
		log_warn(AREA,
			 "the agent of node %s cannot be reached (%s): its pods get SERVFAIL for "
			 "addresses that are new to it",
			 own->node, err_str(state->reason != 0 ? state->reason : ERR_TIMEOUT));
}

/* Does the connection stay? */
static bool visit_link(struct egressfirewall_links *links, struct egressfirewall_link_own *own,
		       struct egressfirewall_links_counts *counts, uint64_t now)
{
	struct agent_set_state state = agent_set_state(own->agent);
	bool is_idle = own->n_asked == 0 && own->first == NULL;
	bool has_moved = !is_local(links, own) && !net_addr_same_ip(&own->used, &own->addr);
	log_change(own, &state);
	counts->nodes++;
	counts->reachable += state.is_reachable;
	counts->pairs += state.known;
	return !is_idle || (!has_moved && (state.known != 0 || now - own->last_ask_ns < IDLE_NS));
}

static void on_tick(struct loop_timer *timer)
{
	struct egressfirewall_links *links = CONTAINER_OF(timer, struct egressfirewall_links, tick);
	struct egressfirewall_links_counts counts = { 0 };
	uint64_t now = clock_mono_ns();
	const struct map_entry *entry;
	size_t pos = 0;
	reread_files(links, now);
	pthread_mutex_lock(&links->lock);
	while ((entry = map_next(&links->by_node, &pos)) != NULL) {
		struct egressfirewall_link_own *own = entry->value;
		if (own->agent != NULL && !visit_link(links, own, &counts, now))
			close_agent(own);
	}
	links->counts = counts;
	if (links->on_tick != NULL)
		links->on_tick(links->on_tick_ctx);
	pthread_mutex_unlock(&links->lock);
	loop_timer_set(links->loop, timer, now + TICK_NS);
}

/* ---- life ---- */

static void *run_links(void *arg)
{
	struct egressfirewall_links *links = arg;
	rcu_thread_register();
	loop_run(links->loop);
	rcu_thread_unregister();
	return NULL;
}

static char *copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

static int start_thread(struct egressfirewall_links *links, struct err_text err)
{
	sigset_t all, before;
	links->loop = loop_new();
	if (links->loop == NULL) {
		err_text_set(err, "no descriptors left");
		return ERR_LIMIT;
	}
	links->tick.cb = on_tick;
	on_tick(&links->tick);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	links->is_running = pthread_create(&links->thread, NULL, run_links, links) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!links->is_running)
		err_text_set(err, "cannot start a thread");
	return links->is_running ? 0 : ERR_LIMIT;
}

int egressfirewall_links_new(const struct egressfirewall_links_conf *conf,
			     struct egressfirewall_links **ret, struct err_text reterr)
{
	struct egressfirewall_links *links = xcalloc(1, sizeof(*links));
	const char *files[] = { conf->cert, conf->key, conf->ca };
	pthread_mutex_init(&links->lock, NULL);
	map_init(&links->by_node);
	links->node = copy_text(conf->node);
	links->socket = copy_text(conf->socket);
	links->tls_name = copy_text(conf->tls_name);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		links->file[i] = copy_text(files[i]);
	links->port = conf->port;
	links->answer_ns = conf->answer_ns;
	links->preset = preset;
	int r = links->preset == NULL && conf->cert != NULL ? read_first_cred(links, reterr) : 0;
	if (r == 0 && links->preset == NULL)
		r = start_thread(links, reterr);
	if (r < 0) {
		egressfirewall_links_free(links);
		return r;
	}
	*ret = links;
	return 0;
}

void egressfirewall_links_free(struct egressfirewall_links *links)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (links == NULL)
		return;
	if (links->is_running) {
		loop_stop(links->loop);
		pthread_join(links->thread, NULL);
	}
	while ((entry = map_next(&links->by_node, &pos)) != NULL) {
		struct egressfirewall_link_own *own = entry->value;
		assert(own->first == NULL);
		if (own->agent != NULL)
			agent_set_free(own->agent);
		free(own);
	}
	map_done(&links->by_node);
	loop_free(links->loop);
	net_tls_cred_unref(links->cred);
	for (size_t i = 0; i < ARRAY_LEN(links->file); i++)
		free(links->file[i]);
	free(links->node);
	free(links->socket);
	free(links->tls_name);
	pthread_mutex_destroy(&links->lock);
	free(links);
}

/* ---- links ---- */

static union net_addr address_of(const struct kube_ip *ip, uint16_t port)
{
	static const struct kube_ip none;
	union net_addr addr = { .family = AF_UNSPEC };
	if (memcmp(ip, &none, sizeof(none)) == 0)
		return addr;
	addr.v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	memcpy(&addr.v6.sin6_addr, ip->b, sizeof(ip->b));
	net_addr_unmap(&addr);
	net_addr_set_port(&addr, port);
	return addr;
}

static struct egressfirewall_link_own *new_link(struct egressfirewall_links *links,
						const char *node)
{
	size_t n = strlen(node);
	struct egressfirewall_link_own *own = xcalloc(1, sizeof(*own) + n + 1);
	memcpy(own->node, node, n);
	own->end = &own->first;
	own->link.own = own;
	own->was_reachable = true; /* what is worth a line is that it is not */
	own->link.number = (uint32_t)links->by_node.n + 1;
	if (links->preset != NULL)
		atomic_init(&own->link.set, links->preset(node));
	map_set(&links->by_node, slice_of(node), own);
	return own;
}

struct egressfirewall_link *egressfirewall_links_get(struct egressfirewall_links *links,
						     const char *node,
						     const struct kube_ip *host_ip)
{
	union net_addr addr = address_of(host_ip, links->port);
	pthread_mutex_lock(&links->lock);
	struct egressfirewall_link_own *own = map_get(&links->by_node, slice_of(node));
	if (own == NULL)
		own = new_link(links, node);
	if (addr.family != AF_UNSPEC)
		own->addr = addr;
	pthread_mutex_unlock(&links->lock);
	return &own->link;
}

void egressfirewall_links_on_tick(struct egressfirewall_links *links, void (*fn)(void *ctx),
				  void *ctx)
{
	pthread_mutex_lock(&links->lock);
	links->on_tick = fn;
	links->on_tick_ctx = ctx;
	pthread_mutex_unlock(&links->lock);
}

struct egressfirewall_links_counts egressfirewall_links_counts(struct egressfirewall_links *links)
{
	pthread_mutex_lock(&links->lock);
	struct egressfirewall_links_counts counts = links->counts;
	pthread_mutex_unlock(&links->lock);
	return counts;
}
