/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and benchmarks drive a server without threads (server_opts.no_threads) turn by turn. */
#pragma once

#include "server/server.h"

/* One turn of the loop of worker `worker`; `wait`: until something happens. */
void server_turn(struct server *server, unsigned worker, bool wait);
