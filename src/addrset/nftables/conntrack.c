/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the labels of connections by ctnetlink, and takes some away. Entries are never deleted: the next
 * packet, perhaps one of the other side, would make a new one that no rule has seen. */
#include "addrset/nftables/conntrack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>

#include "addrset/nftables/attr.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

enum {
	ANSWER_BYTES = 64 * 1024,
	REQUEST_BYTES = 512,
	TUPLE_BYTES_MAX = 256,
};

/* What names an entry to the kernel. */
struct entry_key {
	uint8_t family;
	bool has_zone;
	uint16_t zone; /* network order */
	uint16_t n;
	uint8_t tuple[TUPLE_BYTES_MAX]; /* contents of CTA_TUPLE_ORIG */
};

struct review {
	bool (*may_go_on)(void *ctx, const struct nftables_connection *connection);
	void *ctx;
	VEC(struct entry_key) doomed;
};

static void read_ip(const struct nlattr *nest, uint16_t v4, uint16_t v6,
		    struct addrset_address *ret)
{
	const struct nlattr *attr;
	NFTABLES_ATTR_NESTED(attr, nest)
	{
		uint16_t type = mnl_attr_get_type(attr), n = mnl_attr_get_payload_len(attr);
		if ((type == v4 && n == 4) || (type == v6 && n == 16)) {
			ret->n = (uint8_t)n;
			memcpy(ret->bytes, mnl_attr_get_payload(attr), n);
		}
	}
}

/* The source of a tuple, with its port. */
static void read_source(const struct nlattr *tuple, struct addrset_address *ret, uint16_t *ret_port,
			uint8_t *ret_protocol)
{
	const struct nlattr *attr, *part;
	NFTABLES_ATTR_NESTED(attr, tuple)
	{
		if (mnl_attr_get_type(attr) == CTA_TUPLE_IP)
			read_ip(attr, CTA_IP_V4_SRC, CTA_IP_V6_SRC, ret);
		if (mnl_attr_get_type(attr) != CTA_TUPLE_PROTO)
			continue;
		NFTABLES_ATTR_NESTED(part, attr)
		{
			if (mnl_attr_get_type(part) == CTA_PROTO_NUM)
				*ret_protocol = mnl_attr_get_u8(part);
			else if (mnl_attr_get_type(part) == CTA_PROTO_SRC_PORT)
				*ret_port = ntohs(mnl_attr_get_u16(part));
		}
	}
}

static void read_label(const struct nlattr *attr, struct addrset_id *ret)
{
	size_t n = mnl_attr_get_payload_len(attr);
	memcpy(ret->bytes, mnl_attr_get_payload(attr), MIN(n, sizeof(ret->bytes)));
}

static void keep_tuple(const struct nlattr *attr, struct entry_key *key)
{
	uint16_t n = mnl_attr_get_payload_len(attr);
	if (n > sizeof(key->tuple))
		return;
	key->n = n;
	memcpy(key->tuple, mnl_attr_get_payload(attr), n);
}

static void read_entry(const struct nlmsghdr *message, struct nftables_connection *connection,
		       struct entry_key *key)
{
	uint16_t from_port = 0;
	const struct nlattr *attr;
	const struct nfgenmsg *head = mnl_nlmsg_get_payload(message);
	key->family = head->nfgen_family;
	NFTABLES_ATTR_EACH(attr, message)
	{
		switch (mnl_attr_get_type(attr)) {
		case CTA_TUPLE_ORIG:
			keep_tuple(attr, key);
			read_source(attr, &connection->from, &from_port, &connection->protocol);
			break;
		case CTA_TUPLE_REPLY:
			read_source(attr, &connection->to, &connection->port,
				    &connection->protocol);
			break;
		case CTA_LABELS:
			read_label(attr, &connection->label);
			break;
		case CTA_ZONE:
			key->has_zone = true;
			key->zone = mnl_attr_get_u16(attr);
			break;
		}
	}
}

