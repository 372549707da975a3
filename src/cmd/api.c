/* `fairlead api`: the embedded API alone, until a signal ends it. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "apiserver/server.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/flags.h"

struct api_flags {
	const char *data, *listen;
	struct flag_values names, cidrs;
};

static void trouble(void *ctx, const char *text)
{
	(void)ctx;
	log_error("api", "%s", text);
}

/* Ended by NULL, as the server takes lists. */
static const char *const *list_of(struct flag_values *v)
{
	if (v->n == 0)
		return NULL;
	vec_push(v, NULL);
	return v->v;
}

static int serve(struct api_flags *f)
{
	struct apiserver_server *s;
	char err[700] = "";
	sigset_t set;
	int sig = 0;
	struct apiserver_server_conf c = { .dir = f->data,
					   .listen = f->listen,
					   .names = list_of(&f->names),
					   .service_cidrs = list_of(&f->cidrs),
					   .version = FAIRLEAD_VERSION,
					   .trouble = trouble };
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	/* Before any thread starts, so that only this one takes signals. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (apiserver_server_start(&c, &s, err, sizeof(err)) < 0) {
		fprintf(stderr, "fairlead api: %s\n", err);
		return EXIT_FAILED;
	}
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
	struct api_flags f = { .data = "fairlead-data", .listen = "127.0.0.1:8054" };
	const struct flag flags[] = {
		FLAG_VALUE("data", &f.data, "DIR", "where all is kept; default fairlead-data"),
		FLAG_VALUE("listen", &f.listen, "ADDR:PORT", "default 127.0.0.1:8054"),
		FLAG_VALUES("name", &f.names, "NAME",
			    "what clients call this machine, for its certificate; repeatable"),
		FLAG_VALUES("service-cidr", &f.cidrs, "NETWORK",
			    "addresses of Services, one per family; default 10.96.0.0/16"),
	};
	char why[256] = "";
	int at = flags_parse(flags, ARRAY_LEN(flags), argc, argv, why, sizeof(why));
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
		metrics_init(0);
		metrics_add_process_collector();
		status = serve(&f);
	}
	vec_done(&f.names);
	vec_done(&f.cidrs);
	return status;
}
