/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A CD image (ISO 9660 with Joliet names) of a few files in one folder: what cloud-init's NoCloud
 * data source reads from a drive with the label `cidata`. Equal files give equal bytes: no time and
 * no random id is written. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	ISO9660_FILES_MAX = 8,
	ISO9660_NAME_MAX = 27,	/* with what ISO 9660 appends, 30 characters */
	ISO9660_LABEL_MAX = 16, /* Joliet's, which has two bytes per character */
	ISO9660_FILE_BYTES_MAX = 64 << 20,
};

struct iso9660_file {
	const char *name; /* letters, digits, '-', '_' */
	struct slice bytes;
};

/* Appends the image to `out`, which is empty. Files are in the order of their names, as the format
 * demands: the caller sorts them. ERR_LIMIT. */
MUST_CHECK int iso9660_write(const char *label, const struct iso9660_file *files, size_t count,
			     struct strbuf *out);