static int review_entry(const struct nlmsghdr *message, void *ctx)
{
	static const struct addrset_id none;
	struct review *review = ctx;
	struct nftables_connection connection = { .port = 0 };
	struct entry_key key = { .n = 0 };
	read_entry(message, &connection, &key);
	if (key.n == 0 || connection.from.n == 0 || connection.to.n != connection.from.n ||
	    memcmp(&connection.label, &none, sizeof(none)) == 0)
		return MNL_CB_OK;
	if (!review->may_go_on(review->ctx, &connection))
		vec_push(&review->doomed, key);
	return MNL_CB_OK;
}

static struct nlmsghdr *begin_request(char *at, uint16_t type, uint16_t flags, uint8_t family,
				      uint32_t seq)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(at);
	message->nlmsg_type = (uint16_t)((NFNL_SUBSYS_CTNETLINK << 8) | type);
	message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	message->nlmsg_seq = seq;
	struct nfgenmsg *head = mnl_nlmsg_put_extra_header(message, sizeof(*head));
	head->nfgen_family = family;
	head->version = NFNETLINK_V0;
	return message;
}

/* Sends a request and reads all of its answer. */
static int exchange(struct mnl_socket *socket, const struct nlmsghdr *message, mnl_cb_t take,
		    void *ctx)
{
	char *answer = xmalloc(ANSWER_BYTES);
	int r = mnl_socket_sendto(socket, message, message->nlmsg_len) < 0 ? -errno : MNL_CB_OK;
	while (r == MNL_CB_OK) {
		ssize_t got = mnl_socket_recvfrom(socket, answer, ANSWER_BYTES);
		r = got < 0 ? -1
			    : mnl_cb_run(answer, (size_t)got, message->nlmsg_seq,
					 mnl_socket_get_portid(socket), take, ctx);
		if (r < 0)
			r = -errno;
	}
	free(answer);
	return r < 0 ? r : 0;
}

static int clear_label(struct mnl_socket *socket, const struct entry_key *key, uint32_t seq)
{
	static const uint8_t none[ADDRSET_ID_BYTES];
	char request[REQUEST_BYTES];
	uint8_t all[ADDRSET_ID_BYTES];
	memset(all, 0xff, sizeof(all));
	struct nlmsghdr *message =
		begin_request(request, IPCTNL_MSG_CT_NEW, NLM_F_ACK, key->family, seq);
	mnl_attr_put(message, CTA_TUPLE_ORIG | NLA_F_NESTED, key->n, key->tuple);
	if (key->has_zone)
		mnl_attr_put_u16(message, CTA_ZONE, key->zone);
	mnl_attr_put(message, CTA_LABELS, sizeof(none), none);
	mnl_attr_put(message, CTA_LABELS_MASK, sizeof(all), all);
	return exchange(socket, message, NULL, NULL);
}

static int clear_labels(struct mnl_socket *socket, const struct review *review, size_t *ret_cleared)
{
	for (size_t i = 0; i < review->doomed.n; i++) {
		int r = clear_label(socket, &review->doomed.v[i], (uint32_t)i + 2);
		if (r < 0 && r != -ENOENT) /* the connection has ended */
			return r;
		*ret_cleared += r == 0;
	}
	return 0;
}

int nftables_conntrack_review(bool (*may_go_on)(void *ctx,
						const struct nftables_connection *connection),
			      void *ctx, size_t *ret_cleared, struct err_text err)
{
	struct review review = { .may_go_on = may_go_on, .ctx = ctx };
	char request[REQUEST_BYTES];
	int r;
	*ret_cleared = 0;
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (socket == NULL || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0)
		r = -errno;
	else
		r = exchange(socket,
			     begin_request(request, IPCTNL_MSG_CT_GET, NLM_F_DUMP, AF_UNSPEC, 1),
			     review_entry, &review);
	if (r == 0)
		r = clear_labels(socket, &review, ret_cleared);
	if (r < 0)
		err_text_set(err, "cannot review the kernel's connections: %s", err_str(r));
	if (socket != NULL)
		mnl_socket_close(socket);
	vec_done(&review.doomed);
	return r;
}
