/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: how many pairs count for a namespace. */
#pragma once

#include "addrset/nftables/quota.h"

size_t nftables_quota_used(const struct nftables_quota *quota, struct slice tenant);
