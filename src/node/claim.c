/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whoever binds the name has the claim; it listens so that others can read whose it is. */
#include "node/claim.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"

#define AREA "node"

enum { TRY_AGAIN_US = 50 * 1000, BACKLOG = 16 };

struct claim_name {
	struct sockaddr_un address;
	socklen_t n;
};

static struct claim_name make_name(const char *text)
{
	struct claim_name name = { .address = { .sun_family = AF_UNIX } };
	size_t n = MIN(strlen(text), sizeof(name.address.sun_path) - 1);
	memcpy(name.address.sun_path + 1, text, n);
	name.n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
	return name;
}

static int bind_name(const struct claim_name *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&name->address, name->n) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	int r = -errno;
	close(fd);
	return r;
}

/* A holder whose user cannot be read is taken for an agent. */
static bool read_holder(const struct claim_name *name, struct ucred *ret)
{
	socklen_t n = sizeof(*ret);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	bool is_read = connect(fd, (const struct sockaddr *)&name->address, name->n) == 0 &&
		       getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) == 0;
	close(fd);
	return is_read;
}

static int refuse(const struct claim_name *name, int *ret, struct err_text err)
{
	struct ucred holder = { 0 };
	if (read_holder(name, &holder) && holder.uid != 0 && holder.uid != geteuid()) {
		log_warn(AREA,
			 "a process of user %u has the socket @%s, by which agents know each "
			 "other; going on without it",
			 (unsigned)holder.uid, name->address.sun_path + 1);
		*ret = -1;
		return 0;
	}
	if (holder.pid > 0)
		err_text_set(err, "another agent enforces EgressFirewalls here: process %d",
			     (int)holder.pid);
	else
		err_text_set(err, "another agent enforces EgressFirewalls here");
	return -EADDRINUSE;
}

int node_claim_take(const char *text, uint64_t wait_ns, int *ret, struct err_text err)
{
	struct claim_name name = make_name(text);
	uint64_t until_ns = clock_mono_ns() + wait_ns;
	int fd = bind_name(&name);
	while (fd == -EADDRINUSE && clock_mono_ns() < until_ns) {
		usleep(TRY_AGAIN_US);
		fd = bind_name(&name);
	}
	if (fd == -EADDRINUSE)
		return refuse(&name, ret, err);
	if (fd < 0) {
		err_text_set(err, "cannot claim this network namespace: %s", err_str(fd));
		return fd;
	}
	*ret = fd;
	return 0;
}
