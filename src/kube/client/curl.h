/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libcurl, loaded when the first connection is made: a DNS server without Kubernetes should not pay
 * for it (4 MB). Only what is used here is in the table. */
#pragma once

#include <stddef.h>

#include <curl/curl.h>
#include "base/err_text.h"

/* name, result, arguments: curl_NAME of the library */
#define KUBE_CURL_MAP(X)                                                                 \
	X(global_init, CURLcode, (long flags))                                           \
	X(easy_init, CURL *, (void))                                                     \
	X(easy_cleanup, void, (CURL * h))                                                \
	X(easy_reset, void, (CURL * h))                                                  \
	X(easy_setopt, CURLcode, (CURL * h, CURLoption o, ...))                          \
	X(easy_getinfo, CURLcode, (CURL * h, CURLINFO i, ...))                           \
	X(easy_strerror, const char *, (CURLcode code))                                  \
	X(slist_append, struct curl_slist *, (struct curl_slist * l, const char *s))     \
	X(slist_free_all, void, (struct curl_slist * l))                                 \
	X(multi_init, CURLM *, (void))                                                   \
	X(multi_cleanup, CURLMcode, (CURLM * m))                                         \
	X(multi_setopt, CURLMcode, (CURLM * m, CURLMoption o, ...))                      \
	X(multi_add_handle, CURLMcode, (CURLM * m, CURL * h))                            \
	X(multi_remove_handle, CURLMcode, (CURLM * m, CURL * h))                         \
	X(multi_perform, CURLMcode, (CURLM * m, int *running))                           \
	X(multi_info_read, CURLMsg *, (CURLM * m, int *left))                            \
	X(multi_poll, CURLMcode,                                                         \
	  (CURLM * m, struct curl_waitfd * extra, unsigned n, int timeout_ms, int *ret)) \
	X(multi_wakeup, CURLMcode, (CURLM * m))

struct kube_curl {
#define X(name, result, args) result(*name) args;
	KUBE_CURL_MAP(X)
#undef X
};

/* The table, or NULL with a sentence in `err`. Loaded once, for the life of the program. */
const struct kube_curl *kube_curl_load(struct err_text err);
