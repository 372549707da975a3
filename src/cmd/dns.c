/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead dns`: CoreDNS's flags in front of the server. */
#include "cmd/dns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/slice.h"
#include "cmd/cmd.h"
#include "cmd/errors.h"
#include "cmd/flags.h"
#include "corefile_source/corefile_source.h"
#include "plugin/catalogue.h"
#include "server/control.h"
#include "server/handler.h"

struct dns_flags {
	const char *conf, *port, *pidfile, *log_format, *max_tls, *kubeconfig, *state_dir;
	bool plugins, quiet, version;
};

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void print_plugins(void)
{
	const char *names[256];
	size_t n = 0;
	for (; plugin_list[n] != NULL && n < ARRAY_LEN(names); n++)
		names[n] = plugin_list[n]->name;
	qsort(names, n, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < n; i++)
		printf("%s\n", names[i]);
}

static int load_corefile(void *ctx, struct strbuf *out, struct err_text why)
{
	return corefile_source_load(ctx, out, why);
}

static int last_good(void *ctx, struct strbuf *out, struct err_text why)
{
	return corefile_source_last_good(ctx, out, why);
}

static int change_fd(void *ctx)
{
	return corefile_source_fd(ctx);
}

static bool has_changed(void *ctx)
{
	return corefile_source_changed(ctx);
}

static void mark_accepted(void *ctx)
{
	corefile_source_accepted(ctx);
}

static int run_server(const struct dns_flags *flags, uint16_t port, uint32_t max_tls)
{
	struct corefile_source *src;
	char why[256];
	const struct corefile_source_opts so = { .name = flags->conf,
						 .default_port = port,
						 .kubeconfig = flags->kubeconfig,
						 .state_dir = flags->state_dir };
	if (corefile_source_open(&so, &src, ERR_TEXT(why)) < 0) {
		cmd_print_error(NULL, "-conf: %s", why);
		return EXIT_USAGE;
	}
	struct control_opts o = {
		.src = { .ctx = src,
			 .name = corefile_source_name(src),
			 .path = corefile_source_path(src),
			 .load = load_corefile,
			 .fallback = corefile_source_default(src) },
		.server = { .default_port = port,
			    .explain = catalogue_explain,
			    .max_tls = max_tls },
		.pidfile = flags->pidfile,
		.quiet = flags->quiet,
		.version = "Fairlead-" FAIRLEAD_VERSION,
	};
	if (corefile_source_is_watched(src)) {
		o.src.fd = change_fd;
		o.src.changed = has_changed;
		o.src.accepted = mark_accepted;
		o.src.last_good = last_good;
	}
	int status = control_run(&o);
	corefile_source_free(src);
	return status;
}

int cmd_dns(int argc, char **argv)
{
	struct dns_flags f = { .port = "53", .log_format = "text" };
	const struct flag flags[] = {
		FLAG_VALUE("conf", &f.conf, "FILE",
			   "Corefile to load, stdin, or configmap:NAMESPACE/NAME[/KEY] "
			   "(default Corefile)"),
		FLAG_VALUE("dns.port", &f.port, "PORT",
			   "port of server blocks that name none (default 53)"),
		FLAG_VALUE("kubeconfig", &f.kubeconfig, "FILE",
			   "API server of configmap: (default: the pod's service account)"),
		FLAG_VALUE("log-format", &f.log_format, "FORMAT", "text or json (default text)"),
		FLAG_VALUE("max-tls", &f.max_tls, "N",
			   "connections of DNS over TLS and HTTPS at once (default 1000)"),
		FLAG_VALUE("p", &f.port, "PORT", "same as -dns.port"),
		FLAG_VALUE("pidfile", &f.pidfile, "FILE", "where to write the process id"),
		FLAG_SWITCH("plugins", &f.plugins, "list the plugins built in"),
		FLAG_SWITCH("quiet", &f.quiet, "print no listener list and version at start"),
		FLAG_VALUE("state-dir", &f.state_dir, "DIR",
			   "folder for the last good copy of configmap:"),
		FLAG_SWITCH("version", &f.version, "show the version"),
	};
	char why[256];
	uint64_t port, max_tls = 0;
	cmd_find_log_format(argc, argv);
	int at = flags_parse(flags, ARRAY_LEN(flags), argc, argv, ERR_TEXT(why));
	if (at == -2) {
		printf("usage: fairlead dns [FLAGS]\n");
		flags_help(flags, ARRAY_LEN(flags), stdout);
		return EXIT_DONE;
	}
	if (at < 0) {
		cmd_print_error(NULL, "%s", why);
		if (log_get_format() == LOG_TEXT)
			flags_help(flags, ARRAY_LEN(flags), stderr);
		return EXIT_USAGE;
	}
	if (at < argc) {
		cmd_print_error(NULL, "extra command line arguments: %s", argv[at]);
		return EXIT_USAGE;
	}
	if (f.version) {
		printf("Fairlead-%s\n", FAIRLEAD_VERSION);
		return EXIT_DONE;
	}
	if (f.plugins) {
		print_plugins();
		return EXIT_DONE;
	}
	if (slice_u64(slice_of(f.port), &port) < 0 || port > 65535) {
		cmd_print_error(NULL, "-dns.port takes a number up to 65535, not '%s'", f.port);
		return EXIT_USAGE;
	}
	if (f.max_tls != NULL && (slice_u64(slice_of(f.max_tls), &max_tls) < 0 || max_tls == 0 ||
				  max_tls > UINT32_MAX)) {
		cmd_print_error(NULL, "-max-tls takes a number from 1 to 4294967295, not '%s'",
				f.max_tls);
		return EXIT_USAGE;
	}
	if (!cmd_set_log_format(f.log_format)) {
		cmd_print_error(NULL, "unknown log format \"%s\": expected text or json",
				f.log_format);
		return EXIT_FAILED;
	}
	return run_server(&f, (uint16_t)port, (uint32_t)max_tls);
}
