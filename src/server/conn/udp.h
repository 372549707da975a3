/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS over UDP: receives batches of datagrams straight into query slots and serves them. */
#pragma once

#include <stdint.h>

struct loop_fd;
struct worker;

/* Sets up the worker's receive vectors. */
void udp_prepare(struct worker *worker);
void udp_readable(struct loop_fd *loop_fd, uint32_t events);
