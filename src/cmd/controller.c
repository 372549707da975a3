/* `fairlead controller`: runs controllers against the API of a kubeconfig, or of the pod's cluster.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/flags.h"
#include "controller/controller.h"
#include "controller/manager.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/hookserver.h"
#include "net/addr.h"

/* In place of a kubeconfig's path: the pod's service account, whatever the environment names. */
#define IN_CLUSTER "in-cluster"

typedef VEC(const struct controller *) controller_vec;

struct controller_flags {
	const char *kubeconfig, *context, *lease_kubeconfig, *controllers, *ns, *listen,
		*log_format;
	const char *duration, *renew, *retry;
	const char *hook_listen, *hook_cert, *hook_key, *hook_secret, *hook_names,
		*hook_registration;
	const char *ca_life, *cert_life, *overlap, *look;
	const char *dns_instances, *dns_ask, *dns_reload, *dns_settle;
	struct controller_options options;
	bool no_election;
};

enum {
	HOOK_NAMES_MAX = 16,
	INSTANCES_MAX = 256,
	/* All controllers of the process together; leases are not counted. */
	WRITES_PER_S = 20,
	WRITES_BURST = 40,
};

struct settings {
	struct elect_times times;
	controller_vec chosen;
	struct hookserver_conf hooks;
	const char *names[HOOK_NAMES_MAX + 1];
	char *names_text;
	union net_addr instances[INSTANCES_MAX];
};

static void print_help(const struct flag *flags, size_t n)
{
	printf("usage: fairlead controller --controllers NAME,... [FLAGS]\n\n"
	       "Runs controllers until SIGTERM or SIGINT. Of several processes with the same\n"
	       "controllers one leads, the others wait.\n\nflags:\n");
	flags_help(flags, n, stdout);
	printf("\ncontrollers:\n");
	for (size_t i = 0; controller_list[i] != NULL; i++)
		printf("  %-16s %s\n", controller_list[i]->name, controller_list[i]->help);
}

/* Names separated by commas. */
static int choose(const char *text, controller_vec *ret, char *why, size_t why_n)
{
	struct slice rest = slice_of(text);
	while (rest.n != 0) {
		struct slice name = slice_trim(slice_cut(&rest, ','));
		char word[64];
		snprintf(word, sizeof(word), "%.*s", (int)MIN(name.n, sizeof(word) - 1), name.p);
		const struct controller *c = controller_find(word);
		if (c == NULL) {
			snprintf(why, why_n, "there is no controller '%s'", word);
			return -1;
		}
		for (size_t i = 0; i < ret->n; i++) {
			if (ret->v[i] == c) {
				snprintf(why, why_n, "controller '%s' is named twice", word);
				return -1;
			}
		}
		vec_push(ret, c);
	}
	if (ret->n == 0)
		snprintf(why, why_n, "--controllers NAME,... says which to run");
	return ret->n != 0 ? 0 : -1;
}

static int parse_time(const char *name, const char *text, uint64_t *ret, char *why, size_t why_n)
{
	int64_t ns;
	if (text == NULL)
		return 0;
	if (duration_parse(slice_of(text), &ns) < 0 || ns <= 0) {
		snprintf(why, why_n, "--%s takes a time as '15s', not '%s'", name, text);
		return -1;
	}
	*ret = (uint64_t)ns;
	return 0;
}

static int parse_times(const struct controller_flags *f, struct elect_times *t, char *why,
		       size_t why_n)
{
	if (parse_time("lease-duration", f->duration, &t->duration_ns, why, why_n) < 0 ||
	    parse_time("lease-renew", f->renew, &t->renew_ns, why, why_n) < 0 ||
	    parse_time("lease-retry", f->retry, &t->retry_ns, why, why_n) < 0)
		return -1;
	return elect_times_check(t, why, why_n);
}

static int check_platform(const char *name, char *why, size_t why_n)
{
	static const char *const known[] = { "auto", "kubernetes", "openshift", "microshift",
					     "gardener" };
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (name == NULL || strcmp(name, known[i]) == 0)
			return 0;
	}
	snprintf(why, why_n,
		 "--platform is kubernetes, openshift, microshift, gardener or auto, not '%s'",
		 name);
	return -1;
}

