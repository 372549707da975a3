/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listens to the multicast group of nf_tables. The kernel puts the port of the socket that asked for a change
 * into its notification; a socket filter drops those of our own, which are by far the most, before they
 * take room in the buffer. */
#include "addrset/nftables/foreign_changes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <linux/filter.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "addrset/nftables/attr.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/loop.h"

enum {
	NOTE_BYTES = 64 * 1024,
	BUFFER_BYTES = 1024 * 1024,
	READS_MAX = 64, /* in one turn of the loop */
	TABLE_ATTR = 1, /* names the table in every notification */
};

struct nftables_foreign_changes {
	struct loop *loop;
	struct mnl_socket *socket;
	struct loop_fd io;
	void (*changed)(void *ctx);
	void *ctx;
	char note[NOTE_BYTES];
};

static bool is_about_table(const struct nlmsghdr *message)
{
	const struct nlattr *attr;
	const struct nfgenmsg *extra = mnl_nlmsg_get_payload(message);
	if (NFNL_SUBSYS_ID(message->nlmsg_type) != NFNL_SUBSYS_NFTABLES ||
	    NFNL_MSG_TYPE(message->nlmsg_type) == NFT_MSG_NEWGEN ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*extra) ||
	    extra->nfgen_family != NFPROTO_INET)
		return false;
	NFTABLES_ATTR_EACH(attr, message)
	{
		if (mnl_attr_get_type(attr) == TABLE_ATTR)
			return mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) == 0 &&
			       strcmp(mnl_attr_get_str(attr), NFTABLES_TABLE) == 0;
	}
	return false;
}

static bool has_table(const char *bytes, size_t n)
{
	int left = (int)n;
	const struct nlmsghdr *message = (const struct nlmsghdr *)(const void *)bytes;
	for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
		if (is_about_table(message))
			return true;
	}
	return false;
}

static void on_notes(struct loop_fd *io, uint32_t events UNUSED)
{
	struct nftables_foreign_changes *changes =
		CONTAINER_OF(io, struct nftables_foreign_changes, io);
	bool is_changed = false;
	for (int i = 0; i < READS_MAX; i++) {
		ssize_t got = recv(io->fd, changes->note, sizeof(changes->note),
				   MSG_DONTWAIT | MSG_TRUNC);
		if (got < 0 && errno == ENOBUFS) {
			is_changed = true;
			continue;
		}
		if (got <= 0)
			break;
		is_changed |= (size_t)got > sizeof(changes->note) ||
			      has_table(changes->note, (size_t)got);
	}
	if (is_changed)
		changes->changed(changes->ctx);
}

/* All messages of a datagram are of one batch, and so of one sender. */
static int drop_own(int fd, uint32_t port)
{
	/* A filter loads words in network order, the header has the host's. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_pid)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	struct sock_fprog program = { .len = ARRAY_LEN(code), .filter = code };
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno
											   : 0;
}

static int start_listening(struct nftables_foreign_changes *changes, uint32_t own_port)
{
	int fd = mnl_socket_get_fd(changes->socket), bytes = BUFFER_BYTES, group = NFNLGRP_NFTABLES;
	int r = drop_own(fd, own_port);
	if (r < 0)
		return r;
	if (mnl_socket_bind(changes->socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0 ||
	    mnl_socket_setsockopt(changes->socket, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) <
		    0)
		return -errno;
	changes->io = (struct loop_fd){ .fd = fd, .cb = on_notes };
	return loop_fd_add(changes->loop, &changes->io, EPOLLIN);
}

int nftables_foreign_changes_open(struct loop *loop, const struct nftables_link *link,
				  void (*changed)(void *ctx), void *ctx,
				  struct nftables_foreign_changes **ret, struct err_text err)
{
	struct nftables_foreign_changes *changes = xcalloc(1, sizeof(*changes));
	changes->loop = loop;
	changes->changed = changed;
	changes->ctx = ctx;
	changes->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int r = changes->socket != NULL ? start_listening(changes, nftables_link_port(link))
					: -errno;
	if (r < 0) {
		err_text_set(err, "cannot listen to changes of nf_tables: %s", err_str(r));
		nftables_foreign_changes_close(changes);
		return r;
	}
	*ret = changes;
	return 0;
}

void nftables_foreign_changes_close(struct nftables_foreign_changes *changes)
{
	if (changes == NULL)
		return;
	if (changes->io.cb != NULL)
		loop_fd_del(changes->loop, &changes->io);
	if (changes->socket != NULL)
		mnl_socket_close(changes->socket);
	free(changes);
}
