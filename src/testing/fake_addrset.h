/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An address set in memory, whose acknowledgements a test gives when it wants to: what the plugin and the
 * node's agent are tested with. One thread. */
#pragma once

#include "addrset/addrset.h"

struct fake_addrset;

struct fake_addrset *fake_addrset_new(void);
/* Requests that wait get ERR_CLOSED. */
void fake_addrset_free(struct fake_addrset *fake);
struct addrset *fake_addrset_set(struct fake_addrset *fake);

size_t fake_addrset_waiting(const struct fake_addrset *fake); /* requests */
size_t fake_addrset_commits(const struct fake_addrset *fake); /* that had something to commit */
/* Of the last request. */
const char *fake_addrset_tenant(const struct fake_addrset *fake);
/* Answers all requests that wait: 0, their pairs are held from now on; negative, they fail. */
void fake_addrset_commit(struct fake_addrset *fake, int result);
/* It holds nothing any more. */
void fake_addrset_forget(struct fake_addrset *fake);
