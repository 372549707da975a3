/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machines with both versions have version 2 in a folder of its own, and folders of version 1 beside it whose
 * numbers mean nothing to a rule. */
#include "node/cgroup.h"

#include <errno.h>
#include <stdbool.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "node/cgroup_test.h"

#define ROOT	    "/sys/fs/cgroup"
#define HYBRID_ROOT ROOT "/unified"

static bool is_version_2(const char *path)
{
	struct statfs st;
	return statfs(path, &st) == 0 && st.f_type == CGROUP2_SUPER_MAGIC;
}

uint32_t node_cgroup_tidy_path(const char *path, struct strbuf *out)
{
	uint32_t level = 0;
	for (struct slice rest = slice_of(path); rest.n != 0;) {
		struct slice part = slice_cut(&rest, '/');
		if (part.n == 0 || slice_eq(part, SLICE(".")))
			continue;
		if (slice_eq(part, SLICE("..")) || ++level > NODE_CGROUP_LEVEL_MAX)
			return 0;
		strbuf_addf(out, "%s%.*s", level > 1 ? "/" : "", (int)part.n, part.p);
	}
	return level;
}

static const char *own_root(void)
{
	return is_version_2(ROOT) ? ROOT : HYBRID_ROOT;
}

bool node_cgroup_folder(const char *root, const char *path, struct strbuf *out)
{
	strbuf_addf(out, "%s/", root != NULL ? root : own_root());
	return node_cgroup_tidy_path(path, out) != 0;
}

const char *node_cgroup_find(const char *root, const char *path, struct node_cgroup *ret)
{
	CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
	struct stat st;
	if (root == NULL)
		root = own_root();
	if (!is_version_2(root))
		return "this machine has no cgroups of version 2";
	strbuf_addf(&folder, "%s/", root);
	uint32_t level = node_cgroup_tidy_path(path, &folder);
	if (level == 0)
		return "this is no path of a cgroup below the root";
	if (stat(folder.s, &st) < 0) {
		ret->is_unknown = errno != ENOENT && errno != ENOTDIR;
		return ret->is_unknown ? "this cgroup cannot be read" : "no such cgroup";
	}
	if (!S_ISDIR(st.st_mode) || !is_version_2(folder.s))
		return "this is no cgroup of version 2";
	*ret = (struct node_cgroup){ .id = st.st_ino, .level = level };
	return NULL;
}
