/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files are compared by inode and time: the kubelet replaces a symbolic link to their folder. */
#include "node/door_cert.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"

static int stat_files(struct node_door_cert *cert, struct err_text err)
{
	const char *const paths[NODE_DOOR_CERT_FILES] = { cert->files.cert, cert->files.key,
							  cert->files.ca };
	for (size_t i = 0; i < NODE_DOOR_CERT_FILES; i++) {
		struct stat st;
		if (stat(paths[i], &st) < 0) {
			int r = -errno;
			err_text_set(err, "cannot read '%s': %s", paths[i], err_str(r));
			return r;
		}
		cert->seen[i].inode = st.st_ino;
		cert->seen[i].changed = st.st_mtim;
	}
	return 0;
}

int node_door_cert_read(struct node_door_cert *cert, struct net_tls_cred **ret, struct err_text err)
{
	struct node_door_cert now;
	memset(&now, 0, sizeof(now)); /* padding is compared, too */
	now.files = cert->files;
	int r = stat_files(&now, err);
	if (r < 0 || memcmp(now.seen, cert->seen, sizeof(now.seen)) == 0)
		return r;
	r = net_tls_server_cred(&cert->files, ret, err);
	if (r < 0)
		return r;
	memcpy(cert->seen, now.seen, sizeof(now.seen));
	return 1;
}
