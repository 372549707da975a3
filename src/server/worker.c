/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A worker: one thread, one loop, its sockets. It changes generation by messages from the control
 * thread: first it initialises the new one's instances, then it switches, and when the last query
 * of the old one is done it reports that. */
#include "server/worker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "base/regex/regex.h"
#include "dns/rrtext/rrtext.h"
#include "server/chain.h"
#include "server/conn/conn.h"
#include "server/conn/listener.h"
#include "server/conn/conn_limits.h"
#include "server/conn/udp.h"
#include "server/generation.h"
#include "server/reply.h"
#include "server/server_state.h"
#include "server/slab.h"
#include "server/waiting.h"
#include "server/worker_hook.h"

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

void worker_flush(struct worker *worker)
{
	if (worker->run_first != NULL)
		chain_drain(worker);
	if (worker->hooks != NULL)
		worker_hook_run_all(worker);
	if (worker->n_tx != 0)
		reply_flush(worker);
}

static void *thread_main(void *arg)
{
	struct worker *w = arg;
	rcu_thread_register();
	loop_run(w->loop);
	rcu_thread_unregister();
	return NULL;
}

/* The parts that need no thread. */
static void prepare_worker(struct worker *worker)
{
	worker->is_stream = worker->index >= worker->srv->n_workers;
	worker->pool = worker->is_stream ? &worker->srv->stream : &worker->srv->plain;
	waiting_init(worker);
	conn_list_init(&worker->conns);
	worker->make_room_msg.cb = conn_limits_make_room;
	strbuf_init(&worker->line);
	worker->ops = worker->srv->opts.ops != NULL ? worker->srv->opts.ops : &net_ops_kernel;
	worker->tx_buf = xmalloc(WORKER_BATCH * sizeof(*worker->tx_buf));
	worker->tcp_in = xmalloc(2 + 65535);
	worker->tcp_out = xmalloc(2 + 65535);
	rng_init(&worker->rng);
	udp_prepare(worker);
	loop_set_around(worker->loop, before_turn, after_turn, worker);
}

int worker_start(struct worker *worker, struct server *srv, unsigned index)
{
	worker->srv = srv;
	worker->index = index;
	worker->loop = loop_new();
	if (worker->loop == NULL)
		return ERR_INTERNAL;
	prepare_worker(worker);
	if (srv->opts.no_threads)
		return 0;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 * 1024);
	int r = pthread_create(&worker->thread, &attr, thread_main, worker);
	pthread_attr_destroy(&attr);
	if (r != 0)
		return -r;
	worker->running = true;
	char name[16];
	snprintf(name, sizeof(name), worker->is_stream ? "stream-%u" : "worker-%u",
		 worker->is_stream ? index - srv->n_workers : index);
	pthread_setname_np(worker->thread, name);
	return 0;
}

void worker_cleanup(struct worker *worker)
{
	for (unsigned i = 0; i < WORKER_BATCH; i++) {
		if (worker->rx_q[i] != NULL)
			slot_release(worker, worker->rx_q[i]);
	}
	slab_done(worker);
	strbuf_done(&worker->line);
	dns_rrtext_free(worker->rrtext);
	regex_scratch_free(worker->regex);
	free(worker->tx_buf);
	free(worker->tcp_in);
	free(worker->tcp_out);
	loop_free(worker->loop);
}

void worker_uninit(struct worker *worker, struct generation *generation)
{
	struct generation_worker *gw = &generation->worker[worker->index];
	assert(gw->n_inited <= generation->n_inst);
	while (gw->n_inited > 0) {
		struct plugin_inst *inst = generation->inst[--gw->n_inited];
		if (inst->plugin->worker_done != NULL)
			inst->plugin->worker_done(inst, worker);
	}
}

void worker_leave(struct worker *worker, struct generation *generation)
{
	struct server *server = worker->srv;
	assert(generation->worker[worker->index].inflight == 0);
	generation->worker[worker->index].retiring = false;
	worker_uninit(worker, generation);
	reply_flush(worker); /* the sockets may close from now on */
	pthread_mutex_lock(&server->lock);
	generation->n_left++;
	pthread_cond_broadcast(&server->cond);
	pthread_mutex_unlock(&server->lock);
}

static void sock_register(struct worker *worker, struct listener_sock *sock)
{
	if (sock->registered || sock->tcp.fd < 0)
		return;
	struct loop_fd *fds[] = { &sock->udp[0].io, &sock->udp[1].io, &sock->tcp };
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (fds[i]->fd >= 0 && loop_fd_add(worker->loop, fds[i], EPOLLIN) < 0)
			log_error("server", "worker %u cannot watch %s", worker->index,
				  sock->listener->label);
	}
	sock->registered = true;
}

static void sock_unregister(struct worker *worker, struct listener_sock *sock)
{
	if (!sock->registered)
		return;
	struct loop_fd *fds[] = { &sock->udp[0].io, &sock->udp[1].io, &sock->tcp };
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		loop_fd_del(worker->loop, fds[i]);
	if (sock->accept_timer.heap_at != 0)
		loop_timer_stop(worker->loop, &sock->accept_timer);
	sock->registered = false;
	sock->route = NULL;
	conn_leave_all(sock);
	assert(sock->conns.n_conns == 0);
}

static bool has_route(const struct generation *generation, const struct listener *listener)
{
	for (size_t i = 0; generation != NULL && i < generation->n_route; i++) {
		if (generation->route[i]->listener == listener)
			return true;
	}
	return false;
}

/* On the worker's thread. NULL: stop serving. */
void worker_switch(struct worker *worker, struct generation *generation)
{
	struct generation *old = worker->gen;
	assert(generation == NULL || generation != old);
	for (size_t i = 0; generation != NULL && i < generation->n_route; i++) {
		struct listener_sock *sock =
			listener_sock_of(generation->route[i]->listener, worker);
		if (sock == NULL)
			continue;
		sock->route = generation->route[i];
		sock_register(worker, sock);
	}
	for (size_t i = 0; old != NULL && i < old->n_route; i++) {
		struct listener_sock *sock = listener_sock_of(old->route[i]->listener, worker);
		if (sock != NULL && !has_route(generation, sock->listener))
			sock_unregister(worker, sock);
	}
	worker->gen = generation;
}
