/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead resolvconf`: computes the resolv.conf of pods in manifests, as a node with the given
 * settings would. */
#include "cmd/resolvconf/resolvconf.h"

#include <stdio.h>

#include "api/meta.h"
#include "api/pod_dns.h"
#include "base/err_text.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/errors.h"
#include "cmd/flags.h"
#include "cmd/manifest.h"
#include "cmd/resolvconf/host_watch.h"
#include "cmd/resolvconf/node_settings.h"
#include "cmd/resolvconf/pod_manifest.h"
#include "cmd/resolvconf/print_pod.h"
#include "cmd/resolvconf/write_file.h"

static const char command_name[] = "resolvconf";

struct resolvconf {
	struct flag_values files;
	const char *profile_word, *libc_word, *form_word, *ns;
	struct node_settings node;
	enum podresolv_profile profile;
	enum podresolv_libc libc;
	struct print_options print;
	bool follow;	   /* the host file, after it was used once */
	bool is_following; /* it was */
	size_t failed;	   /* pods */
};

static bool has_server(const struct podresolv_result *result)
{
	for (size_t i = 0; i < result->nameservers.n; i++) {
		if (result->nameservers.v[i].dropped == PODRESOLV_KEPT)
			return true;
	}
	return false;
}

/* False if the pod has no file: it is invalid, refused, or needs a host file that is missing. */
static bool compute_pod(struct resolvconf *conf, const struct pod_manifest *pod,
			struct arena *arena)
{
	struct podresolv_result result;
	struct api_errors errors = { 0 };
	struct slice policy;
	char why[1024];
	struct podresolv_input input = {
		.ns = slice_of(pod->ns),
		.name = slice_of(api_name(pod->object->o)),
		.uid = slice_of(api_uid(pod->object->o)),
		.profile = conf->profile,
		.libc = conf->libc,
	};
	if (!pod_manifest_validate(pod, conf->profile))
		return false;
	api_pod_dns_read(pod->spec, pod->field, arena, &input, &policy, &errors);
	api_errors_done(&errors); /* none: it was validated */
	node_settings_fill(&conf->node, &input);
	if (podresolv_compute(&input, arena, &result, ERR_TEXT(why)) < 0) {
		pod_manifest_report(pod, "", "%s", why);
		return false;
	}
	if (!print_findings(pod, &result))
		return false;
	if (conf->is_following && !has_server(&result)) {
		fprintf(stderr, "%s: left as it is: there would be no name server\n",
			conf->print.path);
		return true;
	}
	return print_pod(pod, &result, &conf->print);
}

static size_t count_pods(const struct manifests *manifests)
{
	size_t n = 0;
	for (size_t i = 0; i < manifests->objects.n; i++) {
		const char *field = NULL;
		IGNORE(api_pod_spec(manifests->objects.v[i].o, &field)); /* the kind decides */
		n += field != NULL;
	}
	return n;
}

static void compute_pods(struct resolvconf *conf, const struct manifests *manifests)
{
	for (size_t i = 0; i < manifests->objects.n; i++) {
		struct pod_manifest pod;
		struct arena arena;
		if (!pod_manifest_open(&pod, &manifests->objects.v[i], conf->ns))
			continue;
		arena_init(&arena);
		conf->failed += !compute_pod(conf, &pod, &arena);
		arena_done(&arena);
		pod_manifest_close(&pod);
	}
}

/* NULL, or why there is nothing to do. */
static const char *check_pods(const struct resolvconf *conf, size_t n_pods)
{
	if (n_pods == 0)
		return "no Pod or pod template";
	if (conf->print.path == NULL)
		return NULL;
	if (n_pods > 1)
		return "--write needs a single pod; there are several";
	if (write_file_is_same(conf->print.path, conf->node.host_file))
		return "--write names the resolver file of the node itself; with the pod";
	return NULL;
}

static void compute_once(struct resolvconf *conf, const struct manifests *manifests)
{
	conf->failed = 0;
	node_settings_init(&conf->node);
	compute_pods(conf, manifests);
	node_settings_done(&conf->node);
}

/* Never returns: until a signal ends the program, which may come at any moment, since each write is
 * whole. A change that cannot be used is reported, and the file stays. */
static void follow_host_file(struct resolvconf *conf, const struct manifests *manifests,
			     struct host_stamp last)
{
	conf->is_following = true;
	for (;;) {
		host_watch_wait(conf->node.host_file, &last);
		compute_once(conf, manifests);
	}
}

static int run_command(struct resolvconf *conf)
{
	struct manifests manifests;
	char why[1024] = "";
	int status = EXIT_FAILED;
	const char *wrong = "";
	if (conf->node.host_file == NULL)
		conf->node.host_file = node_settings_host_file;
	if (!manifests_read_unnamed(&conf->files, &manifests, ERR_TEXT(why)))
		fprintf(stderr, "%s\n", why);
	else if ((wrong = check_pods(conf, count_pods(&manifests))) != NULL)
		cmd_print_error(command_name, "%s in '%s'", wrong, conf->files.v[0]);
	if (wrong == NULL) {
		struct host_stamp before = { 0 };
		if (conf->follow)
			before = host_watch_stamp(conf->node.host_file);
		conf->print.with_header = count_pods(&manifests) > 1;
		compute_once(conf, &manifests);
		status = conf->failed == 0 ? EXIT_DONE : EXIT_FAILED;
		if (conf->follow && status == EXIT_DONE)
			follow_host_file(conf, &manifests, before);
	}
	manifests_done(&manifests);
	if (fflush(stdout) != 0) {
		cmd_print_error(command_name, "cannot write to standard output");
		status = EXIT_FAILED;
	}
	return status;
}

/* The words of flags; NULL, or what is wrong with them. */
static const char *check_flags(struct resolvconf *conf)
{
	if (conf->files.n == 0)
		return "no manifest: use -f FILE, -f DIR or -f -";
	if (conf->profile_word != NULL &&
	    !podresolv_profile_from(slice_of(conf->profile_word), &conf->profile))
		return "--profile is seed, kubelet or libc-safe";
	if (conf->libc_word != NULL && !podresolv_libc_from(slice_of(conf->libc_word), &conf->libc))
		return "--libc is glibc, musl or any";
	if (conf->form_word != NULL &&
	    !print_form_from(slice_of(conf->form_word), &conf->print.form))
		return "-o is resolv, yaml or json";
	if (!api_is_label_name(conf->ns))
		return "-n is the name of a namespace: lower case letters, digits and '-'";
	if (!node_settings_has_domain(&conf->node))
		return "--cluster-domain is a domain name, such as cluster.local";
	if (conf->print.explain && conf->print.form != PRINT_RESOLV)
		return "--explain goes with -o resolv only";
	if (conf->print.path != NULL && (conf->print.form != PRINT_RESOLV || conf->print.explain))
		return "--write goes with -o resolv, without --explain";
	if (conf->follow && conf->print.path == NULL)
		return "--follow goes with --write FILE";
	if (conf->follow && conf->node.host_file != NULL && conf->node.host_file[0] == '\0')
		return "--follow needs a resolver file of the node";
	return NULL;
}

static int print_help(const struct flag *flags, size_t n)
{
	printf("usage: fairlead resolvconf -f FILE [FLAGS]\n\n"
	       "Prints the resolv.conf that a node with these settings gives to the pods and pod\n"
	       "templates in manifests. Events and lints are on standard error. Exit status 0: "
	       "all\n"
	       "pods have a file; 1: a pod is invalid, refused by the profile, or needs a host "
	       "file\nthat cannot be read.\n\nflags:\n");
	flags_help(flags, n, stdout);
	return EXIT_DONE;
}

int cmd_resolvconf(int argc, char **argv)
{
	struct resolvconf conf = { .ns = "default" };
	const struct flag flags[] = {
		FLAG_VALUES("f", &conf.files, "FILE|DIR|-",
			    "manifests: Pods, Deployments, StatefulSets, DaemonSets, ReplicaSets, "
			    "Jobs, CronJobs; may be repeated"),
		FLAG_VALUE("host-resolv", &conf.node.host_file, "FILE",
			   "resolver file of the node; empty: the node has none; default "
			   "/etc/resolv.conf"),
		FLAG_VALUE("cluster-dns", &conf.node.cluster_dns, "IP,...",
			   "addresses of the cluster's DNS service"),
		FLAG_VALUE("cluster-domain", &conf.node.cluster_domain, "DOMAIN",
			   "domain of the cluster; empty: none; default cluster.local"),
		FLAG_VALUE("node-ips", &conf.node.node_ips, "IP,...",
			   "addresses of the node: families of the loopback servers of a node "
			   "without resolver file"),
		FLAG_SWITCH("use-domain", &conf.node.use_domain,
			    "search the domain of a `domain` line in the node's file, as programs "
			    "on the node do"),
		FLAG_VALUE("namespace", &conf.ns, "NAMESPACE",
			   "of objects that name none; default: default"),
		FLAG_VALUE("n", &conf.ns, "NAMESPACE", "the same as --namespace"),
		FLAG_VALUE("profile", &conf.profile_word, "PROFILE",
			   "limits: kubelet (default), seed, libc-safe"),
		FLAG_VALUE("libc", &conf.libc_word, "LIBC",
			   "whose lints: glibc, musl, any (default)"),
		FLAG_VALUE("o", &conf.form_word, "FORM",
			   "resolv (default), or the complete dnsConfig as yaml or json"),
		FLAG_SWITCH(
			"explain", &conf.print.explain,
			"add comments: where each entry comes from, which were dropped and why"),
		FLAG_VALUE("write", &conf.print.path, "FILE",
			   "write the file of a single pod to FILE, in place, instead of printing "
			   "it"),
		FLAG_SWITCH("follow", &conf.follow,
			    "with --write: do not end, and write FILE again whenever the node's "
			    "resolver file changes"),
	};
	char why[256] = "";
	struct flag_values args = { 0 };
	int status;
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &args, ERR_TEXT(why));
	const char *wrong = r < 0 ? why : check_flags(&conf);
	if (r == -2)
		status = print_help(flags, ARRAY_LEN(flags));
	else if (wrong != NULL)
		status = cmd_usage_error(command_name, wrong);
	else if (args.n != 0)
		status = cmd_usage_error(command_name, "unexpected argument; name files with -f");
	else
		status = run_command(&conf);
	vec_done(&args);
	vec_done(&conf.files);
	return status;
}
