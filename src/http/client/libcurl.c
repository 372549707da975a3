/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads libcurl when it is first needed. */
#include "http/client/libcurl_priv.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err_text.h"

#define LIBRARY "libcurl-gnutls.so.4"

static struct http_curl table;
static char load_error[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
	const char *name;
	size_t offset;
} rows[] = {
#define X(name, result, args) { "curl_" #name, offsetof(struct http_curl, name) },
	HTTP_CURL_MAP(X)
#undef X
};

static void load_library(void)
{
	void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (lib == NULL) {
		snprintf(load_error, sizeof(load_error), "cannot load libcurl: %s", dlerror());
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		void *f = dlsym(lib, rows[i].name);
		if (f == NULL) {
			snprintf(load_error, sizeof(load_error),
				 "cannot load libcurl: %s has no %s", LIBRARY, rows[i].name);
			return;
		}
		/* POSIX: a function's address fits into a pointer to data. */
		memcpy((char *)&table + rows[i].offset, &f, sizeof(f));
	}
	CURLcode r = table.global_init(CURL_GLOBAL_DEFAULT);
	if (r != CURLE_OK)
		snprintf(load_error, sizeof(load_error), "cannot start libcurl: %s",
			 table.easy_strerror(r));
}

const struct http_curl *http_curl_load(struct err_text err)
{
	pthread_once(&once, load_library);
	if (load_error[0] == '\0')
		return &table;
	err_text_set(err, "%s", load_error);
	return NULL;
}
