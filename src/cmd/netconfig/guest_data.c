/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The network configuration in the forms in which cloud-init takes it. */
#include "cmd/netconfig/guest_data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "cmd/netconfig/network_config.h"

/* cloud-init configures a guest again when the id changes; CAPV uses the machine's name, too. */
static void put_identity(const struct machine *machine, struct strbuf *out)
{
	strbuf_adds(out, "instance-id: ");
	strbuf_add_json(out, slice_of(machine->name));
	strbuf_adds(out, "\nlocal-hostname: ");
	strbuf_add_json(out, slice_of(machine->name));
	strbuf_addc(out, '\n');
}

void guest_data_nocloud(const struct machine *machine, const struct machine_merged *merged,
			struct slice user_data, struct guest_files *ret)
{
	static const char *const names[] = { "meta-data", "network-config", "user-data" };
	for (size_t i = 0; i < GUEST_DATA_FILES; i++) {
		ret->v[i].name = names[i];
		strbuf_init(&ret->v[i].text);
	}
	put_identity(machine, &ret->v[0].text);
	network_config_write(machine, merged, false, &ret->v[1].text);
	if (user_data.n != 0)
		strbuf_add_slice(&ret->v[2].text, user_data);
	else
		strbuf_adds(&ret->v[2].text, "#cloud-config\n{}\n");
}

void guest_data_done(struct guest_files *files)
{
	for (size_t i = 0; i < GUEST_DATA_FILES; i++)
		strbuf_done(&files->v[i].text);
}

static int write_all(int fd, struct slice bytes)
{
	while (bytes.n != 0) {
		ssize_t n = write(fd, bytes.p, bytes.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes = slice_from(bytes, (size_t)n);
	}
	return 0;
}

/* Closes the file. */
static int write_and_close(int fd, struct slice bytes)
{
	int r = write_all(fd, bytes);
	/* A disk reports its errors here; FIFOs and terminals have nothing to synchronize. */
	if (r == 0 && fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

static int replace_file(const char *path, struct slice bytes)
{
	CLEANUP(freep) char *temporary = xasprintf("%s.%ld.tmp", path, (long)getpid());
	/* User data often holds secrets, and netplan warns about files that others can read. */
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = write_and_close(fd, bytes);
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(temporary);
	return r;
}

/* A link, a device or a FIFO. It is opened before a link is resolved, since the kernel refuses to
 * follow links that another user has put into a folder that all may write. */
static int write_through(const char *path, struct slice bytes)
{
	struct stat found;
	int fd = open(path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode))
		return write_and_close(fd, bytes);
	close(fd);
	CLEANUP(freep) char *target = realpath(path, NULL);
	return target != NULL ? replace_file(target, bytes) : -errno;
}

int guest_data_save_file(const char *path, struct slice bytes, struct err_text err)
{
	struct stat found;
	bool in_place = lstat(path, &found) == 0 && !S_ISREG(found.st_mode);
	int r = in_place ? write_through(path, bytes) : replace_file(path, bytes);
	if (r < 0)
		err_text_set(err, "cannot write '%s': %s", path, err_str(r));
	return r;
}

int guest_data_save(const struct guest_files *files, const char *folder, struct err_text err)
{
	if (mkdir(folder, 0700) < 0 && errno != EEXIST) {
		int r = -errno;
		err_text_set(err, "cannot create the folder '%s': %s", folder, err_str(r));
		return r;
	}
	for (size_t i = 0; i < GUEST_DATA_FILES; i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", folder, files->v[i].name);
		int r = guest_data_save_file(path, strbuf_slice(&files->v[i].text), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool has_family(const struct machine *machine, bool ipv6)
{
	for (size_t i = 0; i < machine->n_devices; i++) {
		const struct machine_device *device = &machine->devices[i];
		if (ipv6 ? device->dhcp6 : device->dhcp4)
			return true;
		for (size_t j = 0; j < device->addresses.n; j++) {
			if ((strchr(device->addresses.v[j], ':') != NULL) == ipv6)
				return true;
		}
	}
	return false;
}

/* cloud-init waits for addresses of these families: also those of pools count. */
static void put_wait(const struct machine *machine, struct strbuf *out)
{
	strbuf_addf(out, "wait-on-network:\n  ipv4: %s\n  ipv6: %s\n",
		    has_family(machine, false) ? "true" : "false",
		    has_family(machine, true) ? "true" : "false");
}

static void put_variable(const char *name, struct slice value, struct strbuf *out)
{
	strbuf_addf(out, "guestinfo.%s=", name);
	base64_encode(out, value);
	strbuf_addf(out, "\nguestinfo.%s.encoding=base64\n", name);
}

void guest_data_vmware(const struct machine *machine, const struct machine_merged *merged,
		       struct slice user_data, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf metadata = STRBUF_INIT;
	put_identity(machine, &metadata);
	put_wait(machine, &metadata);
	network_config_write(machine, merged, true, &metadata);
	put_variable("metadata", strbuf_slice(&metadata), out);
	if (user_data.n != 0)
		put_variable("userdata", user_data, out);
}
