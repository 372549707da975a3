/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The message for an error code: ours from the table in err.h, the system's from strerror. */
#include "base/err.h"

#include <stddef.h>
#include <string.h>

static const struct {
	int code;
	const char *text;
} texts[] = {
#define X(name, number, text) { ERR_##name, text },
	ERR_MAP(X)
#undef X
};

const char *err_str(int code)
{
	if (code >= 0)
		return "success";
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].code == code)
			return texts[i].text;
	}
	const char *s = strerrordesc_np(-code);
	return s != NULL ? s : "unknown error";
}
