/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples of denied packets, which the table sends to an NFLOG group. One thread. */
#pragma once

#include "addrset/nftables/conntrack.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct loop;
struct nftables_denied_log;

/* `denied` is called on the loop's thread for each sample. Only one program can have a group: -EBUSY. */
MUST_CHECK int nftables_denied_log_open(struct loop *loop, uint16_t group,
					void (*denied)(void *ctx,
						       const struct nftables_connection *sample),
					void *ctx, struct nftables_denied_log **ret,
					struct err_text err);
/* NULL is fine. */
void nftables_denied_log_close(struct nftables_denied_log *log);
