/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The embedded API server: store, tokens and certificates, HTTPS. One call starts it, one stops it;
 * a failure is reported as one sentence. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "apiserver/request/api_state.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct apiserver_server;

struct apiserver_server_conf {
	const char *dir;	  /* data directory; created if missing, 0700 */
	const char *listen;	  /* "127.0.0.1:8054"; port 0: any free one */
	const char *const *names; /* names and addresses of this machine for the certificate,
					     besides localhost and `listen`; NULL-terminated, or NULL */
	const char *const *service_cidrs; /* as in struct apiserver_api_conf */
	const char *version;		  /* of the program */
	const char *controllers;	  /* as apiserver_discovery_new() takes them */
	const struct apiserver_check *checks;
	size_t n_checks;
	const struct apiserver_admission *admission; /* NULL: none; outlives the server */
	/* Reports a failure that will be retried; any thread. May be NULL. */
	void (*on_error)(void *ctx, const char *text);
	void *ctx;
};

/* The errors of apiserver_store_open; ERR_PARSE also for an invalid address; -errno (-EADDRINUSE
 * ...). `err` gets a sentence. */
MUST_CHECK int apiserver_server_start(const struct apiserver_server_conf *conf,
				      struct apiserver_server **ret, struct err_text err);
/* Ends watches, finishes writes, closes the store. NULL is fine. */
void apiserver_server_stop(struct apiserver_server *server);

/* The server in the kubeconfigs: "https://127.0.0.1:8054". */
const char *apiserver_server_url(const struct apiserver_server *server);
/* Paths of the kubeconfigs: the user's, and that of the system's own programs. */
const char *apiserver_server_kubeconfig(const struct apiserver_server *server);
const char *apiserver_server_system_kubeconfig(const struct apiserver_server *server);
