/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binds a path of the file system. The file is removed while the socket still listens: who comes meanwhile meets a
 * listener, and leaves the file alone. */
#include "node/unix_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

/* Does somebody listen? A full queue is somebody's, too. */
static bool is_answered(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return true;
	int r = connect(fd, (const struct sockaddr *)address, sizeof(*address));
	bool is_answering = r == 0 || errno == EAGAIN;
	close(fd);
	return is_answering;
}

static int remove_leftover(const struct sockaddr_un *address, const char *path, struct err_text err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return 0; /* bind reports what is wrong */
	if (!S_ISSOCK(st.st_mode)) {
		err_text_set(err, "cannot listen on '%s': this file exists and is no socket", path);
		return -EADDRINUSE;
	}
	if (is_answered(address)) {
		err_text_set(err, "another agent answers at '%s'", path);
		return -EADDRINUSE;
	}
	IGNORE(unlink(path) < 0); /* bind reports what is wrong */
	return 0;
}

/* Nobody can connect before listen. */
static int open_to_group(const struct node_unix_socket *sock)
{
	if (chmod(sock->path, 0600) < 0)
		return -1;
	if (!sock->has_group)
		return 0;
	return chown(sock->path, (uid_t)-1, sock->group) == 0 ? chmod(sock->path, 0660) : -1;
}

static int note_file(struct node_unix_socket *sock)
{
	struct stat st;
	if (lstat(sock->path, &st) < 0)
		return -1;
	sock->device = st.st_dev;
	sock->inode = st.st_ino;
	return 0;
}

int node_unix_socket_open(struct node_unix_socket *sock, struct err_text err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(sock->path);
	if (n >= sizeof(address.sun_path)) {
		err_text_set(err, "the path of the socket is too long: %s", sock->path);
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, sock->path, n);
	int r = remove_leftover(&address, sock->path, err);
	if (r < 0)
		return r;
	sock->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* The mode of the new file, before anybody can connect. */
	if (sock->fd >= 0 && fchmod(sock->fd, 0600) == 0 &&
	    bind(sock->fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    note_file(sock) == 0 && open_to_group(sock) == 0 && listen(sock->fd, SOMAXCONN) == 0)
		return 0;
	r = -errno;
	err_text_set(err, "cannot listen on '%s': %s", sock->path, err_str(r));
	if (sock->fd >= 0)
		close(sock->fd);
	return r;
}

void node_unix_socket_close(const struct node_unix_socket *sock)
{
	struct stat st;
	if (lstat(sock->path, &st) == 0 && st.st_dev == sock->device && st.st_ino == sock->inode)
		IGNORE(unlink(sock->path) < 0); /* the next one replaces it */
	close(sock->fd);
}
