/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets and connections to an upstream: their life, and the exchanges on them by id. */
#pragma once

#include "resolve/types_priv.h"

/* A link with this descriptor, in the loop and in the pool. Closes fd when that fails. */
struct resolve_link *link_open(struct resolve_pool *pool, int fd, uint32_t events,
			       const struct link_ops *ops, size_t size);
void link_close(struct resolve_link *link);
/* It has something to send in the next flush. */
void link_dirty(struct resolve_link *link);
/* Gives the exchange a random id that is unique on the link. */
void link_add(struct resolve_link *link, struct resolve_exchange *exchange);
void link_remove(struct resolve_link *link, struct resolve_exchange *exchange);
/* Is an exchange with the same question on it? A second one would double the chances of who forges
 * replies to a port that they know. */
bool link_carries(const struct resolve_link *link, uint32_t question_hash);
struct resolve_exchange *link_find(const struct resolve_link *link, uint16_t id);
/* Ends all exchanges of a link. */
void link_fail_all(struct resolve_link *link, enum resolve_result result, int code);
/* Closes it now or when its last exchange ends. */
void link_drain(struct resolve_link *link);
/* Sets the timer that closes links nobody uses. */
void link_sweep_at(struct resolver *resolver, uint64_t due_ns);
void link_sweep(struct loop_timer *timer);
/* A descriptor connected (or connecting) to the pool's upstream, or -errno. */
MUST_CHECK int link_socket(const struct resolve_conf *conf, int type);
