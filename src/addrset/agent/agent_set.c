/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends requests to an agent and waits for its answers. Requests have consecutive numbers, whose low bits are
 * their places in a ring; one whose waiter has given up keeps its place until the answer comes, which still
 * says what is in force. */
#include "addrset/agent/agent_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "addrset/shared/agent_protocol.h"
#include "addrset/shared/agent_stream.h"
#include "addrset/shared/known_pairs.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#define CONNECT_NS (3 * NS_PER_S) /* until the agent's hello */
#define STUCK_NS \
	(10 * NS_PER_S) /* a connection on which nothing was answered for so long is given up */
#define RETRY_NS     (100 * NS_PER_MS) /* first pause before another connection; doubles up to: */
#define RETRY_MAX_NS (500 * NS_PER_MS)
#define SWEEP_NS     NS_PER_S

struct pending {
	struct addrset_request *request; /* NULL: it was answered, by the time */
	uint64_t sent_ns;
	size_t n_pairs;
	struct addrset_pair pairs[];
};

struct agent_set {
	struct addrset set;
	struct loop *loop;
	struct sockaddr_un path; /* sun_path[0] == 0: none */
	union net_addr addr;
	struct net_tls_cred *cred;
	char *tls_name;

	struct addrset_agent_stream stream;
	struct addrset_known_table table;
	struct pending *ring[AGENT_REQUESTS_MAX];
	uint32_t first;	   /* oldest number without an answer */
	uint32_t next_due; /* oldest one whose waiter still waits, or later */
	uint32_t end;	   /* next number */
	bool is_silent;
	bool is_refused; /* the last connection failed, and the next one has not succeeded */
	uint64_t retry_ns;
	struct loop_timer time_timer;  /* of the oldest request, or of the connection */
	struct loop_timer retry_timer; /* when to connect */
	struct loop_timer sweep_timer;
	struct agent_set_state counts;
	uint64_t connect_ns;
	uint64_t answer_ns;
};

static struct pending **place_of(struct agent_set *agent, uint32_t number)
{
	return &agent->ring[number % AGENT_REQUESTS_MAX];
}

/* ---- known pairs ---- */

static bool holds_pair(const struct addrset *set, const struct addrset_pair *pair)
{
	const struct agent_set *agent = (const struct agent_set *)(const void *)set;
	return addrset_known_holds(&agent->table, pair);
}

static void know_pairs(struct agent_set *agent, const struct pending *pending)
{
	for (size_t i = 0; i < pending->n_pairs; i++) {
		const struct addrset_pair *pair = &pending->pairs[i];
		struct addrset_known *known =
			addrset_known_get(&agent->table, &pair->name, &pair->address);
		if (addrset_known_until(known) < pair->until_ns)
			addrset_known_set(known, pair->until_ns);
	}
}

static void on_sweep_time(struct loop_timer *timer)
{
	struct agent_set *agent = CONTAINER_OF(timer, struct agent_set, sweep_timer);
	uint64_t now = clock_mono_ns();
	addrset_known_sweep(&agent->table, now);
	loop_timer_set(agent->loop, timer, now + SWEEP_NS);
}

/* ---- time ---- */

static bool is_up(const struct agent_set *agent)
{
	return agent->stream.is_open && agent->stream.has_hello;
}

/* What comes first: the end of a waiter's patience, of the connection's, of the attempt to connect. */
static void set_time(struct agent_set *agent)
{
	uint64_t due = UINT64_MAX;
	if (agent->next_due != agent->end && *place_of(agent, agent->next_due) != NULL)
		due = (*place_of(agent, agent->next_due))->sent_ns + agent->answer_ns;
	if (agent->first != agent->end && *place_of(agent, agent->first) != NULL)
		due = MIN(due, (*place_of(agent, agent->first))->sent_ns + STUCK_NS);
	if (agent->stream.is_open && !agent->stream.has_hello)
		due = MIN(due, agent->connect_ns + CONNECT_NS);
	if (due == UINT64_MAX)
		loop_timer_stop(agent->loop, &agent->time_timer);
	else
		loop_timer_set(agent->loop, &agent->time_timer, due);
}

static void skip_answered(struct agent_set *agent)
{
	while (agent->first != agent->end && *place_of(agent, agent->first) == NULL)
		agent->first++;
	if ((int32_t)(agent->next_due - agent->first) < 0)
		agent->next_due = agent->first;
	while (agent->next_due != agent->end && *place_of(agent, agent->next_due) == NULL)
		agent->next_due++;
}

/* ---- the end of a connection ---- */

