/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The netlink socket to nf_tables. Only the last message of a batch asks for an acknowledgement: the
 * kernel sends errors for any, and one answer means that all were committed (kernels before 6.10 do not
 * acknowledge the end of a batch itself). */
#include "addrset/nftables/link.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "base/err.h"
#include "base/mem.h"

enum {
	ANSWER_BYTES = 256 * 1024,
	ANSWER_SECONDS = 10, /* a kernel that is busy with a large table */
	FIRST_SEND_BYTES = 1024 * 1024,
	KEPT_BYTES = 1024 * 1024, /* of a batch's memory, for the next one */
	BATCH_EDGE_BYTES = 64,	  /* of its begin or end */
};

struct nftables_link {
	struct mnl_socket *socket;
	uint32_t port;
	uint32_t seq;
	size_t send_bytes; /* the socket's buffer */

	char *batch;
	size_t n, cap;		  /* bytes; `n` without the last message */
	struct nlmsghdr *message; /* the last one, which still grows */
	size_t n_messages;

	char *answer;
};

static int set_send_bytes(struct nftables_link *link, size_t bytes)
{
	int value = (int)bytes;
	int fd = mnl_socket_get_fd(link->socket);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &value, sizeof(value)) < 0)
		return -errno;
	link->send_bytes = bytes;
	return 0;
}

static int prepare_socket(struct nftables_link *link)
{
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	int fd = mnl_socket_get_fd(link->socket);
	int receive = ANSWER_BYTES * 4;
	if (mnl_socket_bind(link->socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &receive, sizeof(receive)) < 0)
		return -errno;
	link->port = mnl_socket_get_portid(link->socket);
	return set_send_bytes(link, FIRST_SEND_BYTES);
}

int nftables_link_open(struct nftables_link **ret, struct err_text err)
{
	struct nftables_link *link = xcalloc(1, sizeof(*link));
	int r = 0;
	link->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (link->socket == NULL)
		r = -errno;
	else
		r = prepare_socket(link);
	if (r == -EPERM)
		err_text_set(err,
			     "enforcing egress rules with nftables needs root or CAP_NET_ADMIN");
	else if (r < 0)
		err_text_set(err, "cannot open a netlink socket to nf_tables: %s", err_str(r));
	if (r < 0) {
		nftables_link_close(link);
		return r;
	}
	link->answer = xmalloc(ANSWER_BYTES);
	link->seq = (uint32_t)time(NULL);
	*ret = link;
	return 0;
}

void nftables_link_close(struct nftables_link *link)
{
	if (link == NULL)
		return;
	if (link->socket != NULL)
		mnl_socket_close(link->socket);
	free(link->batch);
	free(link->answer);
	free(link);
}

uint32_t nftables_link_port(const struct nftables_link *link)
{
	return link->port;
}

/* ---- batches ---- */

static void end_message(struct nftables_link *link)
{
	if (link->message != NULL)
		link->n += NLMSG_ALIGN((size_t)link->message->nlmsg_len);
	link->message = NULL;
}

/* Memory for one more message, which is not counted in yet. */
static char *room_for_message(struct nftables_link *link, size_t bytes)
{
	end_message(link);
	if (link->cap - link->n < bytes) {
		link->cap = MAX(link->cap * 2, link->n + bytes);
		link->batch = xrealloc(link->batch, link->cap);
	}
	return link->batch + link->n;
}

static struct nlmsghdr *put_header(struct nftables_link *link, char *at, uint16_t type,
				   uint16_t flags, uint8_t family)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(at);
	message->nlmsg_type = type;
	message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	message->nlmsg_seq = ++link->seq;
	struct nfgenmsg *extra = mnl_nlmsg_put_extra_header(message, sizeof(*extra));
	extra->nfgen_family = family;
	extra->version = NFNETLINK_V0;
	return message;
}

static void put_edge(struct nftables_link *link, uint16_t type)
{
	char *at = room_for_message(link, BATCH_EDGE_BYTES);
	link->message = put_header(link, at, type, 0, AF_UNSPEC);
	struct nfgenmsg *extra = mnl_nlmsg_get_payload(link->message);
	extra->res_id = htons(NFNL_SUBSYS_NFTABLES);
}

struct nlmsghdr *nftables_batch_add(struct nftables_link *link, uint16_t type, uint16_t flags)
{
	if (link->n_messages == 0)
		put_edge(link, NFNL_MSG_BATCH_BEGIN);
	char *at = room_for_message(link, NFTABLES_MESSAGE_BYTES + BATCH_EDGE_BYTES);
	link->message = put_header(link, at, (uint16_t)((NFNL_SUBSYS_NFTABLES << 8) | type), flags,
				   NFPROTO_INET);
	link->n_messages++;
	return link->message;
}