static int check_word(const char *name, const char *text, const char *const *words, char *why,
		      size_t why_n)
{
	CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
	for (size_t i = 0; words[i] != NULL; i++) {
		if (text == NULL || strcmp(text, words[i]) == 0)
			return 0;
		strbuf_addf(&all, "%s%s", i != 0 ? ", " : "", words[i]);
	}
	snprintf(why, why_n, "--%s is one of %s, not '%s'", name, all.s, text);
	return -1;
}

/* What the environment says where no flag does, by the names that OpenShift's operator has. */
static int read_operands(struct controller_options *o, char *why, size_t why_n)
{
	static const char *const when[] = { "auto", "true", "false", NULL };
	static const char *const sources[] = { "file", "api", NULL };
	const struct {
		const char **flag, *name;
	} images[] = {
		{ &o->dns_image, "IMAGE" },
		{ &o->dns_cli_image, "OPENSHIFT_CLI_IMAGE" },
		{ &o->dns_proxy_image, "KUBE_RBAC_PROXY_IMAGE" },
	};
	for (size_t i = 0; i < ARRAY_LEN(images); i++) {
		if (*images[i].flag == NULL)
			*images[i].flag = getenv(images[i].name);
	}
	if (check_word("dns-operands", o->dns_operands, when, why, why_n) < 0)
		return -1;
	return check_word("dns-config-source", o->dns_config_source, sources, why, why_n);
}

static int check_gates(const char *text, char *why, size_t why_n)
{
	struct slice rest = slice_of(text);
	while (rest.n != 0) {
		struct slice value = slice_cut(&rest, ','), name = slice_cut(&value, '=');
		if (slice_trim(name).n != 0 &&
		    (slice_is(slice_trim(value), "true") || slice_is(slice_trim(value), "false")))
			continue;
		snprintf(why, why_n, "--feature-gates takes NAME=true or NAME=false, not '%.*s'",
			 (int)MIN(name.n, 64u), name.p);
		return -1;
	}
	return 0;
}

static int parse_seconds(const char *name, const char *text, uint64_t *ret, char *why, size_t why_n)
{
	uint64_t ns = 0;
	int r = parse_time(name, text, &ns, why, why_n);
	*ret = ns / NS_PER_S;
	if (r == 0 && ns % NS_PER_S != 0) {
		snprintf(why, why_n, "--%s takes whole seconds", name);
		return -1;
	}
	return r;
}

/* What callers call us by; the text is cut in place. */
static int split_names(struct settings *s, const char *text, char *why, size_t why_n)
{
	size_t n = 0;
	s->names_text = xstrdup(text);
	for (char *p = s->names_text; p != NULL && *p != '\0'; n++) {
		if (n == HOOK_NAMES_MAX) {
			snprintf(why, why_n, "--webhook-names has more than %d names",
				 HOOK_NAMES_MAX);
			return -1;
		}
		s->names[n] = strsep(&p, ",");
	}
	return 0;
}

static int parse_hooks(const struct controller_flags *f, struct settings *s, char *why,
		       size_t why_n)
{
	struct hookserver_conf *h = &s->hooks;
	h->listen = f->hook_listen;
	h->cert_file = f->hook_cert;
	h->key_file = f->hook_key;
	h->secret = f->hook_secret;
	h->registration = f->hook_registration;
	h->certs.names = s->names;
	if ((f->hook_cert == NULL) != (f->hook_key == NULL)) {
		snprintf(why, why_n, "--webhook-cert and --webhook-key belong together");
		return -1;
	}
	if (parse_seconds("webhook-ca-life", f->ca_life, &h->certs.ca_s, why, why_n) < 0 ||
	    parse_seconds("webhook-cert-life", f->cert_life, &h->certs.cert_s, why, why_n) < 0 ||
	    parse_seconds("webhook-overlap", f->overlap, &h->certs.overlap_s, why, why_n) < 0 ||
	    parse_time("webhook-look", f->look, &h->look_ns, why, why_n) < 0)
		return -1;
	return f->hook_names != NULL ? split_names(s, f->hook_names, why, why_n) : 0;
}