/* All requests fail; each is answered when the ring is empty, since `done` may send others. */
static void fail_requests(struct agent_set *agent, int reason)
{
	struct addrset_request *failed = NULL, **end = &failed;
	for (; agent->first != agent->end; agent->first++) {
		struct pending **place = place_of(agent, agent->first);
		if (*place != NULL && (*place)->request != NULL) {
			(*place)->request->next = NULL;
			*end = (*place)->request;
			end = &(*place)->request->next;
		}
		free(*place);
		*place = NULL;
	}
	agent->next_due = agent->end;
	while (failed != NULL) {
		struct addrset_request *request = failed;
		failed = request->next;
		request->done(request, reason);
	}
}

/* Without a connection nothing is known: the agent may have been replaced by one that knows less. */
static void leave_connection(struct agent_set *agent, int reason)
{
	addrset_agent_stream_close(&agent->stream);
	addrset_known_forget_all(&agent->table);
	agent->counts.reason = reason;
	agent->is_refused = true;
	agent->is_silent = false;
	loop_timer_set(agent->loop, &agent->retry_timer, clock_mono_ns() + agent->retry_ns);
	agent->retry_ns = MIN(2 * agent->retry_ns, RETRY_MAX_NS);
	fail_requests(agent, ERR_CLOSED);
	set_time(agent);
}

static void on_ended(struct addrset_agent_stream *stream, int reason)
{
	leave_connection(CONTAINER_OF(stream, struct agent_set, stream), reason);
}

static void on_time(struct loop_timer *timer)
{
	struct agent_set *agent = CONTAINER_OF(timer, struct agent_set, time_timer);
	uint64_t now = clock_mono_ns();
	bool no_hello = agent->stream.is_open && !agent->stream.has_hello &&
			now >= agent->connect_ns + CONNECT_NS;
	skip_answered(agent);
	const struct pending *oldest =
		agent->first != agent->end ? *place_of(agent, agent->first) : NULL;
	if (no_hello || (oldest != NULL && now >= oldest->sent_ns + STUCK_NS)) {
		leave_connection(agent, ERR_TIMEOUT);
		return;
	}
	for (; agent->next_due != agent->end; agent->next_due++) {
		struct pending *pending = *place_of(agent, agent->next_due);
		if (pending != NULL && now < pending->sent_ns + agent->answer_ns)
			break;
		if (pending == NULL || pending->request == NULL)
			continue;
		struct addrset_request *request = pending->request;
		pending->request = NULL;
		agent->is_silent = true;
		agent->counts.timed_out++;
		request->done(request, ERR_TIMEOUT);
	}
	set_time(agent);
}

/* ---- answers ---- */

static void on_hello(struct addrset_agent_stream *stream)
{
	struct agent_set *agent = CONTAINER_OF(stream, struct agent_set, stream);
	agent->is_refused = false;
	agent->retry_ns = RETRY_NS;
	set_time(agent);
}

static int on_frame(struct addrset_agent_stream *stream, const struct addrset_agent_frame *frame)
{
	struct agent_set *agent = CONTAINER_OF(stream, struct agent_set, stream);
	if (frame->kind == ADDRSET_AGENT_FORGET) {
		addrset_known_forget_all(&agent->table);
		return 0;
	}
	if (frame->kind != ADDRSET_AGENT_RESULT ||
	    frame->number - agent->first >= AGENT_REQUESTS_MAX)
		return ERR_PARSE;
	struct pending *pending = *place_of(agent, frame->number);
	if (pending == NULL || (int32_t)(frame->number - agent->end) >= 0)
		return ERR_PARSE; /* an answer to what nobody asked */
	*place_of(agent, frame->number) = NULL;
	agent->is_silent = false;
	if (frame->result == 0)
		know_pairs(agent, pending);
	skip_answered(agent);
	set_time(agent);
	if (pending->request != NULL)
		pending->request->done(pending->request, frame->result);
	free(pending);
	return 0;
}

/* ---- requests ---- */

static void send_request(struct agent_set *agent, struct addrset_request *request)
{
	size_t n = request->n_pairs;
	uint64_t now = clock_mono_ns();
	struct pending *pending = xmalloc(sizeof(*pending) + n * sizeof(pending->pairs[0]));
	pending->request = request;
	pending->sent_ns = now;
	pending->n_pairs = n;
	memcpy(pending->pairs, request->pairs, n * sizeof(pending->pairs[0]));
	/* Before the hello of a connection requests name no tenant: the agent may be an older one. */
	addrset_agent_put_add(addrset_agent_stream_out(&agent->stream), agent->end,
			      agent->stream.version, request, now);
	*place_of(agent, agent->end++) = pending;
	agent->counts.requests++;
	set_time(agent);
}

/* 0: it can be sent. */
static int check_request(const struct agent_set *agent, const struct addrset_request *request)
{
	if (request->n_pairs > ADDRSET_AGENT_PAIRS_MAX)
		return ERR_LIMIT;
	if (!agent->stream.is_open || agent->is_refused)
		return ERR_CLOSED;
	if (agent->is_silent)
		return ERR_TIMEOUT;
	return agent->end - agent->first >= AGENT_REQUESTS_MAX ? ERR_BUSY : 0;
}

