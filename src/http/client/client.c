/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of one client, from start to end. With a loop, libcurl reports which sockets and which time
 * it waits for, and each event is handed back; without one, http/client/sync.c drives libcurl. */
#include "http/client/client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/client/client_priv.h"
#include "http/client/options_priv.h"
#include "http/client/outcome_priv.h"
#include "http/client/redirect_priv.h"
#include "http/client/transfer_priv.h"
#include "net/loop.h"

enum { HOST_CALLS_DEFAULT = 16 };

/* A socket of libcurl's that the loop watches. */
struct socket_watch {
	struct loop_fd fd;
	struct http_client *client;
};

/* ---- lists ---- */

static void link_transfer(struct http_transfer **list, struct http_transfer *transfer)
{
	transfer->next = *list;
	transfer->link = list;
	if (*list != NULL)
		(*list)->link = &transfer->next;
	*list = transfer;
}

static void unlink_transfer(struct http_transfer *transfer)
{
	*transfer->link = transfer->next;
	if (transfer->next != NULL)
		transfer->next->link = transfer->link;
}

/* ---- transfers ---- */

static void check_deadline(struct loop_timer *timer);
static void resume_transfer(struct loop_timer *timer);

static void submit_transfer(struct http_transfer *transfer);

static CURL *take_handle(struct http_client *client)
{
	CURL *easy =
		client->idle.n != 0 ? client->idle.v[--client->idle.n] : client->lib->easy_init();
	assert(easy != NULL); /* out of memory, as in base/mem.h */
	return easy;
}

static void put_handle(struct http_client *client, CURL *easy)
{
	if (easy != NULL && client->idle.n < client->idle_max)
		vec_push(&client->idle, easy);
	else if (easy != NULL)
		client->lib->easy_cleanup(easy);
}

static struct http_transfer *new_transfer(struct http_client *client, struct http_call *call)
{
	struct http_transfer *transfer = xcalloc(1, sizeof(*transfer));
	transfer->lib = client->lib;
	transfer->client = client;
	transfer->deadline.cb = check_deadline;
	transfer->resume.cb = resume_transfer;
	transfer->call = call;
	call->transfer = transfer;
	link_transfer(&client->transfers, transfer);
	return transfer;
}

/* Frees it; the call belongs to the caller again, and the next one of its host begins. A handle that
 * is removed before it was done closes its connection. */
static void free_transfer(struct http_transfer *transfer)
{
	struct http_client *client = transfer->client;
	struct http_transfer *next = NULL;
	assert(transfer->call->transfer == transfer && !client->inside);
	if (transfer->added)
		IGNORE(client->lib->multi_remove_handle(client->multi, transfer->easy));
	if (client->loop != NULL) {
		loop_timer_stop(client->loop, &transfer->deadline);
		loop_timer_stop(client->loop, &transfer->resume);
	}
	http_options_clear(transfer);
	put_handle(client, transfer->easy);
	if (transfer->host != NULL)
		next = http_host_leave(&client->hosts, transfer);
	transfer->call->transfer = NULL;
	unlink_transfer(transfer);
	free(transfer->url);
	free(transfer);
	if (next != NULL && !client->closing)
		submit_transfer(next);
}

/* After the outcome was set. */
static void end_call(struct http_transfer *transfer)
{
	struct http_call *call = transfer->call;
	free_transfer(transfer);
	if (call->done != NULL)
		call->done(call);
}

uint64_t http_client_deadline(const struct http_transfer *transfer, uint64_t now)
{
	uint64_t stall_ns = http_transfer_stall_ns(transfer);
	/* Waiting for our own limit is no silence of the server. */
	uint64_t since = transfer->call->phase == HTTP_QUEUED ? now : transfer->heard_ns;
	if (transfer->refused < 0)
		return now;
	return stall_ns != HTTP_NEVER ? MIN(transfer->end_ns, since + stall_ns) : transfer->end_ns;
}

bool http_client_end_late(struct http_transfer *transfer, uint64_t now)
{
	if (http_client_deadline(transfer, now) > now)
		return false;
	if (transfer->refused < 0)
		http_outcome_fail(transfer, transfer->refused);
	else
		http_outcome_timeout(transfer, now < transfer->end_ns);
	end_call(transfer);
	return true;
}

