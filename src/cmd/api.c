/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead api`: the embedded API alone, until a signal ends it. */
#include "cmd/api.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "api/tree_memory.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/metrics/metrics.h"
#include "base/metrics/process.h"
#include "cmd/cmd.h"
#include "cmd/embedded.h"
#include "cmd/flags.h"

static int serve_until_signal(struct embedded *embedded)
{
	sigset_t set;
	int sig = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	/* Before any thread starts, so that only this one takes signals. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	struct apiserver_server *s = embedded_start(embedded, "api");
	if (s == NULL)
		return EXIT_FAILED;
	printf("the API is at %s\ntry: kubectl --kubeconfig %s get services -A\n",
	       apiserver_server_url(s), apiserver_server_kubeconfig(s));
	fflush(stdout);
	sigwait(&set, &sig);
	log_info(NULL, "%s: stopping", sig == SIGTERM ? "SIGTERM" : "SIGINT");
	apiserver_server_stop(s);
	return EXIT_DONE;
}

int cmd_api(int argc, char **argv)
{
	struct embedded e = EMBEDDED_INIT;
	const struct flag flags[] = {
		EMBEDDED_FLAG_DATA(&e),
		FLAG_VALUE("listen", &e.listen, "ADDR:PORT",
			   "address of the API; default " EMBEDDED_LISTEN),
		EMBEDDED_FLAG_NAME(&e),
		EMBEDDED_FLAG_CIDR(&e),
	};
	char why[256] = "";
	int at = flags_parse(flags, ARRAY_LEN(flags), argc, argv, ERR_TEXT(why));
	int status = EXIT_USAGE;
	if (at == -2) {
		printf("usage: fairlead api [FLAGS]\n\n"
		       "Serves the embedded Kubernetes API from a data directory. Its kubeconfig "
		       "is\nwritten there.\n\nflags:\n");
		flags_help(flags, ARRAY_LEN(flags), stdout);
		status = EXIT_DONE;
	} else if (at < 0 || at < argc) {
		fprintf(stderr, "fairlead api: %s\nTry `fairlead api --help`.\n",
			at < 0 ? why : "takes no arguments");
	} else {
		api_tree_memory_keep();
		metrics_init(0);
		metrics_add_process_collector();
		status = serve_until_signal(&e);
	}
	embedded_done(&e);
	return status;
}
