/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: the way of kernels before 6.12, on any. */
#pragma once

#include "addrset/nftables/pairs.h"

/* Adding an element again does not renew it: it is replaced. */
void nftables_pairs_assume_old_kernel(struct nftables_pairs *pairs);