static void arm_deadline(struct http_transfer *transfer, uint64_t now)
{
	uint64_t due = http_client_deadline(transfer, now);
	if (transfer->client->loop != NULL && due != HTTP_NEVER)
		loop_timer_set(transfer->client->loop, &transfer->deadline, due);
}

static void check_deadline(struct loop_timer *timer)
{
	struct http_transfer *transfer = CONTAINER_OF(timer, struct http_transfer, deadline);
	uint64_t now = clock_mono_ns();
	if (!http_client_end_late(transfer, now))
		arm_deadline(transfer, now);
}

/* Gives the call to libcurl. What cannot be tried ends in the loop's next turn, as all calls do. */
static void submit_transfer(struct http_transfer *transfer)
{
	struct http_client *client = transfer->client;
	assert(transfer->host != NULL && !transfer->waits && !transfer->added);
	if (transfer->easy == NULL)
		transfer->easy = take_handle(client);
	transfer->refused = http_options_set(transfer, client->http2);
	if (transfer->refused == 0) {
		if (client->lib->multi_add_handle(client->multi, transfer->easy) == CURLM_OK)
			transfer->added = true;
		else
			transfer->refused = ERR_INTERNAL;
	}
	arm_deadline(transfer, clock_mono_ns());
}

static void follow_redirect(struct http_transfer *transfer)
{
	IGNORE(transfer->lib->multi_remove_handle(transfer->client->multi, transfer->easy));
	transfer->added = false;
	http_options_clear(transfer);
	transfer->refused = http_transfer_aim(transfer);
	assert(transfer->refused == 0); /* http_redirect_check has read the URL */
	submit_transfer(transfer);
}

static void finish_transfer(struct http_transfer *transfer, CURLcode code)
{
	http_outcome_from_curl(transfer, code);
	int r = transfer->call->result == 0 ? http_redirect_check(transfer) : 0;
	if (r < 0)
		http_outcome_fail(transfer, r);
	if (r > 0)
		follow_redirect(transfer);
	else
		end_call(transfer);
}

/* The piece that libcurl has kept comes from inside; an error of its callback ends the call here. */
static void resume_transfer(struct loop_timer *timer)
{
	struct http_transfer *transfer = CONTAINER_OF(timer, struct http_transfer, resume);
	struct http_client *client = transfer->client;
	transfer->was_resumed = true;
	client->inside = true;
	CURLcode code = client->lib->easy_pause(transfer->easy, CURLPAUSE_CONT);
	client->inside = false;
	if (code != CURLE_OK)
		finish_transfer(transfer, code);
}

/* ---- libcurl and the loop ---- */

static struct http_transfer *transfer_of(const struct http_client *client, CURL *easy)
{
	char *transfer = NULL; /* as getinfo has it */
	IGNORE(client->lib->easy_getinfo(easy, CURLINFO_PRIVATE, &transfer));
	return (struct http_transfer *)(void *)transfer;
}

void http_client_take_results(struct http_client *client)
{
	const CURLMsg *message;
	int left = 0;
	while ((message = client->lib->multi_info_read(client->multi, &left)) != NULL) {
		if (message->msg != CURLMSG_DONE)
			continue;
		struct http_transfer *transfer = transfer_of(client, message->easy_handle);
		assert(transfer != NULL && transfer->call != NULL);
		finish_transfer(transfer, message->data.result);
	}
}

static void run_library(struct http_client *client, curl_socket_t fd, int events)
{
	int running = 0;
	assert(!client->inside);
	client->inside = true;
	IGNORE(client->lib->multi_socket_action(client->multi, fd, events, &running));
	client->inside = false;
	http_client_take_results(client);
}

static void on_socket_ready(struct loop_fd *loop_fd, uint32_t events)
{
	struct http_client *client = CONTAINER_OF(loop_fd, struct socket_watch, fd)->client;
	int bits = 0;
	if ((events & EPOLLIN) != 0)
		bits |= CURL_CSELECT_IN;
	if ((events & EPOLLOUT) != 0)
		bits |= CURL_CSELECT_OUT;
	if ((events & (EPOLLERR | EPOLLHUP)) != 0)
		bits |= CURL_CSELECT_ERR;
	run_library(client, loop_fd->fd, bits); /* may free the watch */
}

