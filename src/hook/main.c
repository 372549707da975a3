/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fairlead-hook: the OCI hook that writes a container's resolv.conf. A container runtime starts it
 * with the container's state on standard input; it needs no other program, file or network. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "hook/hook.h"
#include "hook/request.h"
#include "hook/storage.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 64 };

static const char usage[] =
	"usage: fairlead-hook [--fail] [--log FILE] [--storage-root DIR]... < STATE\n"
	"       fairlead-hook [--fail] [--log FILE] [--storage-root DIR]... --print-hooks-d\n\n"
	"An OCI hook (createRuntime, createContainer or prestart). Reads the container's state on\n"
	"standard input and changes the file that is mounted at /etc/resolv.conf as the "
	"annotations\n"
	"dns.fairlead.dev/config, policy, profile and libc of the container say. Containers "
	"without\n"
	"them are left alone.\n\n"
	"  --fail           exit with status 1 if the file cannot be changed, so that the "
	"container\n"
	"                   does not start; otherwise it starts with the file as it was\n"
	"  --log FILE       append what is done and what fails to FILE as well: runtimes do not "
	"show\n"
	"                   the standard error of a hook that exits with status 0\n"
	"  --storage-root DIR  a folder below which the runtime keeps its files; none other is\n"
	"                   written to but the bundle. Once or more; replaces those of podman, "
	"CRI-O\n"
	"                   and containerd\n"
	"  --print-hooks-d  print the file for the hooks.d folder of podman and CRI-O\n"
	"  --help           show this text\n"
	"  --version        show the version\n";

struct options {
	bool fail;
	bool print_hooks_d;
	const char *log_path;
	struct hook_storage storage; /* as the flags name them */
};

/* A standard stream that is closed at start would be the number of the container's file, and
 * messages would go there. */
static void open_standard_streams(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

/* One line, whatever a container put into its names and annotations. */
static void clean_line(struct strbuf *line)
{
	for (size_t i = 0; i < line->n; i++) {
		if ((unsigned char)line->s[i] < ' ' || line->s[i] == 0x7f)
			line->s[i] = ' ';
	}
	strbuf_addc(line, '\n');
}

static void append_to_log(const char *path, const struct strbuf *line)
{
	char stamp[32] = "";
	struct tm now;
	time_t seconds = time(NULL);
	if (gmtime_r(&seconds, &now) != NULL)
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ ", &now);
	/* O_NONBLOCK: a pipe in its place must not hold containers up. */
	int fd =
		open(path,
		     O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		     0640);
	if (fd < 0) {
		fprintf(stderr, "fairlead-hook: cannot open log file '%s': %s\n", path,
			strerror(errno));
		return;
	}
	struct strbuf entry = STRBUF_INIT;
	strbuf_adds(&entry, stamp);
	strbuf_add_slice(&entry, strbuf_slice(line));
	if (write(fd, entry.s, entry.n) != (ssize_t)entry.n)
		fprintf(stderr, "fairlead-hook: cannot write to log file '%s'\n", path);
	strbuf_done(&entry);
	close(fd);
}

/* `is_problem`: for standard error, too. */
static void say_line(const struct options *options, bool is_problem, const char *id,
		     const char *text)
{
	struct strbuf line = STRBUF_INIT;
	strbuf_adds(&line, "fairlead-hook: ");
	if (id[0] != '\0')
		strbuf_addf(&line, "container %s: ", id);
	strbuf_adds(&line, text);
	clean_line(&line);
	if (is_problem)
		fputs(line.s, stderr);
	if (options->log_path != NULL)
		append_to_log(options->log_path, &line);
	strbuf_done(&line);
}

static void say_notes(const struct options *options, const struct hook_report *report)
{
	struct slice rest = strbuf_slice(&report->notes);
	while (rest.n > 0) {
		struct slice line = slice_cut(&rest, '\n');
		struct strbuf text = STRBUF_INIT;
		strbuf_add_slice(&text, line);
		say_line(options, true, report->id, text.s);
		strbuf_done(&text);
	}
}

static void say_failure(const struct options *options, const struct hook_report *report,
			const char *why)
{
	struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "%s left as it was: %s",
		    report->path.n > 0 ? report->path.s : HOOK_DESTINATION, why);
	say_line(options, true, report->id, text.s);
	strbuf_done(&text);
}