/* The cluster's DNS servers, by address. */
static int parse_instances(struct controller_flags *f, struct settings *s, char *why, size_t why_n)
{
	struct slice rest = slice_of(f->dns_instances);
	size_t n = 0;
	while (rest.n != 0) {
		struct slice one = slice_trim(slice_cut(&rest, ','));
		if (n == INSTANCES_MAX) {
			snprintf(why, why_n, "--dns-instances has more than %d addresses",
				 INSTANCES_MAX);
			return -1;
		}
		if (net_addr_parse(one, &s->instances[n]) < 0 ||
		    net_addr_port(&s->instances[n]) == 0) {
			snprintf(why, why_n,
				 "--dns-instances takes addresses with a port as 192.0.2.1:53, not "
				 "'%.*s'",
				 (int)MIN(one.n, 64u), one.p);
			return -1;
		}
		n++;
	}
	f->options.dns_instances = s->instances;
	f->options.n_dns_instances = n;
	if (parse_time("dns-settle-time", f->dns_settle, &f->options.dns_settle_ns, why, why_n) < 0)
		return -1;
	return parse_time("dns-reload-time", f->dns_reload, &f->options.dns_reload_ns, why, why_n);
}

/* Beside a hosted control plane pods cannot be reached; addresses that were given can. */
static int choose_ask(struct controller_flags *f, char *why, size_t why_n)
{
	bool given = f->options.n_dns_instances != 0;
	bool proxy = strcmp(f->dns_ask, "proxy") == 0;
	if (!proxy && strcmp(f->dns_ask, "dns") != 0 && strcmp(f->dns_ask, "auto") != 0) {
		snprintf(why, why_n, "--dns-ask is dns, proxy or auto, not '%.64s'", f->dns_ask);
		return -1;
	}
	if (proxy && given) {
		snprintf(why, why_n,
			 "--dns-ask proxy is for pods, --dns-instances for servers that can be "
			 "reached: use one of them");
		return -1;
	}
	f->options.dns_by_proxy =
		proxy || (strcmp(f->dns_ask, "auto") == 0 && !given && f->lease_kubeconfig != NULL);
	return 0;
}

static struct kube_client *open_client(const char *file, const char *context, char *err,
				       size_t err_n)
{
	struct kube_config *c;
	int r = file != NULL && strcmp(file, IN_CLUSTER) == 0
			? kube_config_in_cluster(NULL, &c, err, err_n)
			: kube_config_load(file, context, &c, err, err_n);
	return r < 0 ? NULL : kube_client_new(c);
}

/* ---- signals, by a thread that waits for them ---- */

struct stopper {
	struct manager *manager;
	sigset_t set;
	pthread_t thread;
};

static void *wait_signal(void *arg)
{
	struct stopper *s = arg;
	int sig = 0;
	/* SIGUSR1 is ours: there is nothing left to stop. */
	if (sigwait(&s->set, &sig) == 0 && sig != SIGUSR1) {
		log_info(NULL, "%s: stopping", sig == SIGTERM ? "SIGTERM" : "SIGINT");
		manager_stop(s->manager);
	}
	return NULL;
}

