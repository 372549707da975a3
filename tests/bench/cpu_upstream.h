/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An upstream inside bench-cpu's fake network: a question that a plugin sends is its answer the
 * next time the same socket is read. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* For a Corefile; opens the socket that plugins connect to. */
const char *cpu_upstream_address(void);
bool cpu_upstream_used(void);

/* As sendmmsg and recvmmsg on a plugin's socket. */
int cpu_upstream_send(int fd, struct mmsghdr *v, unsigned n);
int cpu_upstream_recv(int fd, struct mmsghdr *v, unsigned n);

/* Are there answers that were not read yet? Sockets that do not know of theirs are woken. */
bool cpu_upstream_pending(void);
