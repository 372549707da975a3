/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cloud-init reads at a guest's first boot: the files of its NoCloud data source, and the
 * guestinfo variables of its VMware data source. */
#pragma once

#include "api/machine/machine.h"
#include "api/machine/merge.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	GUEST_DATA_FILES = 3,
	GUEST_USER_DATA_BYTES_MAX = 4 << 20,
};

struct guest_file {
	const char *name; /* "meta-data", "network-config", "user-data" */
	struct strbuf text;
};

struct guest_files {
	struct guest_file v[GUEST_DATA_FILES];
};

/* The files of NoCloud. `user_data` may be empty: the file must exist, so it gets a comment. Free
 * with guest_data_done. */
void guest_data_nocloud(const struct machine *machine, const struct machine_merged *merged,
			struct slice user_data, struct guest_files *ret);
void guest_data_done(struct guest_files *files);
/* Writes them into the folder, which is created if it is missing; only the owner may read them. */
MUST_CHECK int guest_data_save(const struct guest_files *files, const char *folder,
			       struct err_text err);
/* Replaces a regular file, or the one that a link points to: a reader sees the old bytes or the new
 * ones. Devices and FIFOs are written as they are. */
MUST_CHECK int guest_data_save_file(const char *path, struct slice bytes, struct err_text err);

/* Appends `guestinfo.metadata=BASE64` and its encoding, one variable per line, and those of the user
 * data unless it is empty. */
void guest_data_vmware(const struct machine *machine, const struct machine_merged *merged,
		       struct slice user_data, struct strbuf *out);