static void add_request(struct addrset *set, struct addrset_request *request)
{
	struct agent_set *agent = CONTAINER_OF(set, struct agent_set, set);
	if (addrset_holds(set, request->pairs, request->n_pairs)) {
		request->done(request, 0);
		return;
	}
	int r = check_request(agent, request);
	if (r == 0)
		send_request(agent, request);
	else
		request->done(request, r);
}

static const struct addrset_ops agent_ops = { .holds = holds_pair, .add = add_request };

/* ---- connecting ---- */

static int connect_socket(const struct agent_set *agent, bool *ret_connecting)
{
	bool is_unix = agent->path.sun_path[0] != '\0';
	int family = is_unix ? AF_UNIX : agent->addr.family;
	const struct sockaddr *to =
		is_unix ? (const struct sockaddr *)&agent->path : &agent->addr.sa;
	socklen_t n = is_unix ? sizeof(agent->path) : net_addr_len(&agent->addr);
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, to, n) == 0)
		return fd;
	if (errno == EINPROGRESS) {
		*ret_connecting = true;
		return fd;
	}
	int r = -errno;
	close(fd);
	return r;
}

static int open_connection(struct agent_set *agent)
{
	struct net_tls *tls = NULL;
	bool connecting = false;
	int fd = connect_socket(agent, &connecting);
	if (fd < 0)
		return fd;
	int r = agent->cred != NULL
			? net_tls_connect(agent->cred, fd, agent->tls_name, NULL, NULL, &tls)
			: 0;
	if (r < 0) {
		close(fd);
		return r;
	}
	return addrset_agent_stream_open(&agent->stream, fd, tls, connecting);
}

static void on_retry_time(struct loop_timer *timer)
{
	struct agent_set *agent = CONTAINER_OF(timer, struct agent_set, retry_timer);
	agent->connect_ns = clock_mono_ns();
	agent->counts.connects++;
	int r = open_connection(agent);
	if (r < 0)
		leave_connection(agent, r);
	else
		set_time(agent);
}

int agent_set_new(const struct agent_set_conf *conf, struct agent_set **ret)
{
	size_t n_path = conf->path != NULL ? strlen(conf->path) : 0;
	struct agent_set *agent = xcalloc(1, sizeof(*agent));
	if (n_path >= sizeof(agent->path.sun_path)) {
		free(agent);
		return ERR_LIMIT;
	}
	assert(conf->path != NULL || conf->cred != NULL); /* other nodes are reached by TLS alone */
	agent->set.ops = &agent_ops;
	agent->loop = conf->loop;
	agent->path.sun_family = AF_UNIX;
	memcpy(agent->path.sun_path, n_path != 0 ? conf->path : "", n_path + 1);
	agent->addr = conf->addr;
	agent->cred = conf->cred != NULL ? net_tls_cred_ref(conf->cred) : NULL;
	agent->tls_name = conf->tls_name != NULL ? xstrdup(conf->tls_name) : NULL;
	agent->stream = (struct addrset_agent_stream){
		.loop = conf->loop, .greeted = on_hello, .frame = on_frame, .ended = on_ended
	};
	addrset_known_init(&agent->table);
	agent->set.age = &agent->table.age;
	agent->answer_ns = conf->answer_ns != 0 ? conf->answer_ns : AGENT_ANSWER_MS * NS_PER_MS;
	agent->retry_ns = RETRY_NS;
	agent->time_timer.cb = on_time;
	agent->retry_timer.cb = on_retry_time;
	agent->sweep_timer.cb = on_sweep_time;
	on_sweep_time(&agent->sweep_timer);
	on_retry_time(&agent->retry_timer);
	*ret = agent;
	return 0;
}

void agent_set_free(struct agent_set *agent)
{
	if (agent == NULL)
		return;
	addrset_agent_stream_close(&agent->stream);
	fail_requests(agent, ERR_CLOSED);
	loop_timer_stop(agent->loop, &agent->time_timer);
	loop_timer_stop(agent->loop, &agent->retry_timer);
	loop_timer_stop(agent->loop, &agent->sweep_timer);
	addrset_known_done(&agent->table);
	net_tls_cred_unref(agent->cred);
	free(agent->tls_name);
	free(agent);
}

struct addrset *agent_set_set(struct agent_set *agent)
{
	return &agent->set;
}

void agent_set_use_cred(struct agent_set *agent, struct net_tls_cred *cred)
{
	if (agent->cred == NULL)
		return;
	net_tls_cred_unref(agent->cred);
	agent->cred = net_tls_cred_ref(cred);
}

struct agent_set_state agent_set_state(const struct agent_set *agent)
{
	struct agent_set_state state = agent->counts;
	state.is_reachable = is_up(agent) && !agent->is_silent && !agent->is_refused;
	state.known = agent->table.pairs.n;
	return state;
}
