/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: the judgement on one connection, without a kernel. */
#pragma once

#include "addrset/nftables/revoke.h"

bool nftables_revoke_allows(const struct nftables_policy *policy, const struct addrset *names,
			    const struct nftables_connection *connection);