static void on_timer(struct loop_timer *timer)
{
	run_library(CONTAINER_OF(timer, struct http_client, timer), CURL_SOCKET_TIMEOUT, 0);
}

/* libcurl waits for other events on a socket. When the loop cannot watch it, the call's time-out
 * ends the wait. */
static int change_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
	struct http_client *client = ctx;
	struct socket_watch *watch = socket_ctx;
	uint32_t events =
		(what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watch != NULL) {
			loop_fd_del(client->loop, &watch->fd);
			IGNORE(client->lib->multi_assign(client->multi, fd, NULL));
			free(watch);
		}
		return 0;
	}
	if (watch != NULL) {
		IGNORE(loop_fd_mod(client->loop, &watch->fd, events));
		return 0;
	}
	watch = xcalloc(1, sizeof(*watch));
	watch->client = client;
	watch->fd = (struct loop_fd){ .fd = fd, .cb = on_socket_ready };
	IGNORE(loop_fd_add(client->loop, &watch->fd, events));
	IGNORE(client->lib->multi_assign(client->multi, fd, watch));
	return 0;
}

static int change_timer(CURLM *multi, long timeout_ms, void *ctx)
{
	struct http_client *client = ctx;
	(void)multi;
	if (timeout_ms < 0)
		loop_timer_stop(client->loop, &client->timer);
	else
		loop_timer_set(client->loop, &client->timer,
			       clock_mono_ns() + (uint64_t)timeout_ms * NS_PER_MS);
	return 0;
}

/* ---- public ---- */

#define SET(option, value) \
	IGNORE(client->lib->multi_setopt(client->multi, CURLMOPT_##option, (value)))

struct http_client *http_client_new(struct loop *loop, const struct http_client_conf *conf,
				    struct err_text err)
{
	const struct http_curl *lib = http_curl_load(err);
	if (lib == NULL)
		return NULL;
	struct http_client *client = xcalloc(1, sizeof(*client));
	client->lib = lib;
	client->loop = loop;
	client->http2 = conf->http2;
	client->hosts.max = conf->host_max != 0 ? conf->host_max : HOST_CALLS_DEFAULT;
	client->idle_max = conf->kept_max != 0 ? conf->kept_max : client->hosts.max;
	client->timer.cb = on_timer;
	client->multi = lib->multi_init();
	if (client->multi == NULL) {
		err_text_set(err, "cannot create a connection handle: out of file descriptors?");
		free(client);
		return NULL;
	}
	if (loop != NULL) {
		SET(SOCKETFUNCTION, change_socket);
		SET(SOCKETDATA, client);
		SET(TIMERFUNCTION, change_timer);
		SET(TIMERDATA, client);
	}
	SET(MAXCONNECTS, (long)client->idle_max);
	return client;
}

void http_client_free(struct http_client *client)
{
	if (client == NULL)
		return;
	client->closing = true;
	client->idle_max = 0;
	while (client->transfers != NULL)
		http_client_cancel(client, client->transfers->call);
	assert(client->hosts.hosts == NULL);
	for (size_t i = 0; i < client->idle.n; i++)
		client->lib->easy_cleanup(client->idle.v[i]);
	vec_done(&client->idle);
	IGNORE(client->lib->multi_cleanup(client->multi));
	if (client->loop != NULL)
		loop_timer_stop(client->loop, &client->timer);
	free(client);
}

void http_client_start(struct http_client *client, struct http_call *call)
{
	assert(!client->inside && call->transfer == NULL);
	struct http_transfer *transfer = new_transfer(client, call);
	uint64_t now = clock_mono_ns();
	uint64_t timeout_ns =
		call->timeout_ns != 0 ? call->timeout_ns : HTTP_CALL_TIMEOUT_S * NS_PER_S;
	transfer->end_ns = timeout_ns != HTTP_NEVER ? now + timeout_ns : HTTP_NEVER;
	transfer->refused = http_transfer_aim(transfer);
	if (transfer->refused == 0 && http_host_enter(&client->hosts, transfer))
		submit_transfer(transfer);
	else
		arm_deadline(transfer, now);
}

void http_client_cancel(struct http_client *client, struct http_call *call)
{
	if (call->transfer == NULL)
		return;
	assert(call->transfer->client == client);
	http_outcome_fail(call->transfer, -ECANCELED);
	free_transfer(call->transfer);
}
