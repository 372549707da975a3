/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The name servers of a resolv.conf, as ranges of one address. */
#pragma once

#include <stddef.h>

#include "net/addr.h"

#define NAME_SERVERS_FILE "/etc/resolv.conf"

struct lookup_client;
struct loop;

/* Up to `most` of them; their number, or 0: there are none, or the file cannot be read. */
size_t name_servers_read(const char *path, struct net_cidr *out, size_t most);
/* A client that asks those of this machine; NULL: there are none. lookup_client_free() it before the loop. */
struct lookup_client *name_servers_lookups(struct loop *loop);