size_t nftables_batch_count(const struct nftables_link *link)
{
	return link->n_messages;
}

static void drop_batch(struct nftables_link *link)
{
	link->n = link->n_messages = 0;
	link->message = NULL;
	if (link->cap > KEPT_BYTES) {
		free(link->batch);
		link->batch = NULL;
		link->cap = 0;
	}
}

/* 1: acknowledged; 0: nothing about this batch; negative: refused. */
static int judge_answer(const struct nlmsghdr *message, uint32_t first, uint32_t last)
{
	if (message->nlmsg_type != NLMSG_ERROR || message->nlmsg_seq - first > last - first)
		return 0;
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);
	if (error->error != 0)
		return error->error;
	return message->nlmsg_seq == last;
}

static int await_answer(struct nftables_link *link, uint32_t first, uint32_t last)
{
	for (;;) {
		ssize_t got = mnl_socket_recvfrom(link->socket, link->answer, ANSWER_BYTES);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? ERR_TIMEOUT : -errno;
		int left = (int)got;
		const struct nlmsghdr *message = (const struct nlmsghdr *)(void *)link->answer;
		for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
			int r = judge_answer(message, first, last);
			if (r != 0)
				return r < 0 ? r : 0;
		}
	}
}

/* A batch that fails makes the kernel send an error for each message; what is left of them must not be
 * taken for the next one's. Sequence numbers tell them apart, so that only the buffer has to be freed. */
static void drain_answers(struct nftables_link *link)
{
	int fd = mnl_socket_get_fd(link->socket);
	while (recv(fd, link->answer, ANSWER_BYTES, MSG_DONTWAIT) > 0) {
	}
}

static int send_batch(struct nftables_link *link)
{
	if (link->n + BATCH_EDGE_BYTES > link->send_bytes / 2) {
		int r = set_send_bytes(link, link->n * 4);
		if (r < 0)
			return r;
	}
	return mnl_socket_sendto(link->socket, link->batch, link->n) < 0 ? -errno : 0;
}

int nftables_batch_commit(struct nftables_link *link, struct err_text err)
{
	if (link->n_messages == 0)
		return 0;
	link->message->nlmsg_flags |= NLM_F_ACK;
	uint32_t last = link->seq, first = last - (uint32_t)link->n_messages;
	put_edge(link, NFNL_MSG_BATCH_END);
	end_message(link);
	int r = send_batch(link);
	if (r == 0)
		r = await_answer(link, first, last);
	if (r < 0) {
		err_text_set(err, "nf_tables refuses a batch of %zu changes: %s", link->n_messages,
			     err_str(r));
		drain_answers(link);
	}
	drop_batch(link);
	return r;
}

/* ---- dumps ---- */

enum { DUMP_TRIES = 20 };

struct dump {
	int (*each)(const struct nlmsghdr *message, void *ctx);
	void *ctx;
	int result;
};

static int take_message(const struct nlmsghdr *message, void *ctx)
{
	struct dump *dump = ctx;
	dump->result = dump->each(message, dump->ctx);
	return dump->result < 0 ? MNL_CB_ERROR : MNL_CB_OK;
}

static int dump_once(struct nftables_link *link, uint16_t type, const char *set, struct dump *dump)
{
	char request[512];
	struct nlmsghdr *message =
		put_header(link, request, (uint16_t)((NFNL_SUBSYS_NFTABLES << 8) | type),
			   NLM_F_DUMP, NFPROTO_INET);
	/* All requests name the table with attribute 1. */
	mnl_attr_put_strz(message, NFTA_RULE_TABLE, NFTABLES_TABLE);
	if (set != NULL)
		mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_SET, set);
	dump->result = 0;
	if (mnl_socket_sendto(link->socket, message, message->nlmsg_len) < 0)
		return -errno;
	uint32_t seq = message->nlmsg_seq;
	for (;;) {
		ssize_t got = mnl_socket_recvfrom(link->socket, link->answer, ANSWER_BYTES);
		if (got < 0)
			return -errno;
		int r = mnl_cb_run(link->answer, (size_t)got, seq, link->port, take_message, dump);
		if (r == MNL_CB_STOP)
			return 0;
		if (r < 0)
			return dump->result < 0 ? dump->result : -errno;
	}
}

int nftables_link_dump(struct nftables_link *link, uint16_t type, const char *set,
		       int (*each)(const struct nlmsghdr *message, void *ctx), void *ctx)
{
	assert(link->n_messages == 0);
	struct dump dump = { .each = each, .ctx = ctx };
	for (int i = 0; i < DUMP_TRIES; i++) {
		int r = each(NULL, ctx);
		if (r == 0)
			r = dump_once(link, type, set, &dump);
		if (r != -EINTR)
			return r;
		drain_answers(link);
	}
	return ERR_CONFLICT;
}
