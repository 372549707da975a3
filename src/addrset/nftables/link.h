/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The netlink socket to nf_tables: batches that the kernel commits as one, and dumps. One thread; calls
 * wait for the kernel, which answers at once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "base/compiler.h"
#include "base/err_text.h"

#define NFTABLES_TABLE "fairlead" /* of the family inet */

/* Room that each message of a batch has. */
enum { NFTABLES_MESSAGE_BYTES = 65536 };

struct nftables_link;

/* -errno, with a sentence: EPERM without CAP_NET_ADMIN, EPROTONOSUPPORT without nf_tables. */
MUST_CHECK int nftables_link_open(struct nftables_link **ret, struct err_text err);
/* NULL is fine. */
void nftables_link_close(struct nftables_link *link);
/* The netlink port: the kernel marks our changes with it. */
uint32_t nftables_link_port(const struct nftables_link *link);

/* Appends a message NFT_MSG_* for the family inet to the batch. The caller adds attributes; the pointer
 * is valid until the next call. */
struct nlmsghdr *nftables_batch_add(struct nftables_link *link, uint16_t type, uint16_t flags);
size_t nftables_batch_count(const struct nftables_link *link); /* messages */
/* 0: all of the batch is in force. Otherwise nothing of it is: -errno of the kernel, with a sentence. The
 * batch is empty afterwards. An empty one is committed without a system call. */
MUST_CHECK int nftables_batch_commit(struct nftables_link *link, struct err_text err);

/* Asks for all objects NFT_MSG_GET* of the table; of one set where `set` is not NULL. `each` gets every
 * message and ends the dump by a negative code; with NULL it begins anew, since the table may change while
 * it is read. -ENOENT: the table or set does not exist. ERR_CONFLICT: it changed again and again. */
MUST_CHECK int nftables_link_dump(struct nftables_link *link, uint16_t type, const char *set,
				  int (*each)(const struct nlmsghdr *message, void *ctx),
				  void *ctx);
