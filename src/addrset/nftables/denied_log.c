/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A netlink socket that is bound to the group. What does not fit into its buffer is lost: they are samples. */
#include "addrset/nftables/denied_log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>

#include "addrset/nftables/attr.h"
#include "addrset/nftables/denied_packet.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/loop.h"

enum {
	NOTE_BYTES = 64 * 1024,
	READS_MAX = 16,	    /* in one turn of the loop */
	COPIED_BYTES = 128, /* of a packet */
	ANSWER_SECONDS = 5,
};

struct nftables_denied_log {
	struct loop *loop;
	struct mnl_socket *socket;
	struct loop_fd io;
	void (*denied)(void *ctx, const struct nftables_connection *sample);
	void *ctx;
	char note[NOTE_BYTES];
};

static void read_message(const struct nftables_denied_log *log, const struct nlmsghdr *message)
{
	const struct nlattr *attr;
	struct nftables_connection sample;
	if (message->nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(struct nfgenmsg))
		return;
	NFTABLES_ATTR_EACH(attr, message)
	{
		if (mnl_attr_get_type(attr) == NFULA_PAYLOAD &&
		    nftables_denied_packet_read(mnl_attr_get_payload(attr),
						mnl_attr_get_payload_len(attr), &sample))
			log->denied(log->ctx, &sample);
	}
}

static void on_samples(struct loop_fd *io, uint32_t events UNUSED)
{
	struct nftables_denied_log *log = CONTAINER_OF(io, struct nftables_denied_log, io);
	for (int i = 0; i < READS_MAX; i++) {
		ssize_t got = recv(io->fd, log->note, sizeof(log->note), MSG_DONTWAIT);
		if (got < 0 && errno == ENOBUFS)
			continue;
		if (got <= 0)
			return;
		int left = (int)got;
		const struct nlmsghdr *message = (const struct nlmsghdr *)(void *)log->note;
		for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left))
			read_message(log, message);
	}
}

/* One setting of the group, acknowledged by the kernel. */
static int configure(struct nftables_denied_log *log, uint16_t group, uint16_t type,
		     const void *value, size_t n)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(log->note);
	message->nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	message->nlmsg_seq = type;
	struct nfgenmsg *head = mnl_nlmsg_put_extra_header(message, sizeof(*head));
	head->nfgen_family = AF_UNSPEC;
	head->version = NFNETLINK_V0;
	head->res_id = htons(group);
	mnl_attr_put(message, type, n, value);
	if (mnl_socket_sendto(log->socket, message, message->nlmsg_len) < 0)
		return -errno;
	ssize_t got = mnl_socket_recvfrom(log->socket, log->note, sizeof(log->note));
	if (got < 0)
		return errno == EAGAIN ? ERR_TIMEOUT : -errno;
	int r = mnl_cb_run(log->note, (size_t)got, type, mnl_socket_get_portid(log->socket), NULL,
			   NULL);
	return r < 0 ? -errno : 0;
}

static int bind_group(struct nftables_denied_log *log, uint16_t group)
{
	struct nfulnl_msg_config_cmd bind = { .command = NFULNL_CFG_CMD_BIND };
	struct nfulnl_msg_config_mode mode = { .copy_range = htonl(COPIED_BYTES),
					       .copy_mode = NFULNL_COPY_PACKET };
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	int fd = mnl_socket_get_fd(log->socket);
	if (mnl_socket_bind(log->socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	/* The mode last: before it no packet comes between a request and its answer. */
	int r = configure(log, group, NFULA_CFG_CMD, &bind, sizeof(bind));
	if (r == 0)
		r = configure(log, group, NFULA_CFG_MODE, &mode, sizeof(mode));
	if (r < 0)
		return r;
	log->io = (struct loop_fd){ .fd = fd, .cb = on_samples };
	return loop_fd_add(log->loop, &log->io, EPOLLIN);
}

int nftables_denied_log_open(struct loop *loop, uint16_t group,
			     void (*denied)(void *ctx, const struct nftables_connection *sample),
			     void *ctx, struct nftables_denied_log **ret, struct err_text err)
{
	struct nftables_denied_log *log = xcalloc(1, sizeof(*log));
	log->loop = loop;
	log->denied = denied;
	log->ctx = ctx;
	log->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	int r = log->socket != NULL ? bind_group(log, group) : -errno;
	if (r < 0) {
		err_text_set(err, "cannot read the NFLOG group %u: %s", group, err_str(r));
		nftables_denied_log_close(log);
		return r;
	}
	*ret = log;
	return 0;
}

void nftables_denied_log_close(struct nftables_denied_log *log)
{
	if (log == NULL)
		return;
	if (log->io.cb != NULL)
		loop_fd_del(log->loop, &log->io);
	if (log->socket != NULL)
		mnl_socket_close(log->socket);
	free(log);
}