static int run_hook(const struct options *options)
{
	struct hook_storage defaults = { 0 };
	const struct hook_storage *storage = &options->storage;
	char why[1024] = "";
	struct strbuf state = STRBUF_INIT;
	struct hook_report report = { .notes = STRBUF_INIT, .path = STRBUF_INIT };
	if (storage->n_roots == 0) {
		hook_storage_use_defaults(&defaults);
		storage = &defaults;
	}
	int r = readfile_fd(STDIN_FILENO, HOOK_STATE_BYTES_MAX, &state);
	if (r < 0)
		err_text_set(ERR_TEXT(why), "cannot read the container's state: %s", err_str(r));
	else
		r = hook_run(strbuf_slice(&state), storage, &report, ERR_TEXT(why));
	if (r < 0)
		say_failure(options, &report, why);
	else
		say_notes(options, &report);
	if (r == HOOK_REWRITTEN) {
		strbuf_adds(&report.path, " rewritten");
		say_line(options, false, report.id, report.path.s);
	}
	strbuf_done(&state);
	hook_report_done(&report);
	return r < 0 && options->fail ? EXIT_FAILED : EXIT_DONE;
}

/* In the format of oci-hooks(5), which podman and CRI-O read. */
static int print_hooks_d(const struct options *options)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
	if (n <= 0 || (size_t)n >= sizeof(self)) {
		fprintf(stderr, "fairlead-hook: cannot find the path of this program\n");
		return EXIT_FAILED;
	}
	struct strbuf out = STRBUF_INIT;
	strbuf_adds(&out, "{\n  \"version\": \"1.0.0\",\n  \"hook\": {\n    \"path\": ");
	strbuf_add_json(&out, (struct slice){ self, (size_t)n });
	strbuf_adds(&out, ",\n    \"args\": [\"fairlead-hook\"");
	if (options->fail)
		strbuf_adds(&out, ", \"--fail\"");
	if (options->log_path != NULL) {
		strbuf_adds(&out, ", \"--log\", ");
		strbuf_add_json(&out, slice_of(options->log_path));
	}
	for (size_t i = 0; i < options->storage.n_roots; i++) {
		strbuf_adds(&out, ", \"--storage-root\", ");
		strbuf_add_json(&out, slice_of(options->storage.root[i]));
	}
	strbuf_adds(&out,
		    "],\n    \"timeout\": 10\n  },\n"
		    "  \"when\": {\n    \"annotations\": {\n"
		    "      \"^dns\\\\.fairlead\\\\.dev/(config|policy)$\": \".*\"\n    }\n  },\n"
		    "  \"stages\": [\"createRuntime\"]\n}\n");
	bool written = fputs(out.s, stdout) >= 0 && fflush(stdout) == 0;
	strbuf_done(&out);
	return written ? EXIT_DONE : EXIT_FAILED;
}

static int refuse_root(const char *path)
{
	fprintf(stderr,
		"fairlead-hook: --storage-root '%s' is no absolute path of a folder, or one of "
		"more than %d\n",
		path, HOOK_STORAGE_ROOTS_MAX);
	return EXIT_USAGE;
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, struct options *ret)
{
	static const struct option known[] = {
		{ "fail", no_argument, NULL, 'f' },
		{ "log", required_argument, NULL, 'l' },
		{ "storage-root", required_argument, NULL, 's' },
		{ "print-hooks-d", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	int option;
	while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		if (option == 'f')
			ret->fail = true;
		else if (option == 'l')
			ret->log_path = optarg;
		else if (option == 'p')
			ret->print_hooks_d = true;
		else if (option == 's' && hook_storage_add(&ret->storage, optarg))
			continue;
		else if (option == 's')
			return refuse_root(optarg);
		else if (option == 'v')
			return printf("fairlead-hook %s\n", FAIRLEAD_VERSION) < 0;
		else if (option == 'h')
			return fputs(usage, stdout) < 0;
		else
			return EXIT_USAGE;
	}
	if (optind < argc) {
		fprintf(stderr, "fairlead-hook: unexpected argument '%s'\n", argv[optind]);
		return EXIT_USAGE;
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	open_standard_streams();
	/* A limit on file sizes, or nobody reading messages, is an error to report, no end. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	int status = read_options(argc, argv, &options);
	if (status == EXIT_USAGE ||
	    (status < 0 && !options.print_hooks_d && isatty(STDIN_FILENO))) {
		fputs("fairlead-hook: container runtimes start this program, with a container's "
		      "state on standard input; see `fairlead-hook --help`\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (status >= 0)
		return status;
	return options.print_hooks_d ? print_hooks_d(&options) : run_hook(&options);
}