static int run_manager(struct manager *m, const sigset_t *set)
{
	struct stopper s = { .manager = m, .set = *set };
	if (pthread_create(&s.thread, NULL, wait_signal, &s) != 0) {
		manager_stop(m);
		IGNORE(manager_run(m));
		return EXIT_FAILED;
	}
	int r = manager_run(m);
	pthread_kill(s.thread, SIGUSR1);
	pthread_join(s.thread, NULL);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static int manage(const struct controller_flags *f, struct settings *s, struct kube_client *client,
		  struct kube_client *leases)
{
	char err[700] = "";
	struct manager *m;
	sigset_t set;
	const char *ns = f->ns != NULL ? f->ns : kube_config_namespace(kube_client_config(leases));
	CLEANUP(freep) char *service = xasprintf("fairlead-webhooks.%s.svc", ns);
	struct manager_conf mc = { .client = client,
				   .lease_client = leases,
				   .controllers = s->chosen.v,
				   .n_controllers = s->chosen.n,
				   .ns = ns,
				   .no_election = f->no_election,
				   .times = s->times,
				   .listen = f->listen,
				   .options = &f->options,
				   .webhooks = s->hooks.listen != NULL ? &s->hooks : NULL };
	s->hooks.client = client;
	s->hooks.secret_client = leases;
	s->hooks.ns = ns;
	if (s->names[0] == NULL)
		s->names[0] = service;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	/* All threads inherit it, so that only the one that waits gets a signal. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	log_info(NULL, "controllers of %s, namespace %s", kube_client_text(client), ns);
	if (leases != client)
		log_info(NULL, "leases in %s", kube_client_text(leases));
	if (manager_start(&mc, &m, err, sizeof(err)) < 0) {
		fprintf(stderr, "fairlead controller: %s\n", err);
		return EXIT_FAILED;
	}
	if (f->listen != NULL)
		log_info(NULL, "health and metrics on port %u", manager_port(m));
	if (s->hooks.listen != NULL)
		log_info(NULL, "web hooks on port %u", manager_webhook_port(m));
	return run_manager(m, &set);
}

static int run(const struct controller_flags *f, struct settings *s)
{
	char err[512] = "";
	struct kube_client *client = open_client(f->kubeconfig, f->context, err, sizeof(err));
	struct kube_client *leases = client;
	int status = EXIT_FAILED;
	if (client != NULL && f->lease_kubeconfig != NULL)
		leases = open_client(f->lease_kubeconfig, NULL, err, sizeof(err));
	if (client != NULL)
		kube_client_limit_writes(client, WRITES_PER_S, WRITES_BURST);
	if (client != NULL && leases != NULL)
		status = manage(f, s, client, leases);
	else
		fprintf(stderr, "fairlead controller: %s\n", err);
	if (leases != client)
		kube_client_free(leases);
	kube_client_free(client);
	return status;
}

static int usage(const char *why)
{
	fprintf(stderr, "fairlead controller: %s\nTry `fairlead controller --help`.\n", why);
	return EXIT_USAGE;
}

/* What the flags say, checked; then as long as it runs. */
static int run_with(struct controller_flags *f, struct settings *s)
{
	char why[512] = "";
	int status = EXIT_USAGE;
	if (parse_times(f, &s->times, why, sizeof(why)) < 0 ||
	    check_platform(f->options.platform, why, sizeof(why)) < 0 ||
	    check_gates(f->options.feature_gates, why, sizeof(why)) < 0 ||
	    choose(f->controllers, &s->chosen, why, sizeof(why)) < 0 ||
	    parse_instances(f, s, why, sizeof(why)) < 0 || choose_ask(f, why, sizeof(why)) < 0 ||
	    read_operands(&f->options, why, sizeof(why)) < 0 ||
	    parse_hooks(f, s, why, sizeof(why)) < 0) {
		usage(why);
	} else {
		metrics_init(0);
		metrics_add_process_collector();
		status = run(f, s);
	}
	vec_done(&s->chosen);
	free(s->names_text);
	return status;
}

int cmd_controller(int argc, char **argv)
{
	struct controller_flags f = { .log_format = "text",
				      .dns_ask = "auto",
				      .hook_secret = "fairlead-webhooks",
				      .hook_registration = "fairlead" };
	const struct flag flags[] = {
		FLAG_VALUE("controllers", &f.controllers, "NAME,...", "which to run"),
		FLAG_VALUE("kubeconfig", &f.kubeconfig, "FILE",
			   "default: $KUBECONFIG, ~/.kube/config, the pod's service account"),
		FLAG_VALUE("context", &f.context, "NAME",
			   "of the kubeconfig; default: its current one"),
		FLAG_VALUE("namespace", &f.ns, "NAME",
			   "the program's own, of leases and sources; default: that of the context "
			   "of --lease-kubeconfig, else of --kubeconfig"),
		FLAG_VALUE("lease-kubeconfig", &f.lease_kubeconfig, "FILE",
			   "where the leases and the web hooks' Secret are, or " IN_CLUSTER
			   ": by the pod's service account; default: in the same cluster"),
		FLAG_VALUE("lease-duration", &f.duration, "TIME",
			   "others wait so long for a dead leader; default 15s"),
		FLAG_VALUE("lease-renew", &f.renew, "TIME",
			   "a leader that could not renew for so long stops; default 10s"),
		FLAG_VALUE("lease-retry", &f.retry, "TIME",
			   "between two renewals or looks; default 2s"),
		FLAG_SWITCH("no-election", &f.no_election, "lead without a lease: for one process"),
		FLAG_VALUE("listen", &f.listen, "ADDR:PORT",
			   "serve /healthz, /readyz and /metrics there; default: nowhere"),
		FLAG_VALUE("webhook-listen", &f.hook_listen, "ADDR:PORT",
			   "serve web hooks over HTTPS there; default: nowhere"),
		FLAG_VALUE("webhook-cert", &f.hook_cert, "FILE",
			   "their certificate, read again when it changes; default: managed by the "
			   "program"),
		FLAG_VALUE("webhook-key", &f.hook_key, "FILE", "its key"),
		FLAG_VALUE("webhook-names", &f.hook_names, "NAME,...",
			   "names and addresses of managed certificates; default "
			   "fairlead-webhooks.NAMESPACE.svc"),
		FLAG_VALUE("webhook-secret", &f.hook_secret, "NAME",
			   "where they are kept; default fairlead-webhooks"),
		FLAG_VALUE("webhook-registration", &f.hook_registration, "NAME",
			   "webhook configurations whose caBundle is kept up to date; default "
			   "fairlead"),
		FLAG_VALUE("webhook-ca-life", &f.ca_life, "TIME", "of an authority; default 8760h"),
		FLAG_VALUE("webhook-cert-life", &f.cert_life, "TIME",
			   "of a certificate; default 2160h"),
		FLAG_VALUE("webhook-overlap", &f.overlap, "TIME",
			   "an authority is trusted so long before and after its use; default 10m"),
		FLAG_VALUE("webhook-look", &f.look, "TIME",
			   "between two looks at files or Secret; default 10s"),
		FLAG_VALUE(
			"platform", &f.options.platform, "NAME",
			"kubernetes, openshift, microshift, gardener or auto (look); default auto"),
		FLAG_VALUE("feature-gates", &f.options.feature_gates, "NAME=true|false,...",
			   "what is on or off, whatever the cluster says"),
		FLAG_VALUE("dns-instances", &f.dns_instances, "ADDR:PORT,...",
			   "the DNS servers that dnsoperator asks for what they run; default: the "
			   "ready pods of the platform"),
		FLAG_VALUE("dns-ask", &f.dns_ask, "WAY",
			   "how it asks pods: dns, proxy (through the API server) or auto: proxy "
			   "with --lease-kubeconfig and without --dns-instances; default auto"),
		FLAG_VALUE("dns-reload-time", &f.dns_reload, "TIME",
			   "within which they load what it writes; default 3m"),
		FLAG_VALUE("dns-settle-time", &f.dns_settle, "TIME",
			   "for which its Progressing and Degraded stay False at least; default "
			   "40s"),
		FLAG_VALUE("dns-operands", &f.options.dns_operands, "WHEN",
			   "apply what runs DNS (deploy/operands): true, false or auto (on "
			   "OpenShift); default auto"),
		FLAG_VALUE("dns-image", &f.options.dns_image, "IMAGE",
			   "of the DNS servers; default: $IMAGE"),
		FLAG_VALUE("dns-cli-image", &f.options.dns_cli_image, "IMAGE",
			   "of node-resolver; default: $OPENSHIFT_CLI_IMAGE"),
		FLAG_VALUE("dns-proxy-image", &f.options.dns_proxy_image, "IMAGE",
			   "in front of the servers' metrics; default: $KUBE_RBAC_PROXY_IMAGE"),
		FLAG_VALUE(
			"dns-config-source", &f.options.dns_config_source, "HOW",
			"servers read the Corefile from a file, or through the api (at once; not "
			"for CoreDNS); default file"),
		FLAG_VALUE("log-format", &f.log_format, "FORMAT", "text or json; default text"),
	};
	char why[512] = "";
	struct settings s = { 0 }; /* which the flags come to point into */
	int at = flags_parse(flags, ARRAY_LEN(flags), argc, argv, why, sizeof(why));
	if (at == -2) {
		print_help(flags, ARRAY_LEN(flags));
		return EXIT_DONE;
	}
	if (at < 0)
		return usage(why);
	if (at < argc)
		return usage("takes no arguments");
	if (strcmp(f.log_format, "json") == 0)
		log_set_format(LOG_JSON);
	else if (strcmp(f.log_format, "text") != 0)
		return usage("--log-format is text or json");
	return run_with(&f, &s);
}
