/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The socket between `fairlead up` and `fairlead status`: who connects gets one JSON array, and the
 * end of the stream. There is nothing to ask for, so nothing of the client is read. */
#include "cmd/up/upstatus.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/strbuf.h"

#define SOCKET_NAME "up.sock"

enum { BACKLOG = 8, ANSWER_MAX_BYTES = 1 << 20, WAIT_S = 5, RETRY_MS = 100 };

struct upstatus {
	char *path;
	int listen_fd, wake_fd;
	void (*collect)(void *ctx, json_t *lines);
	void *ctx;
	pthread_t thread;
};

void upstatus_add(json_t *lines, const char *what, bool well, const char *text)
{
	json_array_append_new(
		lines, json_pack("{s:s, s:b, s:s}", "what", what, "well", (int)well, "text", text));
}

/* A socket and its address. Paths of sockets are short, those of data directories may be long: the
 * address goes by the number of the open directory. Negative, or the socket, with the directory in
 * *ret_dir: it stays open until the address was used. */
static int make_socket(const char *data, struct sockaddr_un *ret_addr, int *ret_dir)
{
	int dir = open(data, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		int r = -errno;
		close(dir);
		return r;
	}
	*ret_addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret_addr->sun_path, sizeof(ret_addr->sun_path), "/proc/self/fd/%d/" SOCKET_NAME,
		 dir);
	*ret_dir = dir;
	return fd;
}

static void limit_waits(int fd)
{
	static const struct timeval wait = { .tv_sec = WAIT_S };
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
}

/* ---- `fairlead up` ---- */

static void write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* the client sees that the text is not whole */
		text += n;
		len -= (size_t)n;
	}
}

static void answer_client(struct upstatus *upstatus, int fd)
{
	json_t *lines = json_array();
	limit_waits(fd);
	upstatus->collect(upstatus->ctx, lines);
	char *text = json_dumps(lines, JSON_COMPACT);
	if (text != NULL)
		write_all(fd, text, strlen(text));
	free(text);
	json_decref(lines);
}

static void *run_thread(void *arg)
{
	struct upstatus *upstatus = arg;
	struct pollfd fds[] = { { .fd = upstatus->listen_fd, .events = POLLIN },
				{ .fd = upstatus->wake_fd, .events = POLLIN } };
	while (fds[1].revents == 0) {
		if (poll(fds, ARRAY_LEN(fds), -1) < 0 || fds[0].revents == 0)
			continue;
		int fd = accept4(upstatus->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0) { /* no descriptors left, say: the client stays in the queue */
			poll(fds + 1, 1, RETRY_MS);
			continue;
		}
		answer_client(upstatus, fd);
		close(fd);
	}
	return NULL;
}

static void upstatus_free(struct upstatus *upstatus)
{
	if (upstatus->listen_fd >= 0)
		close(upstatus->listen_fd);
	if (upstatus->wake_fd >= 0)
		close(upstatus->wake_fd);
	free(upstatus->path);
	free(upstatus);
}

/* The data directory is ours alone: a socket in it is of a process that died. */
static int listen_in(struct upstatus *upstatus, const char *data)
{
	struct sockaddr_un addr;
	int dir = -1, fd = make_socket(data, &addr, &dir), r = 0;
	if (fd < 0)
		return fd;
	upstatus->listen_fd = fd;
	unlink(upstatus->path);
	/* before bind(): the file never has another mode */
	if (fchmod(fd, 0600) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, BACKLOG) < 0)
		r = -errno;
	close(dir);
	return r;
}

int upstatus_start(const char *data, void (*collect)(void *ctx, json_t *lines), void *ctx,
		   struct upstatus **ret, struct err_text err)
{
	struct upstatus *upstatus = xcalloc(1, sizeof(*upstatus));
	*upstatus = (struct upstatus){ .path = xasprintf("%s/" SOCKET_NAME, data),
				       .listen_fd = -1,
				       .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				       .collect = collect,
				       .ctx = ctx };
	int r = upstatus->wake_fd < 0 ? -errno : listen_in(upstatus, data);
	if (r == 0)
		r = -pthread_create(&upstatus->thread, NULL, run_thread, upstatus);
	if (r < 0) {
		err_text_set(err, "cannot listen on '%s': %s", upstatus->path, err_str(r));
		upstatus_free(upstatus);
		return r;
	}
	*ret = upstatus;
	return 0;
}

void upstatus_stop(struct upstatus *upstatus)
{
	if (upstatus == NULL)
		return;
	unlink(upstatus->path);
	IGNORE(eventfd_write(upstatus->wake_fd, 1)); /* its counter has room */
	pthread_join(upstatus->thread, NULL);
	upstatus_free(upstatus);
}

/* ---- `fairlead status` ---- */

static int connect_to(const char *data)
{
	struct sockaddr_un addr;
	int dir = -1, fd = make_socket(data, &addr, &dir);
	if (fd < 0)
		return fd == -ENOENT ? ERR_NOTFOUND : fd;
	limit_waits(fd);
	int r = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	close(dir);
	if (r == 0)
		return fd;
	close(fd);
	if (r == -EAGAIN) /* nobody accepts */
		return ERR_TIMEOUT;
	return r == -ENOENT || r == -ECONNREFUSED ? ERR_NOTFOUND : r;
}

int upstatus_ask(const char *data, json_t **ret)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	int fd = connect_to(data);
	if (fd < 0)
		return fd;
	int r = readfile_fd(fd, ANSWER_MAX_BYTES, &text);
	close(fd);
	if (r < 0)
		return r == -EAGAIN ? ERR_TIMEOUT : r;
	json_t *lines = json_loadb(text.s, text.n, 0, NULL);
	if (!json_is_array(lines)) {
		json_decref(lines);
		return ERR_PARSE;
	}
	*ret = lines;
	return 0;
}
