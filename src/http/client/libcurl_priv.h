/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libcurl, loaded when the first client is made: a DNS server that calls nobody should not pay for
 * it (4 MB). The table has only the functions that are used. */
#pragma once

#include <stddef.h>

#include <curl/curl.h>
#include "base/err_text.h"

/* name, result, arguments: curl_NAME of the library */
#define HTTP_CURL_MAP(X)                                                                     \
	X(global_init, CURLcode, (long flags))                                               \
	X(easy_init, CURL *, (void))                                                         \
	X(easy_cleanup, void, (CURL * easy))                                                 \
	X(easy_reset, void, (CURL * easy))                                                   \
	X(easy_setopt, CURLcode, (CURL * easy, CURLoption option, ...))                      \
	X(easy_getinfo, CURLcode, (CURL * easy, CURLINFO info, ...))                         \
	X(easy_pause, CURLcode, (CURL * easy, int what))                                     \
	X(easy_strerror, const char *, (CURLcode code))                                      \
	X(slist_append, struct curl_slist *, (struct curl_slist * list, const char *s))      \
	X(slist_free_all, void, (struct curl_slist * list))                                  \
	X(multi_init, CURLM *, (void))                                                       \
	X(multi_cleanup, CURLMcode, (CURLM * multi))                                         \
	X(multi_setopt, CURLMcode, (CURLM * multi, CURLMoption option, ...))                 \
	X(multi_add_handle, CURLMcode, (CURLM * multi, CURL * easy))                         \
	X(multi_remove_handle, CURLMcode, (CURLM * multi, CURL * easy))                      \
	X(multi_socket_action, CURLMcode,                                                    \
	  (CURLM * multi, curl_socket_t fd, int events, int *running))                       \
	X(multi_assign, CURLMcode, (CURLM * multi, curl_socket_t fd, void *pointer))         \
	X(multi_perform, CURLMcode, (CURLM * multi, int *running))                           \
	X(multi_poll, CURLMcode,                                                             \
	  (CURLM * multi, struct curl_waitfd * extra, unsigned n, int timeout_ms, int *ret)) \
	X(multi_wakeup, CURLMcode, (CURLM * multi))                                          \
	X(multi_info_read, CURLMsg *, (CURLM * multi, int *left))

struct http_curl {
#define X(name, result, args) result(*name) args;
	HTTP_CURL_MAP(X)
#undef X
};

/* The table, or NULL with a sentence in `err`. Loaded once, for the life of the program. */
const struct http_curl *http_curl_load(struct err_text err);
