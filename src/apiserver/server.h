/* The embedded API, whole: its store, its files of trust, HTTPS. One call starts it, one stops it;
 * whatever stands in the way is one sentence. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "apiserver/verb/api_state.h"
#include "base/compiler.h"

struct apiserver_server;

struct apiserver_server_conf {
	const char *dir;		  /* of data; made when it is not there, 0700 */
	const char *listen;		  /* "127.0.0.1:8054"; port 0 takes a free one */
	const char *const *names;	  /* what clients call the machine by, beside localhost and
					     the address listened on; NULL-terminated, or NULL */
	const char *const *service_cidrs; /* as struct apiserver_api_conf has them */
	const char *version;		  /* of the program */
	const struct apiserver_check *checks;
	size_t n_checks;
	/* Something failed and will be tried again; any thread. May be NULL. */
	void (*trouble)(void *ctx, const char *text);
	void *ctx;
};

/* As apiserver_store_open; ERR_PARSE also for an address that is none; -errno (-EADDRINUSE ...).
 * `err` gets a sentence. */
MUST_CHECK int apiserver_server_start(const struct apiserver_server_conf *conf,
				      struct apiserver_server **ret, char *err, size_t err_n);
/* Ends watches, finishes writes, closes the store. NULL is fine. */
void apiserver_server_stop(struct apiserver_server *server);

uint16_t apiserver_server_port(const struct apiserver_server *server);
/* "https://127.0.0.1:8054", as the kubeconfigs have it. */
const char *apiserver_server_url(const struct apiserver_server *server);
/* Paths of the kubeconfigs: the user's, and the one of the system's own programs. */
const char *apiserver_server_kubeconfig(const struct apiserver_server *server);
const char *apiserver_server_system_kubeconfig(const struct apiserver_server *server);
