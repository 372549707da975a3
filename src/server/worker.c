/* A worker: one thread, one loop, its sockets. It changes generation by messages from the control
 * thread: first it initialises the new one's instances, then it switches, and when the last query
 * of the old one is done it says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rcu.h"
#include "base/regex.h"
#include "dns/rrtext.h"
#include "server/server_priv.h"

/* One read section per turn: what a reply points at lives until it is encoded. */
static void before_turn(void *ctx)
{
	(void)ctx;
	rcu_enter();
}

static void after_turn(void *ctx)
{
	worker_flush(ctx);
	rcu_leave();
}

void worker_flush(struct worker *w)
{
	if (w->run_first != NULL)
		chain_drain(w);
	while (w->hooks != NULL) {
		struct worker_hook *h = w->hooks;
		w->hooks = h->next;
		h->armed = false;
		h->fn(h);
	}
	if (w->n_tx != 0)
		reply_flush(w);
}

void worker_hook_arm(struct worker *w, struct worker_hook *h)
{
	if (h->armed)
		return;
	h->armed = true;
	h->next = w->hooks;
	w->hooks = h;
}

void worker_hook_disarm(struct worker *w, struct worker_hook *h)
{
	struct worker_hook **at = &w->hooks;
	if (!h->armed)
		return;
	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	h->armed = false;
}

static void *thread_main(void *arg)
{
	struct worker *w = arg;
	rcu_thread_register();
	loop_run(w->loop);
	rcu_thread_unregister();
	return NULL;
}

void worker_prepare(struct worker *w)
{
	w->is_stream = w->index >= w->srv->n_workers;
	w->pool = w->is_stream ? &w->srv->stream : &w->srv->plain;
	waiting_init(w);
	conn_list_init(&w->conns);
	w->room_msg.cb = conn_room_asked;
	strbuf_init(&w->line);
	w->ops = w->srv->opts.ops != NULL ? w->srv->opts.ops : &net_ops_kernel;
	w->tx_buf = xmalloc(BATCH * sizeof(*w->tx_buf));
	w->tcp_in = xmalloc(2 + 65535);
	w->tcp_out = xmalloc(2 + 65535);
	rng_init(&w->rng);
	udp_prepare(w);
	loop_set_around(w->loop, before_turn, after_turn, w);
}

int worker_start(struct worker *w, struct server *srv, unsigned index)
{
	w->srv = srv;
	w->index = index;
	w->loop = loop_new();
	if (w->loop == NULL)
		return ERR_INTERNAL;
	worker_prepare(w);
	if (srv->opts.no_threads)
		return 0;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 * 1024);
	int r = pthread_create(&w->thread, &attr, thread_main, w);
	pthread_attr_destroy(&attr);
	if (r != 0)
		return -r;
	w->running = true;
	char name[16];
	snprintf(name, sizeof(name), w->is_stream ? "stream-%u" : "worker-%u",
		 w->is_stream ? index - srv->n_workers : index);
	pthread_setname_np(w->thread, name);
	return 0;
}

void worker_cleanup(struct worker *w)
{
	for (unsigned i = 0; i < BATCH; i++) {
		if (w->rx_q[i] != NULL)
			slot_release(w, w->rx_q[i]);
	}
	slab_done(w);
	strbuf_done(&w->line);
	dns_rrtext_free(w->rrtext);
	regex_scratch_free(w->regex);
	free(w->tx_buf);
	free(w->tcp_in);
	free(w->tcp_out);
	loop_free(w->loop);
}

static void sock_register(struct worker *w, struct listener_sock *s)
{
	if (s->registered || s->tcp.fd < 0)
		return;
	struct loop_fd *fds[] = { &s->udp[0].io, &s->udp[1].io, &s->tcp };
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (fds[i]->fd >= 0 && loop_fd_add(w->loop, fds[i], EPOLLIN) < 0)
			log_error("server", "worker %u cannot watch %s", w->index,
				  s->listener->label);
	}
	s->registered = true;
}

static void sock_unregister(struct worker *w, struct listener_sock *s)
{
	if (!s->registered)
		return;
	struct loop_fd *fds[] = { &s->udp[0].io, &s->udp[1].io, &s->tcp };
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		loop_fd_del(w->loop, fds[i]);
	if (s->accept_timer.heap_at != 0)
		loop_timer_stop(w->loop, &s->accept_timer);
	s->registered = false;
	s->route = NULL;
	tcp_leave(s);
}

static bool routed(const struct generation *g, const struct listener *l)
{
	for (size_t i = 0; g != NULL && i < g->n_route; i++) {
		if (g->route[i]->listener == l)
			return true;
	}
	return false;
}

/* On the worker's thread. NULL: stop serving. */
void worker_switch(struct worker *w, struct generation *g)
{
	struct generation *old = w->gen;
	for (size_t i = 0; g != NULL && i < g->n_route; i++) {
		struct listener_sock *s = listener_on(g->route[i]->listener, w);
		if (s == NULL)
			continue;
		s->route = g->route[i];
		sock_register(w, s);
	}
	for (size_t i = 0; old != NULL && i < old->n_route; i++) {
		struct listener_sock *s = listener_on(old->route[i]->listener, w);
		if (s != NULL && !routed(g, s->listener))
			sock_unregister(w, s);
	}
	w->gen = g;
}
