/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting the embedded API, as `fairlead api` and `fairlead up` do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apiserver/server.h"
#include "base/clock.h"
#include "cmd/flags.h"

#define EMBEDDED_DATA	"fairlead-data"
#define EMBEDDED_LISTEN "127.0.0.1:8054"

struct embedded {
	const char *data, *listen;
	struct flag_values names, cidrs;
	/* Copies of both that end with NULL: the API server reads them as long as it runs. */
	const char **server_names, **server_cidrs;
	const char *controllers; /* that run in this process, with commas between; NULL: none */
	/* Admission hooks of controllers of this process; NULL: none run here. */
	const struct apiserver_admission *admission;
};

#define EMBEDDED_INIT                                            \
	{                                                        \
		.data = EMBEDDED_DATA, .listen = EMBEDDED_LISTEN \
	}

/* Rows of a table of flags; `listen` is --listen or --api. */
#define EMBEDDED_FLAG_DATA(e) \
	FLAG_VALUE("data", &(e)->data, "DIR", "data directory; default " EMBEDDED_DATA)
#define EMBEDDED_FLAG_NAME(e)                    \
	FLAG_VALUES("name", &(e)->names, "NAME", \
		    "name of this machine, for its certificate; may be repeated")
#define EMBEDDED_SERVICE_CIDR "10.96.0.0/16" /* what the API takes without the flag */
#define EMBEDDED_FLAG_CIDR(e)                               \
	FLAG_VALUES("service-cidr", &(e)->cidrs, "NETWORK", \
		    "addresses of Services, one per family; default " EMBEDDED_SERVICE_CIDR)

/* A process that was killed holds its ports and its data directory for a moment longer. True, after
 * a pause, when `ret` says that something is in use and less than EMBEDDED_RETRY_NS went by since
 * the first try: try again. */
#define EMBEDDED_RETRY_NS (3 * NS_PER_S)
bool embedded_retry(int ret, uint64_t first_ns);
/* Once for each `embedded`. NULL when it did not start: why is on standard error, as from `fairlead
 * COMMAND`. */
struct apiserver_server *embedded_start(struct embedded *embedded, const char *command);
/* After the server has stopped. */
void embedded_done(struct embedded *embedded);
